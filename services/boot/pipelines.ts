import { once } from 'node:events';
import { leaseOwner } from '../../projections/engine/lease';
import { type Pipeline, type RebuildProgress, startPipeline } from '../../projections/pipeline';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import { backoff, pause } from '../../shared/kernel/async';
import { DamagedFileError, NeedsRepairError } from '../../shared/kernel/errors';
import type { StoreHealth } from '../../shared/ports/event-store';
import type { JobQueue } from '../../shared/ports/job-queue';
import { rebuildInProcess } from './maintenance-process';
import { openJobQueue } from './open-adapters';
import type { Runtime } from './runtime';

/** How often `caughtUp` asks again while a pipeline starts or a store is unavailable. */
const POLL_MS = 100;
const startPauseMs = backoff(100, 1_000);

/**
 * - `starting`: the view store has not been reached yet, or its first version is not created yet.
 * - `restarting`: the projection process has crashed and is started again.
 */
export type PipelineState = 'starting' | 'running' | 'restarting';

/** The pipeline of one realm, as readiness shows it. */
export interface RealmPipeline {
  readonly state: PipelineState;
  /** Undefined if the pipeline is not rebuilding documents. */
  readonly rebuilding: RebuildProgress | undefined;
  /** Absent if the pipeline runs in this process, because its stores are then those of this process. */
  readonly health?: Readonly<Record<'log' | 'documents', StoreHealth>> | undefined;
  /** Returns `unknown` if the queue is not open yet. Throws `CatalogError('unavailable')` if it cannot be reached. */
  checkQueue(): Promise<'ok' | 'unknown'>;
}

export interface Pipelines {
  pipelineOf(realm: Realm): RealmPipeline;
  /**
   * Resolves to true when the documents of every realm have caught up with the head of its log at the call.
   * Resolves to false after `timeout_ms`, when data must be repaired first, or when a realm is paused.
   */
  caughtUp(timeout_ms: number): Promise<boolean>;
  stop(): Promise<void>;
}

/** The pipelines of this process. */
export interface OwnPipelines extends Pipelines {
  readonly own: readonly OwnPipeline[];
}

/** Starts the dispatcher and the workers of every realm in the background, as soon as its stores can be reached. */
export function startPipelines(runtime: Runtime): OwnPipelines {
  const owner = leaseOwner();
  const own = REALMS.map((realm) => new OwnPipeline(runtime, realm, owner));
  return {
    own,
    pipelineOf: (realm) => own.find((pipeline) => pipeline.realm === realm)!,
    stop: async () => {
      await Promise.all(own.map((pipeline) => pipeline.stop()));
    },
    caughtUp: async (timeout_ms) => {
      const deadline = AbortSignal.timeout(timeout_ms);
      const caught_up = await Promise.all(own.map((pipeline) => pipeline.caughtUp(deadline)));
      return caught_up.every((reached) => reached) && !deadline.aborted;
    },
  };
}

/** The pipeline of one realm. It starts when its view store can be reached, and retries a failed start. */
class OwnPipeline implements RealmPipeline {
  private readonly stopping = new AbortController();
  private readonly starting: Promise<void>;
  private running: { readonly pipeline: Pipeline; readonly queue: JobQueue } | undefined;

  constructor(
    private readonly runtime: Runtime,
    readonly realm: Realm,
    /** Unique to this process. */
    private readonly owner: string,
  ) {
    this.starting = this.start();
  }

  get state(): 'starting' | 'running' {
    return this.running ? 'running' : 'starting';
  }

  get rebuilding(): RebuildProgress | undefined {
    return this.running?.pipeline.rebuilding;
  }

  /** Returns what the projection process tells the main process about this pipeline. */
  async report() {
    const { realm, state, rebuilding } = this;
    const log_health = (await this.runtime.events[realm].health?.()) ?? 'ok';
    return { realm, state, rebuilding, health: { log: log_health, documents: await this.documentsHealth() } };
  }

  private async documentsHealth(): Promise<StoreHealth> {
    const views = this.runtime.viewStores[this.realm];
    try {
      const active = (await views.versions()).find(({ status }) => status === 'active');
      return (active && (await (await views.open(active.version)).health?.())) ?? 'ok';
    } catch (error) {
      // The processes that read these documents notice any other failure themselves.
      return error instanceof DamagedFileError ? 'damaged' : 'ok';
    }
  }

  async checkQueue(): Promise<'ok' | 'unknown'> {
    if (!this.running) return 'unknown';
    await this.running.queue.depth(0);
    return 'ok';
  }

  /**
   * Resolves to true when the documents have caught up with the head of the log at the call. Resolves to false when
   * `signal` aborts, when data must be repaired first, or when the realm is paused.
   */
  async caughtUp(signal: AbortSignal): Promise<boolean> {
    const ended = AbortSignal.any([signal, this.stopping.signal]);
    while (!ended.aborted) {
      try {
        const { running } = this;
        if (running) return await running.pipeline.caughtUp(ended);
      } catch (error) {
        if (error instanceof NeedsRepairError) return false;
        // A store is unavailable. The dispatcher and the workers log this.
      }
      await pause(POLL_MS, ended);
    }
    return false;
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.starting;
    await this.running?.pipeline.stop();
    await this.running?.queue.close();
  }

  private async start(): Promise<void> {
    const { log } = this.runtime;
    const { signal } = this.stopping;
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        await Promise.race([this.runtime.viewStores[this.realm].ready, once(signal, 'abort')]);
        if (!signal.aborted) this.running = await this.open();
        return;
      } catch (error) {
        if (signal.aborted) return;
        // The process logs damage that an operator must repair once, where it finds the damage.
        const level = error instanceof NeedsRepairError ? 'debug' : 'warn';
        log[level]({ realm: this.realm, err: error }, 'projections failed to start; retrying');
        await pause(startPauseMs(attempt), signal);
      }
    }
  }

  private async open(): Promise<{ pipeline: Pipeline; queue: JobQueue }> {
    const { realm, owner } = this;
    const { config, system, events, viewStores, log_matches, tracing } = this.runtime;
    const log = this.runtime.log.child({ realm });
    const views = viewStores[realm];
    const opened = await openJobQueue(
      config,
      realm,
      {
        partition_count: views.partition_count,
        // The pipeline logs the first failure of a partition, and when its jobs succeed again.
        onError: (error, { partition }, attempt) =>
          log.debug({ err: error, partition, attempt }, 'projection job failed; retrying'),
        onWorkerError: (error) =>
          log.debug({ err: error }, 'workers cannot reach the job queue; reconnecting'),
      },
      this.runtime,
    );
    const queue = tracing?.jobQueue(opened) ?? opened;
    try {
      const pipeline = await startPipeline({
        realm,
        owner,
        events: events[realm],
        views,
        queue,
        system,
        log,
        aroundProjection: tracing?.aroundProjection,
        match: log_matches[realm],
        retired_ms: config.RETIRED_VERSION_HOURS * 3_600_000,
        rebuild: (onProgress, signal) => rebuildInProcess(config, realm, onProgress, signal),
        signal: this.stopping.signal,
      });
      return { queue, pipeline };
    } catch (error) {
      await queue.close();
      throw error;
    }
  }
}
