import type { Position } from '../../shared/catalog/events/envelope';
import { least } from '../../shared/catalog/events/positions';
import type { Realm } from '../../shared/catalog/realm';
import { backoff, pause } from '../../shared/kernel/async';
import { CatalogError, DamagedFileError, isOutage } from '../../shared/kernel/errors';
import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';
import { ACTIVE_TTL_MS } from '../../shared/ports/document-reader';
import type { EventStore } from '../../shared/ports/event-store';
import type { VersionInfo, ViewStore, ViewVersion } from '../../shared/ports/view-store';
import { AlreadyRunningError, isCausedByEvent, reasonOf } from '../engine/errors';
import { leaseOwner, takeLease } from '../engine/lease';
import { assertMadeFromLog } from '../engine/log-match';
import { eventsOfPartition, projectJob } from '../engine/project';
import { readLog } from '../engine/read-log';
import {
  dispatchedVersions,
  FOLLOWING_WITHIN_MS,
  isProjectable,
  SCRATCH_SCHEMA,
  unlessUnusable,
  VIEW_SCHEMA,
} from '../engine/versions';
import { logDeadLetter, targetIn } from '../engine/worker';
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
  /** Called with the reason when the rebuild begins to wait for a store that is unavailable, and at each attempt. */
  readonly on_outage?: (reason: string) => void;
  /** Interrupts the rebuild. The next rebuild resumes from the flushed checkpoints. */
  readonly signal?: AbortSignal;
  /** Whether to fold the log a second time and compare the documents before the flip. Default: true. */
  readonly verify?: boolean;
  /** On a poison event: end the rebuild (`fail`, the default), or move its stream to the dead-letter list. */
  readonly on_poison?: 'fail' | 'dead_letter';
}

export interface RebuildResult {
  /**
   * `drifted`: a second fold of the log produced documents with other contents, so the new version was dropped instead
   * of activated.
   */
  readonly outcome: 'activated' | 'interrupted' | 'drifted';
  readonly version: number;
  /**
   * If `activated`: the version that the flip retired, or null if no usable version was active. The retired version still
   * receives events, so that `rollback` can activate it again. Otherwise: the version that stays active, or null.
   */
  readonly previous: number | null;
  /** Events read from the log. Events that are read again after an outage count again. */
  readonly events: number;
  readonly duration_ms: number;
  readonly verified: VerifyResult | null;
}

const LEASE = 'rebuild';
const LEASE_TTL_MS = 15_000;
const outagePauseMs = backoff(500, 15_000);
/**
 * Maximum lag, in events, at which a version becomes `following`. Workers then read the missing events of each
 * partition from the log, which is slower than `LogFold`.
 */
const LAG_MAX = 1_000;

/** State of one rebuild. Outages of a store do not reset it. */
interface Run {
  readonly owner: string;
  readonly started_ms: number;
  /** The version of an interrupted rebuild that this rebuild continues. */
  resumed_version?: number | undefined;
  events: number;
  outages: number;
}

/**
 * Rebuilds all documents of a realm from its log into a new version, then activates that version in one step (the
 * flip). Works with and without a running server. Waits while a store is unavailable, also at the start, and resumes.
 * Needs only the log: the active version may be damaged, missing, or made from another log. See
 * `docs/architecture.md#rebuild`.
 *
 * Throws `PoisonError`, `AlreadyRunningError`, and what the stores throw.
 */
export async function rebuild(options: RebuildOptions): Promise<RebuildResult> {
  // The default signal never aborts.
  const { realm, log, signal = new AbortController().signal } = options;
  const started_ms = performance.now();
  const run: Run = { owner: leaseOwner(), started_ms, events: 0, outages: 0 };
  for (;;) {
    try {
      return await rebuildOnce({ ...options, signal }, run);
    } catch (error) {
      if (signal.aborted) throw error;
      if (error instanceof DamagedFileError && run.resumed_version !== undefined) {
        // A file of the resumed version may be damaged, so start again with a new version. If a file of another version
        // is damaged, the new attempt fails as well.
        log.warn(
          { realm, version: run.resumed_version, reason: reasonOf(error) },
          'not resuming; starting again',
        );
        await options.views.drop(run.resumed_version);
        continue;
      }
      if (!isOutage(error)) throw error;
      run.outages++;
      log.warn({ realm, reason: reasonOf(error) }, 'store unavailable; the rebuild resumes when it is back');
      options.on_outage?.(reasonOf(error));
    }
    await pause(outagePauseMs(run.outages), signal);
  }
}

async function rebuildOnce(
  options: RebuildOptions & { signal: AbortSignal },
  run: Run,
): Promise<RebuildResult> {
  const { views, log, realm, signal } = options;
  const lease = await takeLease(views, LEASE, run.owner, LEASE_TTL_MS, log);
  if (!lease) throw new AlreadyRunningError(`A rebuild of ${realm}`, LEASE_TTL_MS);
  try {
    const stop_or_lost = AbortSignal.any([signal, lease.lost]);
    const result = await rebuildLeased({ ...options, signal: stop_or_lost }, run);
    // The lease was lost: the store was unavailable for too long, or another process has the lease. Report an outage,
    // so that `rebuild` tries again. If another process has the lease, the new attempt throws `AlreadyRunningError`.
    if (result.outcome === 'interrupted' && !signal.aborted)
      throw new CatalogError('unavailable', { message: 'the rebuild lost its lease' });
    return result;
  } finally {
    await lease.release();
  }
}

