import type { Realm } from '../shared/catalog/realm';
import { pause } from '../shared/kernel/async';
import type { Logger } from '../shared/kernel/log';
import type { System } from '../shared/kernel/system';
import type { EventStore } from '../shared/ports/event-store';
import type { JobQueue } from '../shared/ports/job-queue';
import type { ViewStore, ViewVersion } from '../shared/ports/view-store';
import { RunningAlreadyError, reasonOf } from './engine/errors';
import { Feeder, type FeederTimes } from './engine/feeder';
import { takeLease } from './engine/lease';
import { FedVersions, fedVersions, isCurrent, VIEW_SCHEMA } from './engine/versions';
import { Worker } from './engine/worker';
import { rebuild } from './maintenance/rebuild';
import { type PipelineStatus, readStatus } from './maintenance/status';

export interface PipelineParts {
  readonly realm: Realm;
  readonly events: EventStore;
  readonly views: ViewStore;
  readonly queue: JobQueue;
  readonly system: System;
  readonly log: Logger;
  /** Unique to this process: the holder of leases. */
  readonly owner: string;
  /** Aborts to give up a start that has to wait. */
  readonly signal?: AbortSignal;
  readonly times?: Partial<FeederTimes>;
}

export interface Pipeline {
  readonly realm: Realm;
  /** Lets what runs finish; resolves when nothing of the pipeline runs any more. The stores stay open. */
  stop(): Promise<void>;
  /**
   * Resolves when every lane of the active version has reached the log's head as it is at the call, or when `signal`
   * aborts. Throws what the stores throw.
   */
  caughtUp(signal?: AbortSignal): Promise<void>;
  status(): Promise<PipelineStatus>;
}

const SETUP_LEASE = 'setup';
const SETUP_TTL_MS = 10_000;
const POLL_MS = 50;
const WAIT_MS = 500;
const REBUILD_AGAIN_MS = 5_000;

/**
 * One realm's projections in this process: a worker for every lane, and a feeder that works while no other process's
 * does. On an empty view store it makes the first version; documents of another schema are rebuilt in the background.
 */
export async function startPipeline(parts: PipelineParts): Promise<Pipeline> {
  const { realm, events, views, queue, log, system } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;
  await ensureActiveVersion(parts);
  const fed = new FedVersions(views);
  const worker = new Worker({ events, views, fed, system, log });
  const working = await queue.work((job) => worker.handle(job));
  const feeder = new Feeder({ ...parts, fed }, parts.times);
  feeder.start();
  const rebuilding = rebuildOldSchema(parts, signal);
  return {
    realm,
    status: () => readStatus(parts),
    caughtUp: (given) => waitForHead(parts, given ? AbortSignal.any([signal, given]) : signal),
    stop: async () => {
      stopping.abort();
      await feeder.stop();
      await working.stop();
      await rebuilding;
    },
  };
}

/** Several processes may start at once on one empty store: one of them makes the first version. */
async function ensureActiveVersion({ views, owner, log, signal }: PipelineParts): Promise<void> {
  const { signal: never } = new AbortController();
  for (;;) {
    signal?.throwIfAborted();
    if ((await views.versions()).some(({ status }) => status === 'active')) return;
    const lease = await takeLease(views, SETUP_LEASE, owner, SETUP_TTL_MS, log);
    if (!lease) {
      await pause(POLL_MS, signal ?? never);
      continue;
    }
    try {
      if ((await views.versions()).some(({ status }) => status === 'active')) return;
      const first = await views.createVersion(VIEW_SCHEMA);
      await views.activate(first.version);
      return;
    } finally {
      await lease.release();
    }
  }
}

/**
 * The storefront goes on reading the old documents until the new ones are there. They get no news meanwhile, so one
 * event that cannot be projected parks its stream and does not hold up the rest.
 */
async function rebuildOldSchema(parts: PipelineParts, signal: AbortSignal): Promise<void> {
  const { views, log, realm } = parts;
  for (; !signal.aborted; await pause(REBUILD_AGAIN_MS, signal)) {
    try {
      const active = (await views.versions()).find(({ status }) => status === 'active');
      if (!active || isCurrent(active)) return;
      const { schema, keys_differ } = active;
      log.warn(
        { realm, schema, wanted: VIEW_SCHEMA, keys_differ },
        'documents of another schema or with other keys are rebuilt',
      );
      await rebuild({ ...parts, signal, verify: false, on_poison: 'park' });
    } catch (error) {
      if (!(error instanceof RunningAlreadyError))
        log.error({ realm, reason: reasonOf(error) }, 'documents of another schema could not be rebuilt');
    }
  }
}

async function waitForHead({ events, views }: PipelineParts, signal: AbortSignal): Promise<void> {
  const head = await events.head();
  while (!signal.aborted) {
    const active = fedVersions(await views.versions()).find(({ status }) => status === 'active');
    if (active && (await reached(await views.open(active.version), views.lane_count, head))) return;
    if (!active) await pause(POLL_MS, signal);
  }
}

async function reached(version: ViewVersion, lane_count: number, head: bigint): Promise<boolean> {
  const lanes = Array.from({ length: lane_count }, (_, lane) => version.waitFor(lane, head, WAIT_MS));
  return (await Promise.all(lanes)).every((arrived) => arrived);
}
