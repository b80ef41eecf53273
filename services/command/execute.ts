import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Aggregate, type Owner, stateSchemaOf } from '../../shared/catalog/events/aggregate';
import { type DomainEvent, decodeEvent, encodeEvent } from '../../shared/catalog/events/codec';
import {
  type Category,
  type EncodedEvent,
  type EventMetadata,
  type Position,
  type RecordedEvent,
  START,
  type StreamName,
  streamName,
} from '../../shared/catalog/events/envelope';
import type { Environment, Realm } from '../../shared/catalog/realm';
import { LRUCache } from '../../shared/kernel/cache';
import type { Decision } from '../../shared/kernel/decision';
import { CatalogError, type Condition, DeletedStreamError, isOutage } from '../../shared/kernel/errors';
import {
  type AccountId,
  type AnyId,
  type ApiKeyId,
  deriveId,
  generateId,
  type StoreId,
  timeOfId,
} from '../../shared/kernel/ids';
import { isSameValue } from '../../shared/kernel/same-value';
import { type System, timestamp } from '../../shared/kernel/system';
import { type EventStore, NO_STREAM } from '../../shared/ports/event-store';
import type { Operation } from '../../shared/ports/idempotency-store';
import { readSnapshot, writeSnapshot } from './snapshots';

/**
 * Executes commands: loads the stream, decides, appends the events. The other files in this folder define the commands
 * of each aggregate.
 */

/**
 * Dependencies of writes to stores, listings, publications, media and reviews, which are in the logs of the
 * environments.
 */
export interface StoreDeps {
  readonly system: System;
  readonly events: Readonly<Record<Environment, EventStore>>;
}

/** Dependencies of writes to accounts and API keys, which are in the `control` log. */
export interface ControlDeps {
  readonly system: System;
  readonly events: Readonly<Record<Realm, EventStore>>;
}

/** Who writes, and for which request. Stored as metadata of every event. */
export interface WriteContext {
  readonly source: EventMetadata['source'];
  /** The id of the HTTP request, or of the run of a command-line tool. */
  readonly request_id: string;
  readonly idempotency_key?: string;
  /** Set if the client may send the write again. The repetition then finds the events of the first run in the log. */
  readonly operation?: Operation;
  readonly account_id?: AccountId;
  readonly api_key_id?: ApiKeyId;
  /** Called right before an append is sent. If it rejects, nothing is sent. */
  readonly beforeSend?: (() => Promise<void>) | undefined;
}

/**
 * The result of a write. `position` is that of the stream's last event. If nothing changed, an earlier write appended
 * that event.
 */
export interface Written<Value> {
  readonly value: Value;
  readonly position: Position;
  /** Revision of the event at `position`. */
  readonly revision: number;
  readonly changed: boolean;
  /** Whether this write appended the first event of the stream. */
  readonly created: boolean;
  /**
   * Set if an earlier run of the same operation appended the events. `value` and `position` are the results of that
   * run.
   */
  readonly repeated?: boolean;
}

/** Where to create a resource. The caller must check that the store exists. */
export interface NewTarget<Id> {
  readonly environment: Environment;
  readonly store_id: StoreId;
  /** Set if the caller derives the id; otherwise it is generated. */
  readonly id?: Id;
  /** Throws if the client must not create a resource. Not called for a write that an earlier run completed. */
  readonly guard?: () => void | Promise<void>;
}

/** An existing resource. `guard` throws if the client must not write to the resource or to this version of it. */
export interface Target<Id, Resource> {
  readonly environment: Environment;
  readonly id: Id;
  readonly guard?: (resource: Resource) => void | Promise<void>;
}

/** The result of creating or patching a resource. A deleted resource stays deleted; nothing is appended. */
export type PutResult<Resource> =
  | ({ readonly outcome: 'created' | 'updated' | 'unchanged' } & Written<Resource>)
  | { readonly outcome: 'deleted' };

export function putOutcome({ created, changed }: Written<unknown>): 'created' | 'updated' | 'unchanged' {
  if (created) return 'created';
  return changed ? 'updated' : 'unchanged';
}

/** The state of a stream after its last event. */
export interface Loaded<State> {
  readonly state: State;
  /** Revision of the last event, or `NO_STREAM`. */
  readonly revision: number;
  /** Position of the last event, or `START`. */
  readonly position: Position;
  /** Id of the last event. */
  readonly event_id?: string;
  /** Revision of the stream's snapshot, or `NO_STREAM` if none can be used. Undefined if none was looked for. */
  readonly snapshot_revision?: number;
}

