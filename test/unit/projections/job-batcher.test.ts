import { setImmediate as nextTurn } from 'node:timers/promises';
import pino from 'pino';
import { JobBatcher, type JobBatcherOptions } from '../../../projections/engine/job-batcher';
import type { JsonObject, RecordedEvent } from '../../../shared/catalog/events/envelope';
import type { PartitionJob } from '../../../shared/ports/job-queue';
import type { CheckpointMove } from '../../../shared/ports/view-store';
import { bounded } from '../../support/bounded';
import { waitFor } from '../../support/wait-for';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** A queue that records jobs. The jobs of a `blocked` partition count as unfinished until `release`. */
class RecordingQueue {
  readonly jobs: PartitionJob[] = [];
  readonly waiting = new Map<number, number>();
  readonly blocked = new Set<number>();

  async enqueue(job: PartitionJob): Promise<void> {
    this.jobs.push(job);
    if (this.blocked.has(job.partition))
      this.waiting.set(job.partition, (await this.depth(job.partition)) + 1);
  }

  depth = async (partition: number): Promise<number> => this.waiting.get(partition) ?? 0;
  work = async () => ({ stop: async () => {} });
  close = async () => {};

  release(partition: number): void {
    this.blocked.delete(partition);
    this.waiting.delete(partition);
  }

  ofPartition(partition: number): PartitionJob[] {
    return this.jobs.filter((job) => job.partition === partition);
  }
}

/** Versions whose `waitFor` always times out. They advance every idle partition. */
const versions: JobBatcherOptions['versions'] = {
  waitFor: async () => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return false;
  },
  advanceIdle: async (moves) => new Set(moves.map(({ partition }) => partition)),
};

function startBatcher(queue: RecordingQueue, settings: Partial<JobBatcherOptions> = {}): JobBatcher {
  const stop = new AbortController();
  const log = pino({ level: 'silent' });
  const options: JobBatcherOptions = {
    realm: 'live',
    queue,
    versions,
    log,
    dispatched: [0n, 0n, 0n],
    ...settings,
    signal: stop.signal,
  };
  const batcher = bounded(new JobBatcher(options), 'job batcher');
  stops.push(async () => {
    stop.abort();
    await batcher.waitForEnd();
  });
  return batcher;
}

const events = (from: number, to: number, data: JsonObject = {}): RecordedEvent[] =>
  Array.from({ length: to - from + 1 }, (_, n) => ({ position: BigInt(from + n), data }) as RecordedEvent);

/** Expects every event once and in order, and each job's `prev` to be the `last` of the job before. */
function expectNoGaps(jobs: readonly PartitionJob[], expected: readonly RecordedEvent[]): void {
  expect(jobs.flatMap((job) => job.events)).toEqual(expected);
  for (const [index, job] of jobs.entries()) expect(job.prev).toBe(jobs[index - 1]?.last ?? 0n);
}

