import { partitionOf } from '../../catalog/events/partitions';
import type { DocumentWrite } from '../../ports/view-store';
import type { SqliteConnection } from './connection';

/** A lane is a partition. `generations` counts the batches with documents of unknown stores. */
export const GENERATIONS_SCHEMA = `
  CREATE TABLE generations (lane INTEGER PRIMARY KEY, generation INTEGER NOT NULL) STRICT;
  CREATE TABLE store_generations (store_id TEXT PRIMARY KEY, generation INTEGER NOT NULL) STRICT, WITHOUT ROWID`;
/** Returns the statement that counts a batch of a lane or of a store. */
const raise = (table: string, key: string): string =>
  `INSERT INTO ${table} (${key}, generation) VALUES (?, 1) ON CONFLICT (${key}) DO UPDATE SET generation = generation + 1`;
const RAISE_LANE = raise('generations', 'lane');
const RAISE_STORE = raise('store_generations', 'store_id');

/** Counts the batches that have changed documents of each store, for all processes that have the file open. */
export class Generations {
  /** The counts of stores that were asked for since a connection has committed. */
  private readonly of_stores = new Map<string, number>();
  /** Commits of other connections change `PRAGMA data_version`. Undefined: the counts must be read again. */
  private data_version: number | undefined;
  /** Whether the counts were compared with the file in this run of synchronous code. */
  private is_fresh = false;

  constructor(
    private readonly connection: SqliteConnection,
    private readonly partition_count: number,
  ) {}

  /** Counts a batch. Call it within the transaction of the batch. */
  raise(partition: number, writes: readonly DocumentWrite[]): void {
    if (writes.length === 0) return;
    this.data_version = undefined;
    this.is_fresh = false;
    const stores = new Set(writes.map(storeOf));
    for (const store_id of stores)
      if (store_id === undefined) this.connection.run(RAISE_LANE, [partition]);
      else this.connection.run(RAISE_STORE, [store_id]);
  }

  /**
   * Returns a number that grows with each batch that has changed documents of one of these stores. NaN, which equals no
   * number, if the file was replaced: then nobody knows what has changed.
   */
  sum(stores: readonly string[]): number {
    this.refresh();
    if (Number.isNaN(this.data_version)) return Number.NaN;
    let sum = 0;
    for (const store_id of stores) {
      const count = this.of_stores.get(store_id) ?? this.read(store_id);
      this.of_stores.set(store_id, count);
      sum += count;
    }
    return sum;
  }

  /** Returns how many batches changed documents of the store, or documents of unknown stores in its partition. */
  private read(store_id: string): number {
    const lane = partitionOf(store_id, this.partition_count);
    const count = this.connection.value(
      `SELECT coalesce((SELECT generation FROM store_generations WHERE store_id = ?), 0)
        + coalesce((SELECT generation FROM generations WHERE lane = ?), 0)`,
      [store_id, lane],
    );
    return Number(count);
  }

  /**
   * Forgets the counts if a connection has committed since. Asks for that once per run of synchronous code, because it
   * takes several system calls.
   */
  private refresh(): void {
    if (this.is_fresh) return;
    // A commit after this changes the version again, so the next run of code reads the counts again.
    const data_version = this.connection.dataVersion();
    if (data_version !== this.data_version) this.of_stores.clear();
    this.data_version = data_version;
    this.is_fresh = true;
    queueMicrotask(() => {
      this.is_fresh = false;
    });
  }
}

/** Returns the store of a document. Undefined if it is not known, as for a document that is removed. */
function storeOf({ collection, id, document }: DocumentWrite): string | undefined {
  if (collection === 'stores') return id;
  const store_id = document?.keys.store_id;
  return typeof store_id === 'string' ? store_id : undefined;
}
