import { type DefaultJobOptions, type Job, Queue, Worker, type WorkerOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { withTimeout } from '../../kernel/async';
import {
  connectImpatient,
  connectPatient,
  giveUp,
  type PatientConnection,
  unavailable,
  untilReady,
} from '../redis/connection';

const COMMAND_MS = 2_000;
const READY_MS = 1_000;
const DEADLINE_MS = 4_500;
/** Nobody reads BullMQ's stream of what happened to each job; kept short, for it is kept per queue. */
const EVENTS_KEPT = 100;

/** BullMQ queues, for those who add to them, over one connection. Fails at once, or in time, where Redis is away or silent. */
export class Queues<Stored> {
  readonly connection: Redis;
  private readonly prefix: string;
  private readonly job_options: DefaultJobOptions;
  private readonly queues = new Map<string, Promise<Queue<Stored>>>();

  constructor(url: string, prefix: string, job_options: DefaultJobOptions) {
    this.connection = connectImpatient(url, COMMAND_MS);
    this.prefix = prefix;
    this.job_options = job_options;
  }

  /** Throws `CatalogError('unavailable')` within 5 s, whatever Redis does. */
  async with<Result>(name: string, work: (queue: Queue<Stored>) => Promise<Result>): Promise<Result> {
    const done = async (): Promise<Result> => {
      await untilReady(this.connection, READY_MS);
      return work(await this.queue(name));
    };
    try {
      return await withTimeout(done(), DEADLINE_MS, giveUp);
    } catch (error) {
      throw unavailable(error);
    }
  }

  private queue(name: string): Promise<Queue<Stored>> {
    const known = this.queues.get(name);
    if (known) return known;
    const opening = this.open(name);
    this.queues.set(name, opening);
    // A queue whose first words to Redis failed never recovers: the next call makes another.
    opening.catch(() => this.queues.delete(name));
    return opening;
  }

  private async open(name: string): Promise<Queue<Stored>> {
    const queue = new Queue<Stored>(name, {
      connection: this.connection,
      prefix: this.prefix,
      streams: { events: { maxLen: EVENTS_KEPT } },
      // A job that is kept would swallow a later one of its id.
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true, ...this.job_options },
    });
    queue.on('error', () => {});
    await queue.waitUntilReady();
    return queue;
  }

  close(): void {
    this.connection.disconnect();
  }
}

/** A process that dies holds its jobs for about this long, and as long again until another looks. */
const LOCK_MS = 5_000;
const STALLED_EVERY_MS = 2_000;
const RETRY_FETCH_MS = 500;
/** Longer than a worker waits for a job in one command, which BullMQ lets take 10 s at most. */
const SILENCE_MS = 12_000;
export const HAND_BACK_MS = 2_000;

export interface WorkersOptions {
  readonly url: string;
  readonly prefix: string;
  /** Called with what goes wrong between Redis and the workers; they go on by themselves. */
  readonly onTrouble: (error: unknown) => void;
}

/** BullMQ workers over one connection of their own, which waits for Redis for as long as it takes. */
export class Workers<Stored> {
  readonly stopping = new AbortController();
  private readonly options: WorkersOptions;
  private readonly redis: PatientConnection;
  private readonly workers: Worker<Stored>[] = [];
  private readonly running = new Set<Promise<void>>();
  private stopped: Promise<void> | undefined;

  constructor(options: WorkersOptions) {
    this.options = options;
    this.redis = connectPatient(options.url, SILENCE_MS);
  }

  open(
    queue: string,
    handle: (job: Job<Stored>, token: string) => Promise<void>,
    options: Omit<WorkerOptions, 'connection'>,
  ): Worker<Stored> {
    const worker = new Worker<Stored>(queue, (job, token) => this.track(handle(job, token ?? '')), {
      connection: this.redis.connection,
      prefix: this.options.prefix,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_EVERY_MS,
      runRetryDelay: RETRY_FETCH_MS,
      ...options,
    });
    worker.on('error', (error) => this.options.onTrouble(error));
    this.workers.push(worker);
    return worker;
  }

  private track(work: Promise<void>): Promise<void> {
    this.running.add(work);
    const done = (): void => void this.running.delete(work);
    work.then(done, done);
    return work;
  }

  /**
   * Resolves when the running handlers are through, and Redis knows as far as it can be told. Where it is away, a job
   * whose end it was not told of is free when its lock has run out.
   */
  stop(): Promise<void> {
    this.stopped ??= this.close();
    return this.stopped;
  }

  private async close(): Promise<void> {
    this.stopping.abort();
    const closing = Promise.allSettled(this.workers.map((worker) => worker.close()));
    // BullMQ's own close waits for Redis, too.
    while (this.running.size > 0) await Promise.allSettled(this.running);
    const waking = closing.then(() => this.wakeOthers());
    await withTimeout(waking, HAND_BACK_MS, giveUp).catch(() => undefined);
    this.redis.end();
    await withTimeout(closing, HAND_BACK_MS, giveUp).catch((error) => this.options.onTrouble(error));
  }

  /** Jobs may wait that were handed back, and BullMQ wakes nobody for them: its marker of a job that waits is set by hand. */
  private async wakeOthers(): Promise<void> {
    const commands = this.redis.connection.pipeline();
    for (const worker of this.workers) commands.zadd(worker.toKey('marker'), 0, '0');
    await commands.exec();
  }
}
