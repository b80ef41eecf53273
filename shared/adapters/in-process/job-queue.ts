import { setImmediate as nextTurn } from 'node:timers/promises';
import { backoff, pause } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import type { JobQueue, LaneJob } from '../../ports/job-queue';

export interface InProcessJobQueueOptions {
  /** Told of every failed attempt; `attempt` counts from 1. */
  readonly onError?: (error: unknown, job: LaneJob, attempt: number) => void;
  /** How long to wait after that many failed attempts; 50 ms doubling to 5 s by default. */
  readonly backoffMs?: (attempt: number) => number;
}

type Handler = (job: LaneJob) => Promise<void>;

interface Lane {
  /** The first is the running one where the lane runs. */
  readonly jobs: LaneJob[];
  running: boolean;
}

interface Worker {
  readonly handler: Handler;
  readonly stopping: AbortController;
  /** Of the lanes it works on. */
  readonly running: Set<Promise<void>>;
}

/** Lanes in memory. What waits is lost with the process, and when the last worker stops. */
export class InProcessJobQueue implements JobQueue {
  private readonly onError: NonNullable<InProcessJobQueueOptions['onError']>;
  private readonly backoffMs: (attempt: number) => number;
  private readonly lanes = new Map<number, Lane>();
  private readonly workers: Worker[] = [];
  private closed = false;

  constructor(options: InProcessJobQueueOptions = {}) {
    this.onError = options.onError ?? (() => {});
    this.backoffMs = options.backoffMs ?? backoff(50, 5_000);
  }

  async enqueue(job: LaneJob): Promise<void> {
    if (this.closed) throw new CatalogError('unavailable', { message: 'the job queue is closed' });
    const lane = this.lanes.get(job.lane) ?? { jobs: [], running: false };
    this.lanes.set(job.lane, lane);
    lane.jobs.push(job);
    this.start(lane);
  }

  async depth(lane: number): Promise<number> {
    return this.lanes.get(lane)?.jobs.length ?? 0;
  }

  async work(handler: Handler): Promise<{ stop(): Promise<void> }> {
    if (this.closed) throw new CatalogError('unavailable', { message: 'the job queue is closed' });
    const worker: Worker = { handler, stopping: new AbortController(), running: new Set() };
    this.workers.push(worker);
    for (const lane of this.lanes.values()) this.start(lane);
    return { stop: () => this.stop(worker) };
  }

  /** Gives the lane to a worker, where it has something to do and nobody does it. */
  private start(lane: Lane): void {
    const worker = this.workers.shift();
    if (!worker) return;
    // The workers take turns.
    this.workers.push(worker);
    if (lane.running || lane.jobs.length === 0) return;
    lane.running = true;
    const running = this.runLane(worker, lane).finally(() => {
      worker.running.delete(running);
      lane.running = false;
      this.start(lane);
    });
    worker.running.add(running);
  }

  private async runLane(worker: Worker, lane: Lane): Promise<void> {
    while (lane.jobs.length > 0 && !worker.stopping.signal.aborted) {
      // Handlers may settle without ever waiting: between two jobs other work of the process gets its turn.
      await nextTurn();
      const done = await this.runJob(worker, lane.jobs[0]!);
      if (done) lane.jobs.shift();
    }
  }

  /** Until the handler gets through; false where the worker stops before that. */
  private async runJob({ handler, stopping }: Worker, job: LaneJob): Promise<boolean> {
    for (let attempt = 1; !stopping.signal.aborted; attempt++) {
      try {
        await handler(job);
        return true;
      } catch (error) {
        this.onError(error, job, attempt);
      }
      await pause(this.backoffMs(attempt), stopping.signal);
    }
    return false;
  }

  private async stop(worker: Worker): Promise<void> {
    const index = this.workers.indexOf(worker);
    if (index >= 0) this.workers.splice(index, 1);
    worker.stopping.abort();
    await Promise.all(worker.running);
    if (this.workers.length === 0) this.dropWaiting();
  }

  private dropWaiting(): void {
    for (const lane of this.lanes.values()) lane.jobs.length = 0;
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.workers].map((worker) => this.stop(worker)));
    this.dropWaiting();
  }
}
