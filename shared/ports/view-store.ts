import type { CollectionName, Key, StoredDocument } from '../catalog/documents';
import type { Position, StreamName } from '../catalog/events/envelope';
import type { SortOrder } from '../catalog/sorting';
import type { LogMark, StoreHealth } from './event-store';

/**
 * building → following → active → retired.
 *
 * - `building`: a rebuild folds the log into it. No events are dispatched to it.
 * - `following`: events are dispatched to it, and it may soon be activated.
 * - `active`: events are dispatched to it, and readers use it.
 * - `retired`: events are still dispatched to it, so that a rollback can activate it again.
 */
export type VersionStatus = 'building' | 'following' | 'active' | 'retired';

/** A view version: one generation of all collections of a realm. */
export interface VersionInfo {
  readonly version: number;
  readonly status: VersionStatus;
  /**
   * Schema number of the code that created the version. Documents of another schema are read, but rebuilt before they
   * change.
   */
  readonly schema: number;
  readonly created_at: string;
  /** When another version replaced it. Undefined if the version is not retired, or if an earlier release retired it. */
  readonly retired_at?: string | undefined;
  /**
   * Whether its documents are stored with other keys than `collections` declares now. The version can then be read, but
   * not written. A query for a key or a collection that it was created without throws `CatalogError('unavailable')`.
   */
  readonly keys_differ: boolean;
}

/**
 * The documents of one realm, in versions.
 *
 * Every method throws `CatalogError('unavailable')` if the database cannot be reached or if the version does not
 * exist. It throws the subclass `DamagedFileError` if a file is damaged or missing, and
 * `CatalogError('database_timeout')` if the database does not answer in time.
 */
export interface ViewStore {
  /** Resolves when the database was reached for the first time, or when `close` was called. Never rejects. */
  readonly ready: Promise<void>;

  /**
   * The number of partitions. It is fixed when the database is first created. Throws `CatalogError('unavailable')`
   * before `ready` has resolved.
   */
  readonly partition_count: number;

  /**
   * Lists all versions, newest first. The list is fast enough to be read once per job. `versions` does not fail if
   * the data of a version is damaged or missing: `open` and the methods of the version fail.
   */
  versions(): Promise<VersionInfo[]>;

  /**
   * Creates an empty version with status `building`. Reads from a `building` version may be slow. Throws
   * `CatalogError('unavailable')` if the database knows that it has no room for another copy of the documents.
   */
  createVersion(schema: number): Promise<VersionInfo>;

  /** Sets the status of a version that is not active. */
  setStatus(version: number, status: Exclude<VersionStatus, 'active'>): Promise<void>;

  /**
   * Makes the version `active` and the previously active version `retired`, in one atomic step. Also activates the
   * first version of a realm.
   */
  activate(version: number): Promise<void>;

  /** Deletes a version and its documents. Throws if the version is active. */
  drop(version: number): Promise<void>;

  /**
   * Deletes the documents that only earlier releases can read, if no process has written them since this time in Unix
   * milliseconds. Returns the names of the deleted files. An adapter with one format for all releases deletes nothing.
   */
  dropEarlierFormats(unused_since_ms: number): Promise<readonly string[]>;

  /** Opens a version for reads and writes of its documents. */
  open(version: number): Promise<ViewVersion>;

  /** Returns when an operator paused the realm, or undefined if the realm is not paused. */
  pausedSince(): Promise<string | undefined>;

  /**
   * Pauses the realm or ends the pause. No process may project events while the realm is paused. The setting outlives
   * this process. Pausing a paused realm changes nothing.
   */
  setPaused(is_paused: boolean): Promise<void>;

  /**
   * Takes or renews the named lease for `owner`. Returns false if another owner has the lease. A lease that is not
   * renewed expires after `ttl_ms`. The lease of an owner named `pid:<n>:…` may expire as soon as process `n` has
   * ended, if the adapter can detect that.
   */
  lease(name: string, owner: string, ttl_ms: number): Promise<boolean>;

  /** Ends the owner's lease early. */
  release(name: string, owner: string): Promise<void>;

  close(): Promise<void>;
}

/**
 * `after`: a text, or the id, that sorts after this one by its bytes in UTF-8. For pages that begin after a document.
 */
export type KeyCondition =
  | Key
  | { readonly in: readonly Key[] }
  | { readonly not: Key }
  | { readonly gte?: number; readonly lte?: number }
  | { readonly after: string }
  | UnitCondition
  | OutsideCondition;

/**
 * Whether the document is not in a variant of its lists (`ListVariants`), or is not in it with the values of `or_without`. The
 * condition belongs to the name of a kind of variants.
 */