/** Identifies a stream, with the aggregate that its events fold to. */
export interface StreamRef<State, Event extends DomainEvent, Id extends AnyId> {
  readonly aggregate: Aggregate<State, Event, Id>;
  readonly events: EventStore;
  readonly realm: Realm;
  readonly id: Id;
}

export interface Write<State, Event extends DomainEvent, Id extends AnyId>
  extends StreamRef<State, Event, Id> {
  readonly system: System;
  readonly context: WriteContext;
  /**
   * True if the stream probably has no events, so the first attempt does not read it. If it has, that attempt loses the
   * race for the first revision, and the next one reads the stream.
   */
  readonly fresh?: boolean;
  /**
   * Checks preconditions that are not part of the decision: references, `If-Match`, and the `guard` of the target. Throws
   * if one is not met. Called in every attempt.
   */
  readonly check?: (state: State) => void | Promise<void>;
  /** Returns the events to append, or the condition to reject the command with. Pure. */
  readonly decide: (state: State) => Decision<Event>;
}

/** Returns the reference to a resource's stream, with the system that a write to it needs. */
export function streamIn<R extends Realm, State, Event extends DomainEvent, Id extends AnyId>(
  deps: { readonly system: System; readonly events: Readonly<Record<R, EventStore>> },
  realm: R,
  aggregate: Aggregate<State, Event, Id>,
  id: Id,
) {
  return { system: deps.system, events: deps.events[realm], realm, aggregate, id };
}

/** A stream is cached if its last event has at least this revision. Reading a shorter stream is as fast. */
const CACHED_REVISIONS_MIN = 64;
const CACHED_STREAMS_MAX = 5_000;

/**
 * The states of long streams, per log. A stream is append-only, so a later load only reads the events after the cached
 * revision.
 */
const longStreams = new WeakMap<EventStore, LRUCache<StreamName, Loaded<unknown>>>();

/** How many events are read at once. An event may have 100 KB. */
const PAGE_EVENTS = 64;
/** How many events of a long stream are read at once after the first page. */
const LONG_PAGE_EVENTS = 512;

/**
 * Returns the state of the stream. Reads it in pages and caches long streams after each page: if a page cannot be read,
 * the next call continues after the page before. If the first page is full, continues at the stream's snapshot.
 */
export async function load<State, Event extends DomainEvent, Id extends AnyId>(
  ref: StreamRef<State, Event, Id>,
): Promise<Loaded<State>> {
  const { events } = ref;
  const stream = streamNameOf(ref);
  let loaded = (longStreams.get(events)?.get(stream) as Loaded<State> | undefined) ?? fold(ref, []);
  for (let count = PAGE_EVENTS; ; count = LONG_PAGE_EVENTS) {
    const recorded = await events.readStream(stream, loaded.revision + 1, count);
    loaded = fold(ref, recorded, loaded);
    if (recorded.length === count && loaded.snapshot_revision === undefined)
      loaded = await skipToSnapshot(ref, loaded);
    if (loaded.revision >= CACHED_REVISIONS_MIN) cacheState(events, stream, loaded);
    if (recorded.length < count) return loaded;
    // An embedded event store reads synchronously. Other requests must not wait until a long stream is read.
    await nextTurn();
  }
}

/**
 * Returns the state of the stream's snapshot if it is after `loaded`, and not after revision `to`; otherwise `loaded`.
 */
async function skipToSnapshot<State, Event extends DomainEvent, Id extends AnyId>(
  ref: StreamRef<State, Event, Id>,
  loaded: Loaded<State>,
  to?: number,
): Promise<Loaded<State>> {
  const wanted = {
    schema: stateSchemaOf(ref.aggregate),
    after: loaded.revision,
    ...(to !== undefined && { to }),
  };
  const snapshot = await readSnapshot(ref.events, streamNameOf(ref), wanted);
  if (!snapshot) return { ...loaded, snapshot_revision: NO_STREAM };
  const { state, revision, position, event_id } = snapshot;
  return { state: state as State, revision, position, event_id, snapshot_revision: revision };
}

/** A snapshot is written when the stream has this many events more than its last one. */
const SNAPSHOT_EVERY = 256;

