import { ANY, jsonEvent } from '@eventstore/db-client';
import type { JsonObject, StreamName } from '../../catalog/events/envelope';
import { LRUCache } from '../../kernel/cache';
import { parseSnapshot, type Snapshot, type SnapshotStore } from '../../ports/snapshot-store';
import type { EventStoreDbConnection } from './connection';
import type { StreamNames } from './events';
import { readLast } from './reading';

const STREAMS_MAX = 10_000;

/**
 * Stores each snapshot as an event of a stream of its own, `<namespace>snapshots.<stream>`. The filter of the realms'
 * subscriptions leaves these streams out. The server keeps only the newest event of such a stream and removes the others
 * when it is scavenged.
 */
export class EventStoreDbSnapshots implements SnapshotStore {
  /** The streams whose metadata this process has written. */
  private readonly limited = new LRUCache<StreamName, true>({ max: STREAMS_MAX });

  constructor(
    private readonly connection: EventStoreDbConnection,
    private readonly names: StreamNames,
  ) {}

  async read(stream: StreamName): Promise<Snapshot | undefined> {
    const last = await readLast(this.connection, this.names.snapshots(stream));
    return parseSnapshot(last?.data);
  }

  async write(stream: StreamName, snapshot: Snapshot): Promise<void> {
    const name = this.names.snapshots(stream);
    if (!this.limited.has(stream)) {
      await this.connection.call(({ client }, deadline) =>
        client.setStreamMetadata(name, { maxCount: 1 }, { deadline, requiresLeader: true }),
      );
      this.limited.set(stream, true);
    }
    const event = jsonEvent({ type: 'Snapshot', data: snapshot as unknown as JsonObject });
    await this.connection.call(({ client }, deadline) =>
      client.appendToStream(name, event, { expectedRevision: ANY, deadline, requiresLeader: true }),
    );
  }

  async delete(stream: StreamName): Promise<void> {
    const name = this.names.snapshots(stream);
    if (!(await readLast(this.connection, name))) return;
    await this.connection.call(({ client }, deadline) =>
      client.deleteStream(name, { expectedRevision: ANY, deadline, requiresLeader: true }),
    );
  }
}
