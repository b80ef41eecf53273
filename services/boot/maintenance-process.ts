import { once } from 'node:events';
import { AlreadyRunningError, reasonOf } from '../../projections/engine/errors';
import type { OnProgress, Progress } from '../../projections/maintenance/progress';
import { rebuild } from '../../projections/maintenance/rebuild';
import type { TaskOptions, TaskProgress, TaskResult } from '../../projections/maintenance/tasks';
import { type VerifyResult, verify } from '../../projections/maintenance/verify';
import type { Realm } from '../../shared/catalog/realm';
import type { Config } from '../../shared/kernel/config';
import { Child, type ChildCalls } from '../../shared/kernel/processes';
import { realSystem } from '../../shared/kernel/system';
import { openEventStore, openViewStore } from './open-adapters';
import { type ChildOptions, serveParent } from './process';

/** How long a stop waits for the step that runs. After that, the process is killed. The next rebuild continues. */
const STOP_MS = 3_000;
/** As many as `GET /operator/tasks` shows. */
const DIFFERENCES_MAX = 500;

/** What the process answers. */
interface MaintenanceCalls extends ChildCalls {
  /** Resolves when the task has ended. */
  run(): Promise<TaskResult>;
}

/** What the process calls. */
type StarterCalls = { progressed(progress: TaskProgress): void };
type Options = ChildOptions & TaskOptions & { readonly realm: Realm };

/**
 * Rebuilds, verifies or repairs the documents of a realm in a process of its own, because the statements that create
 * indexes take seconds, and reading the log is work for all of a CPU. Never rejects.
 */
export async function runInProcess(
  config: Config,
  realm: Realm,
  task: TaskOptions,
  onProgress: (progress: TaskProgress) => void,
  signal: AbortSignal,
): Promise<TaskResult> {
  const options: Options = { config, name: task.task, realm, ...task };
  const calls: StarterCalls = { progressed: onProgress };
  const child = Child.start<MaintenanceCalls>('maintenance', calls, { options });
  const ending = child.ask('run', undefined);
  await Promise.race([ending, once(signal, 'abort')]);
  await child.stop(STOP_MS);
  const result = await ending;
  if (result) return result;
  if (signal.aborted) return { status: 'stopped' };
  const reason = `Its process ended (${await child.ended}). The log has the cause. Start the task again.`;
  return { status: 'failed', reason };
}

/**
 * Rebuilds documents of another schema. Does not verify, and moves poison events to the dead-letter list. Rejects if the
 * rebuild fails. Does nothing if another process rebuilds the realm.
 */
export async function rebuildInProcess(
  config: Config,
  realm: Realm,
  onProgress: OnProgress,
  signal: AbortSignal,
): Promise<void> {
  const task: TaskOptions = { task: 'rebuild', verify: false, on_poison: 'dead_letter' };
  const show = ({ progress }: TaskProgress): void => {
    if (progress) onProgress(progress);
  };
  const result = await runInProcess(config, realm, task, show, signal);
  if (result.status === 'failed' && !result.is_running_elsewhere && !signal.aborted)
    throw new Error(result.reason);
}

/** The role `maintenance`. */
export function runMaintenance(): void {
  serveParent<Options, StarterCalls>(async ({ config, realm, task, ...options }, parent, { log }) => {
    const events = await openEventStore(config, realm);
    const views = await openViewStore(config, realm);
    const stopping = new AbortController();
    const { signal } = stopping;
    const parts = {
      ...{ realm, events, views, log, system: realSystem, signal },
      on_progress: (progress: Progress) => parent.tell('progressed', { progress }),
      on_outage: (outage: string) => parent.tell('progressed', { outage }),
    };
    const run = async (): Promise<TaskResult> => {
      if (task === 'rebuild') {
        const result = await rebuild({ ...parts, ...options });
        if (result.outcome === 'interrupted') return { status: 'stopped' };
        const verified = result.verified && shortened(result.verified);
        return { status: 'rebuilt', result: { ...result, verified } };
      }
      const result = await verify({ ...parts, repairs: task === 'repair' });
      return signal.aborted ? { status: 'stopped' } : { status: 'verified', result: shortened(result) };
    };
    const explain = (error: unknown): TaskResult => {
      if (signal.aborted) return { status: 'stopped' };
      const is_running_elsewhere = error instanceof AlreadyRunningError;
      return { status: 'failed', reason: reasonOf(error), is_running_elsewhere };
    };
    let running: Promise<TaskResult> | undefined;
    const calls: MaintenanceCalls = {
      run: () => {
        running = run().catch(explain);
        return running;
      },
      stop: async () => {
        stopping.abort();
        await running;
        await views.close();
        await events.close();
      },
    };
    return calls;
  });
}

/** Leaves out the differences that no answer shows. */
function shortened({ differences, truncated, ...result }: VerifyResult): VerifyResult {
  const is_long = differences.length > DIFFERENCES_MAX;
  return { ...result, differences: differences.slice(0, DIFFERENCES_MAX), truncated: truncated || is_long };
}
