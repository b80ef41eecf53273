import type { AnyBulkWriteOperation, Collection, Filter, FindOptions, ReadPreferenceMode } from 'mongodb';
import type { CollectionName, StoredDocument } from '../../catalog/documents';
import type { Position } from '../../catalog/events/envelope';
import { Batcher } from '../../kernel/async';
import {
  ALL_PARTS,
  type DocumentPart,
  type DocumentWrite,
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
import {
  keysDiffer,
  notStored,
  type StoredCollection,
  type StoredKeys,
  storedCollection,
} from '../stored-collections';
import { duplicatesIn, type MongoConnection } from './connection';
import {
  filterOf,
  fits,
  fromStored,
  type MongoDocument,
  projectionOf,
  scopeFilter,
  sortOf,
  termsFilter,
  toStored,
} from './documents';
import { CheckpointWatch, Lanes } from './lanes';

interface Get {
  readonly collection: CollectionName;
  readonly id: string;
  readonly parts: readonly DocumentPart[];
}

type Outcome = 'applied' | 'lost_race';

/** Within the first batch that a server gives. */
const GETS_MAX = 100;

/** The collections `<name>_v<version>` and `lanes_v<version>` of a realm's database. */
export class MongoViewVersion implements ViewVersion {
  readonly version: number;
  private readonly connection: MongoConnection;
  private readonly read_preference: ReadPreferenceMode;
  private readonly stored: StoredKeys;
  private readonly collections = new Map<CollectionName, StoredCollection>();
  private readonly lanes: Lanes;
  private readonly watch: CheckpointWatch;
  private readonly gets = new Batcher((asked: readonly Get[]) => this.getTogether(asked), GETS_MAX);

  constructor(
    connection: MongoConnection,
    version: number,
    stored: StoredKeys,
    read_preference: ReadPreferenceMode,
  ) {
    this.connection = connection;
    this.version = version;
    this.stored = stored;
    this.read_preference = read_preference;
    this.lanes = new Lanes(connection, version);
    this.watch = new CheckpointWatch(() => this.lanes.checkpoints());
  }

  checkpoints(): Promise<Position[]> {
    return this.lanes.checkpoints();
  }

  checkpoint(lane: number): Promise<Position> {
    return this.lanes.checkpoint(lane);
  }

  lane(lane: number): Promise<LaneState> {
    return this.lanes.lane(lane);
  }

  async moveOn(moves: readonly LaneMove[]): Promise<number[]> {
    const there = await this.lanes.moveOn(moves);
    for (const { lane, to } of moves) if (there.includes(lane)) this.watch.moved(lane, to);
    return there;
  }

  async waitFor(lane: number, position: Position, timeout_ms: number): Promise<boolean> {
    if (timeout_ms <= 0) return (await this.lanes.checkpoint(lane)) >= position;
    return this.watch.wait(lane, position, timeout_ms);
  }

  async get(
    collection: CollectionName,
    id: string,
    parts: readonly DocumentPart[] = [],
  ): Promise<StoredDocument | undefined> {
    return this.gets.load(`${collection} ${parts.join()}`, { collection, id, parts });
  }

  /** All of one collection, with the same parts. */
  private async getTogether(asked: readonly Get[]): Promise<(StoredDocument | undefined)[]> {
    const [{ collection, parts }] = asked as [Get, ...Get[]];
    const ids = asked.map(({ id }) => id);
    const by_id = await this.byId(collection, [...new Set(ids)], parts);
    return ids.map((id) => by_id.get(id));
  }

  /** In the order of `ids`; an id that is there twice is answered once. */
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
    // MongoDB takes a limit of 0 for none.
    if (query.limit <= 0) return [];
    const { skip = 0, limit } = query;
    return this.list(collection, filter, query.parts ?? [], { sort, skip, limit });
  }

  async count(collection: CollectionName, where: ViewQuery['where']): Promise<number> {
    return this.countIn(collection, filterOf(this.collection(collection), where));
  }

  private async countIn(collection: CollectionName, filter: Filter<MongoDocument>): Promise<number> {
    return Number(await this.connection.run(() => this.documents(collection).countDocuments(filter)));
  }

  /**
   * Tier by tier, each without what the one before it fits. MongoDB reads the documents that fit before it sorts
   * them, but where one whole word is asked for, newest first.
   */
  async search(collection: CollectionName, query: WordSearch): Promise<StoredDocument[]> {
    const within = this.filtersOf(collection, query);
    const found: StoredDocument[] = [];
    let { skip = 0 } = query;
    for (const [index, terms] of query.tiers.entries()) {
      const before = query.tiers[index - 1];
      // What fits everything leaves nothing to the tiers after it.
      if (found.length >= query.limit || before?.length === 0) break;
      const filter = {
        $and: [...within, termsFilter(terms), ...(before ? [{ $nor: [termsFilter(before)] }] : [])],
      };
      const page = await this.list(collection, filter, query.parts ?? [], {
        sort: sortOf(this.collection(collection), query.order),
        skip,
        limit: query.limit - found.length,
      });
      found.push(...page);
      if (page.length > 0) skip = 0;
      else if (skip > 0) skip -= Math.min(skip, await this.countIn(collection, filter));
    }
    return found;
  }

  async countWords(collection: CollectionName, query: WordCount): Promise<number> {
    return this.countIn(collection, {
      $and: [...this.filtersOf(collection, query), termsFilter(query.terms)],
    });
  }

  /** Each look finds one document, and with it at least one more of the words; so there are at most `limit` and one. */
  async knownWords(
    collection: CollectionName,
    { scope, matches, limit }: KnownWordsQuery,
  ): Promise<WordMatch[]> {
    const within = scopeFilter(this.collection(collection), scope);
    const known = new Set<WordMatch>();
    let unknown = matches;
    while (unknown.length > 0) {
      const filter = { $and: [within, termsFilter([unknown])] };
      const [found] = await this.list(collection, filter, ['words'], { limit: 1 });
      const words = found?.document?.words;
      if (!words) break;
      for (const match of unknown) if (fits(words, match)) known.add(match);
      // Behind the last one that can be answered nothing needs to be known.
      const answered = matches.filter((match) => known.has(match)).slice(0, limit);
      const enough = answered.length < limit ? matches.length : matches.indexOf(answered.at(-1)!);
      unknown = matches.slice(0, enough).filter((match) => !known.has(match));
    }
    return matches.filter((match) => known.has(match)).slice(0, limit);
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
    const asked = Object.keys(where).length > 0 ? filterOf(this.collection(collection), where) : {};
    const filter = after_id === undefined ? asked : { $and: [asked, { _id: { $gt: after_id } }] };
    if (limit <= 0) return [];
    return this.list(collection, filter, ALL_PARTS, { sort: { _id: 1 }, limit });
  }

  async apply(batch: WriteBatch): Promise<'applied' | 'lost_race'> {
    if (keysDiffer(this.stored))
      throw new Error(`view version ${this.version} was made with other keys: rebuild it`);
    for (const phase of batch.phases) {
      const outcome = await this.writePhase(phase);
      if (outcome === 'lost_race') return outcome;
    }
    if (!(await this.lanes.advance(batch))) return 'lost_race';
    this.watch.moved(batch.lane, batch.to);
    return 'applied';
  }

  /**
   * Writes documents side by side, each under its own guard, and returns when all of them are durable or refused.
   * `lost_race`: some document was not as expected, the others are written. Throws where a unique key is taken by
   * another document, which no repetition heals.
   */
  private async writePhase(phase: readonly DocumentWrite[]): Promise<Outcome> {
    const written = await Promise.allSettled(
      [...byCollection(phase)].map(([name, writes]) => this.writeCollection(name, writes)),
    );
    const failed = written.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
    return written.every((result) => result.status === 'fulfilled' && result.value === 'applied')
      ? 'applied'
      : 'lost_race';
  }

  private async writeCollection(name: CollectionName, writes: readonly DocumentWrite[]): Promise<Outcome> {
    const collection = this.documents(name, 'primary');
    const operations = writes.map((write) => toOperation(this.collection(name), write));
    const replaced = writes.filter(({ expected }) => expected !== null).length;
    return this.connection.run(async () => {
      try {
        const result = await collection.bulkWrite(operations, { ordered: false });
        return result.matchedCount === replaced ? 'applied' : 'lost_race';
      } catch (error) {
        const duplicates = duplicatesIn(error);
        if (!duplicates) throw error;
        const refused = duplicates.map((index) => writes[index]!);
        if (await exist(collection, refused)) return 'lost_race';
        throw error;
      }
    });
  }

  parked(): Promise<ParkedStream[]> {
    return this.lanes.parked();
  }

  /** Throws `CatalogError('unavailable')` where the version was made without the collection. */
  private collection(name: CollectionName): StoredCollection {
    const known = this.collections.get(name);
    if (known) return known;
    if (this.stored[name] === undefined) throw notStored(name);
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
    // One batch where the answer fits a message: a page then costs one round trip.
    const batch_size = Math.max(options.limit ?? 0, 1_000);
    const found = await this.connection.run(() =>
      this.documents(collection)
        .find(filter, { ...options, projection: projectionOf(parts), batchSize: batch_size })
        .toArray(),
    );
    const as_text = parts.includes('json');
    return found.map((document) => fromStored(stored, document, as_text));
  }
}

