import type { Aggregate, Owner, State } from '../../shared/catalog/events/aggregate';
import { type DomainEvent, encodeEvent } from '../../shared/catalog/events/codec';
import {
  type EncodedEvent,
  type EventMetadata,
  type Position,
  type RecordedEvent,
  type StreamName,
  streamName,
} from '../../shared/catalog/events/envelope';
import type { Environment, Realm } from '../../shared/catalog/realm';
import type { Store } from '../../shared/catalog/store/store';
import type { NameToGet } from '../../shared/http/route';
import { longTurn } from '../../shared/kernel/async';
import type { Decision } from '../../shared/kernel/decision';
import { CatalogError, DeletedStreamError } from '../../shared/kernel/errors';
import {
  type AccountId,
  type AnyId,
  type ApiKeyId,
  deriveId,
  generateId,
  type StoreId,
  timeOfId,
} from '../../shared/kernel/ids';
import { type System, timestamp } from '../../shared/kernel/system';
import type { EventStore } from '../../shared/ports/event-store';
import type { Operation } from '../../shared/ports/idempotency-store';
import {
  fold,
  forgetStates,
  type Loaded,
  load,
  loadUpTo,
  NOTHING_LOADED,
  type StreamRef,
  streamNameOf,
  writeSnapshotIfDue,
} from '../../shared/ports/stream-state';
import { serialiseByStream } from './write-queue';

/*
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
  /** Stores as they were at most a second ago. Without it, a new publication gets the price rules of its store soon after. */
  readonly stores?: { known(environment: Environment, id: StoreId): Promise<Store | undefined> };
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
  /** Name of the run that the request belongs to. */
  readonly run?: string | undefined;
  readonly idempotency_key?: string;
  /** Set if the client may send the write again. The repetition then finds the events of the first run in the log. */
  readonly operation?: Operation;
  readonly account_id?: AccountId;
  readonly api_key_id?: ApiKeyId;
  /** Called right before an append is sent. If it rejects, nothing is sent. */
  readonly beforeSend?: (() => Promise<void>) | undefined;
  /**
   * Set for an item of a batch. Returns the state in which another item will leave the resource, or undefined if no item
   * writes it. If that item gives up a name, this item may take the name first.
   */
  readonly planned?: ((resource: object) => Promise<object | undefined>) | undefined;
  /** Set if the write is only checked in a dry run: it reserves no names, but calls this with the names that it would get. */
  readonly onNames?: ((names: readonly NameToGet[]) => void) | undefined;
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
  /** Whether this write created the resource. */
  readonly created: boolean;
  /**
   * Set if an earlier run of the same operation appended the events. `value` and `position` are the results of that
   * run.
   */
  readonly repeated?: boolean;
}

export interface Write<Resource, Command> extends StreamRef<Resource, Command> {
  readonly system: System;
  readonly context: WriteContext;
  /** Default: the owner of the resource after the write. */
  readonly owner?: Owner;
  /**
   * The state of the stream if it was read before, or `NOTHING_LOADED` if the stream probably has no events. The first
   * attempt does not read the stream. If the stream has newer events, the append fails, and the next attempt reads them.
   */
  readonly loaded?: Loaded<Resource> | undefined;
  /**
   * Checks what is not part of the decision (references, `If-Match`, the guard of the target), and returns the command.
   * Throws if a precondition is not met. Called in every attempt. May append to other streams: a move in the tree of
   * listings locks the tree, and a name that has moved on is taken from the resource that had it.
   */
  readonly prepare: (
    state: State<Resource>,
    loaded: Loaded<Resource>,
  ) => Prepared<Command> | Promise<Prepared<Command>>;
}

/** The command of a write, and the names that it gives to the resource. */
export interface Prepared<Command> {
  readonly command: Command;
  /**
   * Reserves the names, each by an append to its own stream. Called when the command is accepted, before the append.
   * Returns another command if a name had to be replaced.
   */
  readonly reserve?: () => Promise<Command | undefined>;
}

/** Throws if the client must not write to the resource as it is `before` the write. Undefined: it does not exist yet. */
export type Guard<Before> = (before: Before) => unknown;

/** How often a write that lost a race is retried (docs/interface/writes.md#concurrent-writes). */
const RETRIES = 3;

/**
 * Executes a command in the steps that are numbered below. Throws a `CatalogError` with the condition of a rejected
 * decision, errors of `prepare`, and `lost_race` after `RETRIES` retries.
 */
export function execute<Resource, Command>(
  write: Write<Resource, Command>,
): Promise<Written<State<Resource>>> {
  return serialiseByStream(write.events, streamNameOf(write), () => executeUnqueued(write));
}

/**
 * Executes a command without waiting for other writes of this process to the stream. For `prepare` of another stream. Lets
 * other work run between the steps: a batch or an import executes thousands of commands, and embedded stores answer at once.
 */
