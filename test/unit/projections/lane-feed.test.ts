import pino from 'pino';
import { LaneFeed, type LaneFeedOptions } from '../../../projections/engine/lane-feed';
import type { RecordedEvent } from '../../../shared/catalog/events/envelope';
import type { LaneJob } from '../../../shared/ports/job-queue';
import type { LaneMove } from '../../../shared/ports/view-store';
import { waitFor } from '../../support/wait-for';

const ended: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0)) await end();
});

/** A queue that takes jobs and works on none until it is told to. */
class HeldQueue {
  readonly jobs: LaneJob[] = [];
  readonly waiting = new Map<number, number>();
  readonly held = new Set<number>();

  async enqueue(job: LaneJob): Promise<void> {
    this.jobs.push(job);
    if (this.held.has(job.lane)) this.waiting.set(job.lane, (await this.depth(job.lane)) + 1);
  }

  depth = async (lane: number): Promise<number> => this.waiting.get(lane) ?? 0;
  work = async () => ({ stop: async () => {} });
  close = async () => {};

  release(lane: number): void {
    this.held.delete(lane);
    this.waiting.delete(lane);
  }

  ofLane(lane: number): LaneJob[] {
    return this.jobs.filter((job) => job.lane === lane);
  }
}

/** Lanes that no one can tell of: they are moved by jobs alone. */
const untold: LaneFeedOptions['lanes'] = {
  reached: async () => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return false;
  },
  moveOn: async () => new Set(),
};

function startFeed(
  queue: HeldQueue,
  hold_ms = 600_000,
  quiet_tick_ms = 5,
  lanes: LaneFeedOptions['lanes'] = untold,
): LaneFeed {
  const stop = new AbortController();
  const log = pino({ level: 'silent' });
  const fed = [0n, 0n, 0n];
  const times = { tick_ms: 5, quiet_tick_ms, hold_ms };
  const feed = new LaneFeed({ realm: 'live', queue, lanes, log, fed, ...times, signal: stop.signal });
  ended.push(async () => {
    stop.abort();
    await feed.ended();
  });
  return feed;
}

const events = (from: number, to: number): RecordedEvent[] =>
  Array.from({ length: to - from + 1 }, (_, n) => ({ position: BigInt(from + n) }) as RecordedEvent);

/** Every event once and in order, each job beginning where the one before ended. */
function expectUnbroken(jobs: readonly LaneJob[], given: readonly RecordedEvent[]): void {
  expect(jobs.flatMap((job) => job.events)).toEqual(given);
  for (const [index, job] of jobs.entries()) expect(job.prev).toBe(jobs[index - 1]?.last ?? 0n);
}

