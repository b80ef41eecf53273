import { setImmediate as nextTurn } from 'node:timers/promises';
import { backoff } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import type { JobQueue, PartitionJob } from '../../ports/job-queue';
import { runUntilSuccess } from '../queue-handlers';

export interface InProcessJobQueueOptions {
  /** Called with every failed attempt. `attempt` counts from 1. */
  readonly onError?: (error: unknown, job: PartitionJob, attempt: number) => void;
  /** Returns how long to wait after `attempt` failed attempts. Default: 50 ms, doubled each time up to 5 s. */
  readonly backoffMs?: (attempt: number) => number;
}

type Handler = (job: PartitionJob) => Promise<void>;

interface Partition {
  /** In order. If `is_running`, the first job is the running one. */
  readonly jobs: PartitionJob[];
  is_running: boolean;
}

interface Worker {
  readonly handler: Handler;
  readonly stopping: AbortController;
  /** One promise for each partition that the worker runs. */
  readonly running: Set<Promise<void>>;
}

/** Keeps jobs in memory. Waiting jobs are lost when the process ends and when the last worker stops. */
export class InProcessJobQueue implements JobQueue {
  private readonly onError: NonNullable<InProcessJobQueueOptions['onError']>;
  private readonly backoffMs: (attempt: number) => number;
  private readonly partitions = new Map<number, Partition>();
  private readonly workers: Worker[] = [];
  private closed = false;

  constructor(options: InProcessJobQueueOptions = {}) {
    this.onError = options.onError ?? (() => {});
    this.backoffMs = options.backoffMs ?? backoff(50, 5_000);
  }

  async enqueue(job: PartitionJob): Promise<void> {
    if (this.closed) throw new CatalogError('unavailable', { message: 'the job queue is closed' });
    const partition = this.partitions.get(job.partition) ?? { jobs: [], is_running: false };
    this.partitions.set(job.partition, partition);
    partition.jobs.push(job);
    this.assignWorker(partition);
  }

  async depth(partition: number): Promise<number> {
    return this.partitions.get(partition)?.jobs.length ?? 0;
  }

  async work(handler: Handler): Promise<{ stop(): Promise<void> }> {
    if (this.closed) throw new CatalogError('unavailable', { message: 'the job queue is closed' });
    const worker: Worker = { handler, stopping: new AbortController(), running: new Set() };
    this.workers.push(worker);
    for (const partition of this.partitions.values()) this.assignWorker(partition);
    return { stop: () => this.stop(worker) };
  }

  /** Assigns a worker to the partition if the partition has jobs and no worker runs it. */
  private assignWorker(partition: Partition): void {
    const worker = this.workers.shift();
    if (!worker) return;
    // Moves the worker to the end of the list, so that all workers get partitions in turn.
    this.workers.push(worker);
    if (partition.is_running || partition.jobs.length === 0) return;
    partition.is_running = true;
    const running = this.runPartition(worker, partition).finally(() => {
      worker.running.delete(running);
      partition.is_running = false;
      this.assignWorker(partition);
    });
    worker.running.add(running);
  }

  private async runPartition(worker: Worker, partition: Partition): Promise<void> {
    while (partition.jobs.length > 0 && !worker.stopping.signal.aborted) {
      // A handler may settle without any I/O. Yielding between two jobs keeps the process responsive.
      await nextTurn();
      const job = partition.jobs[0]!;
      const onError = (error: unknown, attempt: number) => this.onError(error, job, attempt);
      const { handler, stopping } = worker;
      if (await runUntilSuccess(() => handler(job), onError, this.backoffMs, stopping.signal))
        partition.jobs.shift();
    }
  }

  private async stop(worker: Worker): Promise<void> {
    const index = this.workers.indexOf(worker);
    if (index >= 0) this.workers.splice(index, 1);
    worker.stopping.abort();
    await Promise.all(worker.running);
    if (this.workers.length === 0) this.dropJobs();
  }

  private dropJobs(): void {
    for (const partition of this.partitions.values()) partition.jobs.length = 0;
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.workers].map((worker) => this.stop(worker)));
    this.dropJobs();
  }
}
