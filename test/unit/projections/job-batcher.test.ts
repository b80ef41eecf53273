import pino from 'pino';
import { JobBatcher, type JobBatcherOptions } from '../../../projections/engine/job-batcher';
import type { JsonObject, RecordedEvent } from '../../../shared/catalog/events/envelope';
import type { PartitionJob } from '../../../shared/ports/job-queue';
import type { CheckpointMove } from '../../../shared/ports/view-store';
import { bounded } from '../../support/bounded';
import { waitFor, within } from '../../support/wait-for';

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

/** Versions whose `waitFor` always times out and that advance no idle partition. So partitions advance only by jobs. */
const versions_that_never_advance: JobBatcherOptions['versions'] = {
  waitFor: async () => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return false;
  },
  advanceIdle: async () => new Set(),
};

function startBatcher(queue: RecordingQueue, settings: Partial<JobBatcherOptions> = {}): JobBatcher {
  const stop = new AbortController();
  const log = pino({ level: 'silent' });
  const options: JobBatcherOptions = {
    realm: 'live',
    queue,
    versions: versions_that_never_advance,
    log,
    dispatched: [0n, 0n, 0n],
    tick_ms: 5,
    quiet_tick_ms: 5,
    pause_max_ms: 600_000,
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
  test('enqueues a job with the events of a partition, and empty jobs for partitions without events', async () => {
    const queue = new RecordingQueue();
    const batcher = startBatcher(queue);
    await batcher.take(3n, [[], events(1, 3), []]);
    await waitFor(() => batcher.leastDispatched() === 3n);
    expectNoGaps(queue.ofPartition(1), events(1, 3));
    expect(queue.ofPartition(0)).toMatchObject([{ prev: 0n, last: 3n, events: [] }]);
    expect(queue.ofPartition(2)).toMatchObject([{ prev: 0n, last: 3n, events: [] }]);
  });

  test('splits large events into several jobs, and pauses reading while too many characters are batched', async () => {
    const queue = new RecordingQueue();
    queue.blocked.add(1);
    const batcher = startBatcher(queue);
    const large = events(1, 40, { text: 'x'.repeat(1_000_000) });
    let taken = false;
    const taking = batcher.take(40n, [[], large, []]).then(() => {
      taken = true;
    });
    await waitFor(() => queue.ofPartition(1).length === 2, { what: 'the jobs that the queue has room for' });
    expect(queue.ofPartition(1).map((job) => job.events.length)).toEqual([4, 4]);
    expect(taken).toBe(false);
    queue.release(1);
    await within(taking, 'room for more events');
    await waitFor(() => batcher.leastDispatched() === 40n);
    expectNoGaps(queue.ofPartition(1), large);
    expect(Math.max(...queue.ofPartition(1).map((job) => job.events.length))).toBe(4);
  });

  test('advances idle partitions without a job, and enqueues a job for one that was behind in two rounds in a row', async () => {
    const queue = new RecordingQueue();
    const moves: CheckpointMove[][] = [];
    const advanceIdle = async (requested: readonly CheckpointMove[]): Promise<ReadonlySet<number>> => {
      moves.push([...requested]);
      return new Set(requested.map(({ partition }) => partition).filter((partition) => partition !== 2));
    };
    const batcher = startBatcher(queue, { versions: { ...versions_that_never_advance, advanceIdle } });
    await batcher.take(3n, [[], events(1, 3), []]);
    await waitFor(() => batcher.leastDispatched() === 3n);
    expect(moves[0]).toContainEqual({ partition: 0, from: 0n, to: 3n });
    const of_partition_2 = moves.filter((move) => move.some(({ partition }) => partition === 2));
    expect(of_partition_2.length).toBeGreaterThan(1);
    expect(queue.ofPartition(0)).toEqual([]);
    expect(queue.ofPartition(2)).toMatchObject([{ prev: 0n, last: 3n, events: [] }]);
    await batcher.take(4n, [events(4, 4), [], []]);
    await waitFor(() => queue.ofPartition(0).length > 0);
    expect(queue.ofPartition(0)).toMatchObject([{ prev: 3n, last: 4n }]);
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
    const batcher = startBatcher(queue, { versions: { ...versions_that_never_advance, advanceIdle } });
    await batcher.take(1n, [[], [], []]);
    await waitFor(() => advancing.begun);
    await batcher.take(3n, [events(2, 3), [], []]);
    await waitFor(() => queue.ofPartition(0).length > 0);
    advancing.end();
    await batcher.take(4n, [events(4, 4), [], []]);
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
    for (let n = 1; n <= 6; n++) await batcher.take(BigInt(n), [events(n, n), [], []]);
    await waitFor(() => waiting.length === 1);
    expect(queue.ofPartition(0).map(({ last }) => last)).toEqual([1n, 2n]);
    expect(waiting[0]!.position).toBe(1n);
    waiting[0]!.resolve(true);
    await waitFor(() => batcher.dispatchedTo(0) === 6n);
    expect(depth_calls).not.toContain(0);
    expectNoGaps(queue.ofPartition(0), events(1, 6));
  });

  test('advances idle partitions rarely while only other realms write, and soon after an event of this realm', async () => {
    const [quiet_moves, active_moves] = [[] as bigint[], [] as bigint[]];
    const recordingVersions = (moves: bigint[]): JobBatcherOptions['versions'] => ({
      ...versions_that_never_advance,
      advanceIdle: async (requested) => {
        moves.push(requested[0]!.to);
        return new Set(requested.map(({ partition }) => partition));
      },
    });
    const quiet = startBatcher(new RecordingQueue(), {
      quiet_tick_ms: 600_000,
      versions: recordingVersions(quiet_moves),
    });
    const active = startBatcher(new RecordingQueue(), {
      quiet_tick_ms: 600_000,
      versions: recordingVersions(active_moves),
    });
    let position = 0;
    await waitFor(async () => {
      position++;
      await quiet.take(BigInt(position), [[], [], []]);
      await active.take(BigInt(position), [[], [], events(position, position)]);
      return active_moves.length >= 5;
    });
    // After a pause, idle partitions are advanced to the first new position at once, and then after `quiet_tick_ms`.
    expect(quiet_moves).toEqual([1n]);
    await quiet.take(BigInt(position + 1), [[], [], events(position + 1, position + 1)]);
    await waitFor(() => quiet.leastDispatched() === BigInt(position + 1));
  });

  test('advances idle partitions again at once if advancing is fast', async () => {
    const moves: bigint[] = [];
    const batcher = startBatcher(new RecordingQueue(), {
      tick_ms: 600_000,
      versions: {
        ...versions_that_never_advance,
        advanceIdle: async (requested) => {
          moves.push(requested[0]!.to);
          return new Set(requested.map(({ partition }) => partition));
        },
      },
    });
    let position = 0;
    await waitFor(async () => {
      position++;
      await batcher.take(BigInt(position), [[], [], events(position, position)]);
      return moves.length >= 5;
    });
  });

  test('waits between two rounds while a partition waits for its job', async () => {
    const queue = new RecordingQueue();
    queue.depth = async () => 1;
    let rounds = 0;
    const batcher = startBatcher(queue, {
      tick_ms: 600_000,
      versions: {
        ...versions_that_never_advance,
        advanceIdle: async () => {
          rounds++;
          return new Set();
        },
      },
    });
    for (let position = 1; position <= 50; position++) {
      await batcher.take(BigInt(position), [[], [], events(position, position)]);
      await waitFor(() => batcher.dispatchedTo(2) === BigInt(position));
    }
    expect(rounds).toBe(1);
  });

  test('batches the events of a busy partition into larger jobs while other partitions continue', async () => {
    const queue = new RecordingQueue();
    queue.blocked.add(0);
    const batcher = startBatcher(queue);
    for (let n = 1; n < 200; n += 2)
      await batcher.take(BigInt(n + 1), [events(n, n), events(n + 1, n + 1), []]);
    await waitFor(() => batcher.dispatchedTo(1) === 200n);
    expect(queue.ofPartition(0)).toHaveLength(2);
    queue.release(0);
    await waitFor(() => batcher.dispatchedTo(0) >= 199n);
    expect(queue.ofPartition(0).length).toBeLessThan(10);
    const odd = events(1, 200).filter(({ position }) => position % 2n === 1n);
    expectNoGaps(queue.ofPartition(0), odd);
  });

  test('pauses reading of the log while a partition has too many batched events', async () => {
    const queue = new RecordingQueue();
    queue.blocked.add(0);
    const batcher = startBatcher(queue);
    let taken = false;
    const taking = batcher.take(9_000n, [events(1, 9_000), [], []]).then(() => {
      taken = true;
    });
    await waitFor(() => queue.ofPartition(0).length === 2);
    expect(taken).toBe(false);
    queue.release(0);
    await within(taking, 'the batcher to accept the events');
    await waitFor(() => batcher.dispatchedTo(0) === 9_000n);
    expectNoGaps(queue.ofPartition(0), events(1, 9_000));
  });

  test('discards the events of a stalled partition, and its next job shows the gap', async () => {
    const queue = new RecordingQueue();
    queue.blocked.add(0);
    const batcher = startBatcher(queue, { pause_max_ms: 20 });
    await batcher.take(9_000n, [events(1, 9_000), [], []]);
    await batcher.take(9_002n, [events(9_001, 9_001), events(9_002, 9_002), []]);
    await waitFor(() => batcher.dispatchedTo(1) === 9_002n);
    queue.release(0);
    await batcher.take(9_003n, [events(9_003, 9_003), [], []]);
    await waitFor(() => batcher.dispatchedTo(0) === 9_003n);
    const last = queue.ofPartition(0).at(-1)!;
    expect(last.prev).toBeGreaterThan(queue.ofPartition(0)[1]!.last);
  });
});
