import { START } from '../../shared/catalog/events/envelope';
import type { JobQueue, LaneJob } from '../../shared/ports/job-queue';
import { waitFor } from '../support/wait-for';

/** An empty queue that backs off by some milliseconds only. */
export interface JobQueueUnderTest {
  readonly queue: JobQueue;
  /** Closes every handle and removes what was stored. */
  dispose(): Promise<void>;
}

const LANES = 4;

/** The `n`th job of a lane. */
function aJob(lane: number, n: number): LaneJob {
  return { realm: 'live', lane, prev: BigInt(n), last: BigInt(n + 1), events: [] };
}

/** What every job queue promises (shared/ports/job-queue.ts). */
export function jobQueueContract(name: string, open: () => Promise<JobQueueUnderTest>): void {
  describe(`job queue on ${name}`, () => {
    let given: JobQueueUnderTest;
    let queue: JobQueue;

    beforeEach(async () => {
      given = await open();
      queue = given.queue;
    });
    afterEach(() => given.dispose());

    async function fill(lane: number, count: number): Promise<void> {
      for (let n = 0; n < count; n++) await queue.enqueue(aJob(lane, n));
    }

    test('a job reaches the handler as it was', async () => {
      const job: LaneJob = {
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
            stream: 'live.publication-1' as LaneJob['events'][number]['stream'],
            revision: 3,
          },
        ],
      };
      const seen: LaneJob[] = [];
      await queue.work(async (given_job) => void seen.push(given_job));
      await queue.enqueue(job);
      await waitFor(() => seen.length > 0);
      expect(seen[0]).toEqual(job);
    });

    test('a lane’s jobs are worked on in order, one at a time, whatever the handler does', async () => {
      const seen = Array.from({ length: LANES }, () => [] as bigint[]);
      const running = new Set<number>();
      await queue.work(async ({ lane, prev }) => {
        expect(running.has(lane)).toBe(false);
        running.add(lane);
        if (prev % 3n === 0n) await new Promise((resolve) => setTimeout(resolve, 1));
        seen[lane]!.push(prev);
        running.delete(lane);
      });
      await Promise.all(seen.map((_, lane) => fill(lane, 30)));
      await waitFor(() => seen.every((jobs) => jobs.length >= 30));
      for (const jobs of seen) expect(jobs).toEqual(Array.from({ length: 30 }, (_, n) => BigInt(n)));
    });

    test('lanes run side by side: one that is held does not hold the others', async () => {
      const held = gate();
      const seen: number[] = [];
      await queue.work(async ({ lane }) => {
        if (lane === 0) await held.opened;
        seen.push(lane);
      });
      for (let lane = 0; lane < LANES; lane++) await fill(lane, 2);
      await waitFor(() => seen.length === 2 * (LANES - 1));
      expect(seen).not.toContain(0);
      held.open();
      await waitFor(() => seen.length === 2 * LANES);
    });

    test('jobs wait until somebody works', async () => {
      await fill(0, 3);
      const seen: bigint[] = [];
      await queue.work(async ({ prev }) => void seen.push(prev));
      await waitFor(() => seen.length === 3);
      expect(seen).toEqual([0n, 1n, 2n]);
    });

    test('two workers share the lanes, and still one works on a lane at a time', async () => {
      const running = new Set<number>();
      const seen = Array.from({ length: LANES }, () => [] as bigint[]);
      const handler = async ({ lane, prev }: LaneJob): Promise<void> => {
        expect(running.has(lane)).toBe(false);
        running.add(lane);
        await new Promise((resolve) => setImmediate(resolve));
        seen[lane]!.push(prev);
        running.delete(lane);
      };
      await queue.work(handler);
      await queue.work(handler);
      await Promise.all(seen.map((_, lane) => fill(lane, 20)));
      await waitFor(() => seen.every((jobs) => jobs.length >= 20));
      for (const jobs of seen) expect(jobs).toEqual(Array.from({ length: 20 }, (_, n) => BigInt(n)));
    });

    test('where the handler fails the same job is tried again, and the lane waits for it', async () => {
      const attempts: string[] = [];
      let failures = 3;
      await queue.work(async ({ lane, prev }) => {
        attempts.push(`${lane}:${prev}`);
        if (lane === 0 && prev === 1n && failures-- > 0) throw new Error('not yet');
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

    test('depth counts what waits and what runs', async () => {
      expect(await queue.depth(0)).toBe(0);
      await fill(0, 3);
      await fill(1, 1);
      expect(await queue.depth(0)).toBe(3);
      const held = gate();
      let began = false;
      await queue.work(async ({ lane }) => {
        if (lane !== 0) return;
        began = true;
        await held.opened;
      });
      await waitFor(() => began);
      expect(await queue.depth(0)).toBe(3);
      await waitFor(async () => (await queue.depth(1)) === 0);
      held.open();
      await waitFor(async () => (await queue.depth(0)) === 0);
    });

    test('stop lets the running job finish and begins no other', async () => {
      const held = gate();
      const finished: bigint[] = [];
      let began = 0;
      const worker = await queue.work(async ({ prev }) => {
        began++;
        await held.opened;
        finished.push(prev);
      });
      await fill(0, 3);
      await waitFor(() => began === 1);
      let stopped = false;
      const stopping = worker.stop().then(() => {
        stopped = true;
      });
      await new Promise((resolve) => setImmediate(resolve));
      expect(stopped).toBe(false);
      held.open();
      await stopping;
      expect(finished).toEqual([0n]);
      expect(began).toBe(1);
      await worker.stop();
    });

    test('stop does not wait for a job that keeps failing', async () => {
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

    test('another may go on where one has stopped', async () => {
      const first = await queue.work(async () => {});
      await first.stop();
      const seen: bigint[] = [];
      await queue.work(async ({ last }) => void seen.push(last));
      await queue.enqueue(aJob(0, 7));
      await waitFor(() => seen.length === 1);
      expect(seen).toEqual([8n]);
    });

    test('an empty job, which just moves a checkpoint on, is a job like any other', async () => {
      const seen: LaneJob[] = [];
      await queue.work(async (job) => void seen.push(job));
      await queue.enqueue({ realm: 'control', lane: 1, prev: START, last: 9n, events: [] });
      await waitFor(() => seen.length === 1);
      expect(seen[0]).toEqual({ realm: 'control', lane: 1, prev: START, last: 9n, events: [] });
    });

    test('a closed queue takes nothing more', async () => {
      await queue.close();
      await expect(queue.enqueue(aJob(0, 0))).rejects.toMatchObject({ condition: 'unavailable' });
      await expect(queue.work(async () => {})).rejects.toMatchObject({ condition: 'unavailable' });
    });
  });
}

/** Something to wait for until it is opened. */
function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
