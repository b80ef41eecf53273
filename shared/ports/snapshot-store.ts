import type { StreamName } from '../catalog/events/envelope';

/** The state of an aggregate after one event of its stream. */
export interface Snapshot {
  /** How the state was folded (`stateSchemaOf` in `shared/catalog/events/aggregate.ts`). */
  readonly schema: string;
  /** Revision and id of the last event that the state includes. */
  readonly revision: number;
  readonly event_id: string;
  /** A JSON object. */
  readonly state: object;
}

/**
 * Keeps one snapshot of each stream, the snapshot that was written last. A snapshot is a cache: all snapshots may be
 * lost, and a caller must compare a snapshot with the stream before it uses the snapshot. Snapshots are not part of
 * the log: no subscription yields them.
 */
export interface SnapshotStore {
  /**
   * Returns the snapshot of the stream. Returns undefined if there is no snapshot, or if it cannot be read. Rejects
   * only if the log cannot be read either, with the errors of the event store.
   */
  read(stream: StreamName): Promise<Snapshot | undefined>;

  /** Replaces the snapshot of the stream. May reject. The caller then continues without a snapshot. */
  write(stream: StreamName, snapshot: Snapshot): Promise<void>;

  /** Deletes the snapshot of the stream. Does nothing if there is no snapshot. */
  delete(stream: StreamName): Promise<void>;
}

/** Returns the stored value if it is a snapshot, otherwise undefined. */
export function parseSnapshot(stored: unknown): Snapshot | undefined {
  if (typeof stored !== 'object' || stored === null) return undefined;
  const { schema, revision, event_id, state } = stored as Partial<Record<keyof Snapshot, unknown>>;
  const is_valid =
    typeof schema === 'string' &&
    Number.isSafeInteger(revision) &&
    typeof event_id === 'string' &&
    typeof state === 'object' &&
    state !== null;
  return is_valid ? (stored as Snapshot) : undefined;
}