describe('the feed of the lanes', () => {
  test('gives a lane its events, and tells the idle ones how far the log is', async () => {
    const queue = new HeldQueue();
    const feed = startFeed(queue);
    await feed.take(3n, [[], events(1, 3), []]);
    await waitFor(() => feed.fedEverywhere() === 3n);
    expectUnbroken(queue.ofLane(1), events(1, 3));
    expect(queue.ofLane(0)).toMatchObject([{ prev: 0n, last: 3n, events: [] }]);
    expect(queue.ofLane(2)).toMatchObject([{ prev: 0n, last: 3n, events: [] }]);
  });

  test('moves lanes without events itself, and tells by a job one that was not there twice', async () => {
    const queue = new HeldQueue();
    const moves: LaneMove[][] = [];
    const moveOn = async (given: readonly LaneMove[]): Promise<ReadonlySet<number>> => {
      moves.push([...given]);
      return new Set(given.map(({ lane }) => lane).filter((lane) => lane !== 2));
    };
    const feed = startFeed(queue, 600_000, 5, { ...untold, moveOn });
    await feed.take(3n, [[], events(1, 3), []]);
    await waitFor(() => feed.fedEverywhere() === 3n);
    expect(moves[0]).toContainEqual({ lane: 0, from: 0n, to: 3n });
    expect(moves.filter((given) => given.some(({ lane }) => lane === 2)).length).toBeGreaterThan(1);
    expect(queue.ofLane(0)).toEqual([]);
    expect(queue.ofLane(2)).toMatchObject([{ prev: 0n, last: 3n, events: [] }]);
    await feed.take(4n, [events(4, 4), [], []]);
    await waitFor(() => queue.ofLane(0).length > 0);
    expect(queue.ofLane(0)).toMatchObject([{ prev: 3n, last: 4n }]);
  });

  test('what comes while lanes are moved is given to them all the same', async () => {
    const queue = new HeldQueue();
    const moving = { begun: false, end: () => {} };
    const moveOn = async (given: readonly LaneMove[]): Promise<ReadonlySet<number>> => {
      if (!moving.begun) {
        moving.begun = true;
        await new Promise<void>((resolve) => {
          moving.end = resolve;
        });
      }
      return new Set(given.map(({ lane }) => lane));
    };
    const feed = startFeed(queue, 600_000, 5, { ...untold, moveOn });
    await feed.take(1n, [[], [], []]);
    await waitFor(() => moving.begun);
    await feed.take(3n, [events(2, 3), [], []]);
    await waitFor(() => queue.ofLane(0).length > 0);
    moving.end();
    await feed.take(4n, [events(4, 4), [], []]);
    await waitFor(() => feed.fedEverywhere() === 4n);
    expectUnbroken(queue.ofLane(0), events(2, 4));
  });

  test('a full lane gets its next job as soon as it got on, and the queue is not asked', async () => {
    const queue = new HeldQueue();
    const asked: number[] = [];
    queue.depth = async (lane) => {
      asked.push(lane);
      return 2;
    };
    const waiting: { position: bigint; told: (there: boolean) => void }[] = [];
    const reached = (_: number, position: bigint): Promise<boolean> =>
      new Promise((resolve) => {
        waiting.push({ position, told: resolve });
      });
    const moveOn = async (): Promise<ReadonlySet<number>> => new Set([1, 2]);
    const feed = startFeed(queue, 600_000, 5, { reached, moveOn });
    for (let n = 1; n <= 6; n++) await feed.take(BigInt(n), [events(n, n), [], []]);
    await waitFor(() => waiting.length === 1);
    expect(queue.ofLane(0).map(({ last }) => last)).toEqual([1n, 2n]);
    expect(waiting[0]!.position).toBe(1n);
    waiting[0]!.told(true);
    await waitFor(() => feed.fedTo(0) === 6n);
    expect(asked).not.toContain(0);
    expectUnbroken(queue.ofLane(0), events(1, 6));
  });

  test('tells the lanes rarely where only other realms moved the log, and soon again where one of its own did', async () => {
    const [quiet_moves, own_moves] = [[] as bigint[], [] as bigint[]];
    const counted = (moves: bigint[]): LaneFeedOptions['lanes'] => ({
      ...untold,
      moveOn: async (given) => {
        moves.push(given[0]!.to);
        return new Set(given.map(({ lane }) => lane));
      },
    });
    const quiet = startFeed(new HeldQueue(), 600_000, 600_000, counted(quiet_moves));
    const own = startFeed(new HeldQueue(), 600_000, 600_000, counted(own_moves));
    let position = 0;
    await waitFor(async () => {
      position++;
      await quiet.take(BigInt(position), [[], [], []]);
      await own.take(BigInt(position), [[], [], events(position, position)]);
      return own_moves.length >= 5;
    });
    // The first after a quiet time is told at once.
    expect(quiet_moves).toEqual([1n]);
    await quiet.take(BigInt(position + 1), [[], [], events(position + 1, position + 1)]);
    await waitFor(() => quiet.fedEverywhere() === BigInt(position + 1));
  });

  test('gathers what comes for a busy lane into larger jobs, while the others go on', async () => {
    const queue = new HeldQueue();
    queue.held.add(0);
    const feed = startFeed(queue);
    for (let n = 1; n < 200; n += 2) await feed.take(BigInt(n + 1), [events(n, n), events(n + 1, n + 1), []]);
    await waitFor(() => feed.fedTo(1) === 200n);
    expect(queue.ofLane(0)).toHaveLength(2);
    queue.release(0);
    await waitFor(() => feed.fedTo(0) >= 199n);
    expect(queue.ofLane(0).length).toBeLessThan(10);
    const odd = events(1, 200).filter(({ position }) => position % 2n === 1n);
    expectUnbroken(queue.ofLane(0), odd);
  });

  test('holds back the log where a lane has gathered too much', async () => {
    const queue = new HeldQueue();
    queue.held.add(0);
    const feed = startFeed(queue);
    let taken = false;
    const taking = feed.take(9_000n, [events(1, 9_000), [], []]).then(() => {
      taken = true;
    });
    await waitFor(() => queue.ofLane(0).length === 2);
    expect(taken).toBe(false);
    queue.release(0);
    await taking;
    await waitFor(() => feed.fedTo(0) === 9_000n);
    expectUnbroken(queue.ofLane(0), events(1, 9_000));
  });

  test('leaves behind a lane that stays full: its next job tells of the gap', async () => {
    const queue = new HeldQueue();
    queue.held.add(0);
    const feed = startFeed(queue, 20);
    await feed.take(9_000n, [events(1, 9_000), [], []]);
    await feed.take(9_002n, [events(9_001, 9_001), events(9_002, 9_002), []]);
    await waitFor(() => feed.fedTo(1) === 9_002n);
    queue.release(0);
    await feed.take(9_003n, [events(9_003, 9_003), [], []]);
    await waitFor(() => feed.fedTo(0) === 9_003n);
    const last = queue.ofLane(0).at(-1)!;
    expect(last.prev).toBeGreaterThan(queue.ofLane(0)[1]!.last);
  });
});
