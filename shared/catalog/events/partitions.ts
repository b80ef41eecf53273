import { hash } from 'node:crypto';
import { LRUCache } from '../../kernel/cache';

/** Number of partitions of a realm's pipeline. Fixed when its view store is created. */
export const PARTITION_COUNT = 8;

/**
 * Returns the partition of a partition key. All events of one store (in `control`: of one account) have the same key,
 * so they are projected in order, in one partition.
 */
export function partitionOf(partition_key: string, partition_count: number): number {
  return hashOf(partition_key) % partition_count;
}

/** Hashes by partition key. A log has many events but few keys. */
const hashes = new LRUCache<string, number>({ max: 10_000 });

function hashOf(partition_key: string): number {
  const cached = hashes.get(partition_key);
  if (cached !== undefined) return cached;
  const number = hash('sha1', partition_key, 'buffer').readUInt32BE(0);
  hashes.set(partition_key, number);
  return number;
}
