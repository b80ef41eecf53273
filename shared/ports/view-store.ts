import type { CollectionName, Key, StoredDocument } from '../catalog/documents';
import type { Position, StreamName } from '../catalog/events/envelope';
import type { SortOrder } from '../catalog/sorting';

/** building → following → active → retired; a rebuild that was given up is dropped. Only `building` is not fed live. */
export type VersionStatus = 'building' | 'following' | 'active' | 'retired';

/** A generation of all of a realm's collections. */
export interface VersionInfo {
  readonly version: number;
  readonly status: VersionStatus;
  /** Of the code that made it: documents of another schema are rebuilt, not read. */
  readonly schema: number;
  readonly created_at: string;
  /**
   * Its documents are stored with other keys than `collections` declares now. It can be read, but not written to:
   * what asks for a key or a collection that it was made without is refused with `CatalogError('unavailable')`.
   */
  readonly keys_differ: boolean;
}

/**
 * One realm's documents, in versions.
 *
 * - `versions` lists all, newest first; cheap enough to be asked once per job.
 * - `createVersion` makes an empty one. While it is `building` it may be slow to be read. The first of a store is made `active` by `activate`, like any other.
 * - `activate` makes `version` the active one and the active one `retired`, in one atomic step.
 * - `drop` deletes a version and what it holds; refuses the active one.
 * - `lease` takes or renews the named lease for `owner`; false while another's holds. An owner that
 *   stops renewing loses it after `ttl_ms`. `release` gives it back early.
 *   An owner named `pid:<n>:…` may lose it as soon as that process is gone, where the store can tell.
 * - `lane_count` is fixed when the store is first opened, and known from `ready` on; before, asking for it throws
 *   `CatalogError('unavailable')`.
 * - `ready` resolves when the store was reached for the first time, or closed; it never rejects.
 */
export interface ViewStore {
  readonly ready: Promise<void>;
  readonly lane_count: number;
  versions(): Promise<VersionInfo[]>;
  createVersion(schema: number): Promise<VersionInfo>;
  setStatus(version: number, status: Exclude<VersionStatus, 'active'>): Promise<void>;
  activate(version: number): Promise<void>;
  drop(version: number): Promise<void>;
  open(version: number): Promise<ViewVersion>;
  lease(name: string, owner: string, ttl_ms: number): Promise<boolean>;
  release(name: string, owner: string): Promise<void>;
  close(): Promise<void>;
}

/** A reader's hold on a view store's active version. */
export interface ActiveView {
  readonly lane_count: number;
  /** The active version as of at most half a second ago; undefined in a store that was never projected to. */
  current(): Promise<ViewVersion | undefined>;
}

export type KeyCondition =
  | Key
  | { readonly in: readonly Key[] }
  | { readonly not: Key }
  | { readonly gte?: number; readonly lte?: number };

/** Answered from an index. Tombstones are never found. */
export interface ViewQuery {
  readonly where: Readonly<Record<string, KeyCondition>>;
  readonly order: SortOrder;
  readonly skip?: number;
  readonly limit: number;
  readonly parts?: readonly DocumentPart[];
}

/**
 * `keys` and `body` are always there; unless asked for, `words` is not, and the others are empty objects. `json` is
 * the body once more, as text: a store that keeps it so may give it, and reads `body` from it when that is looked at.
 */
export type DocumentPart = StoredPart | 'json';
export type StoredPart = 'state' | 'expansions' | 'words';
export const ALL_PARTS: readonly StoredPart[] = ['state', 'expansions', 'words'];

/** One of a document's `words`, or any that begins with it. */
export interface WordMatch {
  readonly word: string;
  readonly prefix?: true;
}

/** Fits a document that has, for every one of these, at least one of its matches; with none, every document. */
export type WordTerms = readonly (readonly WordMatch[])[];

/** Within which the words are looked up: a value, or several, of each key of the collection's `words.scope`. */
export type WordScope = Readonly<Record<string, Exclude<Key, null> | { readonly in: readonly string[] }>>;

/**
 * Best first: all that fit `tiers[0]`, then what else fits `tiers[1]`, and so on, each in `order`. Every tier fits all
 * that the ones before it fit. `where` holds besides, and says
 * the scope as well: by its keys, or by one that implies them, as a listing does its store.
 */
