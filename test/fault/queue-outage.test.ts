import fc from 'fast-check';
import { pino } from 'pino';
import { VIEW_SCHEMA } from '../../projections/engine/versions';
import { startPipeline } from '../../projections/pipeline';
import { InProcessJobQueue } from '../../shared/adapters/in-process/job-queue';
import { CatalogError } from '../../shared/kernel/errors';
import { realSystem } from '../../shared/kernel/system';
import type { JobQueue, PartitionJob } from '../../shared/ports/job-queue';
import { historyOf, play } from '../support/history';
import { MemoryEventStore } from '../support/memory-event-store';
import { MemoryViewStore } from '../support/memory-view-store';
import { waitFor, within } from '../support/wait-for';

/** A job queue that can become unavailable. */
class UnreliableQueue implements JobQueue {
  unavailable = false;
  refused = 0;
  private readonly queue = new InProcessJobQueue();

  async enqueue(job: PartitionJob): Promise<void> {
    this.checkAvailable();
    await this.queue.enqueue(job);
  }

  async depth(partition: number): Promise<number> {
    this.checkAvailable();
    return this.queue.depth(partition);
  }

  work(handler: (job: PartitionJob) => Promise<void>) {
    return this.queue.work(handler);
  }

  close(): Promise<void> {
    return this.queue.close();
  }

  private checkAvailable(): void {
    if (!this.unavailable) return;
    this.refused++;
    throw new CatalogError('unavailable');
  }
}

test('events that are appended while the job queue is unavailable are projected after the outage', async () => {
  const [first, second] = fc.sample(historyOf(30), { numRuns: 2, seed: 7 });
  const events = new MemoryEventStore();
  const queue = new UnreliableQueue();
  const parts = { realm: 'live', owner: 'test', events, views: new MemoryViewStore(), queue } as const;
  const pipeline = await startPipeline({ ...parts, system: realSystem, log: pino({ level: 'silent' }) });
  await play(events, first!);
  await within(pipeline.caughtUp(), 'the projections to catch up');
  queue.unavailable = true;
  await play(events, second!);
  await waitFor(() => queue.refused >= 3);
  queue.unavailable = false;
  await within(pipeline.caughtUp(), 'the projections to catch up after the outage');
  expect((await pipeline.status()).lag).toBe(0n);
  await pipeline.stop();
  await queue.close();
});

test('an outage of the view store at the start is not reported as a rebuild that failed', async () => {
  const views = new MemoryViewStore();
  const versions = views.versions.bind(views);
  let reads = 0;
  views.versions = async () => {
    if (reads++ > 0) throw new CatalogError('unavailable');
    return versions();
  };
  await views.activate((await views.createVersion(VIEW_SCHEMA)).version);
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
  const queue = new InProcessJobQueue();
  const parts = { realm: 'live', owner: 'test', events: new MemoryEventStore(), views, queue } as const;
  const pipeline = await startPipeline({ ...parts, system: realSystem, log });
  await waitFor(() => reads > 2);
  await pipeline.stop();
  await queue.close();
  expect(lines.join('')).not.toContain('rebuild');
});
