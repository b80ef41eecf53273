import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BullmqJobQueue, type BullmqJobQueueOptions } from '../../shared/adapters/bullmq/job-queue';
import type { LaneJob } from '../../shared/ports/job-queue';
import { aName, describeOn } from '../support/real-servers';
import { waitFor } from '../support/wait-for';
import { jobQueueContract } from './job-queue.contract';

const LANES = 4;
const aJob = (lane: number, n: number): LaneJob => ({
  realm: 'live',
  lane,
  prev: BigInt(n),
  last: BigInt(n + 1),
  events: [],
});
const upTo = (count: number): bigint[] => Array.from({ length: count }, (_, n) => BigInt(n));

const opened: BullmqJobQueue[] = [];
function open(url: string, options: Partial<BullmqJobQueueOptions> = {}): BullmqJobQueue {
  const queue = new BullmqJobQueue({ url, realm: 'live', lane_count: LANES, backoffMs: () => 5, ...options });
  opened.push(queue);
  return queue;
}
async function closeAll(): Promise<void> {
  await Promise.all(opened.splice(0).map((queue) => queue.close()));
}

describeOn('REDIS_URL', 'on a real server', (url) => {
  jobQueueContract('BullMQ', async () => {
    const queue = open(url, { prefix: aName() });
    return { queue, dispose: closeAll };
  });

  describe('lanes shared by processes', () => {
    afterEach(closeAll);

    test('are worked on in order and by one at a time', async () => {
      const prefix = aName();
      const queues = [0, 1, 2].map(() => open(url, { prefix }));
      const running = new Set<number>();
      const seen = Array.from({ length: LANES }, () => [] as bigint[]);
      let overlaps = 0;
      for (const queue of queues) {
        await queue.work(async ({ lane, prev }) => {
          if (running.has(lane)) overlaps++;
          running.add(lane);
          await nextTurn();
          seen[lane]!.push(prev);
          running.delete(lane);
        });
      }
      const jobs = upTo(100).flatMap((n) => seen.map((_, lane) => aJob(lane, Number(n))));
      await Promise.all(jobs.map((job) => queues[0]!.enqueue(job)));
      await waitFor(() => seen.every((prevs) => prevs.length >= 100));
      expect(overlaps).toBe(0);
      for (const prevs of seen) expect(prevs).toEqual(upTo(100));
    });

    test('pass to another process when one stops, with the job that it could not get done first', async () => {
      const prefix = aName();
      const [one, two] = [open(url, { prefix }), open(url, { prefix })];
      let attempts = 0;
      const failing = await one.work(async () => {
        attempts++;
        throw new Error('not here');
      });
      for (let n = 0; n < 5; n++) await one.enqueue(aJob(0, n));
      await waitFor(() => attempts > 2);
      const seen: bigint[] = [];
      await two.work(async ({ prev }) => void seen.push(prev));
      await failing.stop();
      await waitFor(() => seen.length === 5, { what: 'the lane going on elsewhere' });
      expect(seen).toEqual(upTo(5));
    });

    test('pass at once to another process when one stops, which need not look for itself', async () => {
      const prefix = aName();
      const seldom = { prefix, look_every_s: 3_600 };
      const [one, two] = [open(url, seldom), open(url, seldom)];
      let finish = (): void => {};
      const held = new Promise<void>((resolve) => {
        finish = resolve;
      });
      const begun: bigint[] = [];
      const first = await one.work(async ({ lane, prev }) => {
        if (lane !== 0) return;
        begun.push(prev);
        await held;
      });
      for (let n = 0; n < 3; n++) await one.enqueue(aJob(0, n));
      await waitFor(() => begun.length === 1);
      const seen: bigint[] = [];
      await two.work(async ({ lane, prev }) => void (lane === 0 ? seen.push(prev) : 0));
      // It has looked at its lanes, found nothing to do, and waits to be told.
      await two.enqueue(aJob(1, 0));
      await waitFor(async () => (await two.depth(1)) === 0);
      const stopped = first.stop();
      finish();
      await stopped;
      await waitFor(() => seen.length === 2, { what: 'the lane going on elsewhere' });
      expect([...begun, ...seen]).toEqual(upTo(3));
    });

    test('pass to another process when one is killed, within some seconds', async () => {
      const prefix = aName();
      const queue = open(url, { prefix });
      const script = join(__dirname, '../support/lane-worker.js');
      const victim = spawn(process.execPath, [script, url, prefix], { stdio: ['ignore', 'pipe', 'inherit'] });
      for (let n = 0; n < 3; n++) await queue.enqueue(aJob(1, n));
      expect(String((await once(victim.stdout, 'data'))[0]).trim()).toBe('1:0');
      const seen: bigint[] = [];
      await queue.work(async ({ prev }) => void seen.push(prev));
      victim.kill('SIGKILL');
      await waitFor(() => seen.length === 3, { what: 'the lane going on elsewhere' });
      expect(seen).toEqual(upTo(3));
    });
  });

  test('what cannot be read is told of and counts as lost', async () => {
    const troubles: unknown[] = [];
    const queue = open(url, { prefix: aName(), onTrouble: (error) => void troubles.push(error) });
    const seen: bigint[] = [];
    await queue.enqueue({ ...aJob(0, 0), prev: 'no number' as unknown as bigint });
    await queue.enqueue(aJob(0, 1));
    await queue.work(async ({ prev }) => void seen.push(prev));
    await waitFor(() => seen.length === 1);
    expect(troubles).toHaveLength(1);
    await closeAll();
  });
});
