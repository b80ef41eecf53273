import type { RecordedEvent } from '../../contracts/envelope';
import type { LaneJob } from '../../ports/job-queue';

type StoredEvent = Omit<RecordedEvent, 'position'> & { readonly position: string };

/** A job as it lies in Redis: JSON, positions as decimal texts. Names here are a storage format. */
export interface StoredJob {
  readonly prev: string;
  readonly last: string;
  readonly events: readonly StoredEvent[];
}

export function encodeJob({ prev, last, events }: LaneJob): StoredJob {
  return {
    prev: String(prev),
    last: String(last),
    events: events.map((event) => ({ ...event, position: String(event.position) })),
  };
}

/** Throws where the text is no job of ours. */
export function decodeJob(stored: StoredJob, lane: Pick<LaneJob, 'realm' | 'lane'>): LaneJob {
  return {
    realm: lane.realm,
    lane: lane.lane,
    prev: BigInt(stored.prev),
    last: BigInt(stored.last),
    events: stored.events.map((event) => ({ ...event, position: BigInt(event.position) })),
  };
}
