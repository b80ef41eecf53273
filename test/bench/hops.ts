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
  /** Of streams, keys and the database that are its own. */
  readonly name: string;
}

const AT_ONCE = 64;
const LANES = 8;
const DATA = {
  title: 'A bare event',
  description: 'x'.repeat(400),
  price_currency: 'USD',
  price_amount: 999,
};

interface BareDocument {
  readonly _id: string;
  readonly body: string;
}

/** What an event passes on its way into the documents, each hop alone: the servers' clients and nothing of ours. */
export class BareHops {
  private readonly prefix: string;
  private readonly log: EventStoreDBClient;
  private readonly redis: Redis;
  private readonly mongo: MongoClient;
  private readonly documents: Collection<BareDocument>;
  private readonly queues: Queue[];
  private readonly workers: Worker[];
  private onJob: () => void = () => {};

  constructor({ EVENTSTORE_URL, REDIS_URL, MONGODB_URL, name }: HopServers) {
    this.prefix = `${name}.bare-`;
    this.log = EventStoreDBClient.connectionString(EVENTSTORE_URL);
    this.redis = new Redis(REDIS_URL, { maxRetriesPerRequest: null });
    this.mongo = new MongoClient(MONGODB_URL, { writeConcern: { w: 'majority', journal: true } });
    this.documents = this.mongo.db(`${name}_bare`).collection('hops');
    const lanes = Array.from({ length: LANES }, (_, lane) => `bare-${lane}`);
    const options = { connection: this.redis, prefix: name };
    const kept = { removeOnComplete: true, removeOnFail: true };
    this.queues = lanes.map((lane) => new Queue(lane, { ...options, defaultJobOptions: kept }));
    this.workers = lanes.map((lane) => new Worker(lane, async () => this.onJob(), options));
  }

  /** Events per second. */
  append(duration_ms: number): Promise<number> {
    return perSecond(AT_ONCE, duration_ms, () => this.appendOne());
  }

  private async appendOne(): Promise<Position | undefined> {
    const event = jsonEvent({ type: 'happened', data: DATA, metadata: { source: 'bench' } });
    const result = await this.log.appendToStream(`${this.prefix}${randomUUID()}`, [event], {
      expectedRevision: NO_STREAM,
    });
    return result.position;
  }

  /** Events per second of a subscription that reads all that this has appended. */
  async subscription(): Promise<number> {
    const last = (await this.appendOne())!.commit;
    const began_ms = performance.now();
    let count = 0;
    const filter = streamNameFilter({ prefixes: [this.prefix] });
    const subscription = this.log.subscribeToAll({ fromPosition: START, filter });
    for await (const { event } of subscription) {
      count++;
      if (event && event.position.commit >= last) break;
    }
    await subscription.unsubscribe();
    return count / ((performance.now() - began_ms) / 1_000);
  }

  /** Jobs per second, from the adding of the first to the end of the last. */
  async jobs(duration_ms: number): Promise<number> {
    let done = 0;
    this.onJob = () => void done++;
    let added = 0;
    const began_ms = performance.now();
    await perSecond(AT_ONCE, duration_ms, async () => {
      await this.queues[added++ % LANES]!.add('job', DATA);
    });
    await until((tell) => {
      this.onJob = () => {
        if (++done >= added) tell();
      };
      if (done >= added) tell();
    });
    return added / ((performance.now() - began_ms) / 1_000);
  }

  /** Documents per second: looked for, and written. */
  write(duration_ms: number): Promise<number> {
    return perSecond(LANES, duration_ms, () => this.writeOne());
  }

  private async writeOne(): Promise<void> {
    const _id = randomUUID();
    await this.documents.findOne({ _id });
    await this.documents.bulkWrite([{ insertOne: { document: { _id, body: JSON.stringify(DATA) } } }], {
      ordered: false,
    });
  }

  /** In µs, with nothing else under way. */
  async alone(): Promise<{ append: number; subscription: number; job: number; write: number }> {
    const append = await took(() => this.appendOne());
    const subscription = await this.arrival();
    const job = await took(() =>
      until((tell) => {
        this.onJob = tell;
        void this.queues[0]!.add('job', DATA);
      }),
    );
    return { append, subscription, job, write: await took(() => this.writeOne()) };
  }

  /** From an append's answer to its event's arrival at a subscription that is there already. */
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
    // The first one says that it is there.
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

/** Keeps `at_once` running for so long; how many got done per second. */
async function perSecond(
  at_once: number,
  duration_ms: number,
  work: () => Promise<unknown>,
): Promise<number> {
  const began_ms = performance.now();
  let done = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() - began_ms < duration_ms) {
      await work();
      done++;
    }
  };
  await Promise.all(Array.from({ length: at_once }, worker));
  return done / ((performance.now() - began_ms) / 1_000);
}

async function took(work: () => Promise<unknown>): Promise<number> {
  const began_ms = performance.now();
  await work();
  return 1_000 * (performance.now() - began_ms);
}

const until = (begin: (tell: () => void) => void): Promise<void> => new Promise((resolve) => begin(resolve));