export async function executeUnqueued<Resource, Command>(
  write: Write<Resource, Command>,
): Promise<Written<State<Resource>>> {
  for (let attempt = 0; attempt <= RETRIES; attempt++) {
    // 1. Load the stream.
    const loaded = (attempt === 0 && write.loaded) || (await load<Resource>(write));
    // 2. Answer with the result of another run of the same operation, if the stream has its events.
    const written = (await findOtherRun(write, loaded)) ?? (await attemptWrite(write, loaded));
    if (!written) continue;
    writeSnapshotIfDue(write, loaded);
    return written;
  }
  throw new CatalogError('lost_race');
}

/** Executes a command on a resource that exists afterwards. `guard` throws if the client must not write to the resource. */
export async function executeOn<Resource, Event extends DomainEvent, Id extends AnyId, Command>(
  ref: StreamRef<Resource, Command> & { readonly aggregate: Aggregate<Resource, Event, Id, Command> } & {
    readonly system: System;
  },
  context: WriteContext,
  command: Command,
  guard?: Guard<Resource>,
): Promise<Written<Resource>> {
  const prepare = async (state: State<Resource>): Promise<Prepared<Command>> => {
    if (state.tag === 'present') await guard?.(state.resource);
    return { command };
  };
  return withResource(await execute({ ...ref, context, prepare }));
}

/** Returns the result with the resource, which must exist after the write. */
export function withResource<Resource>(written: Written<State<Resource>>): Written<Resource> {
  const { value: state } = written;
  if (state.tag !== 'present') throw new Error('the resource is absent after a write');
  return { ...written, value: state.resource };
}

/** Executes the command on the loaded state. Returns undefined if another writer has appended to the stream since. */
async function attemptWrite<Resource, Command>(
  write: Write<Resource, Command>,
  loaded: Loaded<Resource>,
): Promise<Written<State<Resource>> | undefined> {
  const { aggregate, context, events, id } = write;
  const { state, revision, position } = loaded;
  const stream = streamNameOf(write);
  // 3. Check the preconditions.
  const { command, reserve } = await write.prepare(state, loaded);
  // 4. Decide.
  const turn_to_decide = longTurn();
  if (turn_to_decide) await turn_to_decide;
  let decided = accepted(aggregate.decide(state, command));
  // 5. Reserve the names.
  const other = decided.length > 0 ? await reserve?.() : undefined;
  if (other !== undefined) decided = accepted(aggregate.decide(state, other));
  if (decided.length === 0) return { value: state, position, revision, changed: false, created: false };

  // 6. Append the events at the loaded revision. If another writer was faster, the next attempt begins at step 1.
  const occurred_at = timestamp(write.system.now());
  let value = state;
  for (const event of decided) value = aggregate.evolve(value, event, id, occurred_at);
  const turn_to_encode = longTurn();
  if (turn_to_encode) await turn_to_encode;
  const metadata = metadataOf(context, write.owner ?? ownerOf(aggregate, value), occurred_at);
  const encoded = decided.map((event, index) =>
    encode(event, context, stream, revision + 1 + index, metadata),
  );
  const appended = await events.append(stream, revision, encoded, context.beforeSend).catch((error) => {
    if (!(error instanceof DeletedStreamError)) throw error;
    // An operator has deleted the stream. The answer is the same as after a DELETE by a client.
    forgetStates(events, stream);
    throw new CatalogError(aggregate.not_found, { cause: error });
  });
  if (appended.outcome === 'wrong_revision') {
    // An older copy of the log has taken its place, so what this process remembers of its streams is not in it.
    if (appended.actual < revision) forgetStates(events);
    return undefined;
  }
  // 7. Answer with the state after the events.
  const written = { value, position: appended.position, revision: appended.revision, changed: true };
  const { operation } = context;
  operation?.onAppended?.();
  const result = { ...written, created: state.tag === 'absent' };
  if (operation === undefined || (!operation.resumed && hasLock(write.system, operation))) return result;
  // Another run may have appended the same events: their ids are equal, so the event store has accepted the append and
  // kept the events of the other run with their time.
  const recorded = await events.readStream(stream, revision + 1, encoded.length);
  if (recorded[0]?.metadata.occurred_at === occurred_at) return result;
  return { ...result, value: fold(write, recorded, loaded).state, repeated: true };
}

/** Returns the events of a decision. Throws the condition of a rejection. */
function accepted<Event>(decision: Decision<Event>): readonly Event[] {
  if (decision.ok) return decision.events;
  const { condition, message, faults } = decision;
  if (faults) throw CatalogError.ofFaults(faults);
  throw new CatalogError(condition, message === undefined ? {} : { message });
}

/** Whether no other run of the operation can have taken over the lock. */
function hasLock({ now }: System, { locked_until_ms = Number.POSITIVE_INFINITY }: Operation): boolean {
  return now() < locked_until_ms;
}

