import type { Position } from '../../shared/catalog/events/envelope';
import { least } from '../../shared/catalog/events/positions';
import type { Realm } from '../../shared/catalog/realm';
import { backoff, pause } from '../../shared/kernel/async';
import { CatalogError, isOutage } from '../../shared/kernel/errors';
import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';
import type { EventStore } from '../../shared/ports/event-store';
import type { VersionInfo, ViewStore, ViewVersion } from '../../shared/ports/view-store';
import { RunningAlreadyError, reasonOf } from '../engine/errors';
import { leaseOwner, takeLease } from '../engine/lease';
import { eventsOfLane, projectSpan } from '../engine/project';
import { readLog } from '../engine/read-log';
import { FOLLOWED_WITHIN_MS, fedVersions, isCurrent, SCRATCH_SCHEMA, VIEW_SCHEMA } from '../engine/versions';
import { logParked } from '../engine/worker';
import { LogFold } from './log-fold';
import { type OnProgress, ProgressMeter } from './progress';
import { type VerifyResult, verifyVersion } from './verify';

export interface RebuildOptions {
  readonly realm: Realm;
  readonly events: EventStore;
  readonly views: ViewStore;
  readonly system: System;
  readonly log: Logger;
  readonly on_progress?: OnProgress;
  /** Breaks off; the next rebuild goes on from there. */
  readonly signal?: AbortSignal;
  /** Fold the log a second time and compare before the flip; default true. */
  readonly verify?: boolean;
  /** An event that cannot be projected ends the rebuild (`fail`, the default) or parks its stream. */
  readonly on_poison?: 'fail' | 'park';
}

export interface RebuildResult {
  /** `drifted`: not flipped but dropped, for a second fold gave other documents. */
  readonly outcome: 'activated' | 'interrupted' | 'drifted';
  readonly version: number;
  /** Retired by the flip, still fed, and what `rollback` goes back to. */
  readonly previous: number | null;
  /** Read from the log by this rebuild; what has to be read again after an outage counts again. */
  readonly events: number;
  readonly duration_ms: number;
  readonly verified: VerifyResult | null;
}

const LEASE = 'rebuild';
const LEASE_TTL_MS = 15_000;
/** How often a store may be away before a rebuild gives up, some minutes in all. */
const OUTAGES_MAX = 20;
const outagePauseMs = backoff(500, 15_000);
/** Workers read what is missing of a version that begins to be fed, lane by lane: it should not be much. */
const REST_MAX = 1_000;

/** One rebuild, however often a store is away meanwhile. */
interface Run {
  readonly owner: string;
  readonly started_ms: number;
  /** It had the lease once. */
  begun: boolean;
  events: number;
}

/**
 * Makes all documents of a realm anew from its log, beside those that are read, and then changes over to them in one
 * step. Works while a server runs and without one; where a store is away meanwhile it goes on when that is back. Throws
 * `PoisonError`, what the stores throw, and `RunningAlreadyError`.
 */
export async function rebuild(options: RebuildOptions): Promise<RebuildResult> {
  const { realm, log, signal = new AbortController().signal } = options;
  const run: Run = { owner: leaseOwner(), started_ms: performance.now(), begun: false, events: 0 };
  for (let outages = 0; ; outages++) {
    try {
      return await rebuildOnce({ ...options, signal }, run);
    } catch (error) {
      if (!run.begun || signal.aborted || !isOutage(error) || outages === OUTAGES_MAX) throw error;
      log.warn({ realm, reason: reasonOf(error) }, 'a store is away: the rebuild goes on when it is back');
    }
    await pause(outagePauseMs(outages + 1), signal);
  }
}

async function rebuildOnce(
  options: RebuildOptions & { signal: AbortSignal },
  run: Run,
): Promise<RebuildResult> {
  const { views, log, realm, signal } = options;
  const lease = await takeLease(views, LEASE, run.owner, LEASE_TTL_MS, log);
  if (!lease) throw new RunningAlreadyError(`a rebuild of ${realm}`, LEASE_TTL_MS);
  run.begun = true;
  try {
    const either = AbortSignal.any([signal, lease.lost]);
    const result = await rebuildLeased({ ...options, signal: either }, run);
    // Not this one's doing: either another has it now, and the next try is told so, or its store was away for long.
    if (result.outcome === 'interrupted' && !signal.aborted)
      throw new CatalogError('unavailable', { message: 'the lease could not be kept' });
    return result;
  } finally {
    await lease.release();
  }
}

/**
 * Deletes what a rebuild has replaced, and what one that was broken off has left unless another is at work on it.
 * Gives the versions' numbers.
 */
export async function dropUnused(views: ViewStore): Promise<number[]> {
  const owner = leaseOwner();
  const idle = await views.lease(LEASE, owner, LEASE_TTL_MS);
  try {
    const unused = (await views.versions()).filter(
      ({ status, schema }) =>
        status === 'retired' || (idle && status !== 'active' && schema !== SCRATCH_SCHEMA),
    );
    for (const { version } of unused) await views.drop(version);
    return unused.map(({ version }) => version);
  } finally {
    if (idle) await views.release(LEASE, owner);
  }
}

