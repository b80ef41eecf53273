import { setImmediate as nextTurn } from 'node:timers/promises';
import { ABSENT, type Aggregate, type State, stateSchemaOf } from '../catalog/events/aggregate';
import { type DomainEvent, decodeEvent, decodeIfReadable } from '../catalog/events/codec';
import { isCorrection } from '../catalog/events/correction';
import {
  type Position,
  type RecordedEvent,
  START,
  type StreamName,
  streamName,
} from '../catalog/events/envelope';
import type { Realm } from '../catalog/realm';
import { longTurn } from '../kernel/async';
import { LRUCache } from '../kernel/cache';
import { CatalogError } from '../kernel/errors';
import type { AnyId } from '../kernel/ids';
import { readCorrected, withCorrections } from './corrections';
import { type EventStore, NO_STREAM } from './event-store';

// The state of a stream is loaded from memory, from a snapshot, and from the events after the snapshot.

/** An aggregate whose event and id types do not matter. */
type AnyAggregate<Resource, Command = never> = Aggregate<Resource, DomainEvent, AnyId, Command>;

/** Identifies a stream, with the aggregate that its events fold to. */
export interface StreamRef<Resource, Command = never> {
  readonly aggregate: AnyAggregate<Resource, Command>;
  readonly events: EventStore;
  readonly realm: Realm;
  readonly id: AnyId;
}

/** The state of a stream after its last event. */
export interface Loaded<Resource> {
  readonly state: State<Resource>;
  /** Revision of the last event, or `NO_STREAM`. */
  readonly revision: number;
  /** Position of the last event, or `START`. */
  readonly position: Position;
  /** Id of the last event. */
  readonly event_id?: string;
  /**
   * The revision of the last event of each operation among the newest `RECENT_EVENTS` events, by the operation's id.
   */
  readonly operations: ReadonlyMap<string, number>;
  /**
   * Revision of the stream's newest snapshot. `NO_STREAM` if there is no snapshot that can be used. Undefined while the
   * state was loaded from so few events that no snapshot was read.
   */
  readonly snapshot_revision?: number;
}

/** In how many of the newest events of a stream a repeated write is found (docs/decisions/0005-own-idempotency.md). */
const RECENT_EVENTS = 1_000;

export const NOTHING_LOADED: Loaded<never> = {
  state: ABSENT,
  revision: NO_STREAM,
  position: START,
  operations: new Map(),
};

type Logs<R extends Realm> = Readonly<Record<R, EventStore>>;

/** Returns the reference to a resource's stream, and `system` with it, because commands need both. */
export function streamIn<R extends Realm, S, Resource, Event extends DomainEvent, Id extends AnyId, Command>(
  { system, events }: { readonly system: S; readonly events: Logs<R> },
  realm: R,
  aggregate: Aggregate<Resource, Event, Id, Command>,
  id: Id,
) {
  return { system, events: events[realm], realm, aggregate, id };
}

export function streamNameOf({ aggregate, realm, id }: StreamRef<unknown>): StreamName {
  return streamName(realm, aggregate.category, id);
}

/** Returns the resource from the event log. Returns undefined if the resource does not exist or is deleted. */
export async function findInLog<R extends Realm, Resource, Event extends DomainEvent, Id extends AnyId>(
  { events }: { readonly events: Logs<R> },
  realm: R,
  aggregate: Aggregate<Resource, Event, Id, never>,
  id: Id,
): Promise<Resource | undefined> {
  const { state } = await load<Resource>({ events: events[realm], realm, aggregate, id });
  return state.tag === 'present' ? state.resource : undefined;
}

/** A stream is cached if its last event has at least this revision. Reading a shorter stream is as fast. */
const CACHED_REVISIONS_MIN = 64;
/** The most weight that is cached. A stream, whose state can have 100 KB, weighs 100, and each of its operations 1. */
const CACHED_WEIGHT_MAX = 100_000;
const STREAM_WEIGHT = 100;

/**
 * The states of long streams, per log. A stream is append-only, so a later load only reads the events after its
 * state.
 */
const longStreams = new WeakMap<EventStore, LRUCache<StreamName, Loaded<unknown>>>();