/**
 * Returns the result of another run of the same operation, undefined if its events are not among the newest of the
 * stream. Ensures that an operation appends its events only once. If the other run appends later, the append of this
 * one fails. Throws `idempotency_key_reused` if the events were appended for another request.
 */
async function findOtherRun<Resource, Command>(
  write: Write<Resource, Command>,
  loaded: Loaded<Resource>,
): Promise<Written<State<Resource>> | undefined> {
  const { operation } = write.context;
  if (operation === undefined) return undefined;
  const event = await findEventOf(operation, write, loaded);
  if (event === undefined) return undefined;
  const { revision } = event;
  const { fingerprint = operation.fingerprint } = event.metadata;
  if (fingerprint !== operation.fingerprint) throw new CatalogError('idempotency_key_reused');
  operation.onAppended?.();
  const { state, position } = revision === loaded.revision ? loaded : await loadUpTo(write, revision);
  const [first] = await write.events.readStream(streamNameOf(write), 0, 1);
  const created = first !== undefined && isOfOperation(first, operation);
  return { value: state, position, revision, changed: true, created, repeated: true };
}

/** Returns the last event of the operation among the newest of the loaded stream, undefined if there is none. */
export async function findEventOf<Resource>(
  operation: Operation,
  ref: StreamRef<Resource>,
  { operations }: Loaded<Resource>,
): Promise<RecordedEvent | undefined> {
  const revisions = operationIds(operation).map((id) => operations.get(id));
  const revision = revisions.find((found) => found !== undefined);
  if (revision === undefined) return undefined;
  const [event] = await ref.events.readStream(streamNameOf(ref), revision, 1);
  return event !== undefined && isOfOperation(event, operation) ? event : undefined;
}

const operationIds = ({ id, earlier_ids = [] }: Operation): string[] => [id, ...earlier_ids];

/** Whether the event is one of the operation, and not of an earlier use of the same key. */
function isOfOperation({ metadata }: Pick<EncodedEvent, 'metadata'>, operation: Operation): boolean {
  const { operation_id, occurred_at } = metadata;
  const is_equal = operation_id !== undefined && operationIds(operation).includes(operation_id);
  return is_equal && (operation.since_ms === undefined || occurred_at >= timestamp(operation.since_ms));
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
  metadata: EventMetadata,
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

function ownerOf<Resource>(
  aggregate: Pick<Aggregate<Resource, never, never, never>, 'owner'>,
  state: State<Resource>,
): Owner {
  if (state.tag === 'absent') throw new Error('a stream has no owner after its first events');
  return state.tag === 'present' ? aggregate.owner(state.resource) : { store_id: state.store_id };
}

function metadataOf(context: WriteContext, owner: Owner, occurred_at: string): EventMetadata {
  const account_id = owner.account_id ?? context.account_id;
  const { source, request_id, run, api_key_id, idempotency_key, operation } = context;
  return {
    occurred_at,
    partition_key: owner.store_id ?? owner.account_id,
    source,
    request_id,
    ...(owner.store_id !== undefined && { store_id: owner.store_id }),
    ...(account_id !== undefined && { account_id }),
    ...(api_key_id !== undefined && { api_key_id }),
    ...(run !== undefined && { run }),
    ...(idempotency_key !== undefined && { idempotency_key }),
    ...(operation && { operation_id: operation.id }),
    ...(operation?.fingerprint !== undefined && { fingerprint: operation.fingerprint }),
  };
}

/**
 * Returns the id of a new resource: `given_id` if set; else an id that is derived from the operation, so that a
 * repetition writes to the same stream. With neither, generates an id. `loaded`: `NOTHING_LOADED` if the stream of the id
 * has no events yet.
 */
export async function idForNew<R extends Realm, Event extends DomainEvent, Id extends AnyId>(
  { system, events }: { readonly system: System; readonly events: Readonly<Record<R, EventStore>> },
  realm: R,
  { category }: Pick<Aggregate<unknown, Event, Id, never>, 'category' | 'evolve'>,
  { operation }: WriteContext,
  given_id?: Id,
): Promise<{ readonly id: Id; readonly loaded: Loaded<never> | undefined }> {
  if (given_id !== undefined) return { id: given_id, loaded: undefined };
  if (operation === undefined)
    return { id: generateId<Id>(system.now(), system.random), loaded: NOTHING_LOADED };
  const ids = operationIds(operation).map((id) => deriveId<Id>(timeOfId(id), 'new', id));
  const firsts = await Promise.all(
    ids.map((id) => events[realm].readStream(streamName(realm, category, id), 0, 1)),
  );
  const earlier = firsts.findIndex(([first]) => first !== undefined && isOfOperation(first, operation));
  const is_new = earlier === -1 && firsts[0]!.length === 0;
  return { id: ids[Math.max(0, earlier)]!, loaded: is_new ? NOTHING_LOADED : undefined };
}
