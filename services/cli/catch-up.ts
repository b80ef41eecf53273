import { leaseOwner } from '../../projections/engine/lease';
import { startPipeline } from '../../projections/pipeline';
import { type Position, START } from '../../shared/catalog/events/envelope';
import { least } from '../../shared/catalog/events/positions';
import type { Realm } from '../../shared/catalog/realm';
import { allEnded, pause } from '../../shared/kernel/async';
import { NeedsRepairError } from '../../shared/kernel/errors';
import { openJobQueue } from '../boot/open-adapters';
import type { Runtime } from '../boot/runtime';
import { progressBar } from './progress';

/** How long a command waits after its writes. A running server usually catches up within milliseconds. */
const AFTER_WRITE_MS = 2_000;
/** How long a command waits before it reads documents: the log may not have been projected at all yet. */
const BEFORE_READ_MS = 60_000;
/** How long a command that has written much waits without any progress of the documents. */
const STALLED_MS = 10_000;
const PROGRESS_INTERVAL_MS = 250;

/**
 * Waits until the documents include what the command wrote, for at most two seconds. Does not report a timeout. Prints a
 * warning about data that must be repaired, because the write itself was done.
 */
export async function waitForWrites(runtime: Runtime, ...realms: readonly Realm[]): Promise<void> {
  try {
    await catchUp(runtime, realms, AFTER_WRITE_MS);
  } catch (error) {
    if (!(error instanceof NeedsRepairError)) throw error;
    process.stderr.write(
      `catalog: Warning: the change was saved, but reads do not show it. ${error.message}\n`,
    );
  }
}

/**
 * Waits until the documents include what a command wrote, however long that takes, as long as they make progress. Ends
 * early if `signal` aborts. Prints a warning if the documents do not include all of it, because the write itself was
 * done.
 */
export async function waitForManyWrites(runtime: Runtime, realm: Realm, signal: AbortSignal): Promise<void> {
  const warn = (reason: string): void => {
    process.stderr.write(
      `catalog: Warning: what was imported is saved, but reads do not show all of it yet. ${reason}\n`,
    );
  };
  try {
    if (!(await project(runtime, realm, { stalled_ms: STALLED_MS, signal })))
      warn('A running server projects the rest. Without one, the next server or command does.');
  } catch (error) {
    if (!(error instanceof NeedsRepairError)) throw error;
    warn(error.message);
  }
}

/**
 * Waits until the documents have caught up with the log, for at most 60 s. Prints a warning and returns false if they
 * have not. Throws `NeedsRepairError` if a damaged file prevents it, or if the documents were made from another log.
 */
export async function catchUpBeforeRead(runtime: Runtime, ...realms: readonly Realm[]): Promise<boolean> {
  const caught_up = await catchUp(runtime, realms, BEFORE_READ_MS);
  if (!caught_up)
    process.stderr.write(
      'catalog: Warning: the documents have not caught up with the log. The output may be out of date.\n',
    );
  return caught_up;
}

/**
 * Waits until the documents have caught up with the log. Returns false after `timeout_ms`. Throws errors of the stores,
 * and `NeedsRepairError` if a damaged file prevents it, or if the documents were made from another log.
 */
export async function catchUp(
  runtime: Runtime,
  realms: readonly Realm[],
  timeout_ms: number,
): Promise<boolean> {
  // The caller closes the stores if this fails, so every realm must have ended.
  const reached = await allEnded(realms.map((realm) => project(runtime, realm, { timeout_ms })));
  return reached.every(Boolean);
}

/** When to end waiting for the documents. */
interface WaitLimits {
  readonly timeout_ms?: number;
  /** Time in which no checkpoint has moved. */
  readonly stalled_ms?: number;
  readonly signal?: AbortSignal;
}

/**
 * Runs a pipeline in this process until the documents have caught up, and shows how far they are. If a server projects
 * the same data, it has the dispatcher's lease: the pipeline of this process then dispatches nothing and only waits for
 * the checkpoints. A server that starts meanwhile waits for the lease, which this process releases at its end. Returns
 * false at a limit, and at once if the realm is paused.
 */
async function project(runtime: Runtime, realm: Realm, limits: WaitLimits): Promise<boolean> {
  const match = runtime.log_matches[realm];
  await match.assert();
  if (await hasCaughtUp(runtime, realm)) return true;
  const { config, events, viewStores, system, log } = runtime;
  const views = viewStores[realm];
  // Throws if the store cannot be reached. `views.ready` would wait without a limit.
  await views.versions();
  if (await views.pausedSince()) return false;
  const queue = await openJobQueue(config, realm, { partition_count: views.partition_count });
  try {
    const parts = { realm, events: events[realm], views, queue, system, log, match, owner: leaseOwner() };
    const pipeline = await startPipeline(parts);
    const ended = new AbortController();
    const signal = limits.signal ? AbortSignal.any([limits.signal, ended.signal]) : ended.signal;
    try {
      return await Promise.race([pipeline.caughtUp(signal), untilLimit(runtime, realm, limits, signal)]);
    } finally {
      ended.abort();
      await pipeline.stop();
    }
  } finally {
    await queue.close();
  }
}

/** Shows how far the documents are. Resolves to false at a limit, or when `signal` aborts. */
async function untilLimit(
  runtime: Runtime,
  realm: Realm,
  { timeout_ms = Number.POSITIVE_INFINITY, stalled_ms = Number.POSITIVE_INFINITY }: WaitLimits,
  signal: AbortSignal,
): Promise<false> {
  const bar = progressBar(`${realm}: projecting`);
  const started_ms = performance.now();
  let advanced_ms = started_ms;
  let first: Awaited<ReturnType<typeof progressOf>> | undefined;
  let reached = START;
  for (;;) {
    const now_ms = performance.now();
    const left_ms = Math.min(started_ms + timeout_ms, advanced_ms + stalled_ms) - now_ms;
    if (left_ms <= 0) break;
    await pause(Math.min(left_ms, PROGRESS_INTERVAL_MS), signal);
    if (signal.aborted) break;
    const progress = await progressOf(runtime, realm).catch(() => undefined);
    if (!progress || signal.aborted) continue;
    first ??= progress;
    if (progress.reached > reached) advanced_ms = performance.now();
    reached = progress.reached;
    bar.show({
      done: Number(progress.checkpoint),
      total: Number(progress.head),
      from: Number(first.checkpoint),
    });
  }
  bar.clear();
  return false;
}

async function hasCaughtUp(runtime: Runtime, realm: Realm): Promise<boolean> {
  const { checkpoint, head } = await progressOf(runtime, realm);
  return checkpoint !== null && checkpoint >= head;
}

/**
 * Returns the log's head, the lowest checkpoint of the active version (null if the realm was never projected), and the
 * sum of its checkpoints.
 */
async function progressOf(
  runtime: Runtime,
  realm: Realm,
): Promise<{ checkpoint: Position | null; reached: Position; head: Position }> {
  const [head, version] = await Promise.all([runtime.events[realm].head(), runtime.views[realm].current()]);
  const checkpoints = (await version?.checkpoints()) ?? [];
  const reached = checkpoints.reduce((sum, checkpoint) => sum + checkpoint, START);
  return { checkpoint: checkpoints.length === 0 ? null : least(checkpoints), reached, head };
}
