import {
  type AnyBulkWriteOperation,
  BSON,
  type Collection,
  type Filter,
  type FindCursor,
  type FindOptions,
  type ReadPreferenceMode,
} from 'mongodb';
import type { CollectionName, StoredDocument, ViewDocument } from '../../catalog/documents';
import type { Position } from '../../catalog/events/envelope';
import { compareByOrder } from '../../catalog/sorting';
import { Batcher } from '../../kernel/async';
import { UnstorableDocumentError } from '../../kernel/errors';
import type { LogMark } from '../../ports/event-store';
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
  type WordMatch,
  type WordSearch,
  type WordSearchResult,
  type WriteBatch,
} from '../../ports/view-store';
import type { CheckpointNotifier } from '../checkpoint-notifier';
import {
  keysDiffer,
  notStoredError,
  type StoredCollection,
  type StoredKeys,
  storedCollection,
} from '../stored-collections';
import { BatchSize } from './batch-size';
import { isRefusedBatch, type MongoConnection, refusedWrites } from './connection';
import {
  documentsName,
  filterOf,
  fromStored,
  type MongoDocument,
  matchesWord,
  projectionOf,
  scopeFilter,
  sortOf,
  termsFilter,
  toStored,
} from './documents';
import { buildIndexes, indexEmptyCollections } from './indexes';
import { CheckpointWatch, Partitions } from './partitions';

interface Get {
  readonly collection: CollectionName;
  readonly id: string;
  readonly parts: readonly DocumentPart[];
}

type Outcome = 'applied' | 'lost_race';

/** The most documents that one query reads by id. */
const GETS_MAX = 100;
/** The most documents that one call reads or writes. */
const CALL_MAX = 1_000;
/** So many documents with each word are compared to find related documents (docs/interface.md#related). */
const COMPARED_MAX = 1_000;
/** Maximum size of the documents that one call writes. One document may be larger. */
const WRITE_BYTES_MAX = 4_000_000;

/** Stores one version of a realm's documents: the collections `<name>_v<version>` and `lanes_v<version>`. */
export class MongoViewVersion implements ViewVersion {
  readonly version: number;
  readonly upToDate: MongoViewVersion | undefined;
  private readonly connection: MongoConnection;
  private readonly read_preference: ReadPreferenceMode;
  private readonly stored: StoredKeys;
  private readonly collections = new Map<CollectionName, StoredCollection>();
  private readonly partitions: Partitions;
  private readonly watch: CheckpointWatch;
  private readonly notifier: CheckpointNotifier | undefined;
  private readonly read_size = new BatchSize(CALL_MAX);
  private readonly write_size = new BatchSize(CALL_MAX);
  private readonly gets = new Batcher((gets: readonly Get[]) => this.getAll(gets), GETS_MAX);

  constructor(
    connection: MongoConnection,
    version: number,
    stored: StoredKeys,
    read_preference: ReadPreferenceMode,
    notifier?: CheckpointNotifier,
  ) {
    this.connection = connection;
    this.version = version;
    this.stored = stored;
    this.read_preference = read_preference;
    // Checkpoints are read from the primary, and another member may not have the documents yet.
    this.upToDate =
      read_preference === 'primary'
        ? undefined
        : new MongoViewVersion(connection, version, stored, 'primary');
    this.partitions = new Partitions(connection, version);
    this.watch = new CheckpointWatch(() => this.partitions.checkpoints());
    this.notifier = notifier;
  }

  checkpoints(): Promise<Position[]> {
    return this.partitions.checkpoints();
  }

  mark(): Promise<LogMark | undefined> {
    return this.partitions.mark();
  }

  checkpoint(partition: number): Promise<Position> {
    return this.partitions.checkpoint(partition);
  }

  partition(partition: number): Promise<PartitionState> {
    return this.partitions.partition(partition);
  }

  async advanceIdle(moves: readonly CheckpointMove[]): Promise<number[]> {
    const moved = await this.partitions.advanceIdle(moves);
    this.reportMoves(moves.filter(({ partition }) => moved.includes(partition)));
    return moved;
  }

