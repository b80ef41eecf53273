import type { Position } from '../catalog/events/envelope';

/** A partition and the position that its checkpoint has reached. */
export type CheckpointMoved = readonly [partition: number, position: Position];

/**
 * Notifies the processes of one realm of moved checkpoints, so that waiting processes need not poll often. This only
 * saves time: a notification may be lost, so they still poll, but rarely.
 */
export interface CheckpointNotifier {
  /** Notifies all processes that listen to the version. Never throws, and does not wait. */
  publish(version: number, moved: readonly CheckpointMoved[]): void;
  /** Calls `onMoved` for each move in this version from now on. Replaces the listener of an earlier call. */
  listen(version: number, onMoved: (...moved: CheckpointMoved) => void): void;
  close(): void;
}
