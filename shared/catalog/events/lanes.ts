import { hash } from 'node:crypto';
import { LRUCache } from '../../kernel/cache';

/** Lanes of a realm's pipeline, fixed when its view store is made. */
export const LANE_COUNT = 8;

/** Everything of one store (in `control`: of one account) is projected in order, in one lane. */
export function laneOf(partition_key: string, lane_count: number): number {
  return numberOf(partition_key) % lane_count;
}

/** A log's events are of few keys, and each is asked for its lane. */
const cached = new LRUCache<string, number>({ max: 10_000 });

function numberOf(partition_key: string): number {
  const known = cached.get(partition_key);
  if (known !== undefined) return known;
  const number = hash('sha1', partition_key, 'buffer').readUInt32BE(0);
  cached.set(partition_key, number);
  return number;
}
