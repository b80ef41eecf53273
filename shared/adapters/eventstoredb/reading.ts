import {
  type AllStreamRecordedEvent,
  BACKWARDS,
  END,
  type EventStoreDBClient,
  FORWARDS,
  START as LOG_START,
  type ReadPosition,
  type RecordedEvent as ServersEvent,
  StreamDeletedError,
  type StreamingRead,
  StreamNotFoundError,
} from '@eventstore/db-client';
import { type Position, type RecordedEvent, START, type StreamName } from '../../catalog/events/envelope';
import { LogMismatchError } from '../../kernel/errors';
import type { LogMark } from '../../ports/event-store';
import type { EventStoreDbConnection } from './connection';
import { isSystemEvent, positionOf, type StreamNames, toRecordedEvent } from './events';
import { isReadAllError, NoResponseError } from './failures';

/** Reads from the leader, because a follower may not have the newest events yet. */
const LEADER = { requiresLeader: true } as const;

/** How many events one call reads. A call that fails is repeated from its first event. */
const PAGE_EVENTS = 1_024;

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
    const page = await readPage(connection, names.stored(stream), next, size);
    for (const event of page) if (!isSystemEvent(event)) events.push(toRecordedEvent(event, names));
    // Not the number of own events: a page may also contain events of the server.
    if (page.length < size || events.length === count) return events;
    next = Number(page.at(-1)!.revision) + 1;
  }
}

/** Reads events of a stream, including the server's own. Returns none if there is no such stream. */
async function readPage(
  connection: EventStoreDbConnection,
  stored_stream: string,
  from: number,
  count: number,
): Promise<ServersEvent[]> {
  try {
    return await connection.call(async ({ client }, timeout_ms, _, onProgress) => {
      const range = { fromRevision: BigInt(from), maxCount: count };
      const reading = client.readStream(stored_stream, { ...LEADER, ...range });
      const resolved = await collect(reading, timeout_ms, onProgress);
      return resolved.flatMap(({ event }) => event ?? []);
    });
  } catch (error) {
    if (error instanceof StreamNotFoundError || error instanceof StreamDeletedError) return [];
    throw error;
  }
}

/** Returns the last event of the stream with this stored name. Undefined if the stream does not exist or was deleted. */
export async function readLast(
  connection: EventStoreDbConnection,
  stored_name: string,
): Promise<ServersEvent | undefined> {
  try {
    const [last] = await connection.call(({ client }, timeout_ms) =>
      collect(
        client.readStream(stored_name, {
          ...LEADER,
          ...{ direction: BACKWARDS, fromRevision: END, maxCount: 1 },
        }),
        timeout_ms,
      ),
    );
    return last?.event;
  } catch (error) {
    if (error instanceof StreamNotFoundError || error instanceof StreamDeletedError) return undefined;
    throw error;
  }
}

/**
 * Returns the position of the newest event of the server's log, of any realm; `START` if the log is empty. `max_age_ms`:
 * how long ago the position may have been read.
 */
export function readHead(connection: EventStoreDbConnection, max_age_ms = 0): Promise<Position> {
  return connection.head.share(connection, max_age_ms, async () => {
    const options = { ...LEADER, direction: BACKWARDS, fromPosition: END, maxCount: 1 } as const;
    const [last] = await connection.call(
      ({ client }, timeout_ms) => collect(client.readAll(options), timeout_ms),
      '$all',
    );
    return last?.event === undefined ? START : positionOf(last.event);
  });
}

/**
 * Reads the first `count` events at or after `position`, of any realm. Throws `LogMismatchError` if two reads
 * there fail in a row: the position is then in the middle of a record. A single failure may have another cause.
 */
export async function readAllFrom(
  connection: EventStoreDbConnection,
  position: Position,
  count: number,
): Promise<AllStreamRecordedEvent[]> {
  const resolved = await connection.call(async ({ client }, timeout_ms, _, onProgress) => {
    const read = () => collect(readForwards(client, position, count), timeout_ms, onProgress);
    try {
      return await read().catch((error: unknown) => {
        if (isReadAllError(error)) return read();
        throw error;
      });
    } catch (error) {
      if (!isReadAllError(error)) throw error;
      throw new LogMismatchError(`No event begins at position ${position} of the log.`, error);
    }
  }, '$all');
  return resolved.flatMap(({ event }) => (event === undefined ? [] : [event]));
}

/** Returns the first event at or after `position`, of any realm. Throws as `readAllFrom` does. */
export async function readMarkAt(
  connection: EventStoreDbConnection,
  position: Position,
): Promise<LogMark | undefined> {
  const [first] = await readAllFrom(connection, position, 1);
  return first && { position: positionOf(first), event_id: first.id };
}

/**
 * Converts to a position of the server. Commit and prepare position are equal for events written without legacy
 * transactions.
 */
export function toServersPosition(position: Position): ReadPosition {
  return position === START ? LOG_START : { commit: position, prepare: position };
}

function readForwards(client: EventStoreDBClient, position: Position, count: number) {
  const fromPosition = toServersPosition(position);
  return client.readAll({ ...LEADER, direction: FORWARDS, fromPosition, maxCount: count });
}

/**
 * Reads the stream to its end. Calls `onProgress` for each event. Throws `NoResponseError` if no event comes for
 * `timeout_ms`.
 */
async function collect<Event>(
  reading: StreamingRead<Event>,
  timeout_ms: number,
  onProgress: () => void = () => {},
): Promise<Event[]> {
  // The client may emit an error after the loop below has ended. Without a listener, this error would end the process.
  reading.on('error', () => {});
  const timer = setTimeout(
    () => reading.destroy(new NoResponseError(`a read was silent for ${Math.round(timeout_ms)} ms`)),
    timeout_ms,
  );
  const events: Event[] = [];
  try {
    for await (const event of reading) {
      events.push(event);
      timer.refresh();
      onProgress();
    }
    return events;
  } finally {
    clearTimeout(timer);
    // Leaving the `for await` loop does not end the gRPC call.
    if (!reading.readableEnded) reading.cancel().catch(() => {});
  }
}