export const documentsName = (collection: CollectionName, version: number): string =>
  `${collection}_v${version}`;

function byCollection(phase: readonly DocumentWrite[]): Map<CollectionName, DocumentWrite[]> {
  const groups = new Map<CollectionName, DocumentWrite[]>();
  for (const write of phase) {
    const group = groups.get(write.collection);
    if (group) group.push(write);
    else groups.set(write.collection, [write]);
  }
  return groups;
}

function toOperation(
  collection: StoredCollection,
  write: DocumentWrite,
): AnyBulkWriteOperation<MongoDocument> {
  const document = toStored(collection, write);
  if (write.expected === null) return { insertOne: { document } };
  const { _id, ...replacement } = document;
  return { replaceOne: { filter: { _id, position: write.expected }, replacement } };
}

/**
 * Whether every refused write was an insert of a document that is there by now. If not, another document holds
 * its unique key. Servers word the error each in its own way, so the documents are asked, not the message.
 */
async function exist(
  collection: Collection<MongoDocument>,
  refused: readonly DocumentWrite[],
): Promise<boolean> {
  if (refused.some(({ expected }) => expected !== null)) return false;
  const ids = refused.map(({ id }) => id);
  const found = await collection.find({ _id: { $in: ids } }, { projection: { _id: 1 } }).toArray();
  return found.length === new Set(ids).size;
}
