import { type Job, WaitingError } from 'bullmq';
import type { RecordedEvent } from '../../catalog/events/envelope';
import { LANE_COUNT } from '../../catalog/events/lanes';
import type { Realm } from '../../catalog/realm';
import { backoff, pause, withTimeout } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import type { JobQueue, LaneJob } from '../../ports/job-queue';
import { giveUp } from '../redis/connection';
import { HAND_BACK_MS, Queues, Workers, type WorkersOptions } from './queues';

/** How long a lane may rest whose worker died between being told of a job and taking it; each look costs two commands. */
const LOOK_EVERY_S = 2;

export interface BullmqJobQueueOptions {
  /** `redis://…` or `rediss://…`; Redis must be set to `noeviction`. */
  readonly url: string;
  readonly realm: Realm;
  /** The view store's; a worker takes these lanes and no others. */
  readonly lane_count?: number;
  /** Of the keys in Redis, `catalog` by default. */
  readonly prefix?: string;
  /** Told of every failed attempt; `attempt` counts from 1. */
  readonly onError?: (error: unknown, job: LaneJob, attempt: number) => void;
  /** Told of what goes wrong between Redis and the workers; they go on by themselves. */
  readonly onTrouble?: (error: unknown) => void;
  /** How long to wait after that many failed attempts; 50 ms doubling to 5 s by default. */
  readonly backoffMs?: (attempt: number) => number;
  /** How often a worker looks for jobs that nobody told it of; 2 s by default. */
  readonly look_every_s?: number;
}

/** The lanes of one realm: a BullMQ queue each, under a prefix that all of a deployment's queues share. */
interface LaneSet {
  readonly realm: Realm;
  readonly prefix: string;
  readonly lane_count: number;
}

const queueName = ({ realm }: LaneSet, lane: number): string => `${realm}-lane-${lane}`;

/**
 * One realm's lanes as BullMQ queues. Needs no server to be there when it is made. `enqueue` and `depth` throw
 * `CatalogError('unavailable')` within 5 s where Redis is away; workers wait for it. Where Redis is emptied, or a
 * process stalls, a job may run twice at once: the view store's compare-and-set makes one of the two the loser.
 */
export class BullmqJobQueue implements JobQueue {
  private readonly options: BullmqJobQueueOptions;
  private readonly lanes: LaneSet;
  private readonly queues: Queues<StoredJob>;
  private readonly workers = new Set<LaneWorkers>();
  private closed = false;

  constructor(options: BullmqJobQueueOptions) {
    const { url, realm, lane_count = LANE_COUNT, prefix = 'catalog' } = options;
    this.options = options;
    this.lanes = { realm, lane_count, prefix };
    this.queues = new Queues(url, prefix, { attempts: 1 });
  }

  async enqueue(job: LaneJob): Promise<void> {
    this.assertOpen();
    await this.queues.with(queueName(this.lanes, job.lane), async (queue) => {
      // With every job, and ahead of it on the same connection: where Redis was emptied, this went with the rest.
      const one_at_a_time = this.queues.connection.hset(queue.toKey('meta'), 'concurrency', 1);
      await Promise.all([one_at_a_time, queue.add('events', encodeJob(job))]);
    });
  }

  async depth(lane: number): Promise<number> {
    this.assertOpen();
    return this.queues.with(queueName(this.lanes, lane), (queue) =>
      queue.getJobCountByTypes('waiting', 'active'),
    );
  }

  async work(handler: (job: LaneJob) => Promise<void>): Promise<{ stop(): Promise<void> }> {
    this.assertOpen();
    const {
      url,
      onError = () => {},
      onTrouble = () => {},
      backoffMs = backoff(50, 5_000),
      look_every_s,
    } = this.options;
    const told = { onError, onTrouble, backoffMs, look_every_s };
    const workers = new LaneWorkers({ url, prefix: this.lanes.prefix, lanes: this.lanes, handler, ...told });
    this.workers.add(workers);
    return {
      stop: async () => {
        await workers.stop();
        this.workers.delete(workers);
      },
    };
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.workers].map((workers) => workers.stop()));
    this.queues.close();
  }

  private assertOpen(): void {
    if (this.closed) throw new CatalogError('unavailable', { message: 'the job queue is closed' });
  }
}

interface LaneWorkersOptions extends WorkersOptions {
  readonly lanes: LaneSet;
  readonly handler: (job: LaneJob) => Promise<void>;
  readonly onError: (error: unknown, job: LaneJob, attempt: number) => void;
  readonly backoffMs: (attempt: number) => number;
  /** 2 by default. */
  readonly look_every_s?: number | undefined;
}

/** A BullMQ worker per lane. Global concurrency 1 sees to it that of all processes' workers on a lane one runs a job. */
class LaneWorkers extends Workers<StoredJob> {
  private readonly settings: LaneWorkersOptions;

  constructor(options: LaneWorkersOptions) {
    super(options);
    this.settings = options;
    for (let lane = 0; lane < options.lanes.lane_count; lane++)
      this.open(queueName(options.lanes, lane), (job, token) => this.process(job, token), {
        concurrency: 1,
        // A job is never given up: what it does not get done it tries again, and a process that dies is not its fault.
        maxStalledCount: Number.MAX_SAFE_INTEGER,
        drainDelay: options.look_every_s ?? LOOK_EVERY_S,
      });
  }

  private async process(stored: Job<StoredJob>, token: string): Promise<void> {
    let job: LaneJob;
    try {
      job = decodeJob(stored.data);
    } catch (error) {
      // Nobody will ever read it. Finished, it is a lost job, which the feeder makes good.
      this.settings.onTrouble(error);
      return;
    }
    if (await this.runUntilDone(job)) return;
    await this.handBack(stored, token);
  }

  /** Tries again and again, for a job that went to the queue's end would be passed by later ones; false where it is time to stop. */
  private async runUntilDone(job: LaneJob): Promise<boolean> {
    const { handler, onError, backoffMs } = this.settings;
    for (let attempt = 1; !this.stopping.signal.aborted; attempt++) {
      try {
        await handler(job);
        return true;
      } catch (error) {
        onError(error, job, attempt);
      }
      await pause(backoffMs(attempt), this.stopping.signal);
    }
    return false;
  }

  /** To the lane's head, for the next process. */
  private async handBack(job: Job<StoredJob>, token: string): Promise<never> {
    try {
      await withTimeout(job.moveToWait(token), HAND_BACK_MS, giveUp);
    } catch (error) {
      // Redis is away, or gave the job to another meanwhile; else it is given out again when the lock has run out.
      this.settings.onTrouble(error);
    }
    throw new WaitingError();
  }
}

type StoredEvent = Omit<RecordedEvent, 'position'> & { readonly position: string };

/** A job as it lies in Redis: JSON, positions as decimal texts. Names here are a storage format. */
interface StoredJob extends Pick<LaneJob, 'realm' | 'lane'> {
  readonly prev: string;
  readonly last: string;
  readonly events: readonly StoredEvent[];
}

function encodeJob({ realm, lane, prev, last, events }: LaneJob): StoredJob {
  return {
    realm,
    lane,
    prev: String(prev),
    last: String(last),
    events: events.map((event) => ({ ...event, position: String(event.position) })),
  };
}

/** Throws where the text is no job of ours. */
function decodeJob({ realm, lane, prev, last, events }: StoredJob): LaneJob {
  return {
    realm,
    lane,
    prev: BigInt(prev),
    last: BigInt(last),
    events: events.map((event) => ({ ...event, position: BigInt(event.position) })),
  };
}
