import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BullmqJobQueue, type BullmqJobQueueOptions } from '../../shared/adapters/bullmq/job-queue';
import { aName, describeOn } from '../support/real-servers';
import { waitFor, within } from '../support/wait-for';
import { aJob, jobQueueContract } from './job-queue.contract';

const PARTITIONS = 4;
const upTo = (count: number): bigint[] => Array.from({ length: count }, (_, n) => BigInt(n));

const opened: BullmqJobQueue[] = [];
function open(url: string, options: Partial<BullmqJobQueueOptions> = {}): BullmqJobQueue {
  const queue = new BullmqJobQueue({
    url,
    realm: 'live',
    partition_count: PARTITIONS,
    backoffMs: () => 5,
    ...options,
  });
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

  describe('partitions shared by several processes', () => {
    afterEach(closeAll);

    test('run jobs in order and one at a time', async () => {
      const prefix = aName();
      const queues = [0, 1, 2].map(() => open(url, { prefix }));
      const running = new Set<number>();
      const seen = Array.from({ length: PARTITIONS }, () => [] as bigint[]);
      let overlaps = 0;
      for (const queue of queues) {
        await queue.work(async ({ partition, prev }) => {
          if (running.has(partition)) overlaps++;
          running.add(partition);
          await nextTurn();
          seen[partition]!.push(prev);
          running.delete(partition);
        });
      }
      const jobs = upTo(100).flatMap((n) => seen.map((_, partition) => aJob(partition, Number(n))));
      await Promise.all(jobs.map((job) => queues[0]!.enqueue(job)));
      await waitFor(() => seen.every((prevs) => prevs.length >= 100));
      expect(overlaps).toBe(0);
      for (const prevs of seen) expect(prevs).toEqual(upTo(100));
    });

    test('move to another process when one stops, which first runs the unfinished job', async () => {
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
      await within(failing.stop(), 'the worker to stop');
      await waitFor(() => seen.length === 5, { what: 'the other process to take over the partition' });
      expect(seen).toEqual(upTo(5));
    });

    test('move to another process within seconds when one is killed', async () => {
      const prefix = aName();
      const queue = open(url, { prefix });
      const script = join(__dirname, '../support/partition-worker.js');
      const victim = spawn(process.execPath, [script, url, prefix], { stdio: ['ignore', 'pipe', 'inherit'] });
      for (let n = 0; n < 3; n++) await queue.enqueue(aJob(1, n));
      const [printed] = await within(once(victim.stdout, 'data'), 'the process to take its first job');
      expect(String(printed).trim()).toBe('1:0');
      const seen: bigint[] = [];
      await queue.work(async ({ prev }) => void seen.push(prev));
      victim.kill('SIGKILL');
      await waitFor(() => seen.length === 3, { what: 'the other process to take over the partition' });
      expect(seen).toEqual(upTo(3));
    });
  });

  test('a job that cannot be decoded is reported and skipped', async () => {
    const troubles: unknown[] = [];
    const queue = open(url, { prefix: aName(), onWorkerError: (error) => void troubles.push(error) });
    const seen: bigint[] = [];
    await queue.enqueue({ ...aJob(0, 0), prev: 'no number' as unknown as bigint });
    await queue.enqueue(aJob(0, 1));
    await queue.work(async ({ prev }) => void seen.push(prev));
    await waitFor(() => seen.length === 1);
    expect(troubles).toHaveLength(1);
    await closeAll();
  });
});
