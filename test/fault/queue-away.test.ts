import fc from 'fast-check';
import { pino } from 'pino';
import { startPipeline } from '../../projections/pipeline';
import { InProcessJobQueue } from '../../shared/adapters/in-process/job-queue';
import { CatalogError } from '../../shared/kernel/errors';
import { realSystem } from '../../shared/kernel/system';
import type { JobQueue, LaneJob } from '../../shared/ports/job-queue';
import { historyOf, play } from '../support/history';
import { MemoryEventStore } from '../support/memory-event-store';
import { MemoryViewStore } from '../support/memory-view-store';
import { waitFor } from '../support/wait-for';

/** A queue on a server that can be gone. */
class DistantQueue implements JobQueue {
  away = false;
  refused = 0;
  private readonly queue = new InProcessJobQueue();

  async enqueue(job: LaneJob): Promise<void> {
    this.reach();
    await this.queue.enqueue(job);
  }

  async depth(lane: number): Promise<number> {
    this.reach();
    return this.queue.depth(lane);
  }

  work(handler: (job: LaneJob) => Promise<void>) {
    return this.queue.work(handler);
  }

  close(): Promise<void> {
    return this.queue.close();
  }

  private reach(): void {
    if (!this.away) return;
    this.refused++;
    throw new CatalogError('unavailable');
  }
}

test('given a queue that cannot be reached, when it is back, then what was written meanwhile is projected', async () => {
  const [first, second] = fc.sample(historyOf(30), { numRuns: 2, seed: 7 });
  const events = new MemoryEventStore();
  const queue = new DistantQueue();
  const parts = { realm: 'live', owner: 'test', events, views: new MemoryViewStore(), queue } as const;
  const pipeline = await startPipeline({ ...parts, system: realSystem, log: pino({ level: 'silent' }) });
  await play(events, first!);
  await pipeline.caughtUp();
  queue.away = true;
  await play(events, second!);
  await waitFor(() => queue.refused >= 3);
  queue.away = false;
  await pipeline.caughtUp(AbortSignal.timeout(60_000));
  expect((await pipeline.status()).lag).toBe(0n);
  await pipeline.stop();
  await queue.close();
});