/** Writes a snapshot of the loaded state in the background, if the last one is old. */
function writeSnapshotIfDue<State, Event extends DomainEvent, Id extends AnyId>(
  ref: StreamRef<State, Event, Id>,
  loaded: Loaded<State>,
): void {
  const { state, revision, event_id, snapshot_revision = NO_STREAM } = loaded;
  if (event_id === undefined || revision - snapshot_revision < SNAPSHOT_EVERY) return;
  const stream = streamNameOf(ref);
  cacheState(ref.events, stream, { ...loaded, snapshot_revision: revision });
  const schema = stateSchemaOf(ref.aggregate);
  writeSnapshot(ref.events, stream, { schema, revision, event_id, state: state as object });
}

function cacheState(events: EventStore, stream: StreamName, loaded: Loaded<unknown>): void {
  const streams = longStreams.get(events) ?? new LRUCache({ max: CACHED_STREAMS_MAX });
  longStreams.set(events, streams);
  streams.set(stream, loaded);
}

/** `loadAt` remembers the states after every 16th event, or after fewer of them if it reads more than 1,024 events. */
const REMEMBERED_EVERY_MIN = 16;
const REMEMBERED_PER_LOAD = 64;
const REMEMBERED_BYTES_MAX = 64 * 1_048_576;

/** Earlier states of streams, per log. The keys are `<stream>@<revision>`. */
const earlierStates = new WeakMap<EventStore, LRUCache<string, Loaded<unknown>>>();

/** The last queued `loadAt` of each stream, per log. */
const queuedLoads: Queues = new WeakMap();

/**
 * Returns the state of the stream right after the event of this revision, whatever was appended since. Throws if the
 * stream has no such revision.
 *
 * A client can ask for the same revisions again and again, and their events can be large. So this remembers the
 * returned state, and states on the way to it: the next load of a near revision reads a few events. The loads of a stream
 * run one after another, so concurrent ones share what the first one read.
 */
export async function loadAt<State, Event extends DomainEvent, Id extends AnyId>(
  ref: StreamRef<State, Event, Id>,
  revision: number,
): Promise<State> {
  const { events } = ref;
  const stream = streamNameOf(ref);
  const states = earlierStatesOf<State>(events);
  const find = (): Loaded<State> | undefined => states.get(`${stream}@${revision}`);
  const loaded =
    find() ??
    (await serialise(queuedLoads, events, stream, async () => find() ?? (await readUpTo(ref, revision))));
  return loaded.state;
}

async function readUpTo<State, Event extends DomainEvent, Id extends AnyId>(
  ref: StreamRef<State, Event, Id>,
  revision: number,
): Promise<Loaded<State>> {
  const { events } = ref;
  const stream = streamNameOf(ref);
  const states = earlierStatesOf<State>(events);
  let loaded = nearestState(ref, revision);
  if (revision - loaded.revision > LONG_PAGE_EVENTS) loaded = await skipToSnapshot(ref, loaded, revision);
  let every = REMEMBERED_EVERY_MIN;
  while ((revision - loaded.revision) / every > REMEMBERED_PER_LOAD) every *= 2;
  while (loaded.revision < revision) {
    const left = revision - loaded.revision;
    const count = left > LONG_PAGE_EVENTS ? LONG_PAGE_EVENTS : Math.min(left, PAGE_EVENTS);
    const recorded = await events.readStream(stream, loaded.revision + 1, count);
    if (recorded.length === 0) throw new Error(`${stream} has no revision ${revision}`);
    for (const event of recorded) {
      loaded = fold(ref, [event], loaded);
      if ((loaded.revision + 1) % every === 0 || loaded.revision === revision)
        states.set(`${stream}@${loaded.revision}`, loaded);
    }
    await nextTurn();
  }
  return loaded;
}

/** Returns the last known state of the stream that is not after `revision`. */
function nearestState<State, Event extends DomainEvent, Id extends AnyId>(
  ref: StreamRef<State, Event, Id>,
  revision: number,
): Loaded<State> {
  const stream = streamNameOf(ref);
  const newest = longStreams.get(ref.events)?.get(stream) as Loaded<State> | undefined;
  const known = newest && newest.revision <= revision ? newest : fold(ref, []);
  const states = earlierStatesOf<State>(ref.events);
  const last = revision - ((revision + 1) % REMEMBERED_EVERY_MIN);
  for (let earlier = last; earlier > known.revision; earlier -= REMEMBERED_EVERY_MIN) {
    const state = states.get(`${stream}@${earlier}`);
    if (state) return state;
  }
  return known;
}

