import type { Realm } from '../shared/catalog/realm';
import { pause } from '../shared/kernel/async';
import { DamagedFileError } from '../shared/kernel/errors';
import type { Logger } from '../shared/kernel/log';
import type { System } from '../shared/kernel/system';
import type { EventStore } from '../shared/ports/event-store';
import type { JobQueue } from '../shared/ports/job-queue';
import type { ViewStore, ViewVersion } from '../shared/ports/view-store';
import { Dispatcher, type DispatcherTimes } from './engine/dispatcher';
import { AlreadyRunningError, logRetried, reasonOf } from './engine/errors';
import { takeLease } from './engine/lease';
import { LogMatch } from './engine/log-match';
import { dispatchedVersions, isProjectable, VersionCache, VIEW_SCHEMA } from './engine/versions';
import { type AroundProjection, Worker } from './engine/worker';
import type { OnProgress, Progress, Step } from './maintenance/progress';
import { rebuild } from './maintenance/rebuild';
import { dropRetiredVersions } from './maintenance/retention';
import { type PipelineStatus, readStatus } from './maintenance/status';

export interface PipelineParts {
  readonly realm: Realm;
  readonly events: EventStore;
  readonly views: ViewStore;
  readonly queue: JobQueue;
  readonly system: System;
  readonly log: Logger;
  /** Compares the documents with the log. Default: a `LogMatch` that only this pipeline uses. */
  readonly match?: LogMatch;
  /** The owner of this process's leases. Unique to this process. */
  readonly owner: string;
  /** Runs each projection of a job within a span. Undefined in a process without traces. */
  readonly aroundProjection?: AroundProjection | undefined;
  /** How long a retired version stays for a rollback, in milliseconds. Default: until an operator drops it. */
  readonly retired_ms?: number;
  /** Rebuilds the documents of another schema. Default: in this process. */
  readonly rebuild?: (onProgress: OnProgress, signal: AbortSignal) => Promise<unknown>;
  /** Aborts `startPipeline` while it waits. */
  readonly signal?: AbortSignal;
  readonly times?: Partial<DispatcherTimes>;
}

/** Progress of the rebuild of documents with another schema. */
export interface RebuildProgress {
  readonly step: Step;
  /** Events read from the log in this step. */
  readonly events_done: number;
  /** Fraction of the step that is done, from 0 to 1. */
  readonly fraction: number;
}

export interface Pipeline {
  readonly realm: Realm;
  /** Undefined if this pipeline is not rebuilding documents. */
  readonly rebuilding: RebuildProgress | undefined;
  /** Finishes running jobs, then stops. Resolves when all background work has ended. Does not close the stores. */
  stop(): Promise<void>;
  /**
   * Resolves to true when every partition of the active version has reached the position that the log's head had at the
   * call, and to false when the realm is paused or `signal` aborts. Throws what the stores throw, and `NeedsRepairError`
   * if a damaged file stops a partition or the dispatcher, or if the documents were made from another log.
   */
  caughtUp(signal?: AbortSignal): Promise<boolean>;
  status(): Promise<PipelineStatus>;
}

const SETUP_LEASE = 'setup';
const SETUP_TTL_MS = 10_000;
/** How often to look for an active version. */
const POLL_MS = 50;
/** How long `caughtUp` waits for checkpoints before it looks again for a log mismatch and for damage. */
const WAIT_MS = 500;
/** Pause after a failed rebuild, or one that another process runs. */
const REBUILD_RETRY_MS = 5_000;

/**
 * Starts one realm's projections in this process: a worker for all partitions, and a dispatcher that dispatches events
 * while it holds the lease. Creates the first version in an empty view store. Rebuilds documents of another schema, and
 * drops retired versions, in the background.
 */
export async function startPipeline(parts: PipelineParts): Promise<Pipeline> {
  const { realm, events, views, queue, log, system, aroundProjection } = parts;
  const match = parts.match ?? new LogMatch(parts);
  const stopping = new AbortController();
  const { signal } = stopping;
  await ensureActiveVersion(parts);
  const versions = new VersionCache(views);
  const worker = new Worker({ events, views, versions, system, log, aroundProjection, signal });
  // The damaged file that stops a partition or the dispatcher. `match` detects a log mismatch.
  const damage = new Map<number | 'dispatcher', DamagedFileError>();
  const recordDamage = (source: number | 'dispatcher', error: unknown): void => {
    if (error instanceof DamagedFileError) damage.set(source, error);
  };
  const outages = new PartitionOutages(log);
  const working = await queue.work(async (job) => {
    try {
      await worker.handle(job);
      damage.delete(job.partition);
      outages.end(job.partition);
    } catch (error) {
      recordDamage(job.partition, error);
      outages.record(job.partition, error);
      throw error;
    }
  });
  const onFailure = (error: unknown): void => recordDamage('dispatcher', error);
  const dispatcher = new Dispatcher({ ...parts, versions, match, onFailure }, parts.times);
  dispatcher.start();
  let progress: RebuildProgress | undefined;
  const rebuild_ended = rebuildOldSchema(parts, signal, (current) => {
    progress = current && describeStep(current);
  });
  const { retired_ms: keep_ms } = parts;
  const retention_ended =
    keep_ms === undefined ? undefined : dropRetiredVersions({ ...parts, keep_ms }, signal);
  return {
    realm,
    get rebuilding() {
      return progress;
    },
    status: () => readStatus(parts),
    caughtUp: (caller_signal) =>
      waitForHead(
        { ...parts, match },
        damage,
        caller_signal ? AbortSignal.any([signal, caller_signal]) : signal,
      ),
    stop: async () => {
      stopping.abort();
      await dispatcher.stop();
      await working.stop();
      await rebuild_ended;
      await retention_ended;
    },
  };
}

