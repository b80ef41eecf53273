import { setTimeout as sleep } from 'node:timers/promises';
import { type Job, WaitingError, Worker } from 'bullmq';
import type { LaneJob } from '../../ports/job-queue';
import { connectPatient, type PatientConnection, within } from '../redis/connection';
import { decodeJob, type StoredJob } from './job-codec';
import { type LaneSet, queueName } from './lane-names';
import { RunningHandlers } from './running-handlers';

/** A process that dies holds its lanes for about this long, and as long again until another looks. */
const LOCK_MS = 5_000;
const STALLED_EVERY_MS = 2_000;
/** How long a lane may rest whose worker died between being told of a job and taking it; each look costs two commands. */
const LOOK_EVERY_S = 2;
const RETRY_FETCH_MS = 500;
/** Longer than a worker waits for a job in one command, which BullMQ lets take 10 s at most. */
const SILENCE_MS = 12_000;
const HAND_BACK_MS = 2_000;

export interface LaneWorkersOptions {
  readonly lanes: LaneSet;
  readonly handler: (job: LaneJob) => Promise<void>;
  readonly onError: (error: unknown, job: LaneJob, attempt: number) => void;
  readonly onTrouble: (error: unknown) => void;
  readonly backoffMs: (attempt: number) => number;
  /** 2 by default. */
  readonly look_every_s?: number | undefined;
}

/** A BullMQ worker per lane. Global concurrency 1 sees to it that of all processes' workers on a lane one runs a job. */
export class LaneWorkers {
  private readonly redis: PatientConnection;
  private readonly workers: readonly Worker<StoredJob>[];
  private readonly options: LaneWorkersOptions;
  private readonly stopping = new AbortController();
  private readonly running = new RunningHandlers();
  private stopped: Promise<void> | undefined;

  constructor(url: string, options: LaneWorkersOptions) {
    this.options = options;
    this.redis = connectPatient(url, SILENCE_MS);
    const lanes = Array.from({ length: options.lanes.lane_count }, (_, lane) => lane);
    this.workers = lanes.map((lane) => this.openWorker(lane));
  }

  private openWorker(lane: number): Worker<StoredJob> {
    const worker = new Worker<StoredJob>(
      queueName(this.options.lanes, lane),
      (job, token) => this.running.track(this.process(job, token ?? '')),
      {
        connection: this.redis.connection,
        prefix: this.options.lanes.prefix,
        concurrency: 1,
        lockDuration: LOCK_MS,
        stalledInterval: STALLED_EVERY_MS,
        // A job is never given up: what it does not get done it tries again, and a process that dies is not its fault.
        maxStalledCount: Number.MAX_SAFE_INTEGER,
        drainDelay: this.options.look_every_s ?? LOOK_EVERY_S,
        runRetryDelay: RETRY_FETCH_MS,
      },
    );
    worker.on('error', (error) => this.options.onTrouble(error));
    return worker;
  }

  private async process(stored: Job<StoredJob>, token: string): Promise<void> {
    let job: LaneJob;
    try {
      job = decodeJob(stored.data);
    } catch (error) {
      // Nobody will ever read it. Finished, it is a lost job, which the feeder makes good.
      this.options.onTrouble(error);
      return;
    }
    if (await this.runUntilDone(job)) return;
    await this.handBack(stored, token);
  }

  /** Tries again and again, for a job that went to the queue's end would be passed by later ones; false where it is time to stop. */
  private async runUntilDone(job: LaneJob): Promise<boolean> {
    const { handler, onError, backoffMs } = this.options;
    for (let attempt = 1; !this.stopping.signal.aborted; attempt++) {
      try {
        await handler(job);
        return true;
      } catch (error) {
        onError(error, job, attempt);
      }
      // Cut short by a stop, which is no failure.
      await sleep(backoffMs(attempt), undefined, { signal: this.stopping.signal }).catch(() => undefined);
    }
    return false;
  }

  /** To the lane's head, for the next process. */
  private async handBack(job: Job<StoredJob>, token: string): Promise<never> {
    try {
      await within(
        HAND_BACK_MS,
        job.moveToWait(token).then(() => undefined),
      );
    } catch (error) {
      // Redis is away, or gave the job to another meanwhile; else it is given out again when the lock has run out.
      this.options.onTrouble(error);
    }
    throw new WaitingError();
  }

  /** Resolves when the running handlers are through and the lanes are given back, as far as Redis can be told. */
  stop(): Promise<void> {
    this.stopped ??= this.close();
    return this.stopped;
  }

  private async close(): Promise<void> {
    this.stopping.abort();
    const closing = Promise.allSettled(this.workers.map((worker) => worker.close()));
    await this.running.ended();
    // Redis may be away: a lane that it was not told of is free when its lock has run out.
    await within(
      HAND_BACK_MS,
      closing.then(() => this.wakeOthers()),
    ).catch(() => undefined);
    this.redis.end();
    await within(HAND_BACK_MS, closing).catch((error) => this.options.onTrouble(error));
  }

  /** Jobs may wait in the lanes that are given back, and BullMQ wakes nobody for them: its marker of a job that waits is set by hand. */
  private async wakeOthers(): Promise<void> {
    const commands = this.redis.connection.pipeline();
    for (const worker of this.workers) commands.zadd(worker.toKey('marker'), 0, '0');
    await commands.exec();
  }
}
