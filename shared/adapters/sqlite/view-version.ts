import type { CollectionName, StoredDocument } from '../../catalog/documents';
import { type Position, START, type StreamName } from '../../catalog/events/envelope';
import type { SortOrder } from '../../catalog/sorting';
import { endLongTurn, longTurn } from '../../kernel/async';
import { UnstorableDocumentError } from '../../kernel/errors';
import type { LogMark, StoreHealth } from '../../ports/event-store';
import {
  ALL_PARTS,
  type CheckpointMove,
  type DeadLetter,
  type DocumentPart,
  type DocumentWrite,
  type IndexProgress,
  type MatchingWordsQuery,
  type PartitionState,
  type RelatedQuery,
  type ViewQuery,
  type ViewVersion,
  type WordCounts,
  type WordCountsQuery,
  type WordMatch,
  type WordSearch,
  type WordSearchResult,
  type WriteBatch,
} from '../../ports/view-store';
import { CheckpointWatch } from '../checkpoint-watch';
import { keysDiffer, notStoredError } from '../stored-collections';
import { isRefusedValue, type OnDamage, SqliteConnection, type SqlRow } from './connection';
import {
  countQuery,
  inOrder,
  matchesNothing,
  type Query,
  scanQuery,
  selectionOf,
  toDocuments,
  writeDocument,
} from './documents';
import { GENERATIONS_SCHEMA, Generations } from './generations';
import { addIndexes, earlySchema, hasBuckets, isIndexed, lateIndexesOf } from './indexes';
import { ListWriter } from './list-buckets';
import { ListReader } from './list-pages';
import { readStoredKeys, type Table, type Tables, tablesOf } from './tables';
import { countWords, matchingWords, relatedPage, searchPage } from './words';

/**
 * Column `lane` is the partition, and table `parked` is the dead-letter list: names in storage are kept
 * (docs/decisions/0015-stored-names.md). `marks` has the newest event of each partition.
 */
const SCHEMA = `
  CREATE TABLE checkpoints (
    lane INTEGER PRIMARY KEY, position INTEGER NOT NULL, revision INTEGER NOT NULL DEFAULT 0) STRICT;
  CREATE TABLE parked (
    stream TEXT PRIMARY KEY,
    lane INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    position INTEGER NOT NULL,
    reason TEXT NOT NULL,
    parked_at TEXT NOT NULL
  ) STRICT;
  CREATE TABLE marks (lane INTEGER PRIMARY KEY, position INTEGER NOT NULL, event_id TEXT NOT NULL) STRICT;
  ${GENERATIONS_SCHEMA};
  ${earlySchema(Object.values(tablesOf()))}`;

/**
 * Format of the tables of a version and of the list of versions. A release with another format makes its own documents
 * from the log, next to these. The content of the documents has its own version: `schema` of `VersionInfo`.
 */
export const VIEWS_FORMAT = 7;
const DEAD_LETTER_COLUMNS = ['stream', 'lane', 'revision', 'position', 'reason', 'parked_at'] as const;
/** What an operator does about a damaged version, whether it is active, retired or being built. */
export const VERSION_REMEDY = 'Run "catalog projections rebuild", then "catalog projections drop".';
/** A publication takes about 3 kB, so with the default of 4 kB a quarter of each page would stay empty. */
const PAGE_BYTES = 8_192;
const IDS_PER_STATEMENT = 1_000;
const BY_ID: SortOrder = [['id', 'asc']];

/** What a version reports. */
interface VersionReports {
  /** Called each time that the file turns out to be damaged. */
  readonly onDamage?: OnDamage | undefined;
  /** Called after each commit that may have moved a checkpoint. */
  readonly onCommit?: () => void;
}

