import {
  type CollectionName,
  type CollectionSpec,
  collections,
  type Key,
  type StoredDocument,
  type ViewDocument,
} from '../../shared/catalog/documents';
import { type Position, START, type StreamName } from '../../shared/catalog/events/envelope';
import { compareByOrder } from '../../shared/catalog/sorting';
import type { LogMark } from '../../shared/ports/event-store';
import type {
  CheckpointMove,
  DeadLetter,
  DocumentPart,
  DocumentWrite,
  KeyCondition,
  MatchingWordsQuery,
  PartitionState,
  RelatedQuery,
  VersionInfo,
  VersionStatus,
  ViewQuery,
  ViewStore,
  ViewVersion,
  WordMatch,
  WordSearch,
  WordSearchResult,
  WordTerms,
  WriteBatch,
} from '../../shared/ports/view-store';
import { waitFor } from './wait-for';

/** Thrown in the middle of a batch, as if the process had crashed there. */
export class Crash extends Error {
  override readonly name = 'Crash';
}

export interface MemoryViewOptions {
  readonly partition_count?: number;
  /**
   * `false` applies a batch like a store without transactions: phase by phase, document by document, then the
   * checkpoint. Writes before a failure remain.
   */
  readonly transactions?: boolean;
}

type Documents = Map<CollectionName, Map<string, StoredDocument>>;

/** A view version in memory, with faults on demand. */
export class MemoryViewVersion implements ViewVersion {
  readonly version: number;
  /** Number of writes (documents, dead letters, checkpoint) before the next one throws `Crash`. */
  crash_in = Number.POSITIVE_INFINITY;
  /** Called before each document is written. May throw, or change what is stored. */
  beforeWrite: (write: DocumentWrite) => void = () => {};
  /** Awaited before each write if there are no transactions. Another worker may run meanwhile. */
  interleave: () => Promise<void> = async () => {};
  writes = 0;
  private readonly transactions: boolean;
  private documents: Documents = new Map();
  private partitions: Position[];
  private dead_letters = new Map<StreamName, DeadLetter>();
  private readonly marks = new Map<number, LogMark>();

  constructor(version: number, options: MemoryViewOptions = {}) {
    this.version = version;
    this.transactions = options.transactions ?? true;
    this.partitions = Array.from({ length: options.partition_count ?? 4 }, () => START);
  }

  async checkpoints(): Promise<Position[]> {
    return [...this.partitions];
  }

  async checkpoint(partition: number): Promise<Position> {
    return this.partitions[partition]!;
  }

  async partition(partition: number): Promise<PartitionState> {
    const dead_letters = (await this.deadLetters()).filter((stream) => stream.partition === partition);
    return { checkpoint: this.partitions[partition]!, dead_letters };
  }

  async mark(): Promise<LogMark | undefined> {
    return [...this.marks.values()].sort((a, b) => Number(b.position - a.position))[0];
  }

  async advanceIdle(moves: readonly CheckpointMove[]): Promise<number[]> {
    for (const { partition, from, to } of moves) {
      const at = this.partitions[partition]!;
      if (at >= from && at < to) this.partitions[partition] = to;
    }
    return moves
      .filter(({ partition, to }) => this.partitions[partition]! >= to)
      .map(({ partition }) => partition);
  }

  async waitFor(partition: number, position: Position, timeout_ms: number): Promise<boolean> {
    return waitFor(() => this.partitions[partition]! >= position, { timeout_ms }).catch(() => false);
  }

  async get(collection: CollectionName, id: string): Promise<StoredDocument | undefined> {
    return this.collection(collection).get(id);
  }

  async getMany(collection: CollectionName, ids: readonly string[]): Promise<StoredDocument[]> {
    const found = [...new Set(ids)].map((id) => this.collection(collection).get(id));
    return found.filter((stored) => stored !== undefined);
  }

  async find(collection: CollectionName, query: ViewQuery): Promise<StoredDocument[]> {
    const { where, order, skip = 0, limit } = query;
    return this.matching(collection, where)
      .sort((a, b) => compareByOrder(order, sortable(a), sortable(b)))
      .slice(skip, skip + limit)
      .map((stored) => onlyParts(stored, query.parts ?? []));
  }

  async count(collection: CollectionName, where: ViewQuery['where']): Promise<number> {
    return this.matching(collection, where).length;
  }

  async scan(
    collection: CollectionName,
    { where, after_id = '', limit }: { where?: ViewQuery['where']; after_id?: string; limit: number },
  ): Promise<StoredDocument[]> {
    const all = where ? this.matching(collection, where) : [...this.collection(collection).values()];
    const after = all.filter(({ id }) => id > after_id).sort((a, b) => (a.id < b.id ? -1 : 1));
    return after.slice(0, limit);
  }