/** How many events are read at once: few, because an event may have 100 KB and most streams are short. */
const PAGE_EVENTS = 64;
/** How many events are folded at once. An event with 2,048 variants takes 10 ms. */
const SLICE_EVENTS = 4;
/** How many events of a long stream are read at once after the first page. */
const LONG_PAGE_EVENTS = 512;

/**
 * Returns the state of the stream. Reads it in pages and caches long streams after each page: if a page cannot be read,
 * the next call continues after the page before. If the first page is full, `load` continues at the stream's snapshot.
 */
export async function load<Resource>(ref: StreamRef<Resource>): Promise<Loaded<Resource>> {
  const stream = streamNameOf(ref);
  let loaded = (longStreams.get(ref.events)?.get(stream) as Loaded<Resource> | undefined) ?? NOTHING_LOADED;
  for (let count = PAGE_EVENTS; ; count = LONG_PAGE_EVENTS) {
    const turn_to_read = longTurn();
    if (turn_to_read) await turn_to_read;
    const recorded = await ref.events.readStream(stream, loaded.revision + 1, count);
    for (let at = 0; at < recorded.length; at += SLICE_EVENTS) {
      const turn_to_fold = longTurn();
      if (turn_to_fold) await turn_to_fold;
      loaded = await foldCorrected(ref, recorded.slice(at, at + SLICE_EVENTS), loaded);
    }
    if (recorded.length === count && loaded.snapshot_revision === undefined)
      loaded = await skipToSnapshot(ref, loaded);
    if (loaded.revision >= CACHED_REVISIONS_MIN) cacheState(ref.events, stream, loaded);
    if (recorded.length < count) return loaded;
    // An embedded event store reads synchronously. Other requests must not wait until a long stream is read.
    await nextTurn();
  }
}

/** Returns the state of the stream right after the event of this revision, which must exist. */
export async function loadUpTo<Resource>(
  ref: StreamRef<Resource>,
  revision: number,
): Promise<Loaded<Resource>> {
  let loaded = await skipToSnapshot<Resource>(ref, NOTHING_LOADED, revision);
  while (loaded.revision < revision) {
    const count = Math.min(revision - loaded.revision, PAGE_EVENTS);
    const recorded = await ref.events.readStream(streamNameOf(ref), loaded.revision + 1, count);
    if (recorded.length === 0) throw new Error(`${streamNameOf(ref)} has no revision ${revision}`);
    loaded = await foldCorrected(ref, recorded, loaded);
    await nextTurn();
  }
  return loaded;
}

/**
 * Returns the state after the readable events up to a revision (default: all), and the revision of the last of them.
 * Used by reads, which leave out events that this release cannot read. `load` and `loadUpTo` throw at such an event,
 * so that nobody writes to the stream.
 */
export async function loadReadable<Resource>(
  ref: StreamRef<Resource>,
  to = Number.POSITIVE_INFINITY,
): Promise<Loaded<Resource>> {
  try {
    return await (to === Number.POSITIVE_INFINITY ? load(ref) : loadUpTo(ref, to));
  } catch (error) {
    // An outage. The stream may be readable.
    if (error instanceof CatalogError) throw error;
  }
  let loaded: Loaded<Resource> = NOTHING_LOADED;
  for (let from = 0; from <= to; ) {
    const recorded = await readCorrected(ref.events, streamNameOf(ref), from, PAGE_EVENTS);
    const last = recorded.at(-1);
    if (!last) break;
    const wanted = recorded.filter((event) => event.revision <= to && decodeIfReadable(event));
    loaded = fold(ref, wanted, loaded);
    from = last.revision + 1;
    await nextTurn();
  }
  return loaded;
}

/**
 * Returns the state after further events of the stream. `fold` throws if an event cannot be decoded. Only then,
 * corrections are read, and the events are folded again.
 */
async function foldCorrected<Resource>(
  ref: StreamRef<Resource>,
  recorded: readonly RecordedEvent[],
  before: Loaded<Resource>,
): Promise<Loaded<Resource>> {
  try {
    return fold(ref, recorded, before);
  } catch {
    return fold(ref, await withCorrections(ref.events, recorded), before);
  }
}

