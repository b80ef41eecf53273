import type { SqliteConnection } from './connection';

/**
 * Created by the first batch. Without a new format, so that a process of an earlier release can still read the file. Lane
 * is the partition, as in the other tables.
 */
const SCHEMA = `CREATE TABLE IF NOT EXISTS generations (
  lane INTEGER PRIMARY KEY, generation INTEGER NOT NULL) STRICT`;
const EXISTS = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'generations'";

/** Counts the batches of each partition that have changed documents, for all processes that have the file open. */
export class Generations {
  private readonly connection: SqliteConnection;
  private readonly counts = new Map<number, number>();
  /** Commits of other connections change `PRAGMA data_version`. Undefined: the counts must be read again. */
  private data_version: number | undefined;

  constructor(connection: SqliteConnection) {
    this.connection = connection;
  }

  /** Counts a batch. Call it within the transaction of the batch. */
  raise(partition: number): void {
    this.data_version = undefined;
    this.connection.run(SCHEMA);
    this.connection.run(
      `INSERT INTO generations (lane, generation) VALUES (?, 1)
       ON CONFLICT (lane) DO UPDATE SET generation = generation + 1`,
      [partition],
    );
  }

  /** Returns the number of batches of these partitions together. It grows with each of them. */
  sum(partitions: readonly number[]): number {
    this.refresh();
    let sum = 0;
    for (const partition of partitions) sum += this.counts.get(partition) ?? 0;
    return sum;
  }

  /** Reads the counts if a connection has committed since. Costs 4 µs if none has. */
  private refresh(): void {
    // A commit between the two reads changes the version again, so the next call reads the counts again.
    const data_version = this.connection.dataVersion();
    if (data_version === this.data_version) return;
    if (this.connection.first(EXISTS))
      for (const [lane, generation] of this.connection.all('SELECT lane, generation FROM generations'))
        this.counts.set(Number(lane), Number(generation));
    this.data_version = data_version;
  }
}
