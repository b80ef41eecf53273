import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { getSystemErrorName } from 'node:util';
import type { Realm } from '../../shared/catalog/realm';
import { backoff, pause, withTimeout } from '../../shared/kernel/async';
import type { Config } from '../../shared/kernel/config';
import type { DamagedFileError } from '../../shared/kernel/errors';
import type { Logger } from '../../shared/kernel/log';
import type { CommitNotifiers } from './pipeline-runtime';
import type { PipelineState, Pipelines, RealmPipeline } from './pipelines';
import { forkProjections } from './projection-fork';
import {
  ChannelCommits,
  type FromProjections,
  type PipelineReport,
  type ToProjections,
} from './projection-messages';

/** How often a caller that waits looks for a process to ask. */
const RETRY_MS = 20;
const restartMs = backoff(100, 10_000);
/** A process that ran for this long had no problem with its start, so the next restart is fast again. */
const COUNTS_AS_STARTED_MS = 60_000;
/** How long a stop waits until the running jobs have ended. After that, the process is killed, which loses nothing. */
const STOP_MS = 8_000;

interface Options {
  readonly config: Config;
  readonly log: Logger;
  readonly has_traces: boolean;
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
  private readonly commits = new ChannelCommits((message) => this.child?.send(message));
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
    this.ended = this.run();
  }

  /** For the stores that this process opens. */
  get notifiers(): CommitNotifiers {
    return this.commits.notifiers;
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

  /** Runs the process, again after each crash, until `stop`. */
  private async run(): Promise<void> {
    const { signal } = this.stopping;
    for (let crashes = 1; !signal.aborted; crashes++) {
      const spawned_at_ms = performance.now();
      const failure = await this.runOnce().catch((error: Error) => error.message);
      if (signal.aborted) return;
      this.has_crashed = true;
      if (performance.now() - spawned_at_ms > COUNTS_AS_STARTED_MS) crashes = 1;
      const restart_in_ms = restartMs(crashes);
      this.options.log.error({ failure, restart_in_ms }, 'the projection process has crashed; restarting it');
      await pause(restart_in_ms, signal);
    }
  }

  /** Runs the process until it ends. Returns how it ended. Throws what `forkProjections` throws. */
  private async runOnce(): Promise<string> {
    const { signal } = this.stopping;
    const { config, has_traces } = this.options;
    const child = new Child((message) => this.commits.receive(message), this.options.onDamage);
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
    private readonly onCommitted: ChannelCommits['receive'],
    private readonly onDamage: Options['onDamage'],
  ) {
    this.process = forkProjections();
    this.process.on('message', (message: FromProjections) => this.receive(message));
    this.ended = new Promise((resolve) => {
      // Without a `pid`, it could not be started. Then the code is the number of the error.
      const onExit = (code: number | null, signal: string | null): void =>
        resolve(signal ?? (this.process.pid === undefined ? getSystemErrorName(code!) : `exit code ${code}`));
      const { exitCode, signalCode } = this.process;
      if (exitCode !== null || signalCode !== null) onExit(exitCode, signalCode);
      else
        this.process.once('exit', onExit).once('error', (error) => {
          if (this.process.pid === undefined) resolve(error.message);
        });
    });
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