describe('the job batcher', () => {
  test('enqueues a job with the events of a partition, and advances idle partitions without one', async () => {
    const queue = new RecordingQueue();
    const moves: CheckpointMove[] = [];
    const advanceIdle: typeof versions.advanceIdle = (requested) => {
      moves.push(...requested);
      return versions.advanceIdle(requested);
    };
    const batcher = startBatcher(queue, { versions: { ...versions, advanceIdle } });
    batcher.take(4n, [[], events(1, 3), []]);
    await waitFor(() => batcher.leastDispatched() === 4n);
    expect(queue.jobs).toMatchObject([{ partition: 1, prev: 0n, last: 3n, events: events(1, 3) }]);
    expect(moves).toContainEqual({ partition: 0, from: 0n, to: 4n });
    expect(moves).toContainEqual({ partition: 1, from: 3n, to: 4n });
    batcher.take(5n, [events(5, 5), [], []]);
    await waitFor(() => queue.ofPartition(0).length > 0);
    expect(queue.ofPartition(0)).toMatchObject([{ prev: 4n, last: 5n }]);
  });

  test('advances a partition only when its jobs are projected', async () => {
    let is_projected = false;
    const advanceIdle: typeof versions.advanceIdle = async (moves) =>
      is_projected ? versions.advanceIdle(moves) : new Set();
    const batcher = startBatcher(new RecordingQueue(), { versions: { ...versions, advanceIdle } });
    batcher.take(4n, [events(1, 3), events(4, 4), events(4, 4)]);
    await waitFor(() => batcher.leastDispatched() === 3n);
    is_projected = true;
    await waitFor(() => batcher.leastDispatched() === 4n);
  });

  test('splits large events into several jobs', async () => {
    const queue = new RecordingQueue();
    const batcher = startBatcher(queue);
    const large = events(1, 16, { text: 'x'.repeat(1_000_000) });
    batcher.take(16n, [[], large, []]);
    await waitFor(() => batcher.leastDispatched() === 16n);
    expectNoGaps(queue.ofPartition(1), large);
    expect(queue.ofPartition(1).map((job) => job.events.length)).toEqual([4, 4, 4, 4]);
  });

  test('enqueues events that arrive while idle partitions are being advanced', async () => {
    const queue = new RecordingQueue();
    const advancing = { begun: false, end: () => {} };
    const advanceIdle = async (requested: readonly CheckpointMove[]): Promise<ReadonlySet<number>> => {
      if (!advancing.begun) {
        advancing.begun = true;
        await new Promise<void>((resolve) => {
          advancing.end = resolve;
        });
      }
      return new Set(requested.map(({ partition }) => partition));
    };
    const batcher = startBatcher(queue, { versions: { ...versions, advanceIdle } });
    batcher.take(1n, [[], [], []]);
    await waitFor(() => advancing.begun);
    batcher.take(3n, [events(2, 3), [], []]);
    await waitFor(() => queue.ofPartition(0).length > 0);
    advancing.end();
    batcher.take(4n, [events(4, 4), [], []]);
    await waitFor(() => batcher.leastDispatched() === 4n);
    expectNoGaps(queue.ofPartition(0), events(2, 4));
  });

  test('with two unfinished jobs, enqueues the next one when the checkpoint reaches the oldest, without reading the depth', async () => {
    const queue = new RecordingQueue();
    const depth_calls: number[] = [];
    queue.depth = async (partition) => {
      depth_calls.push(partition);
      return 2;
    };
    const waiting: { position: bigint; resolve: (reached: boolean) => void }[] = [];
    const reached = (_: number, position: bigint): Promise<boolean> =>
      new Promise((resolve) => {
        waiting.push({ position, resolve });
      });
    const advanceIdle = async (): Promise<ReadonlySet<number>> => new Set([1, 2]);
    const batcher = startBatcher(queue, { versions: { waitFor: reached, advanceIdle } });
    for (let n = 1; n <= 6; n++) {
      batcher.take(BigInt(n), [events(n, n), [], []]);
      await nextTurn();
    }
    await waitFor(() => waiting.length === 1);
    expect(queue.ofPartition(0).map(({ last }) => last)).toEqual([1n, 2n]);
    expect(waiting[0]!.position).toBe(1n);
    waiting[0]!.resolve(true);
    await waitFor(() => batcher.dispatchedTo(0) === 6n);
    expect(depth_calls).not.toContain(0);
    expectNoGaps(queue.ofPartition(0), events(1, 6));
  });

  test('batches the events of a busy partition into larger jobs while other partitions continue', async () => {
    const queue = new RecordingQueue();
    queue.blocked.add(0);
    const batcher = startBatcher(queue, { versions: { ...versions, advanceIdle: async () => new Set() } });
    for (let n = 1; n < 200; n += 2) {
      batcher.take(BigInt(n + 1), [events(n, n), events(n + 1, n + 1), []]);
      await nextTurn();
    }
    await waitFor(() => batcher.dispatchedTo(1) === 200n);
    expect(queue.ofPartition(0)).toHaveLength(2);
    queue.release(0);
    await waitFor(() => batcher.dispatchedTo(0) >= 199n);
    expect(queue.ofPartition(0).length).toBeLessThan(10);
    const odd = events(1, 200).filter(({ position }) => position % 2n === 1n);
    expectNoGaps(queue.ofPartition(0), odd);
  });

  test.each([
    ['too many events', events(1, 2_002)],
    ['too large events', events(1, 40, { text: 'x'.repeat(1_000_000) })],
  ])('discards the events of a partition with %s, so that its next job shows a gap', async (_, many) => {
    const queue = new RecordingQueue();
    const batcher = startBatcher(queue);
    const last = many.at(-1)!;
    batcher.take(last.position, [many, [], []]);
    await waitFor(() => batcher.dispatchedTo(0) === last.position);
    expect(queue.ofPartition(0)).toMatchObject([
      { prev: last.position - 1n, last: last.position, events: [last] },
    ]);
  });
});
