import {
  type AllStreamRecordedEvent,
  type AllStreamResolvedEvent,
  type AllStreamSubscription,
  BACKWARDS,
  END,
  type EventStoreDBClient,
  FORWARDS,
  START as LOG_START,
  type RecordedEvent as ServersEvent,
  StreamDeletedError,
  type StreamingRead,
  StreamNotFoundError,
  streamNameFilter,
} from '@eventstore/db-client';
import { type Position, type RecordedEvent, START, type StreamName } from '../../catalog/events/envelope';
import { withTimeout } from '../../kernel/async';
import { CatalogError, LogMismatchError } from '../../kernel/errors';
import type { LogMark } from '../../ports/event-store';
import { filterByPrefix, SEARCH_WINDOW } from './client';
import type { CallOptions, CurrentClient, EventStoreDbConnection } from './connection';
import { isSystemEvent, positionOf, type StreamNames, toRecordedEvent } from './events';
import { isReadAllError, NoResponseError } from './failures';

/** Reads from the leader, because a follower may not have the newest events yet. */
const LEADER = { requiresLeader: true } as const;

/** How many events one call reads. A call that fails is repeated from its first event. */
const PAGE_EVENTS = 1_024;

/**
 * How long the server may be silent while it looks for events of a realm among those of others. It examines about 100,000
 * events per second. A lost connection is noticed earlier, by the reads of the head.
 */
const SEARCH_MS = 60_000;
/** How long a search for events of a realm runs until it reports how far it has come. */
export const SEARCH_STEP_MS = 1_000;
/** The server reports how far it has come after so many windows of `SEARCH_WINDOW` events. */
const REPORTED_WINDOWS = 8;
/** A read of the head that fails at the end of its own time says why, so its callers wait a little longer than that. */
const GRACE_MS = 100;

/**
 * Returns the stream's events from revision `from` on, at most `count`. Returns none if the stream does not exist or was
 * deleted. Reads in pages, so that a failure repeats one page only.
 */
export async function readStream(
  connection: EventStoreDbConnection,
  names: StreamNames,
  stream: StreamName,
  from: number,
  count = Number.POSITIVE_INFINITY,
): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for (let next = from; ; ) {
    const size = Math.min(count - events.length, PAGE_EVENTS);
    const page = await readPage(connection, names.stored(stream), {
      fromRevision: BigInt(next),
      maxCount: size,
    });
    for (const event of page) if (!isSystemEvent(event)) events.push(toRecordedEvent(event, names));
    // The number of own events may be lower: a page may also contain events of the server.
    if (page.length < size || events.length === count) return events;
    next = Number(page.at(-1)!.revision) + 1;
  }
}

/** Returns the last event of the stream with this stored name. Undefined if the stream does not exist or was deleted. */
export async function readLast(
  connection: EventStoreDbConnection,
  stored_stream: string,
): Promise<ServersEvent | undefined> {
  const newest = { direction: BACKWARDS, fromRevision: END, maxCount: 1 } as const;
  return (await readPage(connection, stored_stream, newest))[0];
}

/** Reads events of a stream, including the server's own. Returns none if there is no such stream. */
async function readPage(
  connection: EventStoreDbConnection,
  stored_stream: string,
  range: Parameters<EventStoreDBClient['readStream']>[1],
): Promise<ServersEvent[]> {
  try {
    return await connection.call(async ({ client }, silence_ms, onProgress) => {
      const reading = client.readStream(stored_stream, { ...LEADER, ...range });
      const { events } = await collect(reading, silence_ms, onProgress);
      return events.flatMap(({ event }) => event ?? []);
    });
  } catch (error) {
    if (error instanceof StreamNotFoundError || error instanceof StreamDeletedError) return [];
    throw error;
  }
}

/**
 * Returns the position of the newest event of the server's log, of any realm; `START` if the log is empty. `max_age_ms`:
 * how long ago the position may have been read. Callers of the process share these reads, because EventStoreDB stalls for
 * seconds if a few of them run at once.
 */
export function readHead(connection: EventStoreDbConnection, max_age_ms = 0): Promise<Position> {
  const read = async (): Promise<Position> => {
    const options = { ...LEADER, direction: BACKWARDS, fromPosition: END, maxCount: 1 } as const;
    const { events } = await readLog(connection, ({ client }) => client.readAll(options));
    const [last] = events;
    return last === undefined ? START : positionOf(last);
  };
  const { limits, closed } = connection;
  const onTimeout = (): never => {
    if (closed.aborted) throw new CatalogError('unavailable', { message: 'the event store is closed' });
    throw new CatalogError('database_timeout', { message: 'the head of the log could not be read in time' });
  };
  return withTimeout(connection.head.get(max_age_ms, read), limits.call_ms + GRACE_MS, onTimeout, closed);
}

const forwardsFrom = (position: Position, count: number) =>
  ({ ...LEADER, direction: FORWARDS, fromPosition: placeOf(position), maxCount: count }) as const;

/**
 * Returns the first event at or after `position`, of any realm. Throws `LogMismatchError` if two reads there fail in a row:
 * the position is then in the middle of a record. A single failure may have another cause.
 */
export async function readMarkAt(
  connection: EventStoreDbConnection,
  position: Position,
): Promise<LogMark | undefined> {
  const options = forwardsFrom(position, 1);
  const read = () => readLog(connection, ({ client }) => client.readAll(options));
  const [first] = (await readAt(position, read)).events;
  return first && { position: positionOf(first), event_id: first.id };
}