/**
 * Drops retired versions. Also drops versions of interrupted rebuilds, unless a rebuild is running. Returns the numbers
 * of the dropped versions.
 */
export async function dropUnused(views: ViewStore): Promise<number[]> {
  const owner = leaseOwner();
  // While this call holds the lease, no rebuild runs. `verify` drops its scratch version itself.
  const holds_lease = await views.lease(LEASE, owner, LEASE_TTL_MS);
  try {
    const unused = (await views.versions()).filter(
      ({ status, schema }) =>
        status === 'retired' || (holds_lease && status !== 'active' && schema !== SCRATCH_SCHEMA),
    );
    await dropUnread(views, unused);
    return unused.map(({ version }) => version);
  } finally {
    if (holds_lease) await views.release(LEASE, owner);
  }
}

/**
 * How long readers may still read a version that is no longer the active one: until their cache ends, and then until the
 * read that has begun ends.
 */
const READ_AFTER_RETIRED_MS = 2 * ACTIVE_TTL_MS;

/** Drops these versions when nobody reads them any more: whoever reads a dropped one finds nothing, so answers 404. */
async function dropUnread(views: ViewStore, versions: readonly VersionInfo[]): Promise<void> {
  const isRead = ({ retired_at }: VersionInfo): boolean =>
    retired_at !== undefined && Date.now() - Date.parse(retired_at) < READ_AFTER_RETIRED_MS;
  if (versions.some(isRead)) await pause(READ_AFTER_RETIRED_MS);
  for (const { version } of versions) await views.drop(version);
}

/**
 * Activates the retired version again. Throws an error if no retired version receives events, and `LogMismatchError` if
 * the documents of the retired version were made from another log.
 */
export async function rollback({ events, views }: Pick<RebuildOptions, 'events' | 'views'>): Promise<{
  readonly version: number;
  readonly previous: number;
}> {
  const projected = dispatchedVersions(await views.versions());
  const retired = projected.find(({ status }) => status === 'retired');
  const active = projected.find(({ status }) => status === 'active');
  if (!retired || !active) throw new Error('No retired version to roll back to. Run a rebuild instead.');
  await assertMadeFromLog(events, await views.open(retired.version));
  await views.activate(retired.version);
  return { version: retired.version, previous: active.version };
}

async function rebuildLeased(
  options: RebuildOptions & { signal: AbortSignal },
  run: Run,
): Promise<RebuildResult> {
  const { views, signal, log, realm } = options;
  const info = await openCandidate(options, run);
  const version = await views.open(info.version);
  log.info({ realm, version: info.version, status: info.status }, 'rebuilding documents from the log');

  if (info.status === 'building') {
    await foldLog(options, version, run).catch((error: unknown) => isolatePoison(options, version, error));
    // Do not create indexes after an interrupted fold. The next rebuild would have to update them with each document.
    if (!signal.aborted) await createIndexes(options, version);
  }
  let previous = (await views.versions()).find(({ status }) => status === 'active')?.version ?? null;
  let verified: VerifyResult | null = null;
  const end = (outcome: RebuildResult['outcome']): RebuildResult => {
    const { events } = run;
    const duration_ms = Math.round(performance.now() - run.started_ms);
    log.info({ realm, version: info.version, outcome, events, duration_ms }, 'rebuild ended');
    return { outcome, version: info.version, previous, events, duration_ms, verified };
  };
  if (signal.aborted) return end('interrupted');
  if (info.status === 'building') await views.setStatus(info.version, 'following');
  // Every process has noticed the new status when this promise resolves.
  const following_everywhere = pause(FOLLOWING_WITHIN_MS, signal);
  if (options.verify !== false) {
    verified = await verifyVersion({ ...options, version });
    if (signal.aborted) return end('interrupted');
    if (!verified.clean) {
      await views.drop(info.version);
      return end('drifted');
    }
  }
  await following_everywhere;
  // Invariant: a version is activated only when each of its checkpoints has reached the active version's. A reader
  // therefore never sees an older state after the flip. See `docs/architecture.md#invariants`.
  if (!(await catchUpWithActive(options, version, previous))) return end('interrupted');
  await views.activate(info.version);
  // Do not keep a version for a rollback if it is damaged or was made from another log.
  if (previous !== null && !(await usableCheckpointsOf(options, previous))) previous = null;
  const retired = (await views.versions()).filter(({ status }) => status === 'retired');
  await dropUnread(
    views,
    retired.filter((older) => older.version !== previous),
  );
  return end('activated');
}

/**
 * Returns the version to rebuild into: the version of an interrupted rebuild if this code can project into that version
 * and its documents were made from this log, otherwise a new version. Drops other unfinished versions. Keeps retired
 * versions for `rollback`.
 */