export interface OutsideCondition {
  readonly outside: string;
  readonly or_without?: Readonly<Record<string, Key>>;
}

/**
 * Whether one unit of the document fulfils all of this. The condition of the name `units`. What all units of a document with
 * such a unit imply must be in the query, too, as conditions on keys and terms: these are found by an index.
 */
export interface UnitCondition {
  readonly unit: {
    /** Whole words. */
    readonly labels: WordTerms;
    readonly price?: { readonly gte: number; readonly lte: number };
    readonly in_stock?: true;
  };
}

export const isUnitCondition = (condition: KeyCondition | undefined): condition is UnitCondition =>
  condition !== null && typeof condition === 'object' && 'unit' in condition;

/** A query by keys. Must be answered from an index. Never finds tombstones. */
export interface ViewQuery {
  /** A condition on a key with several values per document, such as `listing_id`, is described at `SharedLists`. */
  readonly where: Readonly<Record<string, KeyCondition>>;
  readonly order: SortOrder;
  /**
   * The page begins after the place of a document with these values of the keys of `order`, whether or not there is
   * one. Every key of `order` must then have a value. A search must have one tier.
   */
  readonly after?: readonly Exclude<Key, null>[];
  readonly skip?: number;
  readonly limit: number;
  readonly parts?: readonly DocumentPart[];
}

/**
 * The parts of a document that a read asks for, in addition to `keys` and `body`.
 *
 * - `keys` and `body` are always read.
 * - `words` and `units` are absent unless they are asked for. `state` and `expansions` are then empty objects.
 * - `json` is the body as JSON text. A database that stores the body as text may return it without parsing. `body` is
 *   then parsed when it is first accessed.
 */
export type DocumentPart = StoredPart | 'json';
export type StoredPart = 'state' | 'expansions' | 'words' | 'units';
export const ALL_PARTS: readonly StoredPart[] = ['state', 'expansions', 'words', 'units'];

/** Matches a document that has this word or, with `prefix`, a word that begins with it. */
export interface WordMatch {
  readonly word: string;
  readonly prefix?: true;
}

/** Matches a document that has at least one match of every term. Without terms, matches every document. */
export type WordTerms = readonly (readonly WordMatch[])[];

/** Where to look words up: one or more values for each key of the collection's `words.scope`. */
export type WordScope = Readonly<Record<string, Exclude<Key, null> | { readonly in: readonly string[] }>>;

/**
 * A search by words, with the best results first: all documents that match `tiers[0]`, then all others that match
 * `tiers[1]`, and so on. Within a tier, documents are in `order`.
 *
 * - A document that matches a tier must match every later tier, too.
 * - Results must also match `where`. `where` must imply `scope`: by the same keys, or by a key that determines them (a
 *   listing determines its store).
 */
export interface WordSearch extends Omit<ViewQuery, 'where'> {
  readonly scope: WordScope;
  readonly where: ViewQuery['where'];
  readonly tiers: readonly WordTerms[];
  /** Results have none of these words. */
  readonly excluded?: readonly string[];
  /** Count the results, at most this number. The sequence then ends there, too. */
  readonly total_max?: number;
  /** Look at all documents, however many have the words, and count all results. Not with `total_max`. */
  readonly is_exhaustive?: true;
}

export interface WordSearchResult<Found = StoredDocument> {
  /** The page. */
  readonly documents: Found[];
  /** The number of results, if the search has a `total_max` or is exhaustive. */
  readonly total: number;
  /** False if the adapter did not look at all documents, because too many have some of the words but not all. */
  readonly is_complete: boolean;
}

/**
 * The documents that have the most of `words` come first, then those that come first in `order`, which is by age. An
 * adapter may compare only the newest 1,000 documents with each word; the others count as not having it.
 */
export interface RelatedQuery extends ViewQuery, Pick<WordSearch, 'scope'> {
  readonly words: readonly string[];
}

export interface MatchingWordsQuery extends Pick<WordSearch, 'scope'> {
  readonly matches: readonly WordMatch[];
  readonly limit: number;
}

/**
 * Which documents to count, by each of their labels that begins with one of `prefixes`. No prefix begins with
 * another.
 */
export interface WordCountsQuery extends Pick<WordSearch, 'scope' | 'where'> {
  readonly terms: WordTerms;
  readonly prefixes: readonly string[];
  /** Counts the labels of the units that fulfil the condition `where.units`, instead of all labels of the documents. */
  readonly of_units?: boolean;
  /** How many labels of each prefix to return: those that most documents have. */
  readonly limit: number;
  /** If there are many labels, a store may count this number of documents only, the newest ones. */
  readonly documents_max: number;
  /** Called between two pieces of work. May throw to end it. */
  readonly assertAwaited: () => void;
}

