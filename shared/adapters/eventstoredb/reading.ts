import {
  type AllStreamRecordedEvent,
  BACKWARDS,
  END,
  type EventStoreDBClient,
  FORWARDS,
  START as LOG_START,
  type ReadPosition,
  StreamDeletedError,
  type StreamingRead,
  StreamNotFoundError,
} from '@eventstore/db-client';
import { type Position, type RecordedEvent, START, type StreamName } from '../../catalog/events/envelope';
import type { EventStoreDbConnection } from './connection';
import { isServersOwn, positionOf, type StreamNames, toRecordedEvent } from './events';
import { SilenceError } from './failures';

/** Events that have not to do with writing: what is read must be the newest there is. */
const LEADER = { requiresLeader: true } as const;

/** Empty where the stream does not exist, was deleted or was tombstoned. */
export async function readStream(
  connection: EventStoreDbConnection,
  names: StreamNames,
  stream: StreamName,
  from: number,
): Promise<RecordedEvent[]> {
  try {
    return await connection.call(async ({ client }, timeout_ms) => {
      const reading = client.readStream(names.stored(stream), { ...LEADER, fromRevision: BigInt(from) });
      const found = await collect(reading, timeout_ms);
      return found.flatMap(({ event }) =>
        event === undefined || isServersOwn(event) ? [] : [toRecordedEvent(event, names)],
      );
    });
  } catch (error) {
    if (error instanceof StreamNotFoundError || error instanceof StreamDeletedError) return [];
    throw error;
  }
}

/** The newest event of the whole server's log, of whatever realm; `START` in an empty one. */
export async function readHead(connection: EventStoreDbConnection): Promise<Position> {
  const [last] = await connection.call(({ client }, timeout_ms) =>
    collect(client.readAll({ ...LEADER, direction: BACKWARDS, fromPosition: END, maxCount: 1 }), timeout_ms),
  );
  return last?.event === undefined ? START : positionOf(last.event);
}

/** The first `count` events at or after `position`, of whatever realm. */
export async function readAllFrom(
  connection: EventStoreDbConnection,
  position: Position,
  count: number,
): Promise<AllStreamRecordedEvent[]> {
  const found = await connection.call(({ client }, timeout_ms) =>
    collect(readForwards(client, position, count), timeout_ms),
  );
  return found.flatMap(({ event }) => (event === undefined ? [] : [event]));
}

/** Events of this log commit themselves: both halves of the server's position are the same. */
export function toServersPosition(position: Position): ReadPosition {
  return position === START ? LOG_START : { commit: position, prepare: position };
}

function readForwards(client: EventStoreDBClient, position: Position, count: number) {
  const fromPosition = toServersPosition(position);
  return client.readAll({ ...LEADER, direction: FORWARDS, fromPosition, maxCount: count });
}

async function collect<Event>(reading: StreamingRead<Event>, timeout_ms: number): Promise<Event[]> {
  // The client may emit an error after the loop below has gone; without a listener that ends the process.
  reading.on('error', () => {});
  const timer = setTimeout(() => reading.destroy(new SilenceError('a read went silent')), timeout_ms);
  const events: Event[] = [];
  try {
    for await (const event of reading) events.push(event);
    return events;
  } finally {
    clearTimeout(timer);
    // Leaving the loop does not end the call.
    if (!reading.readableEnded) reading.cancel().catch(() => {});
  }
}
