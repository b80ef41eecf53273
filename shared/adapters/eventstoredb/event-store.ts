import type { EncodedEvent, Position, RecordedEvent, StreamName } from '../../catalog/events/envelope';
import type { Realm } from '../../catalog/realm';
import type { AppendResult, EventStore, LogBatch } from '../../ports/event-store';
import { append } from './append';
import { type CallLimits, Connection } from './connection';
import { StreamNames } from './events';
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
  private readonly connection: Connection;
  private readonly names: StreamNames;

  private constructor(connection: Connection, names: StreamNames) {
    this.connection = connection;
    this.names = names;
  }

  /** Does not wait for the server: the first call connects. Throws where the address is malformed. */
  static async open(options: EventStoreDbOptions): Promise<EventStoreDbEventStore> {
    const connection = new Connection(options.url, options.limits);
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