function earlierStatesOf<State>(events: EventStore): LRUCache<string, Loaded<State>> {
  const states =
    earlierStates.get(events) ??
    new LRUCache({ maxSize: REMEMBERED_BYTES_MAX, sizeCalculation: (loaded) => sizeOf(loaded) });
  earlierStates.set(events, states);
  return states as LRUCache<string, Loaded<State>>;
}

/** Returns about how many bytes of memory the state takes. A character may take two. */
function sizeOf({ state }: Loaded<unknown>): number {
  return 2 * JSON.stringify(state).length;
}

function fold<State, Event extends DomainEvent, Id extends AnyId>(
  { aggregate, id }: StreamRef<State, Event, Id>,
  recorded: readonly RecordedEvent[],
  before: Loaded<State> = { state: aggregate.absent, revision: NO_STREAM, position: START },
): Loaded<State> {
  const last = recorded.at(-1);
  if (last === undefined) return before;
  let { state } = before;
  for (const event of recorded)
    state = aggregate.evolve(state, decodeEvent(event) as Event, id, event.metadata.occurred_at);
  return { ...before, state, revision: last.revision, position: last.position, event_id: last.id };
}

/** How often a write that lost a race is retried (docs/interface.md#concurrent-writes). */
const RETRIES = 3;

/**
 * Executes a command:
 *
 * 1. loads the stream,
 * 2. returns the result of another run of the same operation, if there is one,
 * 3. calls `check`, then `decide`,
 * 4. appends the events at the loaded revision; if another writer was faster, starts again at step 1,
 * 5. returns the result of another run if that one appended the same events.
 *
 * Writes a snapshot of a long stream in the background.
 *
 * Throws a `CatalogError` with the condition of a rejected decision, errors of `check`, and `lost_race` after
 * `RETRIES` retries.
 */
export async function execute<State, Event extends DomainEvent, Id extends AnyId>(
  write: Write<State, Event, Id>,
): Promise<Written<State>> {
  return serialiseByStream(write.events, streamNameOf(write), async () => {
    for (let attempt = 0; attempt <= RETRIES; attempt++) {
      const loaded = write.fresh && attempt === 0 ? fold(write, []) : await load(write);
      const written =
        (await findOtherResult(write, attempt, loaded.revision)) ?? (await attemptWrite(write, loaded));
      if (written) {
        writeSnapshotIfDue(write, loaded);
        return resultInLog(write, written);
      }
    }
    throw new CatalogError('lost_race');
  });
}

/**
 * Returns the result of another run of the same operation, undefined if there is none. This ensures that an operation
 * appends its events only once. Must be called after the stream was loaded: if the other run appends later, the append
 * of this one fails.
 */
async function findOtherResult<State, Event extends DomainEvent, Id extends AnyId>(
  write: Write<State, Event, Id>,
  attempt: number,
  last_revision: number,
): Promise<Written<State> | undefined> {
  const { operation } = write.context;
  if (operation === undefined) return undefined;
  // The writer that won the race, or one before it, may be a run of this operation that has taken over the lock.
  if (operation.resumed || attempt > 0 || !hasLock(write, operation))
    return findResult(write, operation, last_revision);
  // This run has held the lock all the time, so there was another run only if its record was lost.
  if (operation.fingerprint === undefined) return undefined;
  const found = findOperation(operation, await recentOperations(write, operation, last_revision));
  return found && resultAt(write, operation, found);
}

/** Whether no other run of the operation can have taken over the lock. */
function hasLock({ system }: { readonly system: System }, { locked_until_ms }: Operation): boolean {
  return system.now() < (locked_until_ms ?? Number.POSITIVE_INFINITY);
}

/**
 * Returns the result as it is in the log. An earlier run of the same operation may have appended the same events late. So
 * may a run that has taken over the lock. Their ids are equal, so the event store accepts the append, and keeps the
 * events of the other run with their time.
 */
async function resultInLog<State, Event extends DomainEvent, Id extends AnyId>(
  write: Write<State, Event, Id>,
  written: Written<State>,
): Promise<Written<State>> {
  const { operation } = write.context;
  if (operation === undefined || !written.changed || written.repeated) return written;
  if (!operation.resumed && hasLock(write, operation)) return written;
  const found = await findResult(write, operation, written.revision);
  return found && !isSameValue(found.value, written.value) ? found : written;
}

