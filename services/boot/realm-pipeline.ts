import { type Pipeline, startPipeline } from '../../projections/engine/pipeline';
import type { Realm } from '../../shared/catalog/realm';
import { pause } from '../../shared/kernel/async';
import type { JobQueue } from '../../shared/ports/job-queue';
import { openJobQueue } from './open-adapters';
import type { Runtime } from './runtime';

const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 1_000;
/** A wait longer than this is told of. */
const PATIENCE_MS = 1_000;

/** `starting`: the view store was not reached yet, or its first version is still to be made. */
export type PipelineState = 'starting' | 'running';

/** One realm's pipeline, which starts as soon as its view store is there and is tried again until it does. */
export class RealmPipeline {
  private readonly runtime: Runtime;
  private readonly realm: Realm;
  private readonly owner: string;
  private readonly stopping = new AbortController();
  private readonly starting: Promise<void>;
  private running: { readonly pipeline: Pipeline; readonly queue: JobQueue } | undefined;

  /** `owner`: unique to this process. */
  constructor(runtime: Runtime, realm: Realm, owner: string) {
    this.runtime = runtime;
    this.realm = realm;
    this.owner = owner;
    this.starting = this.start();
  }

  get state(): PipelineState {
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
      await pause(RETRY_MS_MIN, either);
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
    for (let pause_ms = RETRY_MS_MIN; !signal.aborted; pause_ms = Math.min(pause_ms * 2, RETRY_MS_MAX)) {
      try {
        await this.untilReady();
        if (!signal.aborted) this.running = await this.open();
        return;
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ realm: this.realm, err: error }, 'projections could not be started and are tried again');
        await pause(pause_ms, signal);
      }
    }
  }

  /** Or until it is time to stop. */
  private async untilReady(): Promise<void> {
    const { signal } = this.stopping;
    const { ready } = this.runtime.viewStores[this.realm];
    const enough = new AbortController();
    const told = pause(PATIENCE_MS, AbortSignal.any([signal, enough.signal])).then(() => {
      if (!signal.aborted && !enough.signal.aborted)
        this.runtime.log.warn({ realm: this.realm }, 'projections wait for the view store');
    });
    const stopped = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([ready, stopped]);
    enough.abort();
    await told;
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
