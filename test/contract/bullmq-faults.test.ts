import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { BullmqJobQueue } from '../../shared/adapters/bullmq/job-queue';
import type { JobQueue, LaneJob } from '../../shared/ports/job-queue';
import { ForgetfulNetwork } from '../support/eventstore-standin/forgetful-network';
import { describeOn } from '../support/real-servers';
import { type OwnServer, startOwnServer } from '../support/servers/own-server';
import { BACK_MS_MAX, TOLD_MS_MAX, waitFor } from '../support/wait-for';

const LANES = 2;

const aJob = (lane: number, n: number): LaneJob => ({
  realm: 'live',
  lane,
  prev: BigInt(n),
  last: BigInt(n + 1),
  events: [],
});

describeOn('REDIS_URL', 'lanes while Redis goes away, comes back, and is emptied', () => {
  let server: OwnServer;
  let queue: BullmqJobQueue;
  let other: BullmqJobQueue;

  beforeEach(async () => {
    server = await startOwnServer('redis');
    const open = () =>
      new BullmqJobQueue({ url: server.url, realm: 'live', lane_count: LANES, backoffMs: () => 5 });
    [queue, other] = [open(), open()];
  });
  afterEach(async () => {
    await Promise.all([queue.close(), other.close()]);
    await server.dispose();
  });

  test('calls fail in time while Redis is gone, and work again soon after its return', async () => {
    await queue.enqueue(aJob(0, 0));
    await server.stop();
    for (let n = 0; n < 2; n++) {
      await expectUnavailable(() => queue.enqueue(aJob(0, 1)));
      await expectUnavailable(() => queue.depth(0));
    }
    await server.start();
    await waitFor(() => queue.enqueue(aJob(0, 1)).then(() => true), { timeout_ms: BACK_MS_MAX });
    expect(await queue.depth(0)).toBe(2);
  });

  test('calls fail in time while Redis is silent', async () => {
    await queue.depth(0);
    await server.freeze();
    await Promise.all([
      expectUnavailable(() => queue.enqueue(aJob(0, 1))),
      expectUnavailable(() => queue.depth(0)),
    ]);
    await server.thaw();
    await waitFor(async () => (await queue.depth(0)) >= 0, { timeout_ms: BACK_MS_MAX });
  });

  test('a queue opens and works before Redis is there', async () => {
    await server.stop();
    const seen: bigint[] = [];
    await queue.work(async ({ prev }) => void seen.push(prev));
    await expectUnavailable(() => queue.enqueue(aJob(0, 0)));
    await server.start();
    await waitFor(() => queue.enqueue(aJob(0, 0)).then(() => true), { timeout_ms: BACK_MS_MAX });
    await waitFor(() => seen.length > 0, { timeout_ms: BACK_MS_MAX });
  });

  test('workers stop in time while Redis is gone', async () => {
    const seen: bigint[] = [];
    const worker = await queue.work(async ({ prev }) => void seen.push(prev));
    await queue.enqueue(aJob(0, 0));
    await waitFor(() => seen.length === 1);
    await server.stop();
    const began_ms = Date.now();
    await worker.stop();
    expect(Date.now() - began_ms).toBeLessThan(TOLD_MS_MAX);
  });

  test('a lane goes on though the way to Redis forgot its connection while it was made', async () => {
    const network = new ForgetfulNetwork({ host: '127.0.0.1', port: Number(new URL(server.url).port) });
    await network.listen();
    const url = `redis://127.0.0.1:${network.port}`;
    const distant = new BullmqJobQueue({ url, realm: 'live', lane_count: LANES, look_every_s: 0.1 });
    const redis = new Redis(server.url);
    const waiting = async (): Promise<number> =>
      String(await redis.client('LIST')).match(/cmd=bzpopmin/g)?.length ?? 0;
    const seen = new Set<number>();
    try {
      await distant.work(async ({ lane }) => void seen.add(lane));
      await waitFor(async () => (await waiting()) === LANES);
      const before = network.carried;
      await server.freeze();
      // Each worker gives up the connection that it waits on, and makes another.
      await waitFor(() => network.carried >= before + LANES);
      network.forget();
      await server.thaw();
      for (let lane = 0; lane < LANES; lane++)
        await waitFor(() => queue.enqueue(aJob(lane, 0)).then(() => true));
      await waitFor(() => seen.size === LANES, { what: 'lanes that go on' });
    } finally {
      redis.disconnect();
      await distant.close();
      await network.close();
    }
  });

  test('restarts under load: every lane goes on, in order, one at a time', async () => {
    const feed = new Feed([queue, other]);
    await feed.work();
    const feeding = feed.run();
    try {
      for (let restarts = 0; restarts < 2; restarts++) {
        await feed.goesOn();
        await server.stop();
        const before = feed.refused;
        await waitFor(() => feed.refused > before);
        await server.start();
      }
      await feed.goesOn();
    } finally {
      await feed.stop(feeding);
    }
    expect(feed.told_ms_max).toBeLessThan(TOLD_MS_MAX);
  });

  test('emptied at any time: what is fed again is worked on, and still by one at a time', async () => {
    const feed = new Feed([queue, other]);
    await feed.work();
    const redis = new Redis(server.url);
    const feeding = feed.run();
    try {
      for (let times = 0; times < 5; times++) {
        await feed.goesOn();
        await redis.flushall();
      }
      await feed.goesOn();
    } finally {
      await feed.stop(feeding);
      redis.disconnect();
    }
    // Only a job that ran while Redis was emptied may meet the one that was fed after it.
    expect(feed.overlaps).toBeLessThanOrEqual(5 * LANES);
  });
});

