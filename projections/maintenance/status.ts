import type { Position } from '../../shared/catalog/events/envelope';
import { greatest } from '../../shared/catalog/events/positions';
import type { Realm } from '../../shared/catalog/realm';
import type { EventStore } from '../../shared/ports/event-store';
import type { ParkedStream, VersionStatus, ViewStore } from '../../shared/ports/view-store';
import { isCurrent, SCRATCH_SCHEMA } from '../engine/versions';

export interface LaneStatus {
  readonly lane: number;
  readonly checkpoint: Position;
  /** Positions between the checkpoint and the log's head; the lane's own events are some of them. */
  readonly lag: Position;
}

export interface VersionState {
  readonly version: number;
  readonly status: VersionStatus;
  readonly schema: number;
  readonly created_at: string;
  /** Whether new events go to it. */
  readonly fed: boolean;
  readonly lanes: readonly LaneStatus[];
  readonly parked: readonly ParkedStream[];
}

export interface PipelineStatus {
  readonly realm: Realm;
  readonly head: Position;
  /** Newest first. */
  readonly versions: readonly VersionState[];
  /** The active version's largest lag; null while none is active. */
  readonly lag: Position | null;
}

export interface StatusParts {
  readonly realm: Realm;
  readonly events: EventStore;
  readonly views: ViewStore;
}

/** Works with a pipeline running, here or in another process, and without. */
export async function readStatus({ realm, events, views }: StatusParts): Promise<PipelineStatus> {
  const head = await events.head();
  const versions: VersionState[] = [];
  for (const info of await views.versions()) {
    if (info.schema === SCRATCH_SCHEMA) continue;
    const version = await views.open(info.version);
    const fed = info.status !== 'building' && isCurrent(info);
    const lanes = (await version.checkpoints()).map((checkpoint, lane) => laneStatus(lane, checkpoint, head));
    versions.push({ ...info, fed, lanes, parked: await version.parked() });
  }
  const active = versions.find(({ status }) => status === 'active');
  const lag = active ? greatest(active.lanes.map((lane) => lane.lag)) : null;
  return { realm, head, versions, lag };
}

function laneStatus(lane: number, checkpoint: Position, head: Position): LaneStatus {
  return { lane, checkpoint, lag: checkpoint < head ? head - checkpoint : 0n };
}
