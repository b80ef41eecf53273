import type { CollectionName, Key, StoredDocument, ViewDocument } from '../../shared/catalog/documents';
import { type Position, START, type StreamName } from '../../shared/catalog/events/envelope';
import { PARTITION_COUNT } from '../../shared/catalog/events/partitions';
import { compareByOrder, isAfter } from '../../shared/catalog/sorting';
import type { LogMark } from '../../shared/ports/event-store';
import type {
  CheckpointMove,
  DeadLetter,
  DocumentPart,
  DocumentWrite,
  KeyCondition,
  PartitionState,
  SpanCondition,
  VersionInfo,
  VersionStatus,
  ViewQuery,
  ViewStore,
  ViewVersion,
  WriteBatch,
} from '../../shared/ports/view-store';
import { waitFor } from './wait-for';

/** Thrown in the middle of a batch, as if the process had crashed there. */
export class Crash extends Error {
  override readonly name = 'Crash';
}

export interface MemoryViewOptions {
  readonly partition_count?: number;
}

type Documents = Map<CollectionName, Map<string, StoredDocument>>;

/** A view version in memory, with faults on demand. */
export class MemoryViewVersion implements ViewVersion {
  readonly version: number;
  /** Number of writes (documents, dead letters, checkpoint) before the next one throws `Crash`. */
  crash_in = Number.POSITIVE_INFINITY;
  /** Called before each document is written. May throw, or change what is stored. */
  beforeWrite: (write: DocumentWrite) => void = () => {};
  /** Awaited before each batch. Another worker may run meanwhile. */
  interleave: () => Promise<void> = async () => {};
  writes = 0;
  private documents: Documents = new Map();
  private readonly partitions: Position[];
  private readonly revisions: number[];
  private readonly dead_letters = new Map<StreamName, DeadLetter>();
  private readonly marks = new Map<number, LogMark>();

  constructor(version: number, options: MemoryViewOptions = {}) {
    this.version = version;
    this.partitions = Array.from({ length: options.partition_count ?? PARTITION_COUNT }, () => START);
    this.revisions = this.partitions.map(() => 0);
  }

  async checkpoints(): Promise<Position[]> {
    return [...this.partitions];
  }

  async checkpoint(partition: number): Promise<Position> {
    return this.partitions[partition]!;
  }

  async partition(partition: number): Promise<PartitionState> {
    const dead_letters = (await this.deadLetters()).filter((stream) => stream.partition === partition);
    return {
      checkpoint: this.partitions[partition]!,
      revision: this.revisions[partition]!,
      dead_letters,
    };
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
    const { where, order, after, skip = 0, limit } = query;
    return this.matching(collection, where)
      .filter((stored) => !after || isAfter(order, sortable(stored), after))
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

  /** Nobody searches in memory. */
  async search(): Promise<never> {
    throw new Error('the memory store has no search');
  }
  readonly related = this.search;
  readonly matchingWords = this.search;
  readonly countWords = this.search;

  async deadLetters(): Promise<DeadLetter[]> {
    return [...this.dead_letters.values()].sort((a, b) => Number(a.position - b.position));
  }

  async apply(batch: WriteBatch): Promise<'applied' | 'lost_race'> {
    await this.interleave();
    const { partition, revision, checkpoint, writes, dead_letters, mark } = batch;
    if (this.revisions[partition] !== revision || this.partitions[partition]! > checkpoint)
      return 'lost_race';
    const before = this.documents;
    this.documents = new Map([...before].map(([name, documents]) => [name, new Map(documents)]));
    try {
      for (const write of writes) this.write(write);
      this.step();
    } catch (error) {
      this.documents = before;
      throw error;
    }
    this.partitions[partition] = checkpoint;
    this.revisions[partition] = revision + 1;
    if (mark) this.marks.set(partition, mark);
    if (!dead_letters) return 'applied';
    for (const [stream, { partition: other }] of this.dead_letters)
      if (other === partition) this.dead_letters.delete(stream);
    for (const dead_letter of dead_letters) this.dead_letters.set(dead_letter.stream, dead_letter);
    return 'applied';
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

  private write(write: DocumentWrite): void {
    this.step();
    this.beforeWrite(write);
    const { collection, id, position, document } = write;
    const documents = this.collection(collection);
    const stored = documents.get(id);
    if (stored && position <= stored.position) throw new Error(`${collection} ${id} does not move on`);
    if (write.is_removed) documents.delete(id);
    else documents.set(id, { id, position, document: frozenCopy(document) });
  }

  private step(): void {
    this.writes++;
    if (this.crash_in-- <= 0) throw new Crash('crashed');
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
    this.partition_count = options.partition_count ?? PARTITION_COUNT;
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

  async pausedSince(): Promise<undefined> {
    return undefined;
  }

  async setPaused(): Promise<never> {
    throw new Error('the memory store is never paused');
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
  Object.entries(where).every(([key, condition]) => {
    const keyOf = (name: string): Key => (name === 'id' ? id : (document.keys[name] ?? null));
    return isSpan(condition)
      ? spans(keyOf(key), keyOf(condition.until), condition)
      : holds(keyOf(key), condition);
  });

const isSpan = (condition: KeyCondition): condition is SpanCondition =>
  condition !== null && typeof condition === 'object' && 'contains' in condition;

const spans = (from: Key, until: Key, { contains, is }: SpanCondition): boolean =>
  from !== null && until !== null && (Number(from) <= contains && Number(until) > contains) === is;

function holds(key: Key, condition: Exclude<KeyCondition, SpanCondition>): boolean {
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

/** Returns a copy as JSON would store it. The copy is frozen because all readers share it. */
const frozenCopy = (document: ViewDocument | null): ViewDocument | null =>
  JSON.parse(JSON.stringify(document), (_key, value: unknown) => Object.freeze(value));