  async search(collection: CollectionName, query: WordSearch): Promise<WordSearchResult> {
    const { scope, where, tiers, order, skip = 0, limit, total_max = Number.POSITIVE_INFINITY } = query;
    const { words } = collections[collection] as CollectionSpec;
    if (!words?.scope.every((key) => key in scope)) throw new Error('a search names the whole scope');
    const tierOf = (stored: StoredDocument): number => tiers.findIndex((terms) => fits(stored, terms));
    const found = this.matching(collection, where)
      .filter((stored) => within(stored, scope) && tierOf(stored) >= 0)
      .sort((a, b) => tierOf(a) - tierOf(b) || compareByOrder(order, sortable(a), sortable(b)))
      .slice(0, total_max);
    const documents = found.slice(skip, skip + limit).map((stored) => onlyParts(stored, query.parts ?? []));
    return { documents, total: found.length, is_complete: true };
  }

  async related(collection: CollectionName, query: RelatedQuery): Promise<StoredDocument[]> {
    const { where, words, order, skip = 0, limit, parts = [] } = query;
    const shared = ({ document }: StoredDocument): number =>
      words.filter((word) => document?.words?.includes(word)).length;
    return this.matching(collection, where)
      .sort((a, b) => shared(b) - shared(a) || compareByOrder(order, sortable(a), sortable(b)))
      .slice(skip, skip + limit)
      .map((stored) => onlyParts(stored, parts));
  }

  async matchingWords(
    collection: CollectionName,
    { scope, matches, limit }: MatchingWordsQuery,
  ): Promise<WordMatch[]> {
    const all = this.matching(collection, scope);
    return matches.filter((match) => all.some((stored) => fits(stored, [[match]]))).slice(0, limit);
  }

  async deadLetters(): Promise<DeadLetter[]> {
    return [...this.dead_letters.values()].sort((a, b) => Number(a.position - b.position));
  }

  async apply(batch: WriteBatch): Promise<'applied' | 'lost_race'> {
    if (!this.transactions) return this.applyInPlace(batch);
    const before = {
      documents: this.documents,
      partitions: this.partitions,
      dead_letters: this.dead_letters,
    };
    this.documents = new Map([...before.documents].map(([name, documents]) => [name, new Map(documents)]));
    this.partitions = [...before.partitions];
    this.dead_letters = new Map(before.dead_letters);
    try {
      const applied =
        this.partitions[batch.partition] === batch.from &&
        this.hasExpectedDeadLetters(batch) &&
        batch.phases.flat().every((write) => this.write(write));
      if (applied) this.finish(batch);
      else this.restore(before);
      return applied ? 'applied' : 'lost_race';
    } catch (error) {
      this.restore(before);
      throw error;
    }
  }

  /** Changes a stored document without the pipeline's knowledge. */
  tamper(
    collection: CollectionName,
    id: string,
    change: (document: ViewDocument) => ViewDocument | null,
  ): void {
    const stored = this.collection(collection).get(id)!;
    this.collection(collection).set(id, {
      ...stored,
      document: frozenCopy(change(structuredClone(stored.document!))),
    });
  }

  private async applyInPlace(batch: WriteBatch): Promise<'applied' | 'lost_race'> {
    if (this.partitions[batch.partition] !== batch.from || !this.hasExpectedDeadLetters(batch))
      return 'lost_race';
    for (const phase of batch.phases) {
      let lost = false;
      for (const write of phase) {
        await this.interleave();
        if (!this.write(write)) lost = true;
      }
      if (lost) return 'lost_race';
    }
    await this.interleave();
    if (this.partitions[batch.partition] !== batch.from || !this.hasExpectedDeadLetters(batch))
      return 'lost_race';
    this.finish(batch);
    return 'applied';
  }

  private hasExpectedDeadLetters({ expected_dead_letters = [] }: WriteBatch): boolean {
    return expected_dead_letters.every(
      ({ stream, position }) => this.dead_letters.get(stream)?.position === position,
    );
  }

  private write(write: DocumentWrite): boolean {
    this.step();
    this.beforeWrite(write);
    const { collection, id, position, document, expected } = write;
    const documents = this.collection(collection);
    if ((documents.get(id)?.position ?? null) !== expected) return false;
    if (expected !== null && position <= expected) throw new Error(`${collection} ${id} does not move on`);
    documents.set(id, { id, position, document: frozenCopy(document) });
    return true;
  }

  private finish({ partition, to, mark, add_dead_letters = [], remove_dead_letters = [] }: WriteBatch): void {
    if (add_dead_letters.length + remove_dead_letters.length > 0) this.step();
    for (const stream of remove_dead_letters) this.dead_letters.delete(stream);
    for (const dead_letter of add_dead_letters) this.dead_letters.set(dead_letter.stream, dead_letter);
    this.step();
    this.partitions[partition] = to;
    if (mark) this.marks.set(partition, mark);
  }

  private step(): void {
    this.writes++;
    if (this.crash_in-- <= 0) throw new Crash('crashed');
  }

