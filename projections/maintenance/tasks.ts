import type { Realm } from '../../shared/catalog/realm';
import type { Logger } from '../../shared/kernel/log';
import { reasonOf } from '../engine/errors';
import type { Progress } from './progress';
import type { RebuildOptions, RebuildResult } from './rebuild';
import type { VerifyResult } from './verify';

/** What operators start for a realm over HTTP. The names are those of the command line. */
export const TASKS = ['rebuild', 'verify', 'repair'] as const;
export type Task = (typeof TASKS)[number];
/** `verify` and `on_poison` are for a rebuild. */
export type TaskOptions = { readonly task: Task } & Pick<RebuildOptions, 'verify' | 'on_poison'>;

/** How a task has ended. A rebuild that was stopped continues when a rebuild is started again. */
export type TaskResult =
  | { readonly status: 'rebuilt'; readonly result: RebuildResult }
  | { readonly status: 'verified'; readonly result: VerifyResult }
  | { readonly status: 'stopped' }
  /** `is_running_elsewhere`: another process, such as a command line, works on the realm. */
  | { readonly status: 'failed'; readonly reason: string; readonly is_running_elsewhere?: boolean };

/** How far a running task is. Empty until it has read events. */
export interface TaskProgress {
  readonly progress?: Progress;
  /** Why it waits for a store. */
  readonly outage?: string;
}

/** The last task of a realm. */
export type TaskState = { readonly task: Task } & (
  | TaskResult
  | ({ readonly status: 'running' } & TaskProgress)
);

/** Runs a task to its end. Aborting the signal stops it. */
export type RunTask = (
  realm: Realm,
  options: TaskOptions,
  onProgress: (progress: TaskProgress) => void,
  signal: AbortSignal,
) => Promise<TaskResult>;

type TaskRequest = { readonly realm: Realm } & (
  | { readonly action: 'show' }
  | { readonly action: 'stop' }
  | { readonly action: 'start'; readonly options: TaskOptions }
);

export interface TaskAnswer {
  /** Undefined if this service has started no task of the realm. */
  readonly state: TaskState | undefined;
  /** True if the task was not started, because another one runs. */
  readonly is_refused: boolean;
}

/** Shows, starts or stops the task of a realm. */
export type Maintain = (request: TaskRequest) => Promise<TaskAnswer>;

interface StartedTask {
  state: TaskState;
  readonly stopping: AbortController;
  ended: Promise<void>;
}

/** The tasks that operators start over HTTP, at most one of a realm at a time. Their state is in memory. */
export class MaintenanceTasks {
  private readonly started = new Map<Realm, StartedTask>();

  constructor(
    private readonly runTask: RunTask,
    private readonly log: Logger,
  ) {}

  readonly maintain: Maintain = async (request) => {
    const { realm, action } = request;
    const last = this.started.get(realm);
    const is_refused = action === 'start' && last?.state.status === 'running';
    if (action === 'start' && !is_refused) this.start(realm, request.options);
    if (action === 'stop') {
      last?.stopping.abort();
      await last?.ended;
    }
    return { state: this.started.get(realm)?.state, is_refused };
  };

  async close(): Promise<void> {
    const realms = [...this.started.keys()];
    await Promise.all(realms.map((realm) => this.maintain({ realm, action: 'stop' })));
  }

  private start(realm: Realm, options: TaskOptions): void {
    const { task } = options;
    this.log.info({ realm, task }, 'maintenance task started');
    const stopping = new AbortController();
    const started: StartedTask = { state: { task, status: 'running' }, stopping, ended: Promise.resolve() };
    const show = (progress: TaskProgress): void => {
      started.state = { task, status: 'running', ...progress };
    };
    started.ended = this.runTask(realm, options, show, stopping.signal)
      .catch((error: unknown): TaskResult => ({ status: 'failed', reason: reasonOf(error) }))
      .then((result) => {
        const { status } = result;
        const reason = status === 'failed' && result.reason;
        this.log.info({ realm, task, status, ...(reason && { reason }) }, 'maintenance task ended');
        started.state = { task, ...result };
      });
    this.started.set(realm, started);
  }
}