/**
 * Events that are older than the operation by more than this time are not of an earlier run of it. A record of an
 * operation is kept for a day (docs/interface.md#idempotency); the second day allows for clocks that differ.
 */
const EARLIER_RUNS_MS = 2 * 86_400_000;

/**
 * Returns the result of the operation's events up to `last_revision`. Undefined if the stream has none. Reads the stream
 * backwards in pages, because the events are among the newest.
 */
async function findResult<State, Event extends DomainEvent, Id extends AnyId>(
  write: Write<State, Event, Id>,
  operation: Operation,
  last_revision: number,
): Promise<Written<State> | undefined> {
  const stream = streamNameOf(write);
  const oldest = timestamp(operation.started_at_ms - EARLIER_RUNS_MS);
  for (let last = last_revision; last >= 0; last -= PAGE_EVENTS) {
    const from = Math.max(0, last - PAGE_EVENTS + 1);
    const recorded = await write.events.readStream(stream, from, last - from + 1);
    const found = recorded.findLast((event) => isOfOperation(event, operation));
    if (found) return resultAt(write, operation, found);
    if (recorded[0] !== undefined && recorded[0].metadata.occurred_at < oldest) return undefined;
  }
  return undefined;
}

/** The part of an event that identifies its operation. */
type OperationEvent = Pick<RecordedEvent, 'position' | 'revision' | 'metadata'>;

/** Whether the event is one of the operation, and not of an earlier use of the same key. */
function isOfOperation({ metadata }: OperationEvent, operation: Operation): boolean {
  const { operation_id, occurred_at } = metadata;
  if (operation_id === undefined) return false;
  if (operation_id !== operation.id && !operation.earlier_ids?.includes(operation_id)) return false;
  return operation.since_ms === undefined || occurred_at >= timestamp(operation.since_ms);
}

/**
 * Returns the result of the operation whose last event is `found`. Throws `idempotency_key_reused` if that event was
 * appended for another request.
 */
async function resultAt<State, Event extends DomainEvent, Id extends AnyId>(
  write: Write<State, Event, Id>,
  operation: Operation,
  { position, revision, metadata }: OperationEvent,
): Promise<Written<State>> {
  // Events of the earlier release have no fingerprint.
  if ((metadata.fingerprint ?? operation.fingerprint) !== operation.fingerprint)
    throw new CatalogError('idempotency_key_reused');
  operation.onAppended?.();
  const value = await loadAt(write, revision);
  const [first] = await write.events.readStream(streamNameOf(write), 0, 1);
  const created = first !== undefined && isOfOperation(first, operation);
  return { value, position, revision, changed: true, created, repeated: true };
}

/** How many of the newest events of a stream are searched for an operation whose record may have been lost. */
const RECENT_EVENTS = 1_000;
/** A recent operation takes about 300 bytes. */
const RECENT_OPERATIONS_MAX = 50_000;

/** The last event of each operation among the newest events of a stream, by the id of the operation. */
interface RecentOperations {
  /** The last revision that is included. */
  revision: number;
  readonly events: Map<string, OperationEvent>;
}

/** Recent operations of streams, per log. A write that repeats an `Idempotency-Key` only reads the events after them. */
const recentOperationsOf = new WeakMap<EventStore, LRUCache<StreamName, RecentOperations>>();

/**
 * Returns the operations of the newest events up to `last_revision`: of at most `RECENT_EVENTS` events, and none that
 * are too old to be of this operation. Reads the events that it does not know yet, backwards in pages.
 */
async function recentOperations<State, Event extends DomainEvent, Id extends AnyId>(
  write: Write<State, Event, Id>,
  { since_ms = 0 }: Operation,
  last_revision: number,
): Promise<RecentOperations> {
  const { events } = write;
  const stream = streamNameOf(write);
  const streams =
    recentOperationsOf.get(events) ??
    new LRUCache({ maxSize: RECENT_OPERATIONS_MAX, sizeCalculation: (known) => 1 + known.events.size });
  recentOperationsOf.set(events, streams);
  let known = streams.get(stream);
  // A log that was restored from a back-up can be shorter than before.
  if (!known || known.revision > last_revision) known = { revision: NO_STREAM, events: new Map() };
  const oldest = Math.max(known.revision, last_revision - RECENT_EVENTS) + 1;
  const found: OperationEvent[] = [];
  for (let last = last_revision; last >= oldest; last -= PAGE_EVENTS) {
    const from = Math.max(oldest, last - PAGE_EVENTS + 1);
    const page = await events.readStream(stream, from, last - from + 1);
    found.unshift(...page.filter(({ metadata }) => metadata.operation_id !== undefined));
    if ((page[0]?.metadata.occurred_at ?? '') < timestamp(since_ms)) break;
  }
  for (const event of found) remember(known, event);
  known.revision = last_revision;
  if (last_revision !== NO_STREAM) streams.set(stream, known);
  return known;
}