/** Makes the retired version the active one again. Throws where there is none that is still fed. */
export async function rollback(
  views: ViewStore,
): Promise<{ readonly version: number; readonly previous: number }> {
  const fed = fedVersions(await views.versions());
  const retired = fed.find(({ status }) => status === 'retired');
  const active = fed.find(({ status }) => status === 'active');
  if (!retired || !active) throw new Error('there is no earlier version that is still fed');
  await views.activate(retired.version);
  return { version: retired.version, previous: active.version };
}

async function rebuildLeased(
  options: RebuildOptions & { signal: AbortSignal },
  run: Run,
): Promise<RebuildResult> {
  const { views, signal, log, realm } = options;
  const info = await candidate(views);
  const version = await views.open(info.version);
  log.info({ realm, version: info.version, resumed: info.status }, 'rebuilding documents from the log');

  if (info.status === 'building') await readWholeLog(options, version, run);
  const previous = (await views.versions()).find(({ status }) => status === 'active')?.version ?? null;
  let verified: VerifyResult | null = null;
  const end = (outcome: RebuildResult['outcome']): RebuildResult => {
    const { events } = run;
    const duration_ms = Math.round(performance.now() - run.started_ms);
    log.info({ realm, version: info.version, outcome, events, duration_ms }, 'rebuild ended');
    return { outcome, version: info.version, previous, events, duration_ms, verified };
  };
  if (signal.aborted) return end('interrupted');
  if (info.status === 'building') await views.setStatus(info.version, 'following');
  const followed = pause(FOLLOWED_WITHIN_MS, signal);
  if (options.verify !== false) {
    verified = await verifyVersion({ ...options, version });
    if (signal.aborted) return end('interrupted');
    if (!verified.clean) {
      await views.drop(info.version);
      return end('drifted');
    }
  }
  await followed;
  if (!(await levelWithActive(options, version, previous))) return end('interrupted');
  await views.activate(info.version);
  for (const { version: older, status } of await views.versions())
    if (status === 'retired' && older !== previous) await views.drop(older);
  return end('activated');
}

/** The version that a rebuild works on; others that were never finished are dropped, those to go back to are kept. */
async function candidate(views: ViewStore): Promise<VersionInfo> {
  const versions = await views.versions();
  const resumable = versions.filter(
    (info) => (info.status === 'building' || info.status === 'following') && isCurrent(info),
  );
  const kept = resumable.find(({ status }) => status === 'following') ?? resumable[0];
  for (const { version, status, schema } of versions)
    if (
      (status === 'building' || status === 'following') &&
      version !== kept?.version &&
      schema !== SCRATCH_SCHEMA
    )
      await views.drop(version);
  return kept ?? (await views.createVersion(VIEW_SCHEMA));
}

/** Up to the log's head, and on while more than a little came meanwhile. */
async function readWholeLog(options: RebuildOptions, version: ViewVersion, run: Run): Promise<void> {
  const { events, views, system, log, signal } = options;
  const poison = options.on_poison === 'park' ? 'park' : 'throw';
  const onParked = logParked.bind(undefined, log, version.version);
  const parts = { version, events, lane_count: views.lane_count, poison, now: system.now, onParked } as const;
  const fold = await LogFold.open(parts);
  let head = await events.head();
  const meter = new ProgressMeter('reading', head, options.on_progress);
  let read: number;
  do {
    const before = meter.count;
    await fold.advance({
      to: Array.from({ length: views.lane_count }, () => head),
      signal,
      onBatch: (position, count) => {
        run.events += count;
        meter.advance(position, count);
      },
    });
    read = meter.count - before;
    head = await events.head();
  } while (read > REST_MAX && !signal?.aborted);
}

/**
 * Brings every lane to where it is in the active version, or to the log's head where that one is not fed. Workers
 * that run do the same at the same time. False where `signal` aborted first.
 */
async function levelWithActive(
  options: RebuildOptions,
  version: ViewVersion,
  active: number | null,
): Promise<boolean> {
  const { events, views, signal } = options;
  const head = await events.head();
  const meter = new ProgressMeter('following', head, options.on_progress);
  for (let first = true; !signal?.aborted; first = false) {
    await followTo(options, version, first ? head : await events.head(), meter);
    const behind = await version.checkpoints();
    const goals = active === null ? [] : await (await views.open(active)).checkpoints();
    if (goals.every((goal, lane) => behind[lane]! >= goal)) return true;
  }
  return false;
}

async function followTo(
  options: RebuildOptions,
  version: ViewVersion,
  to: Position,
  meter: ProgressMeter,
): Promise<void> {
  const { events, views, system, log, signal } = options;
  const { lane_count } = views;
  const onParked = logParked.bind(undefined, log, version.version);
  let prev = least(await version.checkpoints());
  for await (const batch of readLog(events, { after: prev, to, signal })) {
    for (let lane = 0; lane < lane_count; lane++) {
      const target = { version, lane, lane_count, events, now: system.now, onParked };
      const given = eventsOfLane(batch.events, lane, lane_count);
      await projectSpan(target, { prev, last: batch.position, events: given });
    }
    prev = batch.position;
    meter.advance(prev, batch.events.length);
  }
}