/** Returns the state after further events of the stream. */
export function fold<Resource>(
  { aggregate, id }: StreamRef<Resource>,
  recorded: readonly RecordedEvent[],
  before: Loaded<Resource>,
): Loaded<Resource> {
  const last = recorded.at(-1);
  if (last === undefined) return before;
  let { state } = before;
  for (const event of recorded)
    if (!isCorrection(event))
      state = aggregate.evolve(state, decodeEvent(event), id, event.metadata.occurred_at);
  const operations = withOperations(before.operations, recorded);
  return {
    ...before,
    state,
    revision: last.revision,
    position: last.position,
    event_id: last.id,
    operations,
  };
}

function withOperations(
  before: ReadonlyMap<string, number>,
  recorded: readonly RecordedEvent[],
): ReadonlyMap<string, number> {
  if (recorded.every(({ metadata }) => metadata.operation_id === undefined)) return before;
  const operations = new Map(before);
  for (const { metadata, revision } of recorded) {
    if (metadata.operation_id === undefined) continue;
    // Operations are in the order of their last event.
    operations.delete(metadata.operation_id);
    operations.set(metadata.operation_id, revision);
  }
  const oldest = recorded.at(-1)!.revision - RECENT_EVENTS;
  for (const [id, revision] of operations) {
    if (revision > oldest) break;
    operations.delete(id);
  }
  return operations;
}

function cacheState(events: EventStore, stream: StreamName, loaded: Loaded<unknown>): void {
  const streams =
    longStreams.get(events) ??
    new LRUCache({
      maxSize: CACHED_WEIGHT_MAX,
      sizeCalculation: ({ operations }) => STREAM_WEIGHT + operations.size,
    });
  longStreams.set(events, streams);
  streams.set(stream, loaded);
}

/** Forgets the state of a stream, or without `stream` the states of all streams of the log. */
export function forgetStates(events: EventStore, stream?: StreamName): void {
  if (stream === undefined) longStreams.delete(events);
  else longStreams.get(events)?.delete(stream);
}

// --- Snapshots ---
// The first load of a process costs the same at a thousand and at a million events. A snapshot is only a cache: it is
// compared with the stream before it is used, and the stream is read without it (docs/decisions/0021-snapshots.md).

/** A snapshot is written when the stream has this many events after its last snapshot. */
const SNAPSHOT_EVERY = 256;

/** What a snapshot stores of a loaded state. */
interface StoredState {
  readonly state: State<unknown>;
  readonly operations: readonly (readonly [id: string, revision: number])[];
}

/**
 * Returns the state of the stream's snapshot if it is after `loaded` and not after revision `to`; otherwise `loaded`. A
 * snapshot that was made from another log, for example from a log before a restore, is not used.
 */
async function skipToSnapshot<Resource>(
  ref: StreamRef<Resource>,
  loaded: Loaded<Resource>,
  to = Number.POSITIVE_INFINITY,
): Promise<Loaded<Resource>> {
  const { events, aggregate } = ref;
  const unchanged = { ...loaded, snapshot_revision: NO_STREAM };
  const snapshot = await events.snapshots?.read(streamNameOf(ref));
  if (snapshot?.schema !== stateSchemaOf(aggregate)) return unchanged;
  const { revision, event_id } = snapshot;
  if (revision <= loaded.revision || revision > to) return unchanged;
  const [event] = await events.readStream(streamNameOf(ref), revision, 1);
  if (event?.revision !== revision || event.id !== event_id) return unchanged;
  const { state, operations } = snapshot.state as unknown as StoredState;
  return {
    state: state as State<Resource>,
    revision,
    position: event.position,
    event_id,
    operations: new Map(operations),
    snapshot_revision: revision,
  };
}

/** Writes a snapshot of the loaded state in the background, if the last one is old. */
export function writeSnapshotIfDue<Resource>(ref: StreamRef<Resource>, loaded: Loaded<Resource>): void {
  const { state, revision, event_id, operations, snapshot_revision = NO_STREAM } = loaded;
  if (event_id === undefined || revision - snapshot_revision < SNAPSHOT_EVERY) return;
  const stream = streamNameOf(ref);
  cacheState(ref.events, stream, { ...loaded, snapshot_revision: revision });
  const stored: StoredState = { state, operations: [...operations] };
  const snapshot = { schema: stateSchemaOf(ref.aggregate), revision, event_id, state: stored };
  // A failure costs nothing: the next snapshot is written some hundred events later.
  void nextTurn()
    .then(() => ref.events.snapshots?.write(stream, snapshot))
    .catch(() => undefined);
}