function remember({ events }: RecentOperations, { position, revision, metadata }: OperationEvent): void {
  const operation_id = metadata.operation_id!;
  events.delete(operation_id);
  events.set(operation_id, { position, revision, metadata });
  const [oldest] = events.keys();
  if (events.size > RECENT_EVENTS) events.delete(oldest!);
}

function findOperation(operation: Operation, { events }: RecentOperations): OperationEvent | undefined {
  return [operation.id, ...(operation.earlier_ids ?? [])]
    .map((id) => events.get(id))
    .find((event) => event !== undefined && isOfOperation(event, operation));
}

/** Executes the command on the loaded state. Returns undefined if another writer has appended to the stream since. */
async function attemptWrite<State, Event extends DomainEvent, Id extends AnyId>(
  write: Write<State, Event, Id>,
  { state, revision, position }: Loaded<State>,
): Promise<Written<State> | undefined> {
  await write.check?.(state);
  const decision = write.decide(state);
  if (!decision.ok) {
    throw new CatalogError(
      decision.condition,
      decision.message === undefined ? {} : { message: decision.message },
    );
  }
  if (decision.events.length === 0)
    return { value: state, position, revision, changed: false, created: false };

  const occurred_at = timestamp(write.system.now());
  const next = decision.events.reduce(
    (folded, event) => write.aggregate.evolve(folded, event, write.id, occurred_at),
    state,
  );
  const owner = write.aggregate.owner(next);
  if (owner === undefined) throw new Error(`${streamNameOf(write)} has no owner after its first events`);
  const metadata = metadataOf(write.context, owner, occurred_at);
  const encoded = decision.events.map((event, index) =>
    encode(event, write.context, streamNameOf(write), revision + 1 + index, metadata),
  );
  const appended = await write.events
    .append(streamNameOf(write), revision, encoded, write.context.beforeSend)
    .catch((error: unknown) => throwIfDeleted(write, error));
  if (appended.outcome === 'wrong_revision') {
    // An older copy of the log has taken its place, so what this process remembers of its streams is not in it.
    if (appended.actual < revision)
      for (const remembered of [longStreams, earlierStates, recentOperationsOf])
        remembered.delete(write.events);
    return undefined;
  }
  write.context.operation?.onAppended?.();
  // The next write with a key then reads no event that this process has appended itself.
  const known = recentOperationsOf.get(write.events)?.get(streamNameOf(write));
  if (known?.revision === revision && metadata.operation_id !== undefined) {
    remember(known, { ...appended, metadata });
    known.revision = appended.revision;
  }
  const created = revision === NO_STREAM;
  return {
    value: next,
    position: appended.position,
    revision: appended.revision,
    changed: true,
    created,
  };
}

/** Answer to a write if an operator has deleted the stream of the resource: the same as after a DELETE by a client. */
const NOT_FOUND: Partial<Record<Category, Condition>> = {
  store: 'store_not_found',
  listing: 'listing_not_found',
  publication: 'publication_not_found',
  media: 'media_not_found',
};

/** Throws the error. Forgets the state of a stream that an operator has deleted. */
function throwIfDeleted<State, Event extends DomainEvent, Id extends AnyId>(
  ref: StreamRef<State, Event, Id>,
  error: unknown,
): never {
  if (!(error instanceof DeletedStreamError)) throw error;
  longStreams.get(ref.events)?.delete(streamNameOf(ref));
  const condition = NOT_FOUND[ref.aggregate.category];
  throw condition ? new CatalogError(condition, { cause: error }) : error;
}

/**
 * Encodes an event. Derives its id from the requester, the operation and the start of its record, the revision in the
 * stream and the content. An operation that is resumed therefore has the same event ids, and the event store ignores a
 * second append. If the record was lost, the ids differ. If the first run's append lands first, this append gets
 * `wrong_revision`, and the retry finds the first run's events. Without an operation, the time makes the ids of each
 * attempt differ.
 */
