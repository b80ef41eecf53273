import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Realm } from '../../shared/catalog/realm';
import { pause, withTimeout } from '../../shared/kernel/async';
import type { Config } from '../../shared/kernel/config';
import type { DamagedFileError } from '../../shared/kernel/errors';
import type { Logger } from '../../shared/kernel/log';
import { endOf, keepRunning } from './child-process';
import type { CommitRelay, Committed } from './commit-relay';
import type { PipelineState, Pipelines, RealmPipeline } from './pipelines';
import { forkProjections } from './projection-fork';
import type { FromProjections, PipelineReport, ToProjections } from './projection-messages';

/** How often a caller that waits looks for a process to ask. */
const RETRY_MS = 20;
/** How long a stop waits until the running jobs have ended. After that, the process is killed, which loses nothing. */
const STOP_MS = 8_000;

interface Options {
  readonly config: Config;
  readonly log: Logger;
  readonly has_traces: boolean;
  readonly commits: CommitRelay;
  readonly onDamage: (damage: Pick<DamagedFileError, 'file' | 'message'>) => void;
}

/**
 * Runs the pipelines of all realms in a process of their own: projecting is synchronous work of up to seconds, and would
 * hold up requests for as long. If the process crashes, it is started again, and continues at the checkpoints. It ends
 * with the service, also if that is killed. See `docs/decisions/0027-projections-in-their-own-process.md`.
 *
 * It starts in the constructor or before (`fork-ahead.ts`), so that its modules load while those of the service do. It
 * opens the stores only after `start`: the service may have to create or repair the files first.
 */
export class ProjectionProcess implements Pipelines {
  private readonly options: Options;
  private readonly stopping = new AbortController();
  private readonly stopped = once(this.stopping.signal, 'abort');
  private readonly starting = new AbortController();
  private readonly started = once(this.starting.signal, 'abort');
  private readonly ended: Promise<void>;
  /** Undefined while no process runs, and before `start`. */
  private child: Child | undefined;
  private has_crashed = false;

  constructor(options: Options) {
    this.options = options;
    const onCommitted = options.commits.connect((message) => this.child?.send(message));
    this.ended = keepRunning(
      () => this.runOnce(onCommitted),
      this.stopping.signal,
      (crash) => {
        this.has_crashed = true;
        options.log.error(crash, 'the projection process has crashed; restarting it');
      },
    );
  }

  /** Starts the pipelines. Call it once, when the stores of this process are open. */
  start(): void {
    this.starting.abort();
  }

  pipelineOf(realm: Realm): RealmPipeline {
    const report = this.child?.reports.find((found) => found.realm === realm);
    const state: PipelineState = report?.state ?? (this.has_crashed ? 'restarting' : 'starting');
    return {
      state,
      rebuilding: report?.rebuilding,
      health: report?.health,
      // The job queue is in the memory of the process.
      checkQueue: async () => (state === 'running' ? 'ok' : 'unknown'),
    };
  }

  async caughtUp(timeout_ms: number): Promise<boolean> {
    const deadline_ms = performance.now() + timeout_ms;
    const { signal } = this.stopping;
    while (!signal.aborted && performance.now() < deadline_ms) {
      const left_ms = Math.ceil(deadline_ms - performance.now());
      const reply = this.child && withTimeout(this.child.caughtUp(left_ms), left_ms, () => false);
      const caught_up = await reply;
      if (caught_up !== undefined) return caught_up;
      await pause(Math.min(RETRY_MS, left_ms), signal);
    }
    return false;
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.ended;
  }

  /** Runs the process until it ends. Returns how it ended. Throws what `forkProjections` throws. */
  private async runOnce(onCommitted: (message: Committed) => void): Promise<string> {
    const { signal } = this.stopping;
    const { config, has_traces } = this.options;
    const child = new Child(onCommitted, this.options.onDamage);
    await Promise.race([this.started, child.ended, this.stopped]);
    if (!signal.aborted) {
      child.send({ type: 'start', config, has_traces });
      this.child = child;
    }
    await Promise.race([child.ended, this.stopped]);
    this.child = undefined;
    if (signal.aborted) await child.stop();
    return child.ended;
  }
}

/** One run of the projection process. */
class Child {
  /** Resolves when the process has ended or could not be started, with the reason. */
  readonly ended: Promise<string>;
  reports: readonly PipelineReport[] = [];
  private readonly process: ChildProcess;
  private readonly calls = new Map<number, (caught_up: boolean) => void>();
  private next_call = 1;

  constructor(
    private readonly onCommitted: (message: Committed) => void,
    private readonly onDamage: Options['onDamage'],
  ) {
    this.process = forkProjections();
    this.process.on('message', (message: FromProjections) => this.receive(message));
    this.ended = endOf(this.process);
  }

  /** Ignores a process that has ended. */
  send(message: ToProjections): void {
    if (this.process.connected) this.process.send(message, () => {});
  }

  /** Resolves to undefined if the process ends before it replies. */
  caughtUp(timeout_ms: number): Promise<boolean | undefined> {
    const call = this.next_call++;
    const reply = new Promise<boolean>((resolve) => this.calls.set(call, resolve));
    this.send({ type: 'caught_up', call, timeout_ms });
    const no_reply = this.ended.then(() => undefined);
    return Promise.race([reply, no_reply]).finally(() => this.calls.delete(call));
  }

  async stop(): Promise<void> {
    this.send({ type: 'stop' });
    await withTimeout(this.ended, STOP_MS, () => this.process.kill('SIGKILL'));
  }

  private receive(message: FromProjections): void {
    switch (message.type) {
      case 'pipelines':
        this.reports = message.pipelines;
        break;
      case 'caught_up':
        this.calls.get(message.call)?.(message.caught_up);
        break;
      case 'damaged':
        this.onDamage(message);
        break;
      case 'committed':
        this.onCommitted(message);
        break;
    }
  }
}