/** The result of a read. If it has fewer events than asked for and `is_finished`, the log has no others. */
interface Found<Event> {
  readonly events: Event[];
  readonly is_finished: boolean;
}

/**
 * Reads the first `count` events of a realm at or after `position`. With `step_ms`, ends when no event comes for that long.
 * Throws `LogMismatchError` as `readMarkAt` does.
 */
export function readRealmFrom(
  connection: EventStoreDbConnection,
  position: Position,
  count: number,
  prefix: string,
  step_ms?: number,
): Promise<Found<AllStreamRecordedEvent>> {
  const options = forwardsFrom(position, count);
  const open = ({ client }: CurrentClient) => filterByPrefix(client, prefix).readAll(options);
  return readAt(position, () => readLog(connection, open, { silence_ms: SEARCH_MS }, step_ms));
}

const placeOf = (position: Position) =>
  position === START ? LOG_START : { commit: position, prepare: position };

async function readAt<Result>(position: Position, read: () => Promise<Result>): Promise<Result> {
  for (let failures = 0; ; failures++)
    try {
      return await read();
    } catch (error) {
      if (!isReadAllError(error)) throw error;
      if (failures > 0)
        throw new LogMismatchError(`No event begins at position ${position} of the log.`, error);
    }
}

/**
 * Searches the log after a position for events of a realm, for `SEARCH_STEP_MS` at most. Returns a later position up to
 * which there is none, undefined if the server has not come that far. A read of the server does not say how far it has
 * come, but a subscription does.
 */
export async function searchRealm(
  connection: EventStoreDbConnection,
  after: Position,
  prefix: string,
): Promise<Position | undefined> {
  let examined = after;
  const filter = streamNameFilter({
    prefixes: [prefix],
    maxSearchWindow: SEARCH_WINDOW,
    checkpointInterval: REPORTED_WINDOWS,
    checkpointReached: (_subscription, { commit }) => {
      examined = commit;
    },
  });
  const subscription = connection.current.client.subscribeToAll({ fromPosition: placeOf(after), filter });
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      endSubscription(subscription);
      resolve();
    };
    const timer = setTimeout(end, SEARCH_STEP_MS);
    subscription.on('data', end).on('caughtUp', end).on('end', end).on('close', end).on('error', end);
  });
  if (examined <= after) return undefined;
  // What the server reports may be where the next event begins, which it has not examined.
  const before = { ...LEADER, direction: BACKWARDS, fromPosition: placeOf(examined), maxCount: 1 } as const;
  const { events } = await readLog(connection, ({ client }) => client.readAll(before));
  const [last] = events;
  const is_later = last !== undefined && positionOf(last) > after && !last.streamId.startsWith(prefix);
  return is_later ? positionOf(last) : undefined;
}

/** Ends a subscription. Destroying the stream alone does not end the gRPC call. */
export function endSubscription(subscription: AllStreamSubscription): void {
  subscription.unsubscribe().catch(() => {});
  subscription.destroy();
}

/** Returns the newest events of a realm before `before`, newest first, at most `count`. None if there are no others. */
export async function readBackwards(
  connection: EventStoreDbConnection,
  names: StreamNames,
  count: number,
  before?: Position,
): Promise<RecordedEvent[]> {
  for (let next = before; ; ) {
    const fromPosition = next === undefined ? END : { commit: next, prepare: next };
    const options = { ...LEADER, direction: BACKWARDS, fromPosition, maxCount: count } as const;
    const open = ({ client }: CurrentClient) => filterByPrefix(client, names.prefix).readAll(options);
    const { events: read } = await readLog(connection, open, { silence_ms: SEARCH_MS });
    const events = read.filter((event) => !isSystemEvent(event));
    if (events.length > 0 || read.length < count) return events.map((event) => toRecordedEvent(event, names));
    next = positionOf(read.at(-1)!);
  }
}

async function readLog(
  connection: EventStoreDbConnection,
  open: (current: CurrentClient) => StreamingRead<AllStreamResolvedEvent>,
  options: CallOptions = {},
  step_ms?: number,
): Promise<Found<AllStreamRecordedEvent>> {
  const { events, is_finished } = await connection.call(
    (current, silence_ms, onProgress) => collect(open(current), silence_ms, onProgress, step_ms),
    { needs_all: true, ...options },
  );
  return { events: events.flatMap(({ event }) => event ?? []), is_finished };
}

/**
 * Reads the stream to its end. Calls `onProgress` for each event. Throws `NoResponseError` if no event comes for
 * `silence_ms`. With `step_ms`, ends when no event comes for that long.
 */
async function collect<Event>(
  reading: StreamingRead<Event>,
  silence_ms: number,
  onProgress: () => void,
  step_ms = Number.POSITIVE_INFINITY,
): Promise<Found<Event>> {
  // The client may emit an error after the loop below has ended. Without a listener, this error would end the process.
  reading.on('error', () => {});
  let is_finished = true;
  const onSilence = (): void => {
    is_finished = silence_ms <= step_ms;
    reading.destroy(new NoResponseError(`a read was silent for ${Math.round(silence_ms)} ms`));
  };
  const timer = setTimeout(onSilence, Math.min(silence_ms, step_ms));
  const events: Event[] = [];
  try {
    for await (const event of reading) {
      events.push(event);
      timer.refresh();
      onProgress();
    }
  } catch (error) {
    if (is_finished) throw error;
  } finally {
    clearTimeout(timer);
    // Leaving the `for await` loop does not end the gRPC call.
    if (!reading.readableEnded) reading.cancel().catch(() => {});
  }
  return { events, is_finished };
}
