import { type DomainEvent, decodeEvent, encodeEvent } from '../../shared/catalog/events/codec';
import type {
  Category,
  EncodedEvent,
  Position,
  RecordedEvent,
  StreamName,
} from '../../shared/catalog/events/envelope';
import { START, streamName } from '../../shared/catalog/events/envelope';
import type { Realm } from '../../shared/catalog/realm';
import type { Decision } from '../../shared/kernel/decision';
import { CatalogError } from '../../shared/kernel/errors';
import { type AnyId, deriveId } from '../../shared/kernel/ids';
import { type System, timestamp } from '../../shared/kernel/system';
import { type EventStore, NO_STREAM } from '../../shared/ports/event-store';
import { metadataOf, type Owner, type WriteContext } from './context';
import { recall, remember } from './long-streams';
import { inTurn } from './stream-turns';

/** How often a write that lost a race is decided again (design, "Write side"). */
const RETRIES = 3;

/** An aggregate as `execute` sees it: how its events add up, and whom its stream belongs to. */
export interface Aggregate<State, Event extends DomainEvent, Id extends AnyId> {
  readonly category: Category;
  readonly absent: State;
  evolve(state: State, event: Event, id: Id, at: string): State;
  /** Asked of a state that holds at least one event. */
  owner(state: State): Owner;
}

/** A stream folded up to its last event. */
export interface Loaded<State> {
  readonly state: State;
  /** Of the last event, or `NO_STREAM`. */
  readonly revision: number;
  /** Of the last event, or `START`. */
  readonly position: Position;
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

export async function load<State, Event extends DomainEvent, Id extends AnyId>(
  place: Place<State, Event, Id>,
): Promise<Loaded<State>> {
  const { events } = place;
  const stream = streamOf(place);
  const known = recall<Loaded<State>>(events, stream);
  const loaded = fold(place, await events.readStream(stream, known ? known.revision + 1 : 0), known);
  remember(events, stream, loaded);
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
  const metadata = metadataOf(work.context, work.aggregate.owner(next), at);
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