/** The labels with one prefix. */
export interface WordCounts {
  readonly counts: readonly WordCount[];
  /** False if more than `documents_max` documents match and not all of them were counted. */
  readonly is_complete: boolean;
}

/** A word, and the number of documents that have it. */
export interface WordCount {
  readonly word: string;
  readonly count: number;
}

/** A write of a document. Its position is after the stored position of the document. */
export interface DocumentWrite extends StoredDocument {
  readonly collection: CollectionName;
  /** Set if no document with this id is stored. An adapter may then insert the document without looking for it. */
  readonly is_new?: boolean;
  /** Removes a document that no event made, without leaving a tombstone. `document` is then null. */
  readonly is_removed?: boolean;
}

/**
 * A stream with an event that failed to project. That event and the stream's later events wait
 * (docs/operations/failures.md#dead-letters).
 */
export interface DeadLetter {
  readonly stream: StreamName;
  readonly partition: number;
  /** Revision of the first waiting event. */
  readonly revision: number;
  /** Position of the first waiting event. */
  readonly position: Position;
  /** One line. */
  readonly reason: string;
  /** The error's name, and where in this project it was thrown (`causeOf`). Earlier releases did not store it. */
  readonly cause?: string | undefined;
  readonly failed_at: string;
}

/** A batch of one partition. It is applied as a whole or not at all. */
export interface WriteBatch {
  readonly partition: number;
  /** The partition's revision, which was read before the documents that the batch was computed from. */
  readonly revision: number;
  /** The partition's checkpoint after the batch. */
  readonly checkpoint: Position;
  /** At most one write per document. */
  readonly writes: readonly DocumentWrite[];
  /** The partition's dead letters after the batch. Without it, they do not change. */
  readonly dead_letters?: readonly DeadLetter[] | undefined;
  /** The newest event of the partition that the batch includes. Without it, the partition keeps its mark. */
  readonly mark?: LogMark | undefined;
}

/** Progress of the creation of a version's indexes. */
export interface IndexProgress {
  /** The index that is being created, or the collection whose indexes are created, as stored. */
  readonly name: string;
  readonly built: number;
  /** Number of indexes that were missing, or of collections if the adapter counts collections. */
  readonly total: number;
}

/** The state of a partition, of one moment. */
export interface PartitionState {
  readonly checkpoint: Position;
  /** The number of batches that were applied to the partition. */
  readonly revision: number;
  /** In log order. */
  readonly dead_letters: readonly DeadLetter[];
}

/** An advance of an idle partition. The partition must have no events in (from, to]. */
export interface CheckpointMove {
  readonly partition: number;
  readonly from: Position;
  readonly to: Position;
}

/**
 * One view version: its documents, its checkpoints and its dead letters.
 *
 * Every method throws `CatalogError('unavailable')` if the database cannot be reached, and its subclass
 * `DamagedFileError` if a file is damaged. It throws `CatalogError('database_timeout')` if the database does not
 * answer in time. A read or write of many documents takes as long as the database keeps answering.
 */
export interface ViewVersion {
  readonly version: number;

  /**
   * The same version, for reads after `waitFor`: its documents contain every event up to the checkpoint that was waited
   * for. Absent if the documents of this version always contain these events. An adapter has it if its reads may go to
   * replicas that lag.
   */
  readonly upToDate?: ViewVersion | undefined;

  /**
   * Returns the checkpoint of each partition. The checkpoint at position p means: every event of the partition up to
   * p is in the documents or waits on the dead-letter list. See `docs/architecture.md#invariants`.
   */
  checkpoints(): Promise<Position[]>;

  /** Returns the checkpoint of one partition. */
  checkpoint(partition: number): Promise<Position>;

  /**
   * Returns the state of a partition. First completes a batch that another process has left unfinished. A later read of
   * documents returns them as they are at this revision of the partition or at a later revision, never in between.
   */
  partition(partition: number): Promise<PartitionState>;

  /**
   * Returns the newest of the events that `apply` has stored as marks of the partitions. The mark shows which log the
   * documents were made from. Undefined if no event was projected.
   */
  mark(): Promise<LogMark | undefined>;

  /**
   * Sets the checkpoint of each partition to `to` if the checkpoint is at or after `from` and before `to`. Otherwise
   * leaves the checkpoint unchanged. Does not change the revision. Returns the partitions whose checkpoint is now at
   * or after `to`.
   */
  advanceIdle(moves: readonly CheckpointMove[]): Promise<number[]>;

