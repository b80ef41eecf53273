import {
  type AnyBulkWriteOperation,
  BSON,
  type Document,
  type Filter,
  type FindCursor,
  type FindOptions,
  type ReadPreferenceMode,
} from 'mongodb';
import type { CollectionName, StoredDocument, ViewDocument } from '../../catalog/documents';
import type { Position } from '../../catalog/events/envelope';
import { partitionOf } from '../../catalog/events/partitions';
import { compareByOrder, isAfter } from '../../catalog/sorting';
import { Batcher } from '../../kernel/async';
import { UnstorableDocumentError } from '../../kernel/errors';
import type { LogMark } from '../../ports/event-store';
import {
  ALL_PARTS,
  type CheckpointMove,
  type DeadLetter,
  type DocumentPart,
  type DocumentWrite,
  isUnitCondition,
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
import { variantsIn } from '../key-conditions';
import {
  keysDiffer,
  notStoredError,
  type StoredCollection,
  type StoredKeys,
  storedCollection,
} from '../stored-collections';
import { BatchSize } from './batch-size';
import { isDuplicateKey, type MongoConnection } from './connection';
import {
  documentsName,
  filterAfter,
  filterOf,
  fromStored,
  listsIn,
  type MongoDocument,
  matchesWord,
  projectionOf,
  scopeFilter,
  sortOf,
  termsFilter,
  toStored,
  unitFilter,
} from './documents';
import { Journals, type JournalWrite } from './journal';
import { Partitions, type PendingBatch } from './partitions';

interface Get {
  readonly collection: CollectionName;
  readonly id: string;
  readonly parts: readonly DocumentPart[];
}

/** The most documents that one query reads by id. */
const GETS_MAX = 100;
/** The most documents that one call reads or writes. */
const CALL_MAX = 1_000;
/** So many documents with each word are compared to find related documents (docs/interface/search.md#related). */
const COMPARED_MAX = 1_000;
/** Maximum size of the documents that one call writes. One document may be larger. */
const WRITE_BYTES_MAX = 4_000_000;
/** Maximum size of a document: that of MongoDB, less what the chunk of a journal adds to it. */
const DOCUMENT_BYTES_MAX = 16_777_216 - 16_384;

/** Stores one version of a realm's documents: in collections that end in `_v<version>`. */
export class MongoViewVersion implements ViewVersion {
  readonly version: number;
  readonly upToDate: MongoViewVersion | undefined;
  /**
   * Absent if documents are read from members other than the primary, which may be behind the revisions of the primary.
   */
  readonly generation?: (stores: readonly string[]) => Promise<number>;
  private readonly connection: MongoConnection;
  private readonly read_preference: ReadPreferenceMode;
  private readonly stored: StoredKeys;
  private readonly collections = new Map<CollectionName, StoredCollection>();
  private readonly partitions: Partitions;
  private readonly journals: Journals;
  private readonly watch: CheckpointWatch;
  private readonly read_size = new BatchSize(CALL_MAX);
  private readonly write_size = new BatchSize(CALL_MAX);
  private readonly gets = new Batcher((gets: readonly Get[]) => this.getAll(gets), GETS_MAX);

  constructor(
    connection: MongoConnection,
    version: number,
    stored: StoredKeys,
    partition_count: number,
    read_preference: ReadPreferenceMode,
  ) {
    this.connection = connection;
    this.version = version;
    this.stored = stored;
    this.read_preference = read_preference;
    // Checkpoints are read from the primary, and another member may not have the documents yet.
    this.upToDate =
      read_preference === 'primary'
        ? undefined
        : new MongoViewVersion(connection, version, stored, partition_count, 'primary');
    this.partitions = new Partitions(connection, version);
    this.journals = new Journals(connection, version, this.write_size);
    this.watch = new CheckpointWatch(() => this.partitions.checkpoints());
    if (read_preference === 'primary') {
      const revisions = new Batcher((partitions: readonly number[]) => this.partitions.revisions(partitions));
      this.generation = async (stores) => {
        const partitions = new Set(stores.map((store_id) => partitionOf(store_id, partition_count)));
        const found = await Promise.all([...partitions].map((partition) => revisions.load('', partition)));
        return found.reduce((sum, revision) => sum + revision, 0);
      };
    }
  }

  /** Pending waits resolve false. */
  close(): void {
    this.watch.close();
    this.upToDate?.close();
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

  async partition(partition: number): Promise<PartitionState> {
    for (let completed: string | undefined; ; ) {
      const { state, pending } = await this.partitions.read(partition);
      if (!pending) return state;
      // The journal is stored before its batch is decided, and removed after another batch.
      if (pending.journal === completed) throw new Error(`the journal ${completed} is incomplete`);
      const writes = await this.journals.read(pending);
      if (writes) await this.complete(partition, pending, writes);
      completed = pending.journal;
    }
  }

  async advanceIdle(moves: readonly CheckpointMove[]): Promise<number[]> {
    const moved = await this.partitions.advanceIdle(moves);
    for (const { partition, to } of moves)
      if (moved.includes(partition)) this.watch.reportMove(partition, to);
    return moved;
  }

  async waitFor(partition: number, position: Position, timeout_ms: number): Promise<boolean> {
    if (timeout_ms <= 0) return (await this.partitions.checkpoint(partition)) >= position;
    return this.watch.wait(partition, position, timeout_ms);
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
    const found = new Map<string, StoredDocument>();
    for (let at = 0, count = 0; at < ids.length; at += count) {
      count = this.read_size.documents;
      const $in = ids.slice(at, at + count);
      for (const stored of await this.list(collection, { _id: { $in } }, parts)) found.set(stored.id, stored);
    }
    return found;
  }

  async find(collection: CollectionName, query: ViewQuery): Promise<StoredDocument[]> {
    const stored = this.collection(collection);
    return this.page(collection, filterOf(stored, query.where), query);
  }

  /** Reads a page of the documents that match `filter`, which contains the conditions of the query. */
  private async page(
    collection: CollectionName,
    filter: Filter<MongoDocument>,
    query: ViewQuery,
  ): Promise<StoredDocument[]> {
    const stored = this.collection(collection);
    const { where, order, skip = 0, limit, parts = [] } = query;
    // MongoDB treats a limit of 0 as no limit.
    if (limit <= 0) return [];
    const lists = listsIn(stored, where);
    if (lists && order[0]?.[0] === stored.spec.lists!.shared!.rank)
      return this.rankedPage(collection, filter, query, lists);
    const from = filterAfter(stored, filter, query);
    return this.list(collection, from, parts, { sort: sortOf(stored, order, where), skip, limit });
  }

  /**
   * Reads a page of lists in which ranked documents come first. The keys of all ranked documents are read and sorted here,
   * because their ranks in a list are in no field by which MongoDB sorts.
   */
  private async rankedPage(
    collection: CollectionName,
    filter: Filter<MongoDocument>,
    { where, order, skip = 0, limit, parts = [], after }: ViewQuery,
    lists: readonly string[],
  ): Promise<StoredDocument[]> {
    const { variants, ...spec } = this.collection(collection).spec.lists!;
    const shared = spec.shared!;
    const named = variantsIn(variants, where);
    const rankOf = (keys: ViewDocument['keys']): number => {
      const ranks = shared.ranksOf(keys);
      return Math.min(...lists.map((list) => ranks.get(list) ?? shared.rank_max));
    };
    const seenKeys = (keys: ViewDocument['keys']): ViewDocument['keys'] => {
      const inside = named.filter(({ without }) => !without);
      const values = inside.map(({ kind, variant }) => kind.valuesOf(keys).get(variant));
      return Object.assign({ ...keys }, ...values, { [shared.rank]: rankOf(keys) });
    };
    const projection = { position: 1, k: 1, exact_keys: 1 };
    const in_ranked = { $and: [filter, { ranked: { $in: lists } }] };
    const ranked = (await this.list(collection, in_ranked, [], { projection }))
      .map(({ id, document }) => ({ id, keys: seenKeys(document!.keys) }))
      .sort((a, b) => compareByOrder(order, a, b));
    const from = after ? ranked.filter((one) => isAfter(order, one, after)) : ranked;
    const ids = from.slice(skip, skip + limit).map(({ id }) => id);
    const found = await this.getMany(collection, ids, parts);
    if (ids.length === limit || (where[shared.rank] !== undefined && where[shared.rank] !== shared.rank_max))
      return found;
    const [rank, ...place] = after ?? [];
    const others = await this.page(
      collection,
      { $and: [filter, { ranked: { $nin: lists } }] },
      {
        where: Object.fromEntries(named.map(({ kind }) => [kind.name, where[kind.name]!])),
        order: order.slice(1),
        skip: Math.max(0, skip - from.length),
        limit: limit - ids.length,
        parts,
        ...(rank === shared.rank_max && { after: place }),
      },
    );
    return [...found, ...others];
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
    const { tiers, total_max, is_exhaustive = false, skip = 0 } = query;
    const filters = this.filtersOf(collection, query);
    const matching = { $and: [...filters, termsFilter(tiers.at(-1) ?? [])] };
    const is_counted = is_exhaustive || total_max !== undefined;
    const total = is_counted ? await this.countIn(collection, matching, total_max) : 0;
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
      const page = await this.page(collection, filter, { ...query, skip, limit: query.limit - found.length });
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

  async countWords(collection: CollectionName, query: WordCountsQuery): Promise<readonly WordCounts[]> {
    const found: WordCounts[] = [];
    for (const prefix of query.prefixes) found.push(await this.countWith(prefix, collection, query));
    return found;
  }

  private async countWith(
    prefix: string,
    collection: CollectionName,
    { terms, limit, of_units, ...query }: WordCountsQuery,
  ): Promise<WordCounts> {
    const has_prefix = { $and: [{ $gte: ['$$word', prefix] }, { $lt: ['$$word', `${prefix}\u{10ffff}`] }] };
    const { units } = query.where;
    const pipeline = [
      { $match: { $and: [...this.filtersOf(collection, query), termsFilter(terms)] } },
      ...(of_units && isUnitCondition(units)
        ? [
            { $unwind: '$units' },
            { $match: unitFilter(units, 'units.') },
            { $unwind: '$units.labels' },
            { $group: { _id: '$_id', words: { $addToSet: '$units.labels' } } },
          ]
        : []),
      { $project: { words: { $filter: { input: '$words', as: 'word', cond: has_prefix } } } },
      { $unwind: '$words' },
      { $group: { _id: '$words', count: { $sum: 1 } } },
      { $sort: { count: -1, _id: 1 } },
      { $limit: limit },
    ];
    const counts = await this.connection.run(() =>
      this.documents(collection).aggregate<{ _id: string; count: number }>(pipeline).toArray(),
    );
    return {
      counts: counts.map(({ _id, count }) => ({ word: _id, count: Number(count) })),
      is_complete: true,
    };
  }

  private filtersOf(
    collection: CollectionName,
    { scope, where, excluded = [] }: Pick<WordSearch, 'scope' | 'where' | 'excluded'>,
  ) {
    const stored = this.collection(collection);
    const without = excluded.length > 0 ? [{ words: { $nin: [...excluded] } }] : [];
    return [scopeFilter(stored, scope), filterOf(stored, where), ...without];
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
    const { partition, revision, checkpoint } = batch;
    const writes = batch.writes.map((write) => this.toJournalWrite(write));
    if (writes.length === 0) {
      if (!(await this.partitions.applyAlone(batch))) return 'lost_race';
    } else {
      const journal = await this.journals.write(partition, revision, this.chunksOf(writes));
      const pending = await this.partitions.decide(batch, journal);
      if (!pending) return 'lost_race';
      await this.complete(partition, pending, writes);
    }
    this.watch.reportMove(partition, checkpoint);
    return 'applied';
  }

  /** Writes the documents of a decided batch, and then ends it. Several processes may do so at the same time. */
  private async complete(
    partition: number,
    pending: PendingBatch,
    writes: readonly JournalWrite[],
  ): Promise<void> {
    const by_collection = new Map<CollectionName, JournalWrite[]>();
    for (const write of writes) {
      const others = by_collection.get(write.collection);
      if (others) others.push(write);
      else by_collection.set(write.collection, [write]);
    }
    await Promise.all([...by_collection].map(([name, found]) => this.writeDocuments(name, found)));
    await this.partitions.complete(partition, pending);
  }

  /** Writes each document unless it is stored at the same or a later position. */
  private async writeDocuments(name: CollectionName, writes: readonly JournalWrite[]): Promise<void> {
    const collection = this.documents(name, 'primary');
    for (const chunk of this.chunksOf(writes)) {
      const operations = chunk.map(toOperation);
      const write = async (): Promise<void> => {
        try {
          await collection.bulkWrite(operations, { ordered: false });
        } catch (error) {
          // A document is stored at the same or a later position: another process has completed the batch.
          if (!isDuplicateKey(error)) throw error;
        }
      };
      await this.write_size.measure(chunk.length, () => this.connection.run(write));
    }
  }

  /** Divides the documents into chunks that the server takes quickly. A chunk has at least one. */
  private chunksOf<Item extends Document>(items: readonly Item[]): Item[][] {
    const chunks: Item[][] = [];
    let bytes = 0;
    for (const item of items) {
      const size = BSON.calculateObjectSize(item);
      const chunk = chunks.at(-1);
      const is_full = !chunk || chunk.length >= this.write_size.documents || bytes + size > WRITE_BYTES_MAX;
      if (is_full) chunks.push([item]);
      else chunk.push(item);
      bytes = is_full ? size : bytes + size;
    }
    return chunks;
  }

  /**
   * Throws `UnstorableDocumentError` if the document has an unknown key or one of another kind, or if it is too large.
   * After the batch is decided, this would be too late.
   */
  private toJournalWrite(write: DocumentWrite): JournalWrite {
    const { collection, id, is_new = false, is_removed = false } = write;
    const stored = this.collection(collection);
    try {
      const document = toStored(stored, write);
      const size = BSON.calculateObjectSize(document);
      if (size > DOCUMENT_BYTES_MAX) throw new Error(`the document is too large: ${size} bytes`);
      return { collection, document, is_new, is_removed };
    } catch (cause) {
      throw new UnstorableDocumentError(`${collection} ${id}: ${(cause as Error).message}`, { cause });
    }
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

/** Replaces a stored document if its position is lower. An upsert for a new one would look for it first. */
function toOperation({ document, is_new, is_removed }: JournalWrite): AnyBulkWriteOperation<MongoDocument> {
  if (is_new) return { insertOne: { document } };
  const { _id, ...replacement } = document;
  const filter = { _id, position: { $lt: document.position } };
  return is_removed ? { deleteOne: { filter } } : { replaceOne: { filter, replacement, upsert: true } };
}