  async waitFor(partition: number, position: Position, timeout_ms: number): Promise<boolean> {
    if (timeout_ms <= 0) return (await this.partitions.checkpoint(partition)) >= position;
    this.notifier?.listen(this.version, (...move) => this.watch.reportMove(...move));
    return this.watch.wait(partition, position, timeout_ms);
  }

  /** Reports moves of this process to all processes. */
  private reportMoves(moves: readonly Pick<CheckpointMove, 'partition' | 'to'>[]): void {
    for (const { partition, to } of moves) this.watch.reportMove(partition, to);
    this.notifier?.publish(
      this.version,
      moves.map(({ partition, to }) => [partition, to]),
    );
  }

  async get(
    collection: CollectionName,
    id: string,
    parts: readonly DocumentPart[] = [],
  ): Promise<StoredDocument | undefined> {
    return this.gets.load(`${collection} ${parts.join()}`, { collection, id, parts });
  }

  /** Reads documents of one collection with the same parts in one query. */
  private async getAll(gets: readonly Get[]): Promise<(StoredDocument | undefined)[]> {
    const [{ collection, parts }] = gets as [Get, ...Get[]];
    const ids = gets.map(({ id }) => id);
    const by_id = await this.byId(collection, [...new Set(ids)], parts);
    return ids.map((id) => by_id.get(id));
  }

  /** Returns documents in the order of `ids`. A repeated id gives one document. */
  async getMany(
    collection: CollectionName,
    ids: readonly string[],
    parts: readonly DocumentPart[] = [],
  ): Promise<StoredDocument[]> {
    const distinct = [...new Set(ids)];
    if (distinct.length === 0) return [];
    const by_id = await this.byId(collection, distinct, parts);
    return distinct.flatMap((id) => by_id.get(id) ?? []);
  }

  private async byId(
    collection: CollectionName,
    ids: readonly string[],
    parts: readonly DocumentPart[],
  ): Promise<ReadonlyMap<string, StoredDocument>> {
    const found = await this.list(collection, { _id: { $in: [...ids] } }, parts);
    return new Map(found.map((document) => [document.id, document]));
  }

  async find(collection: CollectionName, query: ViewQuery): Promise<StoredDocument[]> {
    const filter = filterOf(this.collection(collection), query.where);
    const sort = sortOf(this.collection(collection), query.order);
    // MongoDB treats a limit of 0 as no limit.
    if (query.limit <= 0) return [];
    const { skip = 0, limit } = query;
    return this.list(collection, filter, query.parts ?? [], { sort, skip, limit });
  }

  async count(collection: CollectionName, where: ViewQuery['where']): Promise<number> {
    return this.countIn(collection, filterOf(this.collection(collection), where));
  }

  private async countIn(
    collection: CollectionName,
    filter: Filter<MongoDocument>,
    limit?: number,
  ): Promise<number> {
    const options = limit === undefined ? {} : { limit };
    return Number(
      await this.connection.run(() => this.documents(collection).countDocuments(filter, options)),
    );
  }

  /**
   * Reads the tiers of the search in order (`WordSearch`). A tier includes the matches of all earlier tiers, so it is
   * enough to exclude the previous one. MongoDB reads all matching documents and then sorts them, with one exception: a
   * search for one complete word, newest first, is read in order from an index.
   */
  async search(collection: CollectionName, query: WordSearch): Promise<WordSearchResult> {
    const { tiers, total_max, skip = 0 } = query;
    const filters = this.filtersOf(collection, query);
    const matching = { $and: [...filters, termsFilter(tiers.at(-1) ?? [])] };
    const total = total_max === undefined ? 0 : await this.countIn(collection, matching, total_max);
    const limit = total_max === undefined ? query.limit : Math.min(query.limit, total - skip);
    return { documents: await this.bestFirst(collection, { ...query, limit }), total, is_complete: true };
  }

