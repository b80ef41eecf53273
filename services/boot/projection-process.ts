import type { RebuildProgress } from '../../projections/pipeline';
import { startWalCheckpoints } from '../../shared/adapters/sqlite/wal-checkpoints';
import type { Realm } from '../../shared/catalog/realm';
import { pause } from '../../shared/kernel/async';
import type { Config } from '../../shared/kernel/config';
import type { Logger } from '../../shared/kernel/log';
import { Child, type ChildCalls, Supervisor } from '../../shared/kernel/processes';
import { realSystem } from '../../shared/kernel/system';
import type { StoreHealth } from '../../shared/ports/event-store';
import type { ServiceMetrics } from '../metrics/service-metrics';
import { type Commit, Commits } from './commits';
import { filesWrittenByRequests } from './open-adapters';
import { type Pipelines, type RealmPipeline, startPipelines } from './pipelines';
import { type ChildOptions, serveParent } from './process';
import { type OnDamage, openRuntime } from './runtime';

/** How often a caller that waits looks for a process to ask. */
const RETRY_MS = 20;
/** How long a stop waits until the running jobs have ended. After that, the process is killed, which loses nothing. */
const STOP_MS = 8_000;
/** How often the process looks whether the state of a pipeline has changed. */
const REPORT_EVERY_MS = 250;

/** What the projection process answers. */
interface ProjectionCalls extends ChildCalls {
  caughtUp(timeout_ms: number): Promise<boolean>;
  committed(commit: Commit): void;
}

/** What the projection process calls. */
type ServiceCalls = {
  reported(reports: readonly PipelineReport[]): void;
  damaged(damage: Parameters<OnDamage>[0]): void;
  committed(commit: Commit): void;
};

/** The state of a pipeline. The process sends it when it changes. */
interface PipelineReport {
  readonly realm: Realm;
  readonly state: 'starting' | 'running';
  /** Undefined while nothing is rebuilt. */
  readonly rebuilding: RebuildProgress | undefined;
  readonly health: Readonly<Record<'log' | 'documents', StoreHealth>>;
}

interface Options {
  readonly config: Config;
  readonly log: Logger;
  readonly commits: Commits;
  readonly onDamage: OnDamage;
  readonly metrics: ServiceMetrics;
}

/**
 * Runs the pipelines of all realms in a process of their own: projecting is synchronous work of up to seconds, and would
 * hold up requests for as long. If the process crashes, it is started again, and continues at the checkpoints. See
 * `docs/decisions/0027-projections-in-their-own-process.md`.
 *
 * Create it when the stores of this process are open, which may have to create or repair the files.
 */
export class ProjectionProcess implements Pipelines {
  private readonly supervisor: Supervisor<ProjectionCalls>;
  private readonly stopping = new AbortController();
  private reports: readonly PipelineReport[] = [];
  private has_crashed = false;

  constructor({ config, log, commits, onDamage, metrics }: Options) {
    const { receive } = commits.connect((commit) => this.supervisor.child?.tell('committed', commit));
    const calls: ServiceCalls = {
      reported: (reports) => {
        this.reports = reports;
      },
      damaged: onDamage,
      committed: receive,
    };
    const options: ChildOptions = { config, name: 'projections' };
    this.supervisor = new Supervisor(
      () => Child.start<ProjectionCalls>('projections', calls, { options }),
      (crash) => {
        this.has_crashed = true;
        this.reports = [];
        metrics.processRestarted('projections');
        log.error(crash, 'the projection process has crashed; restarting it');
      },
    );
  }

  pipelineOf(realm: Realm): RealmPipeline {
    const report = this.reports.find((found) => found.realm === realm);
    const state = report?.state ?? (this.has_crashed ? 'restarting' : 'starting');
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
      const caught_up = await this.supervisor.child?.ask('caughtUp', left_ms, left_ms);
      if (caught_up !== undefined) return caught_up;
      await pause(Math.min(RETRY_MS, left_ms), signal);
    }
    return false;
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.supervisor.stop(STOP_MS);
  }
}

/**
 * The role `projections`. Does what would hold up requests: runs the pipelines of all realms, and copies the write-ahead
 * logs of the service into their files.
 */
export function runProjections(): void {
  serveParent<ChildOptions, ServiceCalls>(async ({ config }, parent, { log, tracing }) => {
    const commits = new Commits();
    const { receive } = commits.connect((commit) => parent.tell('committed', commit));
    // The service logs each damaged file once, also if both processes notice it.
    const onDamage: OnDamage = ({ file, message }) => parent.tell('damaged', { file, message });
    const runtime = await openRuntime(config, log, realSystem, { tracing, onDamage, commits });
    const pipelines = startPipelines(runtime);
    const stopCheckpoints = startWalCheckpoints(filesWrittenByRequests(config), log);
    let reported: string | undefined;
    const report = async (): Promise<void> => {
      const reports = await Promise.all(pipelines.own.map((pipeline) => pipeline.report()));
      const text = JSON.stringify(reports);
      if (text !== reported) parent.tell('reported', reports);
      reported = text;
    };
    const reporting = setInterval(() => void report().catch(() => {}), REPORT_EVERY_MS);
    const calls: ProjectionCalls = {
      committed: receive,
      caughtUp: async (timeout_ms) => {
        const caught_up = await pipelines.caughtUp(timeout_ms);
        await report().catch(() => {});
        return caught_up;
      },
      stop: async () => {
        clearInterval(reporting);
        stopCheckpoints();
        await pipelines.stop();
        await runtime.close();
      },
    };
    return calls;
  });
}