/** Logs once when the jobs of a partition begin to fail, and once when they succeed again. */
class PartitionOutages {
  private readonly current = new Map<number, { readonly since_ms: number; failures: number }>();

  constructor(private readonly log: Logger) {}

  record(partition: number, error: unknown): void {
    const outage = this.current.get(partition);
    if (outage) {
      outage.failures++;
      return;
    }
    this.current.set(partition, { since_ms: performance.now(), failures: 1 });
    logRetried(
      this.log,
      error,
      { partition, err: error },
      'partition cannot be projected; retrying until it can',
    );
  }

  end(partition: number): void {
    const outage = this.current.get(partition);
    if (!outage) return;
    this.current.delete(partition);
    const duration_ms = Math.round(performance.now() - outage.since_ms);
    this.log.info({ partition, failures: outage.failures, duration_ms }, 'partition is projected again');
  }
}

/**
 * Creates and activates a version if no version is active. If several processes start at once, the lease lets only one
 * process create a version.
 */
async function ensureActiveVersion({ views, owner, log, signal }: PipelineParts): Promise<void> {
  for (;;) {
    signal?.throwIfAborted();
    if ((await views.versions()).some(({ status }) => status === 'active')) return;
    const lease = await takeLease(views, SETUP_LEASE, owner, SETUP_TTL_MS, log);
    if (!lease) {
      await pause(POLL_MS, signal);
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
 * Rebuilds the documents if this code cannot project into the active version, because the version has another schema or
 * other keys. Until the rebuild ends, readers see the old documents, and no events are projected into them. To end soon,
 * the rebuild does not verify. A poison event does not stop the rebuild: its stream moves to the dead-letter list.
 */
async function rebuildOldSchema(
  parts: PipelineParts,
  signal: AbortSignal,
  /** Called with undefined when the rebuild has ended. */
  onProgress: (progress: Progress | undefined) => void,
): Promise<void> {
  const { views, log } = parts;
  for (; !signal.aborted; await pause(REBUILD_RETRY_MS, signal)) {
    let is_needed = false;
    try {
      const active = (await views.versions()).find(({ status }) => status === 'active');
      if (!active || isProjectable(active)) return;
      if (await views.pausedSince()) continue;
      is_needed = true;
      const { schema, keys_differ } = active;
      log.warn(
        { schema, wanted: VIEW_SCHEMA, keys_differ },
        'active version has another schema or other keys; rebuilding',
      );
      if (parts.rebuild) await parts.rebuild(onProgress, signal);
      else
        await rebuild({
          ...parts,
          signal,
          verify: false,
          on_poison: 'dead_letter',
          on_progress: onProgress,
        });
    } catch (error) {
      if (is_needed && !signal.aborted && !(error instanceof AlreadyRunningError))
        log.error({ reason: reasonOf(error) }, 'rebuild failed; retrying');
    } finally {
      onProgress(undefined);
    }
  }
}

function describeStep({ step, events_done, position, head, indexes }: Progress): RebuildProgress {
  const done = indexes ? indexes.built : Number(position);
  const total = indexes ? indexes.total : Number(head);
  return { step, events_done, fraction: total === 0 ? 1 : Math.min(1, done / total) };
}

async function waitForHead(
  { events, views, match }: PipelineParts & { readonly match: LogMatch },
  damage: ReadonlyMap<unknown, DamagedFileError>,
  signal: AbortSignal,
): Promise<boolean> {
  const head = await events.head();
  while (!signal.aborted) {
    await match.assert(WAIT_MS);
    const active = dispatchedVersions(await views.versions()).find(({ status }) => status === 'active');
    if (active && (await hasReached(await views.open(active.version), views.partition_count, head)))
      return true;
    if (await views.pausedSince()) return false;
    const [damaged] = damage.values();
    if (damaged) throw damaged;
    // With an active version, `hasReached` has already waited.
    if (!active) await pause(POLL_MS, signal);
  }
  return false;
}

async function hasReached(version: ViewVersion, partition_count: number, head: bigint): Promise<boolean> {
  const partitions = Array.from({ length: partition_count }, (_, partition) =>
    version.waitFor(partition, head, WAIT_MS),
  );
  return (await Promise.all(partitions)).every((arrived) => arrived);
}
