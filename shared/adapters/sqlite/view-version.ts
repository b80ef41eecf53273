import Database from 'libsql';
import type { CollectionName, StoredDocument } from '../../catalog/documents';
import { type Position, START, type StreamName } from '../../catalog/events/envelope';
import type { SortOrder } from '../../catalog/sorting';
import {
  ALL_PARTS,
  type DocumentPart,
  type KnownWordsQuery,
  type LaneMove,
  type LaneState,
  type ParkedStream,
  type ViewQuery,
  type ViewVersion,
  type WordCount,
  type WordMatch,
  type WordSearch,
  type WriteBatch,
} from '../../ports/view-store';
import { keysDiffer, notStored } from '../stored-collections';
import { ChangeSignal, SqliteConnection, type SqlRow } from './connection';
import {
  countQuery,
  inOrder,
  matchesNothing,
  pageQuery,
  type Query,
  scanQuery,
  selectionOf,
  toDocuments,
  writeDocument,
} from './documents';
import {
  addIndexes,
  earlySchema,
  isIndexed,
  readStoredKeys,
  searchableSchema,
  type Table,
  type Tables,
  tablesOf,
} from './tables';
import { countFitting, knownMatches, searchPage } from './words';

const declared = Object.values(tablesOf());

const SCHEMA = `
  CREATE TABLE checkpoints (lane INTEGER PRIMARY KEY, position INTEGER NOT NULL) STRICT;
  CREATE TABLE parked (
    stream TEXT PRIMARY KEY,
    lane INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    position INTEGER NOT NULL,
    reason TEXT NOT NULL,
    parked_at TEXT NOT NULL
  ) STRICT;
  ${earlySchema(declared)}`;

/** Of the tables here; what stands in the documents is versioned by whoever projects them. */
const FORMAT = 3;
/**
 * Format 1 could not be searched, format 2 had no media. Their documents go on being read until they are made anew.
 */
const SEARCHED = declared.filter(({ spec }) => spec.words).map(({ name }) => name);
const MEDIA = earlySchema(declared.filter(({ name }) => name === 'media' || name === 'media_uses'));
const UPGRADES = { 1: `${SEARCHED.map(searchableSchema).join(';')}; ${MEDIA}`, 2: MEDIA };
const PARKED = ['stream', 'lane', 'revision', 'position', 'reason', 'parked_at'] as const;
const IDS_PER_STATEMENT = 1_000;
const BY_ID: SortOrder = [['id', 'asc']];

/** Undoes a batch whose documents or checkpoint were not as expected. */
class LostRace extends Error {}

/** One version of a realm's documents, in a file of its own. */
export class SqliteViewVersion implements ViewVersion {
  readonly version: number;
  /** Its documents are stored with other keys than are declared now: it is read with those it has, and not written to. */
  readonly keys_differ: boolean;
  private readonly connection: SqliteConnection;
  private readonly tables: Tables;
  private readonly changes: ChangeSignal;
  private readonly waiters: CheckpointWaiters;
  /** Whether all indexes are there: a version that is being made has a few. */
  private indexed: boolean;

  private constructor(version: number, connection: SqliteConnection) {
    this.version = version;
    this.connection = connection;
    const stored = readStoredKeys(connection);
    this.keys_differ = keysDiffer(stored);
    this.tables = tablesOf(stored);
    this.indexed = isIndexed(connection, this.tables);
    this.changes = new ChangeSignal(connection);
    this.waiters = new CheckpointWaiters(this.changes, () => this.readCheckpoints());
  }

  static async open(version: number, file: string, lane_count: number): Promise<SqliteViewVersion> {
    const lanes = Array.from({ length: lane_count }, (_, lane) => `(${lane}, 0)`);
    const schema = `${SCHEMA}; INSERT INTO checkpoints (lane, position) VALUES ${lanes.join(', ')}`;
    // A power cut may undo the newest batches, documents and checkpoint alike: the log gives them again.
    const options = { synchronous: 'NORMAL', schema, format: FORMAT, upgrades: UPGRADES } as const;
    const connection = await SqliteConnection.open(file, options);
    return connection.attempt(() => new SqliteViewVersion(version, connection));
  }

  /**
   * Whether the documents in `file` are stored with other keys than are declared. Undefined where it holds none yet, or
   * is of a format that `open` brings up to date first. Throws what the driver throws.
   */
  static keysDiffer(file: string): boolean | undefined {
    const database = new Database(file, { readonly: true });
    try {
      const all = (sql: string): SqlRow[] => database.prepare(sql).raw().all() as SqlRow[];
      return all('PRAGMA user_version')[0]![0] === FORMAT ? keysDiffer(readStoredKeys({ all })) : undefined;
    } finally {
      database.close();
    }
  }