function encode(
  event: DomainEvent,
  context: WriteContext,
  stream: StreamName,
  revision: number,
  metadata: EncodedEvent['metadata'],
): EncodedEvent {
  const { type, schema_version, data } = encodeEvent(event);
  const requester = context.api_key_id ?? context.source;
  const { operation } = context;
  const run = operation
    ? [operation.id, String(operation.started_at_ms)]
    : [context.request_id, metadata.occurred_at];
  const id = deriveId(0, requester, ...run, stream, String(revision), type, JSON.stringify(data));
  return { id, type, schema_version, data, metadata };
}

function streamNameOf(ref: { aggregate: { category: Category }; realm: Realm; id: string }): StreamName {
  return streamName(ref.realm, ref.aggregate.category, ref.id);
}

function metadataOf(context: WriteContext, owner: Owner, occurred_at: string): EventMetadata {
  const account_id = owner.account_id ?? context.account_id;
  return {
    occurred_at,
    partition_key: owner.store_id ?? owner.account_id,
    source: context.source,
    request_id: context.request_id,
    ...(owner.store_id === undefined ? {} : { store_id: owner.store_id }),
    ...(account_id === undefined ? {} : { account_id }),
    ...(context.api_key_id === undefined ? {} : { api_key_id: context.api_key_id }),
    ...(context.idempotency_key === undefined ? {} : { idempotency_key: context.idempotency_key }),
    ...(context.operation === undefined ? {} : { operation_id: context.operation.id }),
    ...(context.operation?.fingerprint === undefined ? {} : { fingerprint: context.operation.fingerprint }),
  };
}

/**
 * Returns the id of a new resource: `given_id` if set; else an id that is derived from the operation, so that a
 * repetition writes to the same stream. With neither, generates an id. `fresh`: whether the stream of the id has no
 * events yet.
 */
export async function idForNew<State, Event extends DomainEvent, Id extends AnyId>(
  { system, events }: StoreDeps,
  environment: Environment,
  { category }: Aggregate<State, Event, Id>,
  { operation }: WriteContext,
  given_id?: Id,
): Promise<{ readonly id: Id; readonly fresh: boolean }> {
  if (given_id !== undefined) return { id: given_id, fresh: false };
  if (operation === undefined) return { id: generateId<Id>(system.now(), system.random), fresh: true };
  const operation_ids = [operation.id, ...(operation.earlier_ids ?? [])];
  const ids = operation_ids.map((id) => deriveId<Id>(timeOfId(id), 'new', id));
  const firsts = await Promise.all(
    ids.map((id) => events[environment].readStream(streamName(environment, category, id), 0, 1)),
  );
  const earlier = firsts.findIndex(([first]) => first !== undefined && isOfOperation(first, operation));
  return earlier === -1
    ? { id: ids[0]!, fresh: firsts[0]!.length === 0 }
    : { id: ids[earlier]!, fresh: false };
}

type Queues = WeakMap<EventStore, Map<StreamName, Promise<void>>>;

/** The last queued write of each stream, per log. */
const queuedWrites: Queues = new WeakMap();

/**
 * Runs this process's writes to a stream one after another. Appends at the expected revision are correct without
 * it. But concurrent writers of one process would make each other lose races until their retries are used up.
 */
export async function serialiseByStream<Result>(
  events: EventStore,
  stream: StreamName,
  write: () => Promise<Result>,
): Promise<Result> {
  return serialise(queuedWrites, events, stream, write);
}

/**
 * Runs the work of a stream one after another.
 *
 * If work fails because the event store is unavailable, the work queued behind it fails with the same error.
 * Otherwise each of them would wait for a timeout of its own. Calls for the same stream must not be nested, because the
 * inner call would wait for the outer call forever.
 */
async function serialise<Result>(
  queues: Queues,
  events: EventStore,
  stream: StreamName,
  work: () => Promise<Result>,
): Promise<Result> {
  const queue = queues.get(events) ?? new Map<StreamName, Promise<void>>();
  queues.set(events, queue);
  const running = (queue.get(stream) ?? Promise.resolve()).then(work);
  const end = running.then(ignore, throwOutage);
  end.catch(ignore);
  queue.set(stream, end);
  try {
    return await running;
  } finally {
    if (queue.get(stream) === end) queue.delete(stream);
  }
}

function ignore(): void {}

function throwOutage(error: unknown): void {
  if (isOutage(error)) throw error;
}