/** Stores one version of a realm's documents in a file of its own. */
export class SqliteViewVersion implements ViewVersion {
  readonly version: number;
  /** True if the documents are stored with other keys than the declared ones. The version is then read-only. */
  readonly keys_differ: boolean;
  private readonly connection: SqliteConnection;
  private readonly tables: Tables;
  private readonly late_indexes: readonly string[];
  private readonly onCommit: () => void;
  private readonly watch: CheckpointWatch;
  private readonly generations: Generations;
  /** True if all indexes exist. A version that is being built has only some of them. */
  private indexed: boolean;
  private indexing: Promise<void> | undefined;
  private readonly closing = new AbortController();
  /** The tables that have buckets. A version that is being built gets some of them at the end. */
  private readonly with_buckets = new Set<Table>();
  private readonly lists: ListReader;

  private constructor(
    version: number,
    connection: SqliteConnection,
    partition_count: number,
    onCommit: () => void,
  ) {
    this.version = version;
    this.connection = connection;
    this.onCommit = onCommit;
    const stored = readStoredKeys(connection);
    this.keys_differ = keysDiffer(stored);
    this.tables = tablesOf(stored);
    this.late_indexes = lateIndexesOf(this.tables);
    this.lists = new ListReader(connection);
    this.indexed = isIndexed(connection, this.late_indexes);
    this.watch = new CheckpointWatch(() => this.checkpoints());
    this.generations = new Generations(connection, partition_count);
  }