  /** Makes ready for reads what was made without most indexes; nothing to do for a version that has them. */
  async index(): Promise<void> {
    if (this.indexed) return;
    await addIndexes(this.connection, this.tables);
    this.indexed = true;
  }

  async checkpoints(): Promise<Position[]> {
    return this.connection.attempt(() => this.readCheckpoints());
  }

  private readCheckpoints(): Position[] {
    const rows = this.connection.all('SELECT position FROM checkpoints ORDER BY lane');
    return rows.map(([position]) => BigInt(position!));
  }

  async checkpoint(lane: number): Promise<Position> {
    const sql = 'SELECT position FROM checkpoints WHERE lane = ?';
    return BigInt((await this.connection.attempt(() => this.connection.value(sql, [lane]))) ?? START);
  }

  /** One statement, so that no other process' batch comes in between. */
  async lane(lane: number): Promise<LaneState> {
    const sql = `SELECT c.position, ${PARKED.map((column) => `p.${column}`).join(', ')}
      FROM checkpoints AS c LEFT JOIN parked AS p ON p.lane = c.lane WHERE c.lane = ? ORDER BY p.position`;
    const rows = await this.connection.attempt(() => this.connection.all(sql, [lane]));
    const parked = rows.filter((row) => row[1] !== null).map((row) => toParked(row.slice(1)));
    return { checkpoint: BigInt(rows[0]?.[0] ?? START), parked };
  }

  async moveOn(moves: readonly LaneMove[]): Promise<number[]> {
    const sql = 'UPDATE checkpoints SET position = ? WHERE lane = ? AND position >= ? AND position < ?';
    const reached = await this.connection.attempt(() =>
      this.connection.transaction(() => {
        for (const { lane, from, to } of moves) this.connection.run(sql, [to, lane, from, to]);
        return this.readCheckpoints();
      }),
    );
    this.changes.notify();
    return moves.filter(({ lane, to }) => reached[lane]! >= to).map(({ lane }) => lane);
  }

  async waitFor(lane: number, position: Position, timeout_ms: number): Promise<boolean> {
    if ((await this.checkpoint(lane)) >= position) return true;
    return timeout_ms > 0 && this.waiters.wait(lane, position, timeout_ms);
  }

  async get(
    collection: CollectionName,
    id: string,
    parts: readonly DocumentPart[] = [],
  ): Promise<StoredDocument | undefined> {
    const table = this.table(collection);
    const { by_id } = selectionOf(table, parts);
    const row = await this.connection.attempt(() => this.connection.first(by_id, [id]));
    return row && toDocuments(table, parts, [row])[0];
  }

  async getMany(
    collection: CollectionName,
    ids: readonly string[],
    parts: readonly DocumentPart[] = [],
  ): Promise<StoredDocument[]> {
    const table = this.table(collection);
    const sql = `SELECT ${selectionOf(table, parts).columns}
      FROM json_each(?) AS asked CROSS JOIN ${table.name} AS d ON d.id = asked.value`;
    const distinct = [...new Set(ids)];
    const documents: StoredDocument[] = [];
    for (let start = 0; start < distinct.length; start += IDS_PER_STATEMENT) {
      const some = JSON.stringify(distinct.slice(start, start + IDS_PER_STATEMENT));
      documents.push(...(await this.read(table, parts, { sql, parameters: [some] })));
    }
    return documents;
  }

  async find(collection: CollectionName, query: ViewQuery): Promise<StoredDocument[]> {
    if (query.limit <= 0 || matchesNothing(query.where)) return [];
    const table = this.table(collection);
    const documents = await this.read(table, query.parts ?? [], pageQuery(table, query));
    return inOrder(documents, query.order);
  }

  async count(collection: CollectionName, where: ViewQuery['where']): Promise<number> {
    const { sql, parameters } = countQuery(this.table(collection), where);
    return Number(await this.connection.attempt(() => this.connection.value(sql, parameters)));
  }

  async search(collection: CollectionName, query: WordSearch): Promise<StoredDocument[]> {
    await this.index();
    return this.connection.attempt(() => searchPage(this.connection, this.table(collection), query));
  }

  async countWords(collection: CollectionName, query: WordCount): Promise<number> {
    await this.index();
    return this.connection.attempt(() => countFitting(this.connection, this.table(collection), query));
  }

  async knownWords(collection: CollectionName, query: KnownWordsQuery): Promise<WordMatch[]> {
    await this.index();
    return this.connection.attempt(() => knownMatches(this.connection, this.table(collection), query));
  }

