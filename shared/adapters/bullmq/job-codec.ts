import type { RecordedEvent } from '../../catalog/events/envelope';
import type { LaneJob } from '../../ports/job-queue';

type StoredEvent = Omit<RecordedEvent, 'position'> & { readonly position: string };

/** A job as it lies in Redis: JSON, positions as decimal texts. Names here are a storage format. */
export interface StoredJob extends Pick<LaneJob, 'realm' | 'lane'> {
  readonly prev: string;
  readonly last: string;
  readonly events: readonly StoredEvent[];
}

export function encodeJob({ realm, lane, prev, last, events }: LaneJob): StoredJob {
  return {
    realm,
    lane,
    prev: String(prev),
    last: String(last),
    events: events.map((event) => ({ ...event, position: String(event.position) })),
  };
}

/** Throws where the text is no job of ours. */
export function decodeJob({ realm, lane, prev, last, events }: StoredJob): LaneJob {
  return {
    realm,
    lane,
    prev: BigInt(prev),
    last: BigInt(last),
    events: events.map((event) => ({ ...event, position: BigInt(event.position) })),
  };
}
