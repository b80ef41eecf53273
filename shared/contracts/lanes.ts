import { createHash } from 'node:crypto';

/** Lanes of a realm's pipeline, fixed when its view store is made. */
export const LANE_COUNT = 8;

/** Everything of one store (in `control`: of one account) is projected in order, in one lane. */
export function laneOf(partition_key: string, lane_count: number): number {
  return createHash('sha1').update(partition_key).digest().readUInt32BE(0) % lane_count;
}
