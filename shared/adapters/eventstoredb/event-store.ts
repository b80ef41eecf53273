import {
  MaxAppendSizeExceededError,
  NO_STREAM as SERVERS_NO_STREAM,
  type AppendResult as ServersResult,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import type { EncodedEvent, Position, RecordedEvent, StreamName } from '../../catalog/events/envelope';
import type { Realm } from '../../catalog/realm';
import { CatalogError } from '../../kernel/errors';
import { type AppendResult, type EventStore, type LogBatch, NO_STREAM } from '../../ports/event-store';
import type { Append } from './append-stream';
import { type CallLimits, type CurrentClient, EventStoreDbConnection } from './connection';
import { StreamNames, toBytes, toEventData } from './events';
import { readHead, readStream } from './reading';
import { follow } from './subscription';

const BATCH_SIZE = 256;

export interface EventStoreDbOptions {
  /** `esdb://host:2113?tls=false`, `esdb+discover://…`: the client's connection string. */
  readonly url: string;
  readonly realm: Realm;
  /** Put before every stream's name on the server, so that several catalogs can share one; empty by default. */
  readonly namespace?: string;
  readonly limits?: Partial<CallLimits>;
}

/**
 * One realm's log on EventStoreDB 22.6 or later; all realms share a server's log. Positions are the server's commit
 * positions: a realm's grow with gaps, and `head` is the newest event of any realm, which every subscription reaches.
 */
export class EventStoreDbEventStore implements EventStore {
  private readonly connection: EventStoreDbConnection;
  private readonly names: StreamNames;

  private constructor(connection: EventStoreDbConnection, names: StreamNames) {
    this.connection = connection;
    this.names = names;
  }

  /** Does not wait for the server: the first call connects. Throws where the address is malformed. */
  static async open(options: EventStoreDbOptions): Promise<EventStoreDbEventStore> {
    const connection = new EventStoreDbConnection(options.url, options.limits);
    return new EventStoreDbEventStore(connection, new StreamNames(options.namespace ?? '', options.realm));
  }

  async append(
    stream: StreamName,
    expected_revision: number,
    events: readonly EncodedEvent[],
  ): Promise<AppendResult> {
    if (events.length === 0) throw new Error(`an append of no events to ${stream}`);
    return append(this.connection, this.names, stream, expected_revision, events);
  }

  async readStream(stream: StreamName, from = 0): Promise<RecordedEvent[]> {
    return readStream(this.connection, this.names, stream, from);
  }

  subscribe(options: {
    after: Position;
    signal: AbortSignal;
    batch_size?: number;
  }): AsyncGenerator<LogBatch, void, undefined> {
    const { connection, names } = this;
    const { after, signal, batch_size = BATCH_SIZE } = options;
    return follow({
      connection,
      names,
      after,
      batch_size,
      ended: AbortSignal.any([signal, connection.closed]),
    });
  }

  async head(): Promise<Position> {
    return readHead(this.connection);
  }

  /** Calls under way fail as `unavailable`; subscriptions end. */
  async close(): Promise<void> {
    await this.connection.close();
  }
}

/**
 * Appends with the same event ids at the same explicit revision as often as it takes: where an earlier try has
 * landed, the server answers as it did then. What is small shares a call with other appends at its first try, and only
 * then: one that makes the server end that call fails no other twice, and is itself told its own error.
 */
async function append(
  connection: EventStoreDbConnection,
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
    const result = await connection.call((current, timeout_ms, tries) =>
      tries === 0 && current.appends.takes(asked)
        ? current.appends.append(asked, timeout_ms)
        : appendAlone(current, asked, timeout_ms),
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
function appendAlone({ client }: CurrentClient, asked: Append, deadline: number): Promise<ServersResult> {
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
