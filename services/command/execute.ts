import type { Aggregate, Owner } from '../../shared/catalog/events/aggregate';
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
import { CatalogError, isOutage } from '../../shared/kernel/errors';
import {
  type AccountId,
  type AnyId,
  type ApiKeyId,
  deriveId,
  generateId,
  type StoreId,
} from '../../shared/kernel/ids';
import { type System, timestamp } from '../../shared/kernel/system';
import { type EventStore, NO_STREAM } from '../../shared/ports/event-store';
import type { Operation } from '../../shared/ports/idempotency-store';

/** How a write is done: load the stream, decide, append. The files beside this one say what is written. */

/** What writing in stores needs: stores, listings, publications, reviews live in the environments' logs. */
export interface StoreDeps {
  readonly system: System;
  readonly events: Readonly<Record<Environment, EventStore>>;
}

/** What writing accounts and API keys needs besides: the `control` log. */
export interface ControlDeps {
  readonly system: System;
  readonly events: Readonly<Record<Realm, EventStore>>;
}

/** Who writes and why: goes with every event as metadata. */
export interface WriteContext {
  readonly source: EventMetadata['source'];
  /** Of the HTTP request, or one per command line run. */
  readonly request_id: string;
  readonly idempotency_key?: string;
  /** Where the write may be asked for again: then it is found in the log and not written twice. */
  readonly operation?: Operation;
  readonly account_id?: AccountId;
  readonly api_key_id?: ApiKeyId;
}

/** What a write came to. `position` is the newest event's of the stream, also where nothing was written. */
export interface Written<Value> {
  readonly value: Value;
  readonly position: Position;
  readonly changed: boolean;
  /** This write was the stream's first. */
  readonly created: boolean;
  /** An earlier run of the same operation wrote it: `value` and `position` are as they were then. */
  readonly repeated?: boolean;
}

/** Where a new resource goes; `id` where the caller derives it. That the store exists is the caller's to check. */
export interface NewTarget<Id> {
  readonly environment: Environment;
  readonly store_id: StoreId;
  readonly id?: Id;
  /** Throws where nothing may be created. Not called again for a write that is done. */
  readonly guard?: () => void | Promise<void>;
}

/** A resource by id; `guard` throws where the caller may not write to it, or not in this version. */
export interface Target<Id, Resource> {
  readonly environment: Environment;
  readonly id: Id;
  readonly guard?: (resource: Resource) => void | Promise<void>;
}

/** What became of a resource that was created or patched. A deleted one stays deleted: nothing was written. */
export type Put<Resource> =
  | ({ readonly outcome: 'created' | 'updated' | 'unchanged' } & Written<Resource>)
  | { readonly outcome: 'deleted' };

export function putOutcome({ created, changed }: Written<unknown>): 'created' | 'updated' | 'unchanged' {
  if (created) return 'created';
  return changed ? 'updated' : 'unchanged';
}

/** A stream folded up to its last event. */
export interface Loaded<State> {
  readonly state: State;
  /** Of the last event, or `NO_STREAM`. */
  readonly revision: number;
  /** Of the last event, or `START`. */
  readonly position: Position;
}

/** Where to find a stream. */
export interface Place<State, Event extends DomainEvent, Id extends AnyId> {
  readonly aggregate: Aggregate<State, Event, Id>;
  readonly events: EventStore;
  readonly realm: Realm;
  readonly id: Id;
}

export interface Work<State, Event extends DomainEvent, Id extends AnyId> extends Place<State, Event, Id> {
  readonly system: System;
  readonly context: WriteContext;
  /** The id was made for this write: nobody has written to the stream, so it is not read before the first attempt. */
  readonly fresh?: boolean;
  /** Whatever must hold of the state besides the decision (references, `If-Match`): throws; asked on every attempt. */
  readonly check?: (state: State) => void | Promise<void>;
  /** Pure. */
  readonly decide: (state: State) => Decision<Event>;
}

/** Where a resource's stream is, with what else a write to it needs. */
export function placeIn<R extends Realm, State, Event extends DomainEvent, Id extends AnyId>(
  deps: { readonly system: System; readonly events: Readonly<Record<R, EventStore>> },
  realm: R,
  aggregate: Aggregate<State, Event, Id>,
  id: Id,
) {
  return { system: deps.system, events: deps.events[realm], realm, aggregate, id };
}

/** A shorter stream is as quickly read as cached. */
const CACHED_REVISIONS_MIN = 64;
const CACHED_STREAMS_MAX = 5_000;

/** Per log, what long streams added up to when they were read last. Streams only grow, so reading goes on from there. */
const longStreams = new WeakMap<EventStore, LRUCache<StreamName, Loaded<unknown>>>();

/** Returns the state of the stream. A popular publication gathers an event of views per interval: it is cached. */
export async function load<State, Event extends DomainEvent, Id extends AnyId>(
  place: Place<State, Event, Id>,
): Promise<Loaded<State>> {
  const { events } = place;
  const stream = streamOf(place);
  const known = longStreams.get(events)?.get(stream) as Loaded<State> | undefined;
  const loaded = fold(place, await events.readStream(stream, known ? known.revision + 1 : 0), known);
  if (loaded.revision >= CACHED_REVISIONS_MIN) {
    const streams = longStreams.get(events) ?? new LRUCache({ max: CACHED_STREAMS_MAX });
    longStreams.set(events, streams);
    streams.set(stream, loaded);
  }
  return loaded;
}

