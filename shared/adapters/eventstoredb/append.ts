import {
  MaxAppendSizeExceededError,
  NO_STREAM as SERVERS_NO_STREAM,
  type AppendResult as ServersResult,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import type { EncodedEvent, Position, RecordedEvent, StreamName } from '../../catalog/events/envelope';
import { CatalogError } from '../../kernel/errors';
import { type AppendResult, NO_STREAM } from '../../ports/event-store';
import type { Append } from './append-request';
import type { Connection, Lease } from './connection';
import { type StreamNames, toBytes, toEventData } from './events';
import { readStream } from './reading';

/**
 * Appends with the same event ids at the same explicit revision as often as it takes: where an earlier try has
 * landed, the server answers as it did then. What is small shares a call with other appends at its first try, and only
 * then: one that makes the server end that call fails no other twice, and is itself told its own error.
 */
export async function append(
  connection: Connection,
  names: StreamNames,
  stream: StreamName,
  expected_revision: number,
  events: readonly EncodedEvent[],
): Promise<AppendResult> {
  const asked: Append = {
    stream: names.stored(stream),
    expected_revision: expected_revision === NO_STREAM ? SERVERS_NO_STREAM : BigInt(expected_revision),
    events: events.map(toBytes),
  };
  try {
    const result = await connection.call((lease, timeout_ms, tries) =>
      tries === 0 && lease.appends.takes(asked)
        ? lease.appends.append(asked, timeout_ms)
        : appendAlone(lease, asked, timeout_ms),
    );
    return appended(
      result,
      await positionIn(result, () => readStream(connection, names, stream, expected_revision + 1)),
    );
  } catch (error) {
    if (error instanceof MaxAppendSizeExceededError) throw new CatalogError('too_large', { cause: error });
    if (!(error instanceof WrongExpectedVersionError)) throw error;
    const since = await readStream(connection, names, stream, expected_revision + 1);
    return earlierAppend(since, events) ?? { outcome: 'wrong_revision', actual: actualOf(error) };
  }
}

/** In a call of its own: another append can neither end it nor wait behind it. */
function appendAlone({ client }: Lease, asked: Append, deadline: number): Promise<ServersResult> {
  const { stream, expected_revision: expectedRevision, events } = asked;
  const options = { expectedRevision, deadline, requiresLeader: true };
  return client.appendToStream(stream, events.map(toEventData), options);
}

function appended(result: ServersResult, position: Position): AppendResult {
  return { outcome: 'appended', revision: Number(result.nextExpectedRevision), position };
}

/** The server leaves the position out where it knows the events but cannot read the last of them just then. */
async function positionIn(result: ServersResult, read: () => Promise<RecordedEvent[]>): Promise<Position> {
  if (result.position !== undefined) return result.position.commit;
  const last = (await read()).find((event) => BigInt(event.revision) === result.nextExpectedRevision);
  if (!last)
    throw new CatalogError('database_timeout', { message: 'an append was acknowledged without a position' });
  return last.position;
}

/** The append that wrote just these events after the expected revision, where there was one. */
function earlierAppend(
  since: readonly RecordedEvent[],
  events: readonly EncodedEvent[],
): AppendResult | undefined {
  const last = since[events.length - 1];
  const same = last !== undefined && events.every((event, index) => since[index]?.id === event.id);
  return same ? { outcome: 'appended', revision: last.revision, position: last.position } : undefined;
}

function actualOf(error: WrongExpectedVersionError): number {
  return typeof error.actualVersion === 'bigint' ? Number(error.actualVersion) : NO_STREAM;
}
