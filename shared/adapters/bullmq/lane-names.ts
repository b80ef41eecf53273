import type { Realm } from '../../catalog/realm';

/** The lanes of one realm: a BullMQ queue each, under a prefix that all of a deployment's queues share. */
export interface LaneSet {
  readonly realm: Realm;
  readonly prefix: string;
  readonly lane_count: number;
}

export const queueName = ({ realm }: LaneSet, lane: number): string => `${realm}-lane-${lane}`;
