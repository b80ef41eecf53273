import { randomUUID } from 'node:crypto';
import {
  EventStoreDBClient,
  jsonEvent,
  NO_STREAM,
  type Position,
  START,
  streamNameFilter,
} from '@eventstore/db-client';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { type Collection, MongoClient } from 'mongodb';

export interface HopServers {
  readonly EVENTSTORE_URL: string;
  readonly REDIS_URL: string;
  readonly MONGODB_URL: string;
  /** Prefix of the streams and keys, and name of the database, that only this benchmark uses. */
  readonly name: string;
}

const CONCURRENCY = 64;
const PARTITIONS = 8;
const DATA = {
  title: 'A test event',
  description: 'x'.repeat(400),
  price_currency: 'USD',
  price_amount: 999,
};

interface HopDocument {
  readonly _id: string;
  readonly body: string;
}

/**
 * The steps of an event on its way into the documents, each measured alone: the servers' clients without any code of
 * the service.
 */
export class BaselineHops {
  private readonly prefix: string;
  private readonly log: EventStoreDBClient;
  private readonly redis: Redis;
  private readonly mongo: MongoClient;
  private readonly documents: Collection<HopDocument>;
  private readonly queues: Queue[];
  private readonly workers: Worker[];
  private onJob: () => void = () => {};

  constructor({ EVENTSTORE_URL, REDIS_URL, MONGODB_URL, name }: HopServers) {
    this.prefix = `${name}.baseline-`;
    this.log = EventStoreDBClient.connectionString(EVENTSTORE_URL);
    this.redis = new Redis(REDIS_URL, { maxRetriesPerRequest: null });
    this.mongo = new MongoClient(MONGODB_URL, { writeConcern: { w: 'majority', journal: true } });
    this.documents = this.mongo.db(`${name}_bare`).collection('hops');
    const partitions = Array.from({ length: PARTITIONS }, (_, partition) => `bare-${partition}`);
    const options = { connection: this.redis, prefix: name };
    const kept = { removeOnComplete: true, removeOnFail: true };
    this.queues = partitions.map(
      (partition) => new Queue(partition, { ...options, defaultJobOptions: kept }),
    );
    this.workers = partitions.map((partition) => new Worker(partition, async () => this.onJob(), options));
  }

  /** Returns events per second. */
  append(duration_ms: number): Promise<number> {
    return callsPerSecond(CONCURRENCY, duration_ms, () => this.appendOne());
  }

  private async appendOne(): Promise<Position | undefined> {
    const event = jsonEvent({ type: 'happened', data: DATA, metadata: { source: 'bench' } });
    const result = await this.log.appendToStream(`${this.prefix}${randomUUID()}`, [event], {
      expectedRevision: NO_STREAM,
    });
    return result.position;
  }

  /** Returns events per second of a subscription that reads everything appended so far. */
  async subscription(): Promise<number> {
    const last = (await this.appendOne())!.commit;
    const started_ms = performance.now();
    let count = 0;
    const filter = streamNameFilter({ prefixes: [this.prefix] });
    const subscription = this.log.subscribeToAll({ fromPosition: START, filter });
    for await (const { event } of subscription) {
      count++;
      if (event && event.position.commit >= last) break;
    }
    await subscription.unsubscribe();
    return count / ((performance.now() - started_ms) / 1_000);
  }

  /** Returns jobs per second, from the first enqueue to the end of the last job. */
  async jobs(duration_ms: number): Promise<number> {
    let done = 0;
    this.onJob = () => void done++;
    let added = 0;
    const started_ms = performance.now();
    await callsPerSecond(CONCURRENCY, duration_ms, async () => {
      await this.queues[added++ % PARTITIONS]!.add('job', DATA);
    });
    await until((resolve) => {
      this.onJob = () => {
        if (++done >= added) resolve();
      };
      if (done >= added) resolve();
    });
    return added / ((performance.now() - started_ms) / 1_000);
  }

  /** Returns documents per second, each read and written. */
  write(duration_ms: number): Promise<number> {
    return callsPerSecond(PARTITIONS, duration_ms, () => this.writeOne());
  }

  private async writeOne(): Promise<void> {
    const _id = randomUUID();
    await this.documents.findOne({ _id });
    await this.documents.bulkWrite([{ insertOne: { document: { _id, body: JSON.stringify(DATA) } } }], {
      ordered: false,
    });
  }

  /** Returns the duration of each step in µs, with nothing else running. */
  async alone(): Promise<{ append: number; subscription: number; job: number; write: number }> {
    const append = await durationUs(() => this.appendOne());
    const subscription = await this.arrival();
    const job = await durationUs(() =>
      until((resolve) => {
        this.onJob = resolve;
        void this.queues[0]!.add('job', DATA);
      }),
    );
    return { append, subscription, job, write: await durationUs(() => this.writeOne()) };
  }

  /** Returns the time from the response to an append until the event arrives at an open subscription. */
  private async arrival(): Promise<number> {
    const filter = streamNameFilter({ prefixes: [this.prefix] });
    const { commit, prepare } = (await this.appendOne())!;
    const subscription = this.log.subscribeToAll({ fromPosition: { commit, prepare }, filter });
    let onEvent = (): void => {};
    subscription.on('data', () => onEvent());
    const next = (): Promise<number> => {
      return new Promise((resolve) => {
        onEvent = () => resolve(performance.now());
      });
    };
    // The first event shows that the subscription is open.
    const first = next();
    await this.appendOne();
    await first;
    const second = next();
    await this.appendOne();
    const appended_ms = performance.now();
    const arrived_ms = await second;
    await subscription.unsubscribe();
    return Math.max(0, 1_000 * (arrived_ms - appended_ms));
  }

  async close(): Promise<void> {
    await Promise.all([...this.workers, ...this.queues].map((one) => one.close()));
    this.redis.disconnect();
    await this.mongo.db(this.documents.dbName).dropDatabase();
    await this.mongo.close();
    await this.log.dispose();
  }
}

/** Keeps `at_once` calls running for `duration_ms`. Returns calls per second. */
async function callsPerSecond(
  concurrency: number,
  duration_ms: number,
  work: () => Promise<unknown>,
): Promise<number> {
  const started_ms = performance.now();
  let done = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() - started_ms < duration_ms) {
      await work();
      done++;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return done / ((performance.now() - started_ms) / 1_000);
}

async function durationUs(work: () => Promise<unknown>): Promise<number> {
  const started_ms = performance.now();
  await work();
  return 1_000 * (performance.now() - started_ms);
}

const until = (begin: (resolve: () => void) => void): Promise<void> =>
  new Promise((resolve) => begin(resolve));
