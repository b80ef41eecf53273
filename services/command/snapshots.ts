import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Position, StreamName } from '../../shared/catalog/events/envelope';
import type { EventStore } from '../../shared/ports/event-store';
import type { Snapshot } from '../../shared/ports/snapshot-store';

/**
 * Snapshots of long streams, so that the first load of a process costs the same at a thousand and at a million events. A
 * snapshot is only a cache: it is compared with the stream before it is used, and the stream is read without it
 * (docs/decisions/0021-snapshots.md).
 */

/** Which snapshots of a stream the caller can use. */
interface Wanted {
  readonly schema: string;
  /** The revision of the snapshot is greater than `after` and at most `to`, by default any. */
  readonly after: number;
  readonly to?: number;
}

/**
 * Returns the stream's snapshot with the position of its event. Undefined if the caller cannot use it, or if it was
 * made from another log, for example from one before a restore.
 */
export async function readSnapshot(
  events: EventStore,
  stream: StreamName,
  { schema, after, to = Number.POSITIVE_INFINITY }: Wanted,
): Promise<(Snapshot & { readonly position: Position }) | undefined> {
  const snapshot = await events.snapshots?.read(stream);
  if (snapshot?.schema !== schema || snapshot.revision <= after || snapshot.revision > to) return undefined;
  const [event] = await events.readStream(stream, snapshot.revision, 1);
  if (event?.revision !== snapshot.revision || event.id !== snapshot.event_id) return undefined;
  return { ...snapshot, position: event.position };
}

/** Writes a snapshot in the background. Never throws. */
export function writeSnapshot(events: EventStore, stream: StreamName, snapshot: Snapshot): void {
  // A failure costs nothing: the next snapshot is written some hundred events later.
  void nextTurn()
    .then(() => events.snapshots?.write(stream, snapshot))
    .catch(() => undefined);
}
