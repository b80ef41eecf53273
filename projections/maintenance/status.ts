import type { Position } from '../../shared/catalog/events/envelope';
import { greatest } from '../../shared/catalog/events/positions';
import type { Realm } from '../../shared/catalog/realm';
import { LogMismatchError } from '../../shared/kernel/errors';
import type { EventStore } from '../../shared/ports/event-store';
import type { DeadLetter, VersionStatus, ViewStore, ViewVersion } from '../../shared/ports/view-store';
import { assertMadeFromLog } from '../engine/log-match';
import { isProjectable, SCRATCH_SCHEMA, unlessUnusable } from '../engine/versions';

export interface PartitionStatus {
  readonly partition: number;
  readonly checkpoint: Position;
  /**
   * Distance from the checkpoint to the log's head, in positions. Not a number of events: other partitions share the
   * log.
   */
  readonly lag: Position;
}

export interface VersionState {
  readonly version: number;
  readonly status: VersionStatus;
  readonly schema: number;
  readonly created_at: string;
  /** Whether the dispatcher sends events to the version. The name is part of the CLI's JSON output. */
  readonly fed: boolean;
  /** Whether a file of the version is damaged or missing. `partitions` and `dead_letters` are then empty. */
  readonly damaged: boolean;
  /** Why the log cannot be the one that the version was made from (`LogMismatchError`). Null if it can. */
  readonly mismatch: string | null;
  readonly partitions: readonly PartitionStatus[];
  readonly dead_letters: readonly DeadLetter[];
}

export interface PipelineStatus {
  readonly realm: Realm;
  readonly head: Position;
  /** Newest first. */
  readonly versions: readonly VersionState[];
  /** Largest lag of the active version's partitions. Null if no version is active or the active one is damaged. */
  readonly lag: Position | null;
  /** Since when nothing is projected. Null if the realm is not paused. */
  readonly paused_since: string | null;
}

export interface StatusParts {
  readonly realm: Realm;
  readonly events: EventStore;
  readonly views: ViewStore;
}

/** Reads the state of a realm's projections from the stores. Works with and without a running pipeline. */
export async function readStatus({ realm, events, views }: StatusParts): Promise<PipelineStatus> {
  const head = await events.head();
  const versions: VersionState[] = [];
  for (const info of await views.versions()) {
    if (info.schema === SCRATCH_SCHEMA) continue;
    const fed = info.status !== 'building' && isProjectable(info);
    const found = await unlessUnusable(readVersion(events, views, info.version, head));
    versions.push({ ...info, fed, damaged: !found, ...(found ?? UNREADABLE) });
  }
  const active = versions.find(({ status, damaged }) => status === 'active' && !damaged);
  const lag = active ? greatest(active.partitions.map((partition) => partition.lag)) : null;
  return { realm, head, versions, lag, paused_since: (await views.pausedSince()) ?? null };
}

const UNREADABLE = { mismatch: null, partitions: [], dead_letters: [] } as const;

async function readVersion(events: EventStore, views: ViewStore, number: number, head: Position) {
  const version = await views.open(number);
  const partitions = (await version.checkpoints()).map((checkpoint, partition) =>
    partitionStatus(partition, checkpoint, head),
  );
  const mismatch = await readMismatch(events, version);
  return { mismatch, partitions, dead_letters: await version.deadLetters() };
}

async function readMismatch(events: EventStore, version: ViewVersion): Promise<string | null> {
  try {
    await assertMadeFromLog(events, version);
    return null;
  } catch (error) {
    if (error instanceof LogMismatchError) return error.message;
    throw error;
  }
}

function partitionStatus(partition: number, checkpoint: Position, head: Position): PartitionStatus {
  return { partition, checkpoint, lag: checkpoint < head ? head - checkpoint : 0n };
}