  private async bestFirst(collection: CollectionName, query: WordSearch): Promise<StoredDocument[]> {
    const filters = this.filtersOf(collection, query);
    const found: StoredDocument[] = [];
    let { skip = 0 } = query;
    for (const [index, terms] of query.tiers.entries()) {
      const previous = query.tiers[index - 1];
      // If the previous tier has no terms, it matched every document, so later tiers add nothing.
      if (found.length >= query.limit || previous?.length === 0) break;
      const filter = {
        $and: [...filters, termsFilter(terms), ...(previous ? [{ $nor: [termsFilter(previous)] }] : [])],
      };
      const page = await this.list(collection, filter, query.parts ?? [], {
        sort: sortOf(this.collection(collection), query.order),
        skip,
        limit: query.limit - found.length,
      });
      found.push(...page);
      // An empty page means that `skip` passes over this whole tier.
      if (page.length > 0) skip = 0;
      else if (skip > 0) skip -= Math.min(skip, await this.countIn(collection, filter));
    }
    return found;
  }

  /** Reads the ids of the newest documents with each word, then the documents of the page. */
  async related(collection: CollectionName, query: RelatedQuery): Promise<StoredDocument[]> {
    const { words, order, skip = 0, limit, parts = [] } = query;
    if (limit <= 0) return [];
    const stored = this.collection(collection);
    const filters = this.filtersOf(collection, query);
    const newest = sortOf(stored, [...order.map(([key]) => [key, 'desc'] as const)]);
    const projection = { k: 1, exact_keys: 1 };
    const found = await Promise.all(
      words.map((word) =>
        this.list(collection, { $and: [...filters, { words: word }] }, [], {
          ...{ sort: newest, limit: COMPARED_MAX, projection },
        }),
      ),
    );
    const shared = new Map<
      string,
      { readonly id: string; readonly keys: ViewDocument['keys']; count: number }
    >();
    for (const { id, document } of found.flat()) {
      const one = shared.get(id) ?? { id, keys: document?.keys ?? {}, count: 0 };
      one.count++;
      shared.set(id, one);
    }
    const nearest = [...shared.values()].sort((a, b) => b.count - a.count || compareByOrder(order, a, b));
    const ids = nearest.slice(skip, skip + limit).map(({ id }) => id);
    if (ids.length < limit) {
      const others = { $and: [...filters, { _id: { $nin: [...shared.keys()] } }] };
      const rest = await this.list(collection, others, [], {
        ...{ sort: sortOf(stored, order), skip: Math.max(0, skip - shared.size), projection },
        limit: limit - ids.length,
      });
      ids.push(...rest.map(({ id }) => id));
    }
    const page = await this.list(collection, { $and: [...filters, { _id: { $in: ids } }] }, parts);
    return page.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id));
  }

  /**
   * Reads one document at a time: any that contains one of the words or prefixes not found so far. Each read finds at
   * least one more of them, so there are at most `matches.length` + 1 reads.
   */
  async matchingWords(
    collection: CollectionName,
    { scope, matches, limit }: MatchingWordsQuery,
  ): Promise<WordMatch[]> {
    const in_scope = scopeFilter(this.collection(collection), scope);
    const matched = new Set<WordMatch>();
    let remaining = matches;
    while (remaining.length > 0) {
      const filter = { $and: [in_scope, termsFilter([remaining])] };
      const [found] = await this.list(collection, filter, ['words'], { limit: 1 });
      const words = found?.document?.words;
      if (!words) break;
      for (const match of remaining) if (matchesWord(words, match)) matched.add(match);
      // If the result is full, matches after its last one cannot become part of it.
      const result = matches.filter((match) => matched.has(match)).slice(0, limit);
      const end = result.length < limit ? matches.length : matches.indexOf(result.at(-1)!);
      remaining = matches.slice(0, end).filter((match) => !matched.has(match));
    }
    return matches.filter((match) => matched.has(match)).slice(0, limit);
  }

  private filtersOf(collection: CollectionName, { scope, where }: Pick<WordSearch, 'scope' | 'where'>) {
    const stored = this.collection(collection);
    return [scopeFilter(stored, scope), filterOf(stored, where)];
  }

  async scan(
    collection: CollectionName,
    options: { where?: ViewQuery['where']; after_id?: string; limit: number },
  ): Promise<StoredDocument[]> {
    const { where = {}, after_id, limit } = options;
    const condition = Object.keys(where).length > 0 ? filterOf(this.collection(collection), where) : {};
    const filter = after_id === undefined ? condition : { $and: [condition, { _id: { $gt: after_id } }] };
    if (limit <= 0) return [];
    return this.list(collection, filter, ALL_PARTS, { sort: { _id: 1 }, limit });
  }

  async apply(batch: WriteBatch): Promise<'applied' | 'lost_race'> {
    if (keysDiffer(this.stored))
      throw new Error(`view version ${this.version} was created with other keys: rebuild it`);
    if (!(await this.partitions.hasExpectedDeadLetters(batch))) return 'lost_race';
    for (const phase of batch.phases) {
      const outcome = await this.writePhase(phase);
      if (outcome === 'lost_race') return outcome;
    }
    if (!(await this.partitions.advance(batch))) return 'lost_race';
    this.reportMoves([batch]);
    return 'applied';
  }

  /**
   * Writes the documents of a phase in parallel, each by compare-and-set. Resolves when every write is durable or refused.
   * Returns `lost_race` if a document was not at its expected position; the other documents are written anyway. Throws
   * `UnstorableDocumentError` if the server refuses a document because of its content, because a retry would fail again.
   */
  private async writePhase(phase: readonly DocumentWrite[]): Promise<Outcome> {
    const results = await Promise.allSettled(
      [...byCollection(phase)].map(([name, writes]) => this.writeCollection(name, writes)),
    );
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
    return results.every((result) => result.status === 'fulfilled' && result.value === 'applied')
      ? 'applied'
      : 'lost_race';
  }

  /** Writes the documents in several calls. What one call has stored stays, also if a later one fails. */
  private async writeCollection(name: CollectionName, writes: readonly DocumentWrite[]): Promise<Outcome> {
    let outcome: Outcome = 'applied';
    for (let start = 0; start < writes.length; ) {
      const chunk = this.nextChunk(name, writes, start);
      if ((await this.writeChunk(name, chunk)) === 'lost_race') outcome = 'lost_race';
      start += chunk.length;
    }
    return outcome;
  }

  /** Returns the writes from `start` that one call makes: as many as the server takes quickly, and at least one. */
  private nextChunk(name: CollectionName, writes: readonly DocumentWrite[], start: number): PreparedWrite[] {
    const chunk: PreparedWrite[] = [];
    let bytes = 0;
    for (const write of writes.slice(start, start + this.write_size.documents)) {
      const document = toStoredOrRefuse(this.collection(name), write);
      bytes += BSON.calculateObjectSize(document);
      if (chunk.length > 0 && bytes > WRITE_BYTES_MAX) break;
      chunk.push({ write, document });
    }
    return chunk;
  }

  private async writeChunk(name: CollectionName, chunk: readonly PreparedWrite[]): Promise<Outcome> {
    const collection = this.documents(name, 'primary');
    const operations = chunk.map(toOperation);
    const writes = chunk.map(({ write }) => write);
    const replace_count = writes.filter(({ expected }) => expected !== null).length;
    const started_ms = performance.now();
    try {
      return await this.connection.run(async () => {
        try {
          const result = await collection.bulkWrite(operations, { ordered: false });
          return result.matchedCount === replace_count ? 'applied' : 'lost_race';
        } catch (error) {
          return await lostRaceOrThrow(error, name, collection, writes);
        }
      });
    } finally {
      this.write_size.report(chunk.length, performance.now() - started_ms);
    }
  }

  async createIndexes(onProgress: (progress: IndexProgress) => void): Promise<void> {
    const missing = await indexEmptyCollections(this.connection, this.version);
    await buildIndexes(this.connection, missing, onProgress);
  }

  deadLetters(): Promise<DeadLetter[]> {
    return this.partitions.deadLetters();
  }

  /** Throws `CatalogError('unavailable')` if the version was created without the collection. */
  private collection(name: CollectionName): StoredCollection {
    const cached = this.collections.get(name);
    if (cached) return cached;
    if (this.stored[name] === undefined) throw notStoredError(name);
    const collection = storedCollection(name, this.stored);
    this.collections.set(name, collection);
    return collection;
  }

  private documents(collection: CollectionName, read_preference = this.read_preference) {
    return this.connection.collection<MongoDocument>(
      documentsName(collection, this.version),
      read_preference,
    );
  }

  private async list(
    collection: CollectionName,
    filter: Filter<MongoDocument>,
    parts: readonly DocumentPart[],
    options: FindOptions = {},
  ): Promise<StoredDocument[]> {
    const stored = this.collection(collection);
    const found: MongoDocument[] = [];
    // A cursor returns at most 101 documents in its first batch by default. A larger batch saves round trips.
    const size = this.read_size.documents;
    const cursor = this.documents(collection).find(filter, {
      projection: projectionOf(parts),
      ...options,
      batchSize: size,
    });
    try {
      // The deadline holds for each batch. The time of all batches depends on how many documents there are.
      for (let count = size; count > 0; found.push(...cursor.readBufferedDocuments(count)))
        count = await this.readBatch(cursor, size);
    } finally {
      await cursor.close().catch(() => undefined);
    }
    const as_text = parts.includes('json');
    return found.map((document) => fromStored(stored, document, as_text));
  }

  /** Waits for the next batch. Returns its number of documents, 0 at the end. */
  private async readBatch(cursor: FindCursor, size: number): Promise<number> {
    const started_ms = performance.now();
    let count = size;
    try {
      await this.connection.run(() => cursor.hasNext());
      count = cursor.bufferedCount();
      return count;
    } finally {
      this.read_size.report(count, performance.now() - started_ms);
    }
  }
}