  private restore(before: {
    documents: Documents;
    partitions: Position[];
    dead_letters: Map<StreamName, DeadLetter>;
  }): void {
    this.documents = before.documents;
    this.partitions = before.partitions;
    this.dead_letters = before.dead_letters;
  }

  private matching(collection: CollectionName, where: ViewQuery['where']): StoredDocument[] {
    return [...this.collection(collection).values()].filter((stored) => within(stored, where));
  }

  private collection(name: CollectionName): Map<string, StoredDocument> {
    let documents = this.documents.get(name);
    if (!documents) {
      documents = new Map();
      this.documents.set(name, documents);
    }
    return documents;
  }
}

export class MemoryViewStore implements ViewStore {
  readonly ready = Promise.resolve();
  readonly partition_count: number;
  readonly opened = new Map<number, MemoryViewVersion>();
  private readonly options: MemoryViewOptions;
  private infos: VersionInfo[] = [];
  private last = 0;
  private readonly leases = new Map<string, { owner: string; expires_ms: number }>();

  constructor(options: MemoryViewOptions = {}) {
    this.options = options;
    this.partition_count = options.partition_count ?? 4;
  }

  async versions(): Promise<VersionInfo[]> {
    return [...this.infos];
  }

  async createVersion(schema: number): Promise<VersionInfo> {
    const info = {
      version: ++this.last,
      status: 'building',
      schema,
      created_at: '2026-01-01T00:00:00.000Z',
      keys_differ: false,
    } as const;
    this.infos = [info, ...this.infos];
    this.opened.set(
      info.version,
      new MemoryViewVersion(info.version, { ...this.options, partition_count: this.partition_count }),
    );
    return info;
  }

  async setStatus(version: number, status: Exclude<VersionStatus, 'active'>): Promise<void> {
    this.infos = this.infos.map((info) => (info.version === version ? { ...info, status } : info));
  }

  async activate(version: number): Promise<void> {
    this.infos = this.infos.map((info) => {
      if (info.version === version) return { ...info, status: 'active', retired_at: undefined };
      const retired_at = new Date().toISOString();
      return info.status === 'active' ? { ...info, status: 'retired', retired_at } : info;
    });
  }

  async drop(version: number): Promise<void> {
    this.infos = this.infos.filter((info) => info.version !== version);
    this.opened.delete(version);
  }

  async open(version: number): Promise<MemoryViewVersion> {
    const opened = this.opened.get(version);
    if (!opened) throw new Error(`there is no view version ${version}`);
    return opened;
  }

  async lease(name: string, owner: string, ttl_ms: number): Promise<boolean> {
    const held = this.leases.get(name);
    if (held && held.owner !== owner && held.expires_ms > Date.now()) return false;
    this.leases.set(name, { owner, expires_ms: Date.now() + ttl_ms });
    return true;
  }

  async release(name: string, owner: string): Promise<void> {
    if (this.leases.get(name)?.owner === owner) this.leases.delete(name);
  }

  async close(): Promise<void> {}
}

const within = ({ id, document }: StoredDocument, where: ViewQuery['where']): boolean =>
  document !== null &&
  Object.entries(where).every(([key, condition]) =>
    holds(key === 'id' ? id : (document.keys[key] ?? null), condition),
  );

function holds(key: Key, condition: KeyCondition): boolean {
  if (condition === null || typeof condition !== 'object') return key === condition;
  if ('in' in condition) return condition.in.includes(key);
  if ('not' in condition) return key !== condition.not;
  const { gte, lte } = condition as { gte?: number; lte?: number };
  return typeof key === 'number' && (gte === undefined || key >= gte) && (lte === undefined || key <= lte);
}

const sortable = ({ id, document }: StoredDocument) => ({ id, keys: document?.keys ?? {} });

/** Returns empty objects for parts that were not requested, as the port specifies. */
function onlyParts(stored: StoredDocument, parts: readonly DocumentPart[]): StoredDocument {
  if (!stored.document) return stored;
  const { keys, body, state, expansions, words } = stored.document;
  const asked = {
    state: parts.includes('state') ? state : {},
    expansions: parts.includes('expansions') ? expansions : {},
  };
  const searched = parts.includes('words') && words ? { words } : {};
  return { ...stored, document: { keys, body, ...asked, ...searched } };
}

function fits({ document }: StoredDocument, terms: WordTerms): boolean {
  const words = document?.words ?? [];
  const has = ({ word, prefix }: WordMatch): boolean =>
    prefix ? words.some((one) => one.startsWith(word)) : words.includes(word);
  return terms.every((matches) => matches.some(has));
}

/** Returns a copy as JSON would store it. The copy is frozen because all readers share it. */
const frozenCopy = (document: ViewDocument | null): ViewDocument | null =>
  JSON.parse(JSON.stringify(document), (_key, value: unknown) => Object.freeze(value));
