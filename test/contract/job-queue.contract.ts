import { START } from '../../shared/catalog/events/envelope';
import type { JobQueue, PartitionJob } from '../../shared/ports/job-queue';
import { bounded } from '../support/bounded';
import { latch } from '../support/latch';
import { waitFor, within } from '../support/wait-for';

/** An empty queue whose back-off is a few milliseconds. */
export interface JobQueueUnderTest {
  readonly queue: JobQueue;
  /** Closes every handle and removes what was stored. */
  dispose(): Promise<void>;
}

const PARTITIONS = 4;

/** Makes the `n`th job of a partition, without events. */
export function aJob(partition: number, n: number): PartitionJob {
  return { realm: 'live', partition, prev: BigInt(n), last: BigInt(n + 1), events: [] };
}

/** Tests what every job queue guarantees (shared/ports/job-queue.ts). */
export function jobQueueContract(name: string, open: () => Promise<JobQueueUnderTest>): void {
  describe(`job queue on ${name}`, () => {
    let under_test: JobQueueUnderTest;
    let queue: JobQueue;

    beforeEach(async () => {
      under_test = await open();
      queue = bounded(under_test.queue, 'queue');
    });
    afterEach(() => within(under_test.dispose(), 'everything under test to close'));

    async function fill(partition: number, count: number): Promise<void> {
      for (let n = 0; n < count; n++) await queue.enqueue(aJob(partition, n));
    }

    test('a job reaches the handler unchanged', async () => {
      const job: PartitionJob = {
        ...aJob(2, 0),
        last: 12_345_678_901_234_567n,
        events: [
          {
            id: '0195-id',
            type: 'something_happened',
            schema_version: 1,
            data: { title: 'ß 🛒', list: [1, null] },
            metadata: { occurred_at: '2026-01-31T12:00:00.000Z', partition_key: 's', source: 'api' },
            position: 12_345_678_901_234_567n,
            stream: 'live.publication-1' as PartitionJob['events'][number]['stream'],
            revision: 3,
          },
        ],
      };
      const seen: PartitionJob[] = [];
      await queue.work(async (received) => void seen.push(received));
      await queue.enqueue(job);
      await waitFor(() => seen.length > 0);
      expect(seen[0]).toEqual(job);
    });

    test('runs the jobs of a partition in order and one at a time, even if the handler is asynchronous', async () => {
      const seen = Array.from({ length: PARTITIONS }, () => [] as bigint[]);
      const running = new Set<number>();
      let overlaps = 0;
      await queue.work(async ({ partition, prev }) => {
        if (running.has(partition)) overlaps++;
        running.add(partition);
        if (prev % 3n === 0n) await new Promise((resolve) => setTimeout(resolve, 1));
        seen[partition]!.push(prev);
        running.delete(partition);
      });
      await Promise.all(seen.map((_, partition) => fill(partition, 30)));
      await waitFor(() => seen.every((jobs) => jobs.length >= 30));
      expect(overlaps).toBe(0);
      for (const jobs of seen) expect(jobs).toEqual(Array.from({ length: 30 }, (_, n) => BigInt(n)));
    });

    test('partitions run in parallel: a blocked partition does not block the others', async () => {
      const blocker = latch();
      const seen: number[] = [];
      await queue.work(async ({ partition }) => {
        if (partition === 0) await blocker.opened;
        seen.push(partition);
      });
      for (let partition = 0; partition < PARTITIONS; partition++) await fill(partition, 2);
      await waitFor(() => seen.length === 2 * (PARTITIONS - 1));
      expect(seen).not.toContain(0);
      blocker.open();
      await waitFor(() => seen.length === 2 * PARTITIONS);
    });

    test('jobs wait until a worker starts', async () => {
      await fill(0, 3);
      const seen: bigint[] = [];
      await queue.work(async ({ prev }) => void seen.push(prev));
      await waitFor(() => seen.length === 3);
      expect(seen).toEqual([0n, 1n, 2n]);
    });

    test('two workers share the partitions, and each partition runs one job at a time', async () => {
      const running = new Set<number>();
      const seen = Array.from({ length: PARTITIONS }, () => [] as bigint[]);
      let overlaps = 0;
      const handler = async ({ partition, prev }: PartitionJob): Promise<void> => {
        if (running.has(partition)) overlaps++;
        running.add(partition);
        await new Promise((resolve) => setImmediate(resolve));
        seen[partition]!.push(prev);
        running.delete(partition);
      };
      await queue.work(handler);
      await queue.work(handler);
      await Promise.all(seen.map((_, partition) => fill(partition, 20)));
      await waitFor(() => seen.every((jobs) => jobs.length >= 20));
      expect(overlaps).toBe(0);
      for (const jobs of seen) expect(jobs).toEqual(Array.from({ length: 20 }, (_, n) => BigInt(n)));
    });

    test('if the handler fails, the same job is retried before later jobs of the partition', async () => {
      const attempts: string[] = [];
      let failures = 3;
      await queue.work(async ({ partition, prev }) => {
        attempts.push(`${partition}:${prev}`);
        if (partition === 0 && prev === 1n && failures-- > 0) throw new Error('not yet');
      });
      await fill(0, 3);
      await fill(1, 3);
      await waitFor(() => attempts.includes('0:2') && attempts.includes('1:2'));
      expect(attempts.filter((one) => one.startsWith('0'))).toEqual([
        '0:0',
        '0:1',
        '0:1',
        '0:1',
        '0:1',
        '0:2',
      ]);
      expect(attempts.filter((one) => one.startsWith('1'))).toEqual(['1:0', '1:1', '1:2']);
    });

    test('depth counts waiting and running jobs', async () => {
      expect(await queue.depth(0)).toBe(0);
      await fill(0, 3);
      await fill(1, 1);
      expect(await queue.depth(0)).toBe(3);
      const blocker = latch();
      let began = false;
      await queue.work(async ({ partition }) => {
        if (partition !== 0) return;
        began = true;
        await blocker.opened;
      });
      await waitFor(() => began);
      expect(await queue.depth(0)).toBe(3);
      await waitFor(async () => (await queue.depth(1)) === 0);
      blocker.open();
      await waitFor(async () => (await queue.depth(0)) === 0);
    });

    test('stop lets the running job finish and starts no other job', async () => {
      const blocker = latch();
      const finished: bigint[] = [];
      let began = 0;
      const worker = await queue.work(async ({ prev }) => {
        began++;
        await blocker.opened;
        finished.push(prev);
      });
      await fill(0, 3);
      await waitFor(() => began === 1);
      const finished_at_stop = worker.stop().then(() => [...finished]);
      await new Promise((resolve) => setImmediate(resolve));
      blocker.open();
      expect(await within(finished_at_stop, 'the worker to stop')).toEqual([0n]);
      expect(began).toBe(1);
      await worker.stop();
    });

    test('stop does not wait for the success of a failing job', async () => {
      let attempts = 0;
      const worker = await queue.work(async () => {
        attempts++;
        throw new Error('never');
      });
      await fill(0, 1);
      await waitFor(() => attempts > 1);
      await worker.stop();
      const after = attempts;
      const seen: bigint[] = [];
      await queue.work(async ({ last }) => void seen.push(last));
      await queue.enqueue(aJob(0, 7));
      await waitFor(() => seen.includes(8n));
      expect(attempts).toBe(after);
    });

    test('a new worker continues after another has stopped', async () => {
      const first = await queue.work(async () => {});
      await first.stop();
      const seen: bigint[] = [];
      await queue.work(async ({ last }) => void seen.push(last));
      await queue.enqueue(aJob(0, 7));
      await waitFor(() => seen.length === 1);
      expect(seen).toEqual([8n]);
    });

    test('a job without events reaches the handler', async () => {
      const seen: PartitionJob[] = [];
      await queue.work(async (job) => void seen.push(job));
      await queue.enqueue({ realm: 'control', partition: 1, prev: START, last: 9n, events: [] });
      await waitFor(() => seen.length === 1);
      expect(seen[0]).toEqual({ realm: 'control', partition: 1, prev: START, last: 9n, events: [] });
    });

    test('a closed queue rejects jobs and workers', async () => {
      await queue.close();
      await expect(queue.enqueue(aJob(0, 0))).rejects.toMatchObject({ condition: 'unavailable' });
      await expect(queue.work(async () => {})).rejects.toMatchObject({ condition: 'unavailable' });
    });
  });
}
