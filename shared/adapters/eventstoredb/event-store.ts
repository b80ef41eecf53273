import {
  type AppendToStreamOptions,
  MaxAppendSizeExceededError,
  NO_STREAM as SERVERS_NO_STREAM,
  type AppendResult as ServersResult,
  StreamDeletedError,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import type { EncodedEvent, Position, RecordedEvent, StreamName } from '../../catalog/events/envelope';
import type { Realm } from '../../catalog/realm';
import { CatalogError, DeletedStreamError } from '../../kernel/errors';
import type { OutageReport } from '../../kernel/outages';
import {
  type AppendResult,
  assertAppendable,
  assertFits,
  assertRange,
  type EventStore,
  type LogBatch,
  type LogMark,
  NO_STREAM,
} from '../../ports/event-store';
import { type CallLimits, type CurrentClient, EventStoreDbConnection } from './connection';
import { StreamNames, toEventData } from './events';
import { codeOf, RESOURCE_EXHAUSTED } from './failures';
import { readBackwards, readHead, readMarkAt, readStream } from './reading';
import { EventStoreDbSnapshots } from './snapshots';
import { followRealm } from './subscription';
import { connectionsOfProcess } from './transport';

const BATCH_SIZE = 256;

export interface EventStoreDbOptions {
  /** The client's connection string, such as `esdb://host:2113?tls=false` or `esdb+discover://…`. */
  readonly url: string;
  readonly realm: Realm;
  /** Prefix of every stream name on the server, so that several catalogs can share one server; empty by default. */
  readonly namespace?: string;
  readonly limits?: Partial<CallLimits>;
  /** Receives the failures and successes of calls to the server. */
  readonly report?: OutageReport;
}

/**
 * Stores one realm's log in EventStoreDB 22.6 or later. All realms share the server's log. Positions are the server's
 * commit positions, so the positions of one realm have gaps. `head` returns the position of the newest event of any
 * realm, and the subscriptions of every realm reach this position.
 */
export class EventStoreDbEventStore implements EventStore {
  readonly snapshots: EventStoreDbSnapshots;

  private constructor(
    private readonly connection: EventStoreDbConnection,
    private readonly names: StreamNames,
  ) {
    this.snapshots = new EventStoreDbSnapshots(connection, names);
  }

  /** Does not connect: the first call does. Throws if the address is malformed. */
  static async open(options: EventStoreDbOptions): Promise<EventStoreDbEventStore> {
    const connection = new EventStoreDbConnection(options.url, options.limits, options.report);
    return new EventStoreDbEventStore(connection, new StreamNames(options.namespace ?? '', options.realm));
  }

  /**
   * Appends, and retries with the same event ids at the same explicit revision. EventStoreDB makes this idempotent: if an
   * earlier attempt was stored, the server returns the result of that attempt.
   */
  async append(
    stream: StreamName,
    expected_revision: number,
    events: readonly EncodedEvent[],
    beforeSend?: () => Promise<void>,
  ): Promise<AppendResult> {
    assertAppendable(stream, expected_revision, events);
    const encoded = events.map(toEventData);
    assertFits(encoded.reduce((sum, { bytes }) => sum + bytes, 0));
    const options: AppendToStreamOptions = {
      expectedRevision: expected_revision === NO_STREAM ? SERVERS_NO_STREAM : BigInt(expected_revision),
      requiresLeader: true,
    };
    const data = encoded.map(({ event }) => event);
    const readOwn = () => this.readStream(stream, expected_revision + 1, events.length);
    try {
      const name = this.names.stored(stream);
      const send = ({ client }: CurrentClient) => client.appendToStream(name, data, options);
      const result = await this.connection.call(send, { beforeSend });
      const revision = Number(result.nextExpectedRevision);
      if (result.position) return { outcome: 'appended', revision, position: result.position.commit };
      return { outcome: 'appended', revision, ...(await this.readLastPosition(result, readOwn)) };
    } catch (error) {
      if (error instanceof MaxAppendSizeExceededError || codeOf(error) === RESOURCE_EXHAUSTED)
        throw new CatalogError('too_large', { cause: error });
      if (error instanceof StreamDeletedError)
        throw new DeletedStreamError(`an operator has deleted the stream ${stream}`, { cause: error });
      if (!(error instanceof WrongExpectedVersionError)) throw error;
      const actual = typeof error.actualVersion === 'bigint' ? Number(error.actualVersion) : NO_STREAM;
      return resultOfEarlierAppend(await readOwn(), events) ?? { outcome: 'wrong_revision', actual };
    }
  }

  /**
   * Returns the position of the last appended event. If the server recognises a repeated append but cannot read its events,
   * its result has no position; then this function reads the stream. If an operator has truncated the stream since, the
   * event is gone, and this function returns the head, a position after it.
   */
  private async readLastPosition(
    { nextExpectedRevision }: ServersResult,
    readOwn: () => Promise<RecordedEvent[]>,
  ): Promise<{ readonly position: Position; readonly is_removed?: true }> {
    const last = (await readOwn()).find(({ revision }) => BigInt(revision) === nextExpectedRevision);
    return last ? { position: last.position } : { position: await this.head(), is_removed: true };
  }

  async readStream(stream: StreamName, from = 0, count?: number): Promise<RecordedEvent[]> {
    assertRange(stream, from, count);
    return readStream(this.connection, this.names, stream, from, count);
  }

  async readBackwards(count: number, before?: Position): Promise<RecordedEvent[]> {
    return readBackwards(this.connection, this.names, count, before);
  }

  /** Keeps the other metadata of the stream, such as its access rights. */
  async truncate(stream: StreamName, before: number): Promise<void> {
    const name = this.names.stored(stream);
    await this.connection.call(async ({ client }, deadline) => {
      const options = { deadline, requiresLeader: true };
      const { metadata = {} } = await client.getStreamMetadata(name, options);
      await client.setStreamMetadata(name, { ...metadata, truncateBefore: before }, options);
    });
    await this.snapshots.delete(stream);
  }

  subscribe({
    after,
    signal,
    batch_size = BATCH_SIZE,
  }: Parameters<EventStore['subscribe']>[0]): AsyncGenerator<LogBatch, void, undefined> {
    const { connection, names } = this;
    const ending = AbortSignal.any([signal, connection.closed]);
    return followRealm({ connection, names, after, batch_size, signal: ending });
  }

  async head(max_age_ms?: number): Promise<Position> {
    return readHead(this.connection, max_age_ms);
  }

  async markAt(position: Position): Promise<LogMark | undefined> {
    return readMarkAt(this.connection, position);
  }

  get connection_number(): number {
    return connectionsOfProcess();
  }

  /** Running calls fail with `unavailable`. Subscriptions end. */
  async close(): Promise<void> {
    await this.connection.close();
  }
}

/** Returns the result of the earlier append if the events after the expected revision (`later_events`) begin with `events`. */
function resultOfEarlierAppend(
  later_events: readonly RecordedEvent[],
  events: readonly EncodedEvent[],
): AppendResult | undefined {
  const last = later_events[events.length - 1];
  const same = last !== undefined && events.every((event, index) => later_events[index]?.id === event.id);
  return same ? { outcome: 'appended', revision: last.revision, position: last.position } : undefined;
}