  static async open(
    version: number,
    file: string,
    partition_count: number,
    { onDamage, onCommit = () => {} }: VersionReports = {},
  ): Promise<SqliteViewVersion> {
    const partitions = Array.from({ length: partition_count }, (_, partition) => `(${partition}, 0)`);
    const schema = `${SCHEMA}; INSERT INTO checkpoints (lane, position) VALUES ${partitions.join(', ')}`;
    // NORMAL: a power failure may undo the latest batches, but always documents and checkpoint together. Their events are
    // then projected again.
    const connection = await SqliteConnection.open(file, {
      synchronous: 'NORMAL',
      page_bytes: PAGE_BYTES,
      schema: () => schema,
      format: VIEWS_FORMAT,
      remedy: VERSION_REMEDY,
      onDamage,
    });
    try {
      return await connection.attempt(
        () => new SqliteViewVersion(version, connection, partition_count, onCommit),
      );
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /** Returns the size of all pages in use, including those that are still in the write-ahead log. */
  async bytes(): Promise<number> {
    const sql = `SELECT (page_count - freelist_count) * page_size
      FROM pragma_page_count, pragma_freelist_count, pragma_page_size`;
    return Number(await this.connection.attempt(() => this.connection.value(sql)));
  }

  /** Creates the indexes that a rebuild leaves out. Does nothing if they exist. Leaves some out if `signal` aborts. */
  async createIndexes(
    onProgress: (progress: IndexProgress) => void = () => {},
    signal?: AbortSignal,
  ): Promise<void> {
    // Another process may have created them since this one opened the file.
    if (!this.indexed) this.indexed = await this.isIndexed();
    // Again, if another call has begun and its signal has aborted.
    while (!this.indexed && !signal?.aborted) {
      this.indexing ??= this.buildIndexes(onProgress, signal).finally(() => {
        this.indexing = undefined;
      });
      await this.indexing;
    }
  }

  private async buildIndexes(
    onProgress: (progress: IndexProgress) => void,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const stop = AbortSignal.any([this.closing.signal, ...(signal ? [signal] : [])]);
    await addIndexes(this.connection, this.tables, { onProgress, signal: stop });
    this.indexed = await this.isIndexed();
  }

  private isIndexed(): Promise<boolean> {
    return this.connection.attempt(() => isIndexed(this.connection, this.late_indexes));
  }

  generation(stores: readonly string[]): number {
    return this.generations.sum(stores);
  }

  async checkpoints(): Promise<Position[]> {
    return this.connection.attempt(() => this.readCheckpoints());
  }

  private readCheckpoints(): Position[] {
    const rows = this.connection.all('SELECT position FROM checkpoints ORDER BY lane');
    return rows.map(([position]) => BigInt(position!));
  }

  async checkpoint(partition: number): Promise<Position> {
    const sql = 'SELECT position FROM checkpoints WHERE lane = ?';
    return BigInt((await this.connection.attempt(() => this.connection.value(sql, [partition]))) ?? START);
  }

  /** Uses one statement, so that the state is of one moment. */
  async partition(partition: number): Promise<PartitionState> {
    const sql = `SELECT c.position, c.revision, ${DEAD_LETTER_COLUMNS.map((column) => `p.${column}`).join(', ')}
      FROM checkpoints AS c LEFT JOIN parked AS p ON p.lane = c.lane WHERE c.lane = ? ORDER BY p.position`;
    const rows = await this.connection.attempt(() => this.connection.all(sql, [partition]));
    const dead_letters = rows.filter((row) => row[2] !== null).map((row) => toDeadLetter(row.slice(2)));
    const [checkpoint, revision] = rows[0] ?? [];
    return { checkpoint: BigInt(checkpoint ?? START), revision: Number(revision ?? 0), dead_letters };
  }

  async mark(): Promise<LogMark | undefined> {
    const sql = 'SELECT position, event_id FROM marks ORDER BY position DESC LIMIT 1';
    const row = await this.connection.attempt(() => this.connection.first(sql));
    return row && { position: BigInt(row[0]!), event_id: String(row[1]) };
  }

  async advanceIdle(moves: readonly CheckpointMove[]): Promise<number[]> {
    const sql = 'UPDATE checkpoints SET position = ? WHERE lane = ? AND position >= ? AND position < ?';
    const { checkpoints, changes } = await this.connection.attempt(() =>
      this.connection.transaction(() => {
        let changes = 0;
        for (const { partition, from, to } of moves)
          changes += this.connection.run(sql, [to, partition, from, to]).changes;
        return { checkpoints: this.readCheckpoints(), changes };
      }),
    );
    if (changes > 0) this.onCommit();
    const reached = moves.filter(({ partition, to }) => checkpoints[partition]! >= to);
    for (const { partition, to } of reached) this.watch.reportMove(partition, to);
    return reached.map(({ partition }) => partition);
  }

  async waitFor(partition: number, position: Position, timeout_ms: number): Promise<boolean> {
    if (timeout_ms <= 0) return (await this.checkpoint(partition)) >= position;
    return this.watch.wait(partition, position, timeout_ms);
  }

  async get(
    collection: CollectionName,
    id: string,
    parts: readonly DocumentPart[] = [],
  ): Promise<StoredDocument | undefined> {
    const table = this.table(collection);
    const { by_id } = selectionOf(table, parts);
    return this.connection.attempt(() => {
      const row = this.connection.first(by_id, [id]);
      return row && toDocuments(table, parts, [row])[0];
    });
  }

  async getMany(
    collection: CollectionName,
    ids: readonly string[],
    parts: readonly DocumentPart[] = [],
  ): Promise<StoredDocument[]> {
    const table = this.table(collection);
    const sql = `SELECT ${selectionOf(table, parts).columns}
      FROM json_each(?) AS requested CROSS JOIN ${table.name} AS d ON d.id = requested.value`;
    const distinct = [...new Set(ids)];
    const documents: StoredDocument[] = [];
    for (let start = 0; start < distinct.length; start += IDS_PER_STATEMENT) {
      const chunk = JSON.stringify(distinct.slice(start, start + IDS_PER_STATEMENT));
      documents.push(...(await this.read(table, parts, { sql, parameters: [chunk] })));
    }
    return documents;
  }

  async find(collection: CollectionName, query: ViewQuery): Promise<StoredDocument[]> {
    if (query.limit <= 0 || matchesNothing(query.where)) return [];
    const table = this.table(collection);
    // A page may have 8 MB.
    await endLongTurn();
    const listed = this.hasBuckets(table) ? await this.lists.page(table, query) : undefined;
    const page = listed ?? (await this.lists.otherPage(table, query));
    return this.toDocuments(table, query.parts ?? [], page);
  }

  /** Returns whether the table has buckets, which a process adds at the end of a build. */
  private hasBuckets(table: Table): boolean {
    if (!table.lists || this.with_buckets.has(table)) return table.lists !== undefined;
    if (!hasBuckets(this.connection, table)) return false;
    this.with_buckets.add(table);
    return true;
  }

  async count(collection: CollectionName, where: ViewQuery['where']): Promise<number> {
    const table = this.table(collection);
    if (matchesNothing(where)) return 0;
    const counted = this.hasBuckets(table) ? await this.lists.count(table, where) : undefined;
    if (counted !== undefined) return counted;
    const { sql, parameters } = countQuery(table, where);
    return this.connection.attempt(() => Number(this.connection.value(sql, parameters)));
  }

  /** Reads in several statements, between which other requests run. The last one checks the conditions again. */
  async search(collection: CollectionName, query: WordSearch): Promise<WordSearchResult> {
    await this.createIndexes();
    return searchPage(this.connection, this.table(collection), query);
  }

  async related(collection: CollectionName, query: RelatedQuery): Promise<StoredDocument[]> {
    await this.createIndexes();
    return relatedPage(this.connection, this.table(collection), query, this.lists);
  }

  async matchingWords(collection: CollectionName, query: MatchingWordsQuery): Promise<WordMatch[]> {
    await this.createIndexes();
    return matchingWords(this.connection, this.table(collection), query);
  }

  async countWords(collection: CollectionName, query: WordCountsQuery): Promise<readonly WordCounts[]> {
    await this.createIndexes();
    return countWords(this.connection, this.table(collection), query);
  }

  async scan(
    collection: CollectionName,
    options: { where?: ViewQuery['where']; after_id?: string; limit: number },
  ): Promise<StoredDocument[]> {
    const table = this.table(collection);
    return inOrder(await this.read(table, ALL_PARTS, scanQuery(table, options, ALL_PARTS)), BY_ID);
  }

  /** Throws `CatalogError('unavailable')` if the version was created without the collection. */
  private table(collection: CollectionName): Table {
    const table = this.tables[collection];
    if (!table) throw notStoredError(collection);
    return table;
  }

  private async read(table: Table, parts: readonly DocumentPart[], query: Query): Promise<StoredDocument[]> {
    const rows = await this.connection.attempt(() => this.connection.all(query.sql, query.parameters));
    return this.toDocuments(table, parts, rows);
  }

  /** Lets other work run between the documents: parsing one with 2,048 variants takes 5 ms. A text is not parsed. */
  private async toDocuments(
    table: Table,
    parts: readonly DocumentPart[],
    rows: readonly SqlRow[],
  ): Promise<StoredDocument[]> {
    if (parts.includes('json')) return toDocuments(table, parts, rows);
    const documents: StoredDocument[] = [];
    for (const row of rows) {
      const turn = longTurn();
      if (turn) await turn;
      documents.push(...toDocuments(table, parts, [row]));
    }
    return documents;
  }

  async apply(batch: WriteBatch): Promise<'applied' | 'lost_race'> {
    if (this.keys_differ)
      throw new Error(`view version ${this.version} was created with other keys: rebuild it`);
    const is_applied = await this.connection.attempt(() =>
      this.connection.transaction(() => this.write(batch)),
    );
    if (!is_applied) return 'lost_race';
    this.watch.reportMove(batch.partition, batch.checkpoint);
    this.onCommit();
    return 'applied';
  }

  /** Lets everybody who waits for a checkpoint read it again, because another process may have moved it. */
  wakeWaiting(): void {
    this.watch.wake();
  }

  /** Returns false, and writes nothing, if another batch was applied since the partition was read. */
  private write({ partition, revision, checkpoint, writes, dead_letters, mark }: WriteBatch): boolean {
    const sql = `UPDATE checkpoints SET position = ?, revision = revision + 1
      WHERE lane = ? AND revision = ? AND position <= ?`;
    if (this.connection.run(sql, [checkpoint, partition, revision, checkpoint]).changes === 0) return false;
    // Another process may have created the indexes, which every write updates.
    this.indexed ||= isIndexed(this.connection, this.late_indexes);
    this.writeDocuments(this.oldestFirst(writes));
    this.generations.raise(partition, writes);
    if (mark) this.storeMark(partition, mark);
    if (!dead_letters) return true;
    this.connection.run('DELETE FROM parked WHERE lane = ?', [partition]);
    for (const dead_letter of dead_letters) this.addDeadLetter(dead_letter);
    return true;
  }

  /**
   * Sorts new documents as the index of words does. Each then takes the next rank, without a search for its rank between
   * others: the events of one millisecond are in no order.
   */
  private oldestFirst(writes: readonly DocumentWrite[]): DocumentWrite[] {
    const ageOf = ({ collection, id, document }: DocumentWrite): string => {
      const { words } = this.table(collection).spec;
      return words && document ? `${document.keys[words.newest_by]} ${id}` : '';
    };
    const aged = writes.map((write) => ({ write, age: ageOf(write) }));
    aged.sort((a, b) => (a.age < b.age ? -1 : Number(a.age > b.age)));
    return aged.map(({ write }) => write);
  }

  /** Writes the documents, and what the lists that they are in store of them. */
  private writeDocuments(writes: readonly DocumentWrite[]): void {
    const writers = new Map<Table, ListWriter | undefined>();
    for (const write of writes) {
      const table = this.table(write.collection);
      if (!writers.has(table)) writers.set(table, this.listWriter(table));
      const writer = writers.get(table);
      const before = writer?.entriesOf(write.id);
      this.writeOrRefuse(write);
      writer?.move(before!, writer.entriesOf(write.id));
    }
  }

  private listWriter(table: Table): ListWriter | undefined {
    const has_buckets = this.hasBuckets(table);
    return has_buckets || table.lists?.shared
      ? new ListWriter(this.connection, table, has_buckets)
      : undefined;
  }

  /** Throws `UnstorableDocumentError` if the declared keys or SQLite refuse the document. */
  private writeOrRefuse(write: DocumentWrite): void {
    const table = this.table(write.collection);
    try {
      writeDocument(this.connection, table, write, this.indexed);
    } catch (cause) {
      if (!isRefusedValue(cause)) throw cause;
      throw new UnstorableDocumentError(`${table.name} ${write.id}: ${cause.message}`, { cause });
    }
  }

  private storeMark(partition: number, { position, event_id }: LogMark): void {
    const sql = 'INSERT OR REPLACE INTO marks (lane, position, event_id) VALUES (?, ?, ?)';
    this.connection.run(sql, [partition, position, event_id]);
  }

  /** Stores the cause as a second line of the reason, because another column would be another format. */
  private addDeadLetter(dead_letter: DeadLetter): void {
    const { stream, partition, revision, position, reason, cause, failed_at } = dead_letter;
    this.connection.run(
      'INSERT OR REPLACE INTO parked (stream, lane, revision, position, reason, parked_at) VALUES (?, ?, ?, ?, ?, ?)',
      [stream, partition, revision, position, cause ? `${reason}\n${cause}` : reason, failed_at],
    );
  }

  async deadLetters(): Promise<DeadLetter[]> {
    const sql = `SELECT ${DEAD_LETTER_COLUMNS.join(', ')} FROM parked ORDER BY position`;
    return (await this.connection.attempt(() => this.connection.all(sql))).map(toDeadLetter);
  }

  /** Takes seconds for a large file, and holds the event loop meanwhile. */
  async checkData(): Promise<void> {
    await this.connection.attempt(() => this.connection.checkPages());
  }

  health(): Promise<StoreHealth> {
    return this.connection.health();
  }

  /** Returns whether the open file is no longer the one at its path. */
  isReplaced(): boolean {
    return this.connection.isReplaced();
  }

  /** Closes the file. Pending waits resolve false. */
  close(): void {
    this.closing.abort();
    this.watch.close();
    this.connection.close();
  }
}

function toDeadLetter([stream, partition, revision, position, text, failed_at]: SqlRow): DeadLetter {
  const [reason, cause] = String(text).split('\n');
  return {
    stream: stream as StreamName,
    partition: Number(partition),
    revision: Number(revision),
    position: BigInt(position!),
    reason: reason!,
    ...(cause !== undefined && { cause }),
    failed_at: String(failed_at),
  };
}