async function openCandidate(options: RebuildOptions, run: Run): Promise<VersionInfo> {
  const { views } = options;
  const versions = await views.versions();
  const candidates = versions.filter(
    (info) => (info.status === 'building' || info.status === 'following') && isProjectable(info),
  );
  const resumable: VersionInfo[] = [];
  for (const info of candidates) if (await usableCheckpointsOf(options, info.version)) resumable.push(info);
  const resumed = resumable.find(({ status }) => status === 'following') ?? resumable[0];
  for (const { version, status, schema } of versions)
    if (
      (status === 'building' || status === 'following') &&
      version !== resumed?.version &&
      schema !== SCRATCH_SCHEMA
    )
      await views.drop(version);
  run.resumed_version = resumed?.version;
  return resumed ?? (await views.createVersion(VIEW_SCHEMA));
}

/** Folds the log up to its head. Repeats until a round has read at most `LAG_MAX` events. */
async function foldLog(options: RebuildOptions, version: ViewVersion, run: Run): Promise<void> {
  const { events, views, system, log, signal } = options;
  const poison = options.on_poison === 'dead_letter' ? 'dead_letter' : 'throw';
  const fold = await LogFold.open({
    version,
    events,
    partition_count: views.partition_count,
    poison,
    now: system.now,
    onDeadLetter: (dead_letter) => logDeadLetter(log, version.version, dead_letter),
  });
  let head = await events.head();
  const meter = new ProgressMeter('reading', head, options.on_progress);
  let read: number;
  do {
    const before = meter.count;
    await fold.advance({
      to: Array.from({ length: views.partition_count }, () => head),
      signal,
      onBatch: (position, count) => {
        run.events += count;
        meter.advance(position, count);
      },
    });
    read = meter.count - before;
    head = await events.head();
  } while (read > LAG_MAX && !signal?.aborted);
}

/**
 * Called after the fold failed. If the store refused a document, projects the rest of the log as workers do. This finds
 * the event that caused the failure and moves its stream to the dead-letter list. Rethrows an error that no event caused.
 * Rethrows every error if `on_poison` is `fail`.
 */
async function isolatePoison(options: RebuildOptions, version: ViewVersion, error: unknown): Promise<void> {
  const { realm, events, log, on_poison } = options;
  if (!isCausedByEvent(error) || on_poison !== 'dead_letter') throw error;
  log.warn({ realm, reason: reasonOf(error) }, 'a document cannot be written; looking for its event');
  const head = await events.head();
  await followTo(options, version, head, new ProgressMeter('reading', head, options.on_progress));
}

/**
 * Creates the indexes that the store does not maintain while documents are folded, and unfinished indexes. If `signal`
 * aborts, some indexes may be missing.
 */
async function createIndexes(
  { events, on_progress, signal }: RebuildOptions,
  version: ViewVersion,
): Promise<void> {
  const head = await events.head();
  await version.createIndexes?.(
    (indexes) => on_progress?.({ step: 'indexing', events_done: 0, rate: 0, position: head, head, indexes }),
    signal,
  );
}

/**
 * Projects every partition up to the active version's checkpoint, and at least to the position that the log's head had
 * at the call. Workers may project the same events at the same time. This is safe, because the store applies a batch only
 * if the partition's revision is the one that was read. Returns false if `signal` aborted first.
 */
async function catchUpWithActive(
  options: RebuildOptions,
  version: ViewVersion,
  active: number | null,
): Promise<boolean> {
  const { events, signal } = options;
  const head = await events.head();
  const meter = new ProgressMeter('following', head, options.on_progress);
  for (let first = true; !signal?.aborted; first = false) {
    await followTo(options, version, first ? head : await events.head(), meter);
    const checkpoints = await version.checkpoints();
    // The new version need not reach the checkpoints of an active version that is damaged or was made from another log.
    const targets = active === null ? [] : ((await usableCheckpointsOf(options, active)) ?? []);
    if (targets.every((target, partition) => checkpoints[partition]! >= target)) return true;
  }
  return false;
}

/** Returns undefined if a file of the version is damaged, or if the version was made from another log. */
function usableCheckpointsOf(
  { events, views }: Pick<RebuildOptions, 'events' | 'views'>,
  version: number,
): Promise<Position[] | undefined> {
  const readCheckpoints = async (): Promise<Position[]> => {
    const opened = await views.open(version);
    await assertMadeFromLog(events, opened);
    return opened.checkpoints();
  };
  return unlessUnusable(readCheckpoints());
}

async function followTo(
  options: RebuildOptions,
  version: ViewVersion,
  to: Position,
  meter: ProgressMeter,
): Promise<void> {
  const { events, views, signal } = options;
  const { partition_count } = views;
  let prev = least(await version.checkpoints());
  for await (const batch of readLog(events, { after: prev, to, signal })) {
    for (let partition = 0; partition < partition_count; partition++) {
      const partition_events = eventsOfPartition(batch.events, partition, partition_count);
      await projectJob(targetIn(options, version, partition), {
        prev,
        last: batch.position,
        events: partition_events,
      });
    }
    prev = batch.position;
    meter.advance(prev, batch.events.length);
  }
}
