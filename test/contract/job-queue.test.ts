import { InProcessJobQueue } from '../../shared/adapters/in-process/job-queue';
import type { PartitionJob } from '../../shared/ports/job-queue';
import { bounded } from '../support/bounded';
import { waitFor } from '../support/wait-for';
import { jobQueueContract } from './job-queue.contract';

jobQueueContract('one process', async () => {
  const queue = new InProcessJobQueue({ backoffMs: () => 1 });
  return { queue, dispose: () => queue.close() };
});

describe('the job queue of one process', () => {
  const job: PartitionJob = { realm: 'live', partition: 0, prev: 0n, last: 1n, events: [] };

  test('reports every failed attempt, and backs off by the number of failures', async () => {
    const reported: [string, number][] = [];
    const backed_off: number[] = [];
    const queue = new InProcessJobQueue({
      onError: (error, _, attempt) => void reported.push([(error as Error).message, attempt]),
      backoffMs: (attempt) => {
        backed_off.push(attempt);
        return 0;
      },
    });
    let attempts = 0;
    await queue.work(async () => {
      if (++attempts < 4) throw new Error(`attempt ${attempts}`);
    });
    await queue.enqueue(job);
    await waitFor(async () => (await queue.depth(0)) === 0);
    expect(reported).toEqual([
      ['attempt 1', 1],
      ['attempt 2', 2],
      ['attempt 3', 3],
    ]);
    expect(backed_off).toEqual([1, 2, 3]);
    await queue.close();
  });

  test('drops waiting jobs when the last worker stops', async () => {
    const queue = bounded(new InProcessJobQueue(), 'queue');
    const one = await queue.work(async () => new Promise((resolve) => setImmediate(resolve)));
    const two = await queue.work(async () => new Promise((resolve) => setImmediate(resolve)));
    for (let n = 0; n < 20; n++) await queue.enqueue(job);
    await one.stop();
    expect(await queue.depth(0)).toBeGreaterThan(0);
    await two.stop();
    expect(await queue.depth(0)).toBe(0);
    await queue.close();
  });

  test('yields to the event loop between jobs whose handlers never wait', async () => {
    const queue = bounded(new InProcessJobQueue(), 'queue');
    let turns = 0;
    const ticking = setInterval(() => turns++, 0);
    await queue.work(async () => {
      const until_ms = performance.now() + 1;
      while (performance.now() < until_ms);
    });
    for (let n = 0; n < 50; n++) await queue.enqueue(job);
    await waitFor(async () => (await queue.depth(0)) === 0);
    clearInterval(ticking);
    expect(turns).toBeGreaterThan(10);
    await queue.close();
  });
});