/** Feeder and workers in small: checkpoints that only move on, a gap is fed again from its checkpoint. */
class Feed {
  refused = 0;
  told_ms_max = 0;
  overlaps = 0;
  private readonly queues: readonly [JobQueue, JobQueue];
  private readonly checkpoints: number[] = Array(LANES).fill(0);
  private readonly running = new Set<number>();
  private stopping = false;

  constructor(queues: readonly [JobQueue, JobQueue]) {
    this.queues = queues;
  }

  async work(): Promise<void> {
    for (const queue of this.queues) await queue.work((job) => this.handle(job));
  }

  private async handle({ lane, prev, last }: LaneJob): Promise<void> {
    if (this.running.has(lane)) this.overlaps++;
    this.running.add(lane);
    const checkpoint = this.checkpoints[lane]!;
    await sleep(1);
    // The compare-and-set of the view store.
    if (Number(prev) === checkpoint && this.checkpoints[lane] === checkpoint)
      this.checkpoints[lane] = Number(last);
    this.running.delete(lane);
  }

  async run(): Promise<void> {
    await Promise.all(this.checkpoints.map((_, lane) => this.feed(lane)));
  }

  /** Feeds some jobs from the checkpoint on, waits until they are done or seem lost, and so on. */
  private async feed(lane: number): Promise<void> {
    while (!this.stopping) {
      const from = this.checkpoints[lane]!;
      const began_ms = Date.now();
      try {
        for (let n = from; n < from + 5; n++) await this.queues[0].enqueue(aJob(lane, n));
        await waitFor(() => this.checkpoints[lane]! >= from + 5, { timeout_ms: 500 });
      } catch (error) {
        // Jobs that were lost are fed again.
        if ((error as { condition?: string }).condition !== 'unavailable') continue;
        this.refused++;
        this.told_ms_max = Math.max(this.told_ms_max, Date.now() - began_ms);
        await sleep(20);
      }
    }
  }

  async goesOn(): Promise<void> {
    const before = [...this.checkpoints];
    await waitFor(() => before.every((at, lane) => this.checkpoints[lane]! >= at + 30), {
      what: 'every lane going on',
    });
  }

  async stop(feeding: Promise<void>): Promise<void> {
    this.stopping = true;
    await feeding;
  }
}

async function expectUnavailable(call: () => Promise<unknown>): Promise<void> {
  const began_ms = Date.now();
  await expect(call()).rejects.toMatchObject({ condition: 'unavailable' });
  expect(Date.now() - began_ms).toBeLessThan(TOLD_MS_MAX);
}
