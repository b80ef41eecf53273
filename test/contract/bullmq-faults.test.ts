import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { BullmqJobQueue } from '../../shared/adapters/bullmq/job-queue';
import type { JobQueue, PartitionJob } from '../../shared/ports/job-queue';
import { ForgetfulNetwork } from '../support/eventstore-standin/forgetful-network';
import { describeOn } from '../support/real-servers';
import { type OwnServer, startOwnServer } from '../support/servers/own-server';
import { FAILS_WITHIN_MS, RECOVERS_WITHIN_MS, waitFor, within } from '../support/wait-for';
import { aJob } from './job-queue.contract';

const PARTITIONS = 2;

describeOn('REDIS_URL', 'partitions while Redis stops, restarts and loses its data', () => {
  let server: OwnServer;
  let queue: BullmqJobQueue;
  let other: BullmqJobQueue;

  beforeEach(async () => {
    server = await startOwnServer('redis');
    const open = () =>
      new BullmqJobQueue({ url: server.url, realm: 'live', partition_count: PARTITIONS, backoffMs: () => 5 });
    [queue, other] = [open(), open()];
  });
  afterEach(async () => {
    await Promise.all([queue.close(), other.close()]);
    await server.dispose();
  });

  test('calls fail within the deadline while Redis is stopped, and succeed soon after it is back', async () => {
    await queue.enqueue(aJob(0, 0));
    await server.stop();
    for (let n = 0; n < 2; n++) {
      await expectUnavailable(() => queue.enqueue(aJob(0, 1)));
      await expectUnavailable(() => queue.depth(0));
    }
    await server.start();
    await waitFor(() => queue.enqueue(aJob(0, 1)).then(() => true), { timeout_ms: RECOVERS_WITHIN_MS });
    expect(await queue.depth(0)).toBe(2);
  });

  test('calls fail within the deadline while Redis does not answer', async () => {
    await queue.depth(0);
    await server.freeze();
    await Promise.all([
      expectUnavailable(() => queue.enqueue(aJob(0, 1))),
      expectUnavailable(() => queue.depth(0)),
    ]);
    await server.thaw();
    await waitFor(async () => (await queue.depth(0)) >= 0, { timeout_ms: RECOVERS_WITHIN_MS });
  });

  test('a queue opens before Redis starts, and works once it has started', async () => {
    await server.stop();
    const seen: bigint[] = [];
    await queue.work(async ({ prev }) => void seen.push(prev));
    await expectUnavailable(() => queue.enqueue(aJob(0, 0)));
    await server.start();
    await waitFor(() => queue.enqueue(aJob(0, 0)).then(() => true), { timeout_ms: RECOVERS_WITHIN_MS });
    await waitFor(() => seen.length > 0, { timeout_ms: RECOVERS_WITHIN_MS });
  });

  test('workers stop within the deadline while Redis is stopped', async () => {
    const seen: bigint[] = [];
    const worker = await queue.work(async ({ prev }) => void seen.push(prev));
    await queue.enqueue(aJob(0, 0));
    await waitFor(() => seen.length === 1);
    await server.stop();
    await within(worker.stop(), 'the worker to stop', FAILS_WITHIN_MS);
  });

  test('a partition continues after the network dropped its connection during the handshake', async () => {
    const network = new ForgetfulNetwork({ host: '127.0.0.1', port: Number(new URL(server.url).port) });
    const url = `redis://127.0.0.1:${await network.listen()}`;
    const distant = new BullmqJobQueue({ url, realm: 'live', partition_count: PARTITIONS });
    const redis = new Redis(server.url);
    const waiting = async (): Promise<number> =>
      String(await redis.client('LIST')).match(/cmd=bzpopmin/g)?.length ?? 0;
    const seen = new Set<number>();
    try {
      await distant.work(async ({ partition }) => void seen.add(partition));
      await waitFor(async () => (await waiting()) === PARTITIONS);
      const before = network.carried;
      await server.freeze();
      // Each worker replaces the connection that it blocks on.
      await waitFor(() => network.carried >= before + PARTITIONS);
      network.forget();
      await server.thaw();
      for (let partition = 0; partition < PARTITIONS; partition++)
        await waitFor(() => queue.enqueue(aJob(partition, 0)).then(() => true));
      await waitFor(() => seen.size === PARTITIONS, { what: 'every partition to continue' });
    } finally {
      redis.disconnect();
      await distant.close();
      await network.close();
    }
  });

  test('every partition continues in order and one job at a time after restarts under load', async () => {
    const pipeline = new MiniPipeline([queue, other]);
    await pipeline.work();
    const running = pipeline.run();
    try {
      for (let restarts = 0; restarts < 2; restarts++) {
        await pipeline.untilAdvanced();
        await server.stop();
        const before = pipeline.refused;
        await waitFor(() => pipeline.refused > before);
        await server.start();
      }
      await pipeline.untilAdvanced();
    } finally {
      await pipeline.stop(running);
    }
  });

  test('after Redis loses its data, dispatched jobs run again, one at a time', async () => {
    const pipeline = new MiniPipeline([queue, other]);
    await pipeline.work();
    const redis = new Redis(server.url);
    const running = pipeline.run();
    try {
      for (let times = 0; times < 5; times++) {
        await pipeline.untilAdvanced();
        await redis.flushall();
      }
      await pipeline.untilAdvanced();
    } finally {
      await pipeline.stop(running);
      redis.disconnect();
    }
    // Only a job that was running when Redis lost its data may overlap with a job dispatched afterwards.
    expect(pipeline.overlaps).toBeLessThanOrEqual(5 * PARTITIONS);
  });
});