  /**
   * Resolves with true as soon as the checkpoint is at or after `position`. Resolves with false after `timeout_ms` or
   * when the view store is closed.
   */
  waitFor(partition: number, position: Position, timeout_ms: number): Promise<boolean>;

  /**
   * Returns a number that grows with every batch that has changed documents of these stores: the document of the
   * store itself, and documents with its id as `store_id`. The number may grow with other batches of the same
   * partition, too.
   *
   * - The number includes all batches that any process had applied before the event loop called the code that is
   *   running.
   * - If the number is the same before and after a read of documents of these stores, and still is at a later time,
   *   then the read would return the same at that time.
   * - While the adapter cannot tell, the number is NaN, which equals no number.
   *
   * Cheap enough to be called for each request. Absent in an adapter that can never tell.
   */
  generation?(stores: readonly string[]): number | Promise<number>;

  /**
   * Returns the document with this id, which may be a tombstone, or undefined if no document with this id is stored.
   */
  get(
    collection: CollectionName,
    id: string,
    parts?: readonly DocumentPart[],
  ): Promise<StoredDocument | undefined>;

  /** Returns the documents with these ids, including tombstones. Leaves out ids that are not stored. */
  getMany(
    collection: CollectionName,
    ids: readonly string[],
    parts?: readonly DocumentPart[],
  ): Promise<StoredDocument[]>;

  /** Returns one page of documents in the query's order. */
  find(collection: CollectionName, query: ViewQuery): Promise<StoredDocument[]>;

  /** Counts matching documents. Used only for filters without a maintained count. */
  count(collection: CollectionName, where: ViewQuery['where']): Promise<number>;

  /**
   * Returns one page of a word search. Reads the documents of the page, and only index entries of the others. An
   * adapter may limit the number of entries. The results then depend on the stored documents only, and not on the
   * page.
   */
  search(collection: CollectionName, query: WordSearch): Promise<WordSearchResult>;

  /** Returns one page of the documents that match `where`. The documents that share the most words come first. */
  related(collection: CollectionName, query: RelatedQuery): Promise<StoredDocument[]>;

  /**
   * Returns at most `limit` of the query's matches: the matches that some document of the scope has, in their order.
   * Its time depends on the number of matches only.
   */
  matchingWords(collection: CollectionName, query: MatchingWordsQuery): Promise<WordMatch[]>;

  /**
   * Returns for each prefix, in their order, the labels that most matching documents have, each with the number of
   * these documents. Sorts by number, then by label. A label is a word that begins with `==`.
   */
  countWords(collection: CollectionName, query: WordCountsQuery): Promise<readonly WordCounts[]>;

  /**
   * Returns documents in order of id, with all parts and with tombstones. With `where`, returns matching documents
   * only. A tombstone never matches.
   */
  scan(
    collection: CollectionName,
    options: { where?: ViewQuery['where']; after_id?: string; limit: number },
  ): Promise<StoredDocument[]>;

  /**
   * Applies the batch if the partition's revision is `revision` and its checkpoint is not after `checkpoint`. The
   * revision then becomes `revision + 1`. Otherwise returns `lost_race` and changes nothing.
   *
   * - Writes the documents, the checkpoint, the dead letters and the mark as a whole, also if the process ends
   *   meanwhile. They are durable when the promise resolves. A reader may see some documents of the batch before
   *   others, but never a checkpoint without its documents.
   * - Throws `UnstorableDocumentError` if the database refuses a document because of the document itself. Nothing
   *   changes.
   * - After another error, the batch is applied or not. `partition` tells which.
   */
  apply(batch: WriteBatch): Promise<'applied' | 'lost_race'>;

  /** Returns the dead letters of all partitions. */
  deadLetters(): Promise<DeadLetter[]>;

  /**
   * Reads all stored data, indexes included. Throws `DamagedFileError` if a part of the data is damaged. Absent if the
   * database checks its data itself.
   */
  checkData?(): Promise<void>;

  /**
   * Creates the indexes that the version still lacks. Calls `onProgress` before and after each index. Has no
   * deadline, because an index of a full collection may take hours. Does nothing if all indexes exist. May return
   * with some of them missing when `signal` aborts. Absent in an adapter that creates the indexes with the version.
   */
  createIndexes?(onProgress: (progress: IndexProgress) => void, signal?: AbortSignal): Promise<void>;

  /** Like `health` of the event store. */
  health?(): Promise<StoreHealth>;
}
