import { Batcher, backoff, pause, Semaphore, withJitter, withTimeout } from '../../../shared/kernel/async';

/** Answers each question in capitals, and keeps what was asked together. */
function capitals(questions_max = 100) {
  const asked: string[][] = [];
  const batcher = new Batcher(async (questions: readonly string[]) => {
    asked.push([...questions]);
    if (questions.includes('fail')) throw new Error('away');
    return questions.map((question) => question.toUpperCase());
  }, questions_max);
  return { asked, batcher };
}

test('what is asked in one turn of the event loop is asked together, each with its own answer', async () => {
  const { asked, batcher } = capitals();
  expect(await Promise.all(['a', 'b', 'a'].map((question) => batcher.load('x', question)))).toEqual([
    'A',
    'B',
    'A',
  ]);
  expect(await batcher.load('x', 'later')).toBe('LATER');
  expect(asked).toEqual([['a', 'b', 'a'], ['later']]);
});

test('what has another name is asked apart', async () => {
  const { asked, batcher } = capitals();
  await Promise.all([batcher.load('x', 'a'), batcher.load('y', 'b'), batcher.load('x', 'c')]);
  expect(asked).toEqual([['a', 'c'], ['b']]);
});

test('no more are asked together than may be', async () => {
  const { asked, batcher } = capitals(2);
  const answers = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((question) => batcher.load('x', question)));
  expect(answers).toEqual(['A', 'B', 'C', 'D', 'E']);
  expect(asked).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
});

test('a failure is told to all that asked, and to nobody who asks later', async () => {
  const { batcher } = capitals();
  const outcomes = await Promise.allSettled([batcher.load('x', 'fail'), batcher.load('x', 'a')]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await batcher.load('x', 'a')).toBe('A');
});

describe('pause', () => {
  test('ends early, without an error, when the signal aborts', async () => {
    const stop = new AbortController();
    const pausing = pause(60_000, stop.signal);
    stop.abort();
    await pausing;
    await pause(60_000, stop.signal);
  });
});

describe('withTimeout', () => {
  const never = new Promise<string>(() => {});

  test('settles as the work does', async () => {
    expect(await withTimeout(Promise.resolve('done'), 60_000, () => 'late')).toBe('done');
    const failing = withTimeout(Promise.reject(new Error('away')), 60_000, () => 'late');
    await expect(failing).rejects.toThrow('away');
  });

  test('gives or throws what the caller says after the time, and ignores a later failure of the work', async () => {
    const failing = new Promise<string>((_, reject) => setTimeout(() => reject(new Error('too late')), 5));
    expect(await withTimeout(failing, 1, () => 'late')).toBe('late');
    await pause(10);
    const fail = (): never => {
      throw new Error('silent');
    };
    await expect(withTimeout(never, 1, fail)).rejects.toThrow('silent');
  });

  test('ends when the signal aborts, also where it had aborted before', async () => {
    const stop = new AbortController();
    const waiting = withTimeout(never, 60_000, () => 'stopped', stop.signal);
    stop.abort();
    expect(await waiting).toBe('stopped');
    expect(await withTimeout(never, 60_000, () => 'stopped', stop.signal)).toBe('stopped');
  });
});

test('a back-off doubles up to its limit', () => {
  const wait_ms = backoff(50, 300);
  expect([1, 2, 3, 4, 5, 2_000].map(wait_ms)).toEqual([50, 100, 200, 300, 300, 300]);
});

test('jitter keeps within half and one and a half', () => {
  for (let i = 0; i < 100; i++) expect(Math.abs(withJitter(100) - 100)).toBeLessThanOrEqual(50);
});

test('a semaphore runs so many at once, the others in the order in which they came', async () => {
  const semaphore = new Semaphore(2);
  const begun: number[] = [];
  let running = 0;
  let most = 0;
  const work = async (index: number): Promise<void> => {
    begun.push(index);
    most = Math.max(most, ++running);
    await pause(1);
    running--;
    if (index === 1) throw new Error('failed');
  };
  await Promise.allSettled([0, 1, 2, 3, 4].map((index) => semaphore.run(() => work(index))));
  expect(most).toBe(2);
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});