/** A small dispatcher with workers. Checkpoints only advance. A gap is dispatched again from its checkpoint. */
class MiniPipeline {
  refused = 0;
  overlaps = 0;
  private readonly queues: readonly [JobQueue, JobQueue];
  private readonly checkpoints: number[] = Array(PARTITIONS).fill(0);
  private readonly running = new Set<number>();
  private stopping = false;

  constructor(queues: readonly [JobQueue, JobQueue]) {
    this.queues = queues;
  }

  async work(): Promise<void> {
    for (const queue of this.queues) await queue.work((job) => this.handle(job));
  }

  private async handle({ partition, prev, last }: PartitionJob): Promise<void> {
    if (this.running.has(partition)) this.overlaps++;
    this.running.add(partition);
    const checkpoint = this.checkpoints[partition]!;
    await sleep(1);
    // The compare-and-set of the view store.
    if (Number(prev) === checkpoint && this.checkpoints[partition] === checkpoint)
      this.checkpoints[partition] = Number(last);
    this.running.delete(partition);
  }

  async run(): Promise<void> {
    await Promise.all(this.checkpoints.map((_, partition) => this.dispatch(partition)));
  }

  /** Dispatches five jobs after the checkpoint, waits until they have run or seem lost, and repeats. */
  private async dispatch(partition: number): Promise<void> {
    while (!this.stopping) {
      const from = this.checkpoints[partition]!;
      try {
        for (let n = from; n < from + 5; n++)
          await within(this.queues[0].enqueue(aJob(partition, n)), 'a job to be refused', FAILS_WITHIN_MS);
      } catch (error) {
        expect(error).toMatchObject({ condition: 'unavailable' });
        this.refused++;
        await sleep(20);
        continue;
      }
      const has_advanced = () => this.checkpoints[partition]! >= from + 5;
      // The next round dispatches lost jobs again.
      await waitFor(has_advanced, { timeout_ms: 500 }).catch(() => {});
    }
  }

  async untilAdvanced(): Promise<void> {
    const before = [...this.checkpoints];
    await waitFor(() => before.every((at, partition) => this.checkpoints[partition]! >= at + 30), {
      what: 'every partition to advance',
    });
  }

  async stop(running: Promise<void>): Promise<void> {
    this.stopping = true;
    await within(running, 'the pipeline to stop');
  }
}

async function expectUnavailable(call: () => Promise<unknown>): Promise<void> {
  const calling = within(call(), 'the call to fail', FAILS_WITHIN_MS);
  await expect(calling).rejects.toMatchObject({ condition: 'unavailable' });
}
