import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  Batcher,
  backoff,
  endLongTurn,
  PageSize,
  pause,
  Semaphore,
  withJitter,
  withTimeout,
} from '../../../shared/kernel/async';
import { WAIT_MS_MAX, within } from '../../support/wait-for';

/** A wait of this length ends in time only because its signal aborts: the tests give up earlier. */
const NEVER_MS = 10 * WAIT_MS_MAX;

/** Makes a batcher that returns each item in upper case, and records its batches. */
function upperCaseBatcher(items_max = 100) {
  const batches: string[][] = [];
  const batcher = new Batcher(async (items: readonly string[]) => {
    batches.push([...items]);
    if (items.includes('fail')) throw new Error('unavailable');
    return items.map((item) => item.toUpperCase());
  }, items_max);
  return { batches, batcher };
}

test('items of one turn of the event loop are loaded in one batch, and each gets its own result', async () => {
  const { batches, batcher } = upperCaseBatcher();
  expect(await Promise.all(['a', 'b', 'a'].map((item) => batcher.load('x', item)))).toEqual(['A', 'B', 'A']);
  expect(await batcher.load('x', 'later')).toBe('LATER');
  expect(batches).toEqual([['a', 'b', 'a'], ['later']]);
});

test('items of different keys are loaded in different batches', async () => {
  const { batches, batcher } = upperCaseBatcher();
  await Promise.all([batcher.load('x', 'a'), batcher.load('y', 'b'), batcher.load('x', 'c')]);
  expect(batches).toEqual([['a', 'c'], ['b']]);
});

test('a batch has at most items_max items', async () => {
  const { batches, batcher } = upperCaseBatcher(2);
  const results = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((item) => batcher.load('x', item)));
  expect(results).toEqual(['A', 'B', 'C', 'D', 'E']);
  expect(batches).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
});

test('a failed batch rejects all of its items and does not affect later ones', async () => {
  const { batcher } = upperCaseBatcher();
  const outcomes = await Promise.allSettled([batcher.load('x', 'fail'), batcher.load('x', 'a')]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await batcher.load('x', 'a')).toBe('A');
});

describe('pause', () => {
  test('resolves early when the signal aborts', async () => {
    const stop = new AbortController();
    const pausing = pause(NEVER_MS, stop.signal);
    stop.abort();
    await within(pausing, 'the pause to end');
    await within(pause(NEVER_MS, stop.signal), 'a pause that was aborted before');
  });
});

describe('withTimeout', () => {
  const never = new Promise<string>(() => {});

  test('settles as the work does', async () => {
    expect(await withTimeout(Promise.resolve('done'), 60_000, () => 'late')).toBe('done');
    const failing = withTimeout(Promise.reject(new Error('unavailable')), 60_000, () => 'late');
    await expect(failing).rejects.toThrow('unavailable');
  });

  test('returns or throws what onTimeout does after the timeout, and ignores a later failure of the work', async () => {
    const failing = new Promise<string>((_, reject) => setTimeout(() => reject(new Error('too late')), 5));
    expect(await withTimeout(failing, 1, () => 'late')).toBe('late');
    await pause(10);
    const fail = (): never => {
      throw new Error('no response');
    };
    await expect(withTimeout(never, 1, fail)).rejects.toThrow('no response');
  });

  test('settles when the signal aborts, also if it was aborted before the call', async () => {
    const stop = new AbortController();
    const wait = () =>
      within(
        withTimeout(never, NEVER_MS, () => 'stopped', stop.signal),
        'the abort',
      );
    const waiting = wait();
    stop.abort();
    expect(await waiting).toBe('stopped');
    expect(await wait()).toBe('stopped');
  });
});

test('backoff doubles the wait up to its maximum', () => {
  const wait_ms = backoff(50, 300);
  expect([1, 2, 3, 4, 5, 2_000].map(wait_ms)).toEqual([50, 100, 200, 300, 300, 300]);
});

test('withJitter returns 0.5 to 1.5 times the time', () => {
  for (let i = 0; i < 100; i++) expect(Math.abs(withJitter(100) - 100)).toBeLessThanOrEqual(50);
});

test('a semaphore limits concurrent work and starts the rest in order', async () => {
  const semaphore = new Semaphore(2);
  const started: number[] = [];
  let running = 0;
  let running_max = 0;
  const work = async (index: number): Promise<void> => {
    started.push(index);
    running_max = Math.max(running_max, ++running);
    await pause(1);
    running--;
    if (index === 1) throw new Error('failed');
  };
  await Promise.allSettled([0, 1, 2, 3, 4].map((index) => semaphore.run(() => work(index))));
  expect(running_max).toBe(2);
  expect(started).toEqual([0, 1, 2, 3, 4]);
});

describe('the size of a page', () => {
  const limits = { items_max: 500, length_max: 1_000 };

  test('grows to the maximum for small items', () => {
    const page = new PageSize(limits);
    for (let pages = 0; pages < 5; pages++) page.report(page.items, page.items);
    expect(page.items).toBe(500);
  });

  test('becomes as small as large items require, and at least one', () => {
    const page = new PageSize(limits);
    page.report(32, 32 * 100);
    expect(page.items).toBe(10);
    page.report(10, 10 * 5_000);
    expect(page.items).toBe(1);
    page.report(1, 1);
    expect(page.items).toBe(2);
  });
});

describe('turns of the event loop that several callers share', () => {
  let now_ms = 0;
  const order: string[] = [];
  const step = async (name: string, ms: number): Promise<void> => {
    await endLongTurn();
    order.push(name);
    now_ms += ms;
  };

  beforeEach(() => {
    order.length = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now_ms);
  });
  afterEach(() => jest.restoreAllMocks());

  test('a step waits for the next turn if others have held this one for too long', async () => {
    const others = nextTurn().then(() => order.push('others'));
    await step('a', 3);
    await step('b', 2);
    await step('c', 5);
    await others;
    expect(order).toEqual(['a', 'b', 'others', 'c']);
    await nextTurn();
  });

  test('a caller with many steps lets the others go first', async () => {
    const long = async (): Promise<void> => {
      for (let n = 0; n < 6; n++) await step('long', 5);
    };
    const short = async (): Promise<void> => {
      for (let n = 0; n < 2; n++) await step('short', 5);
    };
    await Promise.all([long(), short()]);
    expect(order.lastIndexOf('short')).toBeLessThanOrEqual(4);
    expect(order).toHaveLength(8);
  });
});
