import type { StreamName } from '../../shared/catalog/events/envelope';
import { parseSnapshot, type Snapshot, type SnapshotStore } from '../../shared/ports/snapshot-store';

/** Snapshots in memory, as JSON text like in every other store. */
export class MemorySnapshotStore implements SnapshotStore {
  readonly stored = new Map<StreamName, string>();

  async read(stream: StreamName): Promise<Snapshot | undefined> {
    const text = this.stored.get(stream);
    return text === undefined ? undefined : parseSnapshot(JSON.parse(text));
  }

  async write(stream: StreamName, snapshot: Snapshot): Promise<void> {
    this.stored.set(stream, JSON.stringify(snapshot));
  }

  async delete(stream: StreamName): Promise<void> {
    this.stored.delete(stream);
  }
}