function byCollection(phase: readonly DocumentWrite[]): Map<CollectionName, DocumentWrite[]> {
  const groups = new Map<CollectionName, DocumentWrite[]>();
  for (const write of phase) {
    const group = groups.get(write.collection);
    if (group) group.push(write);
    else groups.set(write.collection, [write]);
  }
  return groups;
}

interface PreparedWrite {
  readonly write: DocumentWrite;
  readonly document: MongoDocument;
}

function toOperation({ write, document }: PreparedWrite): AnyBulkWriteOperation<MongoDocument> {
  if (write.expected === null) return { insertOne: { document } };
  const { _id, ...replacement } = document;
  return { replaceOne: { filter: { _id, position: write.expected }, replacement } };
}

/**
 * Returns `lost_race` if writes have only failed because of a lost race. Throws `UnstorableDocumentError` if the server
 * or the driver refuses a document, and any other error unchanged.
 */
async function lostRaceOrThrow(
  error: unknown,
  name: CollectionName,
  collection: Collection<MongoDocument>,
  writes: readonly DocumentWrite[],
): Promise<'lost_race'> {
  if (isRefusedBatch(error)) throw new UnstorableDocumentError(`${name}: ${error.message}`, { cause: error });
  const refused = refusedWrites(error);
  if (!refused) throw error;
  const other = refused.find(({ is_duplicate_key }) => !is_duplicate_key);
  const refused_writes = refused.map(({ index }) => writes[index]!);
  if (!other && (await allExist(collection, refused_writes))) return 'lost_race';
  const { index, reason } = other ?? refused[0]!;
  throw new UnstorableDocumentError(`${name} ${writes[index]!.id}: ${reason}`, { cause: error });
}

/** Converts the document. Throws `UnstorableDocumentError` if it has an unknown key or one of another kind. */
function toStoredOrRefuse(collection: StoredCollection, write: DocumentWrite): MongoDocument {
  try {
    return toStored(collection, write);
  } catch (cause) {
    throw new UnstorableDocumentError(`${collection.name} ${write.id}: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/**
 * Returns true if every refused write was an insert of a document that exists now: a lost race. Otherwise another
 * document has the same unique key. The error message would show the difference, too, but servers that are compatible
 * with MongoDB have other messages. So this function reads the documents.
 */
async function allExist(
  collection: Collection<MongoDocument>,
  refused_writes: readonly DocumentWrite[],
): Promise<boolean> {
  if (refused_writes.some(({ expected }) => expected !== null)) return false;
  const ids = refused_writes.map(({ id }) => id);
  const found = await collection.find({ _id: { $in: ids } }, { projection: { _id: 1 } }).toArray();
  return found.length === new Set(ids).size;
}