function fold<State, Event extends DomainEvent, Id extends AnyId>(
  { aggregate, id }: Place<State, Event, Id>,
  recorded: readonly RecordedEvent[],
  before: Loaded<State> = { state: aggregate.absent, revision: NO_STREAM, position: START },
): Loaded<State> {
  const last = recorded.at(-1);
  if (last === undefined) return before;
  let { state } = before;
  for (const event of recorded)
    state = aggregate.evolve(state, decodeEvent(event) as Event, id, event.metadata.occurred_at);
  return { state, revision: last.revision, position: last.position };
}

/** How often a write that lost a race is decided again (design, "Write side"). */
const RETRIES = 3;

/**
 * Loads the stream, decides, and appends at the revision read; a lost race is loaded and decided anew. What an earlier
 * run of the same operation wrote is answered with, and neither checked nor decided again. Throws the decision's
 * rejection as `CatalogError`, what `check` throws, and `lost_race` after `RETRIES` repetitions.
 */
export async function execute<State, Event extends DomainEvent, Id extends AnyId>(
  work: Work<State, Event, Id>,
): Promise<Written<State>> {
  return inTurn(work.events, streamOf(work), async () => {
    for (let attempt = 0; attempt <= RETRIES; attempt++) {
      const written = (await writtenBefore(work, attempt)) ?? (await attemptOnce(work, attempt));
      if (written) return written;
    }
    throw new CatalogError('lost_race');
  });
}

/** What the operation wrote in a run before this one, with the state as of then; an operation appends once. */
async function writtenBefore<State, Event extends DomainEvent, Id extends AnyId>(
  work: Work<State, Event, Id>,
  attempt: number,
): Promise<Written<State> | undefined> {
  const { operation } = work.context;
  // A race may have been lost to a second run of this operation, where its lock was lost to that one.
  if (operation === undefined || !(operation.resumed || attempt > 0)) return undefined;
  const recorded = await work.events.readStream(streamOf(work));
  const isOurs = ({ metadata }: RecordedEvent): boolean => metadata.operation_id === operation.id;
  const last = recorded.findLastIndex(isOurs);
  if (last === -1) return undefined;
  const { state, position } = fold(work, recorded.slice(0, last + 1));
  return { value: state, position, changed: true, created: isOurs(recorded[0]!), repeated: true };
}

/** Undefined where another writer was faster. */
async function attemptOnce<State, Event extends DomainEvent, Id extends AnyId>(
  work: Work<State, Event, Id>,
  attempt: number,
): Promise<Written<State> | undefined> {
  const { state, revision, position } = work.fresh && attempt === 0 ? fold(work, []) : await load(work);
  await work.check?.(state);
  const decision = work.decide(state);
  if (!decision.ok) {
    throw new CatalogError(
      decision.condition,
      decision.message === undefined ? {} : { message: decision.message },
    );
  }
  if (decision.events.length === 0) return { value: state, position, changed: false, created: false };

  const at = timestamp(work.system.now());
  const next = decision.events.reduce(
    (so_far, event) => work.aggregate.evolve(so_far, event, work.id, at),
    state,
  );
  const owner = work.aggregate.owner(next);
  if (owner === undefined) throw new Error(`${streamOf(work)} has no events and belongs to nobody`);
  const metadata = metadataOf(work.context, owner, at);
  const encoded = decision.events.map((event, index) =>
    encode(event, work.context, streamOf(work), revision + 1 + index, metadata),
  );
  const appended = await work.events.append(streamOf(work), revision, encoded);
  if (appended.outcome === 'wrong_revision') return undefined;
  return { value: next, position: appended.position, changed: true, created: revision === NO_STREAM };
}

/**
 * The id follows from who asked, the slot in the stream and the content: an append that is tried again is no second
 * one, and two requests that share a request id never pass for each other.
 */
function encode(
  event: DomainEvent,
  context: WriteContext,
  stream: StreamName,
  revision: number,
  metadata: EncodedEvent['metadata'],
): EncodedEvent {
  const { type, schema_version, data } = encodeEvent(event);
  const asker = context.api_key_id ?? context.source;
  const request = context.operation?.id ?? context.idempotency_key ?? context.request_id;
  const id = deriveId(0, asker, request, stream, String(revision), type, JSON.stringify(data));
  return { id, type, schema_version, data, metadata };
}

function streamOf(place: { aggregate: { category: Category }; realm: Realm; id: string }): StreamName {
  return streamName(place.realm, place.aggregate.category, place.id);
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
  };
}

/**
 * The id of a new resource, `given` where the caller derived it. That of an operation follows from it, so that a
 * repetition comes to the same stream; any other is `fresh`, made now and known to nobody.
 */
export function idForNew<Id extends AnyId>(
  system: System,
  { operation }: WriteContext,
  given?: Id,
): { readonly id: Id; readonly fresh: boolean } {
  if (given !== undefined) return { id: given, fresh: false };
  if (operation === undefined) return { id: generateId<Id>(system.now(), system.random), fresh: true };
  return { id: deriveId<Id>(operation.started_at_ms, 'new', operation.id), fresh: false };
}

/** Per log, the end of each stream's queue of writers. */
const queues = new WeakMap<EventStore, Map<StreamName, Promise<void>>>();

/**
 * Runs the writes to one stream of this process one after the other. The expected revision alone keeps them
 * correct; this keeps writers of one process from spending each other's retries. Where the store is away, those that
 * wait fail with the one whose turn it is: one after the other they would wait for ever longer. Never nest for the
 * same stream.
 */
export async function inTurn<Result>(
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