  async scan(
    collection: CollectionName,
    options: { where?: ViewQuery['where']; after_id?: string; limit: number },
  ): Promise<StoredDocument[]> {
    const table = this.table(collection);
    return inOrder(await this.read(table, ALL_PARTS, scanQuery(table, options, ALL_PARTS)), BY_ID);
  }

  /** Throws `CatalogError('unavailable')` where the version was made without the collection. */
  private table(collection: CollectionName): Table {
    const table = this.tables[collection];
    if (!table) throw notStored(collection);
    return table;
  }

  private async read(
    table: Table,
    parts: readonly DocumentPart[],
    { sql, parameters }: Query,
  ): Promise<StoredDocument[]> {
    const rows = await this.connection.attempt(() => this.connection.all(sql, parameters));
    return toDocuments(table, parts, rows);
  }

  async apply(batch: WriteBatch): Promise<'applied' | 'lost_race'> {
    if (this.keys_differ)
      throw new Error(`view version ${this.version} was made with other keys: rebuild it`);
    try {
      await this.connection.attempt(() => this.connection.transaction(() => this.write(batch)));
    } catch (error) {
      if (error instanceof LostRace) return 'lost_race';
      throw error;
    }
    this.changes.notify();
    return 'applied';
  }

  /** Phases need no care here: all of a transaction is durable at once. */
  private write({ lane, from, to, phases, park = [], unpark = [] }: WriteBatch): void {
    const moved = this.connection.run('UPDATE checkpoints SET position = ? WHERE lane = ? AND position = ?', [
      to,
      lane,
      from,
    ]);
    if (moved.changes === 0) throw new LostRace();
    for (const write of phases.flat())
      if (!writeDocument(this.connection, this.table(write.collection), write, this.indexed))
        throw new LostRace();
    // In this order, so that a stream which got on a little can be parked again further on.
    for (const stream of unpark) this.connection.run('DELETE FROM parked WHERE stream = ?', [stream]);
    for (const parked of park) this.park(parked);
  }

  private park({ stream, lane, revision, position, reason, parked_at }: ParkedStream): void {
    this.connection.run(
      'INSERT OR REPLACE INTO parked (stream, lane, revision, position, reason, parked_at) VALUES (?, ?, ?, ?, ?, ?)',
      [stream, lane, revision, position, reason, parked_at],
    );
  }

  async parked(): Promise<ParkedStream[]> {
    const sql = `SELECT ${PARKED.join(', ')} FROM parked ORDER BY position`;
    return (await this.connection.attempt(() => this.connection.all(sql))).map(toParked);
  }

  /** Waits under way answer false. */
  close(): void {
    this.waiters.close();
    this.connection.close();
  }
}

function toParked([stream, lane, revision, position, reason, parked_at]: SqlRow): ParkedStream {
  return {
    stream: stream as StreamName,
    lane: Number(lane),
    revision: Number(revision),
    position: BigInt(position!),
    reason: String(reason),
    parked_at: String(parked_at),
  };
}

interface Waiter {
  readonly lane: number;
  readonly position: Position;
  readonly settle: (reached: boolean) => void;
}

/** Those who wait for a lane to reach a position; however many, the checkpoints are read once per change. */
class CheckpointWaiters {
  private readonly changes: ChangeSignal;
  private readonly readCheckpoints: () => Position[];
  private readonly waiters = new Set<Waiter>();
  private stopListening: (() => void) | undefined;

  constructor(changes: ChangeSignal, readCheckpoints: () => Position[]) {
    this.changes = changes;
    this.readCheckpoints = readCheckpoints;
  }

  /** True as soon as the lane is there, false after `timeout_ms` or where the waiting is closed. */
  wait(lane: number, position: Position, timeout_ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => waiter.settle(false), timeout_ms);
      const waiter: Waiter = {
        lane,
        position,
        settle: (reached) => {
          clearTimeout(timer);
          this.remove(waiter);
          resolve(reached);
        },
      };
      this.waiters.add(waiter);
      this.stopListening ??= this.changes.listen(() => this.look());
      // The lane may have got there between the caller's own look and the listening.
      this.look();
    });
  }

  private look(): void {
    let reached: Position[];
    try {
      reached = this.readCheckpoints();
    } catch {
      return; // The file cannot be read at the moment; the waiters' time goes on.
    }
    for (const waiter of [...this.waiters]) if (reached[waiter.lane]! >= waiter.position) waiter.settle(true);
  }

  private remove(waiter: Waiter): void {
    this.waiters.delete(waiter);
    if (this.waiters.size > 0) return;
    this.stopListening?.();
    this.stopListening = undefined;
  }

  close(): void {
    for (const waiter of [...this.waiters]) waiter.settle(false);
  }
}
