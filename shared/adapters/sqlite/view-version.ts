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
import { ChangeSignal } from './change-signal';
import { CheckpointWaiters } from './checkpoint-waiters';
import { Connection, type SqlRow } from './connection';
import { writeDocument } from './document-writer';
import { DOCUMENTS_SCHEMA, documentsSchema, selected, tables, toDocuments } from './documents';
import { countQuery, inOrder, matchesNothing, pageQuery, type Query, scanQuery } from './page-query';
import { addIndexes, EARLY_INDEXES, earlyIndexes, isIndexed } from './version-indexes';
import { countFitting, knownMatches, searchPage } from './word-search';
import { searchableSchema } from './words';

const SEARCHED = Object.values(tables).flatMap(({ name, spec }) => (spec.words ? [name] : []));

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
  ${DOCUMENTS_SCHEMA};
  ${EARLY_INDEXES}`;

/** Of the tables here; what stands in the documents is versioned by whoever projects them. */
const FORMAT = 3;
/**
 * Format 1 could not be searched, format 2 had no media. Their documents go on being read until they are made anew.
 */
const MEDIA_TABLES = ['media', 'media_uses'] as const;
const MEDIA = `${documentsSchema(MEDIA_TABLES)}; ${earlyIndexes(MEDIA_TABLES)}`;
const UPGRADES = { 1: `${SEARCHED.map(searchableSchema).join(';')}; ${MEDIA}`, 2: MEDIA };
const PARKED = ['stream', 'lane', 'revision', 'position', 'reason', 'parked_at'] as const;
const IDS_PER_STATEMENT = 1_000;
const BY_ID: SortOrder = [['id', 'asc']];

/** Undoes a batch whose documents or checkpoint were not as expected. */
class LostRace extends Error {}

/** One version of a realm's documents, in a file of its own. */
export class SqliteViewVersion implements ViewVersion {
  readonly version: number;
  private readonly connection: Connection;
  private readonly changes: ChangeSignal;
  private readonly waiters: CheckpointWaiters;
  /** Whether all indexes are there: a version that is being made has a few. */
  private indexed = false;

  private constructor(version: number, connection: Connection) {
    this.version = version;
    this.connection = connection;
    this.changes = new ChangeSignal(() => connection.dataVersion());
    this.waiters = new CheckpointWaiters(this.changes, () => this.readCheckpoints());
  }

  static async open(version: number, file: string, lane_count: number): Promise<SqliteViewVersion> {
    const lanes = Array.from({ length: lane_count }, (_, lane) => `(${lane}, 0)`);
    const schema = `${SCHEMA}; INSERT INTO checkpoints (lane, position) VALUES ${lanes.join(', ')}`;
    // A power cut may undo the newest batches, documents and checkpoint alike: the log gives them again.
    const options = { synchronous: 'NORMAL', schema, format: FORMAT, upgrades: UPGRADES } as const;
    const connection = await Connection.open(file, options);
    const opened = new SqliteViewVersion(version, connection);
    opened.indexed = await connection.attempt(() => isIndexed(connection));
    return opened;
  }

  /** Makes ready for reads what was made without most indexes; nothing to do for a version that has them. */
  async index(): Promise<void> {
    if (this.indexed) return;
    await addIndexes(this.connection);
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
    const table = tables[collection];
    const sql = `SELECT ${selected(table, parts)} FROM ${table.name} AS d WHERE d.id = ?`;
    const row = await this.connection.attempt(() => this.connection.first(sql, [id]));
    return row && toDocuments(table, parts, [row])[0];
  }

  async getMany(
    collection: CollectionName,
    ids: readonly string[],
    parts: readonly DocumentPart[] = [],
  ): Promise<StoredDocument[]> {
    const table = tables[collection];
    const sql = `SELECT ${selected(table, parts)}
      FROM json_each(?) AS asked CROSS JOIN ${table.name} AS d ON d.id = asked.value`;
    const distinct = [...new Set(ids)];
    const documents: StoredDocument[] = [];
    for (let start = 0; start < distinct.length; start += IDS_PER_STATEMENT) {
      const some = JSON.stringify(distinct.slice(start, start + IDS_PER_STATEMENT));
      documents.push(...(await this.read(collection, parts, { sql, parameters: [some] })));
    }
    return documents;
  }

  async find(collection: CollectionName, query: ViewQuery): Promise<StoredDocument[]> {
    if (query.limit <= 0 || matchesNothing(query.where)) return [];
    const documents = await this.read(collection, query.parts ?? [], pageQuery(tables[collection], query));
    return inOrder(documents, query.order);
  }

  async count(collection: CollectionName, where: ViewQuery['where']): Promise<number> {
    const { sql, parameters } = countQuery(tables[collection], where);
    return Number(await this.connection.attempt(() => this.connection.value(sql, parameters)));
  }

  async search(collection: CollectionName, query: WordSearch): Promise<StoredDocument[]> {
    await this.index();
    return this.connection.attempt(() => searchPage(this.connection, collection, query));
  }

  async countWords(collection: CollectionName, query: WordCount): Promise<number> {
    await this.index();
    return this.connection.attempt(() => countFitting(this.connection, collection, query));
  }

  async knownWords(collection: CollectionName, query: KnownWordsQuery): Promise<WordMatch[]> {
    await this.index();
    return this.connection.attempt(() => knownMatches(this.connection, collection, query));
  }

  async scan(
    collection: CollectionName,
    options: { where?: ViewQuery['where']; after_id?: string; limit: number },
  ): Promise<StoredDocument[]> {
    const query = scanQuery(tables[collection], options, ALL_PARTS);
    return inOrder(await this.read(collection, ALL_PARTS, query), BY_ID);
  }

  private async read(
    collection: CollectionName,
    parts: readonly DocumentPart[],
    { sql, parameters }: Query,
  ): Promise<StoredDocument[]> {
    const rows = await this.connection.attempt(() => this.connection.all(sql, parameters));
    return toDocuments(tables[collection], parts, rows);
  }

  async apply(batch: WriteBatch): Promise<'applied' | 'lost_race'> {
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
      if (!writeDocument(this.connection, write, this.indexed)) throw new LostRace();
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
