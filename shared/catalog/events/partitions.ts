import { hash } from 'node:crypto';

/** Number of partitions of a realm's pipeline. Fixed when its view store is created. */
export const PARTITION_COUNT = 8;

/**
 * Returns the partition of a partition key. All events of one store (in `control`: of one account) have the same key,
 * so they are projected in order, in one partition.
 */
export function partitionOf(partition_key: string, partition_count: number): number {
  return hash('sha1', partition_key, 'buffer').readUInt32BE(0) % partition_count;
}
