import type { Realm } from '../../shared/catalog/realm';
import { reasonOf } from '../engine/errors';
import type { OnProgress, Progress } from './progress';
import type { RebuildOptions, RebuildResult } from './rebuild';
import type { VerifyResult } from './verify';

export const TASKS = ['rebuild', 'verify', 'repair'] as const;
export type Task = (typeof TASKS)[number];
/** `verify` and `on_poison` are for a rebuild. */
export type TaskOptions = { readonly task: Task } & Pick<RebuildOptions, 'verify' | 'on_poison'>;

/** How a task has ended. A rebuild that was stopped continues when a rebuild is started again. */
export type Ended =
  | { readonly status: 'rebuilt'; readonly result: RebuildResult }
  | { readonly status: 'verified'; readonly result: VerifyResult }
  | { readonly status: 'stopped' }
  /** `is_running_elsewhere`: another process, such as a command line, works on the realm. */
  | { readonly status: 'failed'; readonly reason: string; readonly is_running_elsewhere?: boolean };

/** The last task of a realm. `progress` is undefined until the first events have been read. */
export type Run = { readonly task: Task } & (
  | Ended
  | { readonly status: 'running'; readonly progress?: Progress }
);

/** Runs a task to its end. Aborting the signal stops it. */
export type RunTask = (
  realm: Realm,
  options: TaskOptions,
  onProgress: OnProgress,
  signal: AbortSignal,
) => Promise<Ended>;

interface RunRequest {
  readonly realm: Realm;
  /** Without it, nothing is changed. */
  readonly action?: TaskOptions | 'stop';
}

export interface RunAnswer {
  /** Undefined if this service has started no task of the realm. */
  readonly run: Run | undefined;
  /** Whether a task was not started, because `run` is running. */
  readonly is_refused: boolean;
}

/** Shows, starts or stops the task of a realm. */
export type Maintain = (request: RunRequest) => Promise<RunAnswer>;

interface Started {
  run: Run;
  readonly stopping: AbortController;
  ended: Promise<void>;
}

/** The tasks that operators start in the console, at most one of a realm at a time. Their state is in memory. */
export class MaintenanceRuns {
  private readonly started = new Map<Realm, Started>();

  constructor(private readonly runTask: RunTask) {}

  readonly maintain: Maintain = async ({ realm, action }) => {
    const last = this.started.get(realm);
    const is_running = last?.run.status === 'running';
    if (action === 'stop') {
      last?.stopping.abort();
      await last?.ended;
    } else if (action && !is_running) this.start(realm, action);
    return { run: this.started.get(realm)?.run, is_refused: typeof action === 'object' && is_running };
  };

  async close(): Promise<void> {
    const realms = [...this.started.keys()];
    await Promise.all(realms.map((realm) => this.maintain({ realm, action: 'stop' })));
  }

  private start(realm: Realm, options: TaskOptions): void {
    const { task } = options;
    const stopping = new AbortController();
    const started: Started = { run: { task, status: 'running' }, stopping, ended: Promise.resolve() };
    const show = (progress: Progress): void => {
      started.run = { task, status: 'running', progress };
    };
    started.ended = this.runTask(realm, options, show, stopping.signal)
      .catch((error: unknown): Ended => ({ status: 'failed', reason: reasonOf(error) }))
      .then((ended) => {
        started.run = { task, ...ended };
      });
    this.started.set(realm, started);
  }
}