export interface WordSearch extends Omit<ViewQuery, 'where'> {
  readonly scope: WordScope;
  readonly where: ViewQuery['where'];
  readonly tiers: readonly WordTerms[];
}

export interface WordCount extends Pick<WordSearch, 'scope' | 'where'> {
  readonly terms: WordTerms;
}

export interface KnownWordsQuery extends Pick<WordSearch, 'scope'> {
  readonly matches: readonly WordMatch[];
  readonly limit: number;
}

export interface DocumentWrite extends StoredDocument {
  readonly collection: CollectionName;
  /** The position the document has now, or null where there is none: the compare of the compare-and-set. */
  readonly expected: Position | null;
}

/** A stream whose event could not be projected; it and the stream's later events wait here (design, "Poison"). */
export interface ParkedStream {
  readonly stream: StreamName;
  readonly lane: number;
  /** Of the first event that waits. */
  readonly revision: number;
  readonly position: Position;
  readonly reason: string;
  readonly parked_at: string;
}

export interface WriteBatch {
  readonly lane: number;
  /** The lane's checkpoint before and after. They may be equal (a retry of a parked stream, a part of a sweep). */
  readonly from: Position;
  readonly to: Position;
  /** In the order in which they must land: a store without transactions writes and awaits phase by phase. */
  readonly phases: readonly (readonly DocumentWrite[])[];
  readonly park?: readonly ParkedStream[];
  readonly unpark?: readonly StreamName[];
}

/** Where a lane stands, and which of its streams wait: both as they were at one moment. */
export interface LaneState {
  readonly checkpoint: Position;
  readonly parked: readonly ParkedStream[];
}

/** A lane that has no events in (from, to]. */
export type LaneMove = Pick<WriteBatch, 'lane' | 'from' | 'to'>;

/**
 * - `moveOn` moves lanes that stand at or past their `from` on to their `to`, and gives those that are there or beyond;
 *   a lane that is still before its `from` stays where it is.
 * - `apply` writes a batch and moves the checkpoint. `lost_race` where the checkpoint or a document was not as
 *   expected: some of the batch may then be written in a store without transactions, and doing it again from
 *   fresh reads gives the same documents. The checkpoint moves only after everything else is durable.
 * - `find` gives a page in order; `count` is for filters that no maintained total answers.
 * - `scan` walks a collection by id, all parts, tombstones included, for sweeps and `verify`; with a `where` it gives
 *   the documents that fit, and a tombstone fits none.
 * - `search` gives a page by words: it reads the page's documents and, of the others that fit, index entries at most.
 *   `countWords` says how many fit, exactly, in time that grows with them. `knownWords` gives those of the matches that
 *   some document of the scope fits, in their order, at most `limit`; its time grows with what it is asked alone.
 * - `waitFor` resolves true as soon as the lane's checkpoint is at or past `position`, false after `timeout_ms`.
 */
export interface ViewVersion {
  readonly version: number;
  checkpoints(): Promise<Position[]>;
  checkpoint(lane: number): Promise<Position>;
  lane(lane: number): Promise<LaneState>;
  moveOn(moves: readonly LaneMove[]): Promise<number[]>;
  waitFor(lane: number, position: Position, timeout_ms: number): Promise<boolean>;
  get(
    collection: CollectionName,
    id: string,
    parts?: readonly DocumentPart[],
  ): Promise<StoredDocument | undefined>;
  getMany(
    collection: CollectionName,
    ids: readonly string[],
    parts?: readonly DocumentPart[],
  ): Promise<StoredDocument[]>;
  find(collection: CollectionName, query: ViewQuery): Promise<StoredDocument[]>;
  count(collection: CollectionName, where: ViewQuery['where']): Promise<number>;
  search(collection: CollectionName, query: WordSearch): Promise<StoredDocument[]>;
  countWords(collection: CollectionName, query: WordCount): Promise<number>;
  knownWords(collection: CollectionName, query: KnownWordsQuery): Promise<WordMatch[]>;
  scan(
    collection: CollectionName,
    options: { where?: ViewQuery['where']; after_id?: string; limit: number },
  ): Promise<StoredDocument[]>;
  apply(batch: WriteBatch): Promise<'applied' | 'lost_race'>;
  parked(): Promise<ParkedStream[]>;
}
