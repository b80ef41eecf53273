import {
  MaxAppendSizeExceededError,
  NO_STREAM as SERVERS_NO_STREAM,
  type AppendResult as ServersResult,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import type { EncodedEvent, Position, RecordedEvent, StreamName } from '../../contracts/envelope';
import { CatalogError } from '../../kernel/errors';
import { type AppendResult, NO_STREAM } from '../../ports/event-store';
import type { Connection } from './connection';
import { type StreamNames, toEventData } from './events';
import { readStream } from './reading';

/**
 * Appends with the same event ids at the same explicit revision as often as it takes: where an earlier try has
 * landed, the server answers as it did then.
 */
export async function append(
  connection: Connection,
  names: StreamNames,
  stream: StreamName,
  expected_revision: number,
  events: readonly EncodedEvent[],
): Promise<AppendResult> {
  const data = events.map(toEventData);
  const expectedRevision = expected_revision === NO_STREAM ? SERVERS_NO_STREAM : BigInt(expected_revision);
  try {
    const result = await connection.call((client, deadline) =>
      client.appendToStream(names.stored(stream), data, { expectedRevision, deadline, requiresLeader: true }),
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
