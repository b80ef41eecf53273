import { once } from 'node:events';
import { leaseOwner } from '../../projections/engine/lease';
import { type Pipeline, startPipeline } from '../../projections/pipeline';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import { backoff, pause, withTimeout } from '../../shared/kernel/async';
import type { JobQueue } from '../../shared/ports/job-queue';
import { openJobQueue } from './open-adapters';
import type { Runtime } from './runtime';

const RETRY_MS = 100;
const retryMs = backoff(RETRY_MS, 1_000);
/** A wait longer than this is logged. */
const PATIENCE_MS = 1_000;

export interface Pipelines {
  of(realm: Realm): RealmPipeline;
  /** Resolves true when every realm's documents are level with its log as it stands now, false after `timeout_ms`. */
  caughtUp(timeout_ms: number): Promise<boolean>;
  stop(): Promise<void>;
}

/** Feeder and workers of every realm, in this process; they start in the background, each when its stores are there. */
export function startPipelines(runtime: Runtime): Pipelines {
  const owner = leaseOwner();
  const pipelines = new Map(REALMS.map((realm) => [realm, new RealmPipeline(runtime, realm, owner)]));
  const all = [...pipelines.values()];
  return {
    of: (realm) => pipelines.get(realm)!,
    stop: async () => {
      await Promise.all(all.map((pipeline) => pipeline.stop()));
    },
    caughtUp: async (timeout_ms) => {
      const late = AbortSignal.timeout(timeout_ms);
      await Promise.all(all.map((pipeline) => pipeline.caughtUp(late)));
      return !late.aborted;
    },
  };
}

/** One realm's pipeline, which starts as soon as its view store is there and is tried again until it does. */
class RealmPipeline {
  private readonly stopping = new AbortController();
  private readonly starting: Promise<void>;
  private running: { readonly pipeline: Pipeline; readonly queue: JobQueue } | undefined;

  constructor(
    private readonly runtime: Runtime,
    private readonly realm: Realm,
    /** Unique to this process. */
    private readonly owner: string,
  ) {
    this.starting = this.start();
  }

  /** `starting`: the view store was not reached yet, or its first version is still to be made. */
  get state(): 'starting' | 'running' {
    return this.running ? 'running' : 'starting';
  }

  /** Throws `CatalogError('unavailable')` where the queue cannot be reached; `unknown` before it was opened. */
  async askQueue(): Promise<'ok' | 'unknown'> {
    if (!this.running) return 'unknown';
    await this.running.queue.depth(0);
    return 'ok';
  }

  /** Resolves when the realm's documents are level with its log as it stood after the call, or when `signal` aborts. */
  async caughtUp(signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, this.stopping.signal]);
    while (!either.aborted) {
      try {
        if (this.running) return await this.running.pipeline.caughtUp(either);
      } catch {
        // The stores are away; their callers say so.
      }
      await pause(RETRY_MS, either);
    }
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
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        await this.readyOrStopped();
        if (!signal.aborted) this.running = await this.open();
        return;
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ realm: this.realm, err: error }, 'projections could not be started and are tried again');
        await pause(retryMs(failures), signal);
      }
    }
  }

  private async readyOrStopped(): Promise<void> {
    const { signal } = this.stopping;
    if (signal.aborted) return;
    const over = Promise.race([this.runtime.viewStores[this.realm].ready, once(signal, 'abort')]);
    await withTimeout(over, PATIENCE_MS, () =>
      this.runtime.log.warn({ realm: this.realm }, 'projections wait for the view store'),
    );
    await over;
  }

  private async open(): Promise<{ pipeline: Pipeline; queue: JobQueue }> {
    const { realm, owner } = this;
    const { config, system, events, viewStores } = this.runtime;
    const log = this.runtime.log.child({ realm });
    const views = viewStores[realm];
    const queue = await openJobQueue(config, realm, {
      lane_count: views.lane_count,
      onError: (error) => log.error({ err: error }, 'a lane job failed and is tried again'),
      onTrouble: (error) => log.debug({ err: error }, 'the workers cannot reach the job queue'),
    });
    try {
      const parts = { realm, owner, events: events[realm], views, queue, system, log };
      return { queue, pipeline: await startPipeline({ ...parts, signal: this.stopping.signal }) };
    } catch (error) {
      await queue.close();
      throw error;
    }
  }
}
