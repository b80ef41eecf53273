import { type DefaultJobOptions, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { withTimeout } from '../../kernel/async';
import { connectImpatient, giveUp, unavailable, untilReady } from '../redis/connection';

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

/** The handlers that a worker's stop waits for: BullMQ's own close waits for Redis, too. */
export class RunningHandlers {
  private readonly running = new Set<Promise<void>>();

  track(work: Promise<void>): Promise<void> {
    this.running.add(work);
    const done = (): void => void this.running.delete(work);
    work.then(done, done);
    return work;
  }

  /** Resolves when none runs, those that begin meanwhile included. */
  async ended(): Promise<void> {
    while (this.running.size > 0) await Promise.allSettled(this.running);
  }
}
