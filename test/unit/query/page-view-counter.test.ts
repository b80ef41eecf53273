import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import {
  type PageView,
  type PageViewBatch,
  PageViewCounter,
  type PageViewCounterOptions,
} from '../../../services/query/page-view-counter';
import { packCounts } from '../../../shared/catalog/publication/packed-counts';
import { COUNTED_PUBLICATIONS_MAX } from '../../../shared/catalog/publication/page-views';
import { CatalogError } from '../../../shared/kernel/errors';
import { generateId, type PublicationId, type StoreId } from '../../../shared/kernel/ids';
import { randomFrom, Zipf } from '../../bench/catalog/random';
import { waitFor, within } from '../../support/wait-for';

const system = { now: Date.now, random: randomBytes };
const newStore = (): StoreId => generateId<StoreId>(Date.now(), randomBytes);
const SHOP = newStore();
const newPageView = (store_id = SHOP, environment: PageView['environment'] = 'live'): PageView => ({
  environment,
  store_id,
  publication_id: generateId<PublicationId>(Date.now(), randomBytes),
});

/** Returns a counter that appends to an array. `control.failureOf` decides which appends fail. */
function newCounter(options: Partial<PageViewCounterOptions> = {}) {
  const appended: PageViewBatch[] = [];
  const attempts: PageViewBatch[] = [];
  const control = { failureOf: (_batch: PageViewBatch): unknown => undefined };
  const append = async (batch: PageViewBatch): Promise<void> => {
    attempts.push(batch);
    await new Promise((resolve) => setImmediate(resolve));
    const failure = control.failureOf(batch);
    if (failure) throw failure;
    appended.push(batch);
  };
  const log = pino({ level: 'silent' });
  const counter = new PageViewCounter({ append, interval_ms: 3_600_000, system, log, ...options });
  const view = (viewed: PageView, times = 1): void => {
    for (let n = 0; n < times; n++) counter.record(viewed);
  };
  const counts = (viewed: PageView): number[] =>
    appended
      .filter(({ environment }) => environment === viewed.environment)
      .flatMap((batch) => batch.counts[viewed.publication_id] ?? []);
  return { counter, view, appended, attempts, control, counts };
}

test('views of an interval are one batch per store and environment', async () => {
  const { counter, view, appended, counts } = newCounter();
  const [a, b, elsewhere] = [newPageView(), newPageView(), newPageView(newStore())];
  const a_in_test = { ...a, environment: 'test' as const };
  view(a, 3);
  view(b);
  view(elsewhere);
  view(a_in_test, 2);
  await counter.flush();
  expect(appended).toHaveLength(3);
  view(a, 4);
  await counter.flush();
  await counter.flush();
  expect([counts(a), counts(b), counts(elsewhere), counts(a_in_test)]).toEqual([[3, 4], [1], [1], [2]]);
  expect(new Set(appended.map(({ id }) => id)).size).toBe(4);
  expect(counter.unsaved).toBe(0);
});

test('views of very many publications are several batches of a bounded size', async () => {
  const { counter, view, appended, counts } = newCounter();
  const all = Array.from({ length: 2.5 * COUNTED_PUBLICATIONS_MAX }, () => newPageView());
  for (const one of all) view(one, 2);
  await counter.flush();
  expect(appended.map((batch) => Object.keys(batch.counts).length)).toEqual([500, 500, 250]);
  for (const one of all) expect(counts(one)).toEqual([2]);
});

test('a failed batch is retried unchanged, before the later views', async () => {
  const { counter, view, attempts, control, counts } = newCounter();
  const a = newPageView();
  control.failureOf = () => new CatalogError('database_timeout');
  view(a, 3);
  await counter.flush();
  view(a, 2);
  await counter.flush();
  expect(counter.unsaved).toBe(5);
  control.failureOf = () => undefined;
  await counter.flush();
  expect(counts(a)).toEqual([3, 2]);
  expect(attempts).toHaveLength(4);
  expect(attempts.slice(0, 3)).toEqual(Array(3).fill(attempts[0]));
  expect(counter.unsaved).toBe(0);
});

test('views during a flush are not lost', async () => {
  const { counter, view, counts } = newCounter();
  const a = newPageView();
  view(a);
  const flushing = counter.flush();
  view(a, 2);
  await flushing;
  await counter.flush();
  expect(counts(a).reduce((sum, count) => sum + count)).toBe(3);
  expect(counter.unsaved).toBe(0);
});

test('a flush stops at an outage, but not at the failure of a single stream', async () => {
  const { counter, view, attempts, control, counts } = newCounter();
  const all = Array.from({ length: 100 }, () => newPageView(newStore()));
  for (const one of all) view(one);
  control.failureOf = () => new CatalogError('unavailable');
  await counter.flush();
  expect(attempts.length).toBeLessThan(50);
  control.failureOf = ({ store_id }) => store_id === all[0]?.store_id && new Error('cannot be read');
  await counter.flush();
  expect(all.map((one) => counts(one).length)).toEqual([0, ...Array(99).fill(1)]);
  expect(counter.unsaved).toBe(1);
});

test('views of more publications than the limit are dropped and reported, until views are appended', async () => {
  let dropped = 0;
  const { counter, view, control } = newCounter({ publications_max: 2, onDropped: () => dropped++ });
  const [a, b, c] = [newPageView(), newPageView(newStore()), newPageView()];
  for (const one of [a, b, c, a, c]) view(one);
  expect([counter.unsaved, dropped]).toEqual([3, 2]);
  control.failureOf = () => new CatalogError('unavailable');
  await counter.flush();
  view(c);
  expect([counter.unsaved, dropped]).toEqual([3, 3]);
  control.failureOf = () => undefined;
  await counter.flush();
  for (const one of [a, c]) view(one);
  expect([counter.unsaved, dropped]).toEqual([2, 3]);
});

test('flushes in every interval and when it stops', async () => {
  const { counter, view, counts } = newCounter({ interval_ms: 5 });
  const a = newPageView();
  counter.start();
  view(a);
  await waitFor(() => counts(a).length === 1);
  view(a, 2);
  await counter.stop(60_000);
  expect(counts(a).reduce((sum, count) => sum + count)).toBe(3);
});

test('stop appends the views of many stores at once, so that they share commits', async () => {
  let [running, most] = [0, 0];
  const append = async (): Promise<void> => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
  };
  const { counter, view } = newCounter({ append });
  for (let n = 0; n < 1_000; n++) view(newPageView(newStore()));
  await counter.flush();
  const most_beside_reads = most;
  for (let n = 0; n < 1_000; n++) view(newPageView(newStore()));
  await counter.stop(60_000);
  expect(most).toBeGreaterThan(10 * most_beside_reads);
  expect(counter.unsaved).toBe(0);
});

test('stop retries failed batches until they are appended, and ends after its timeout', async () => {
  const { counter, view, control, counts, attempts } = newCounter();
  const a = newPageView();
  control.failureOf = () => new CatalogError('unavailable');
  view(a);
  await counter.flush();
  view(a, 2);
  const stopping = counter.stop(60_000);
  await waitFor(() => attempts.length >= 3);
  control.failureOf = () => undefined;
  await within(stopping, 'the counter to stop');
  expect(counts(a)).toEqual([1, 2]);

  const stalled = newCounter({ append: () => sleep(3_600_000, undefined, { ref: false }) });
  stalled.view(a);
  await within(stalled.counter.stop(10), 'the counter to stop');
  expect(stalled.counter.unsaved).toBe(1);
});

describe('an interval ends', () => {
  /** Returns a counter whose intervals end when the test says so. */
  function newTickingCounter(options: Partial<PageViewCounterOptions> = {}) {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
    const made = newCounter({ interval_ms: 1_000, ...options });
    made.counter.start();
    const endInterval = async (): Promise<void> => {
      jest.advanceTimersByTime(1_000);
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    };
    return { ...made, endInterval };
  }
  afterEach(() => jest.useRealTimers());

  test('with few publications: their views are appended at once', async () => {
    const { view, appended, endInterval } = newTickingCounter();
    for (let n = 0; n < 10; n++) view(newPageView());
    await endInterval();
    expect(appended).toHaveLength(1);
  });

  test('with many publications: their views wait until they are worth the bytes in the log', async () => {
    const { view, appended, counter, endInterval } = newTickingCounter();
    const all = Array.from({ length: 1_000 }, () => newPageView());
    for (const one of all) view(one);
    await endInterval();
    await endInterval();
    expect(appended).toHaveLength(0);
    for (const one of all) view(one, 30);
    await endInterval();
    expect(appended).toHaveLength(2);
    expect(counter.unsaved).toBe(0);
  });

  test('for the 120th time: the views are appended at any cost', async () => {
    const { view, appended, counter, endInterval } = newTickingCounter();
    for (let n = 0; n < 10_000; n++) view(newPageView());
    for (let n = 1; n < 120; n++) await endInterval();
    expect(appended).toHaveLength(0);
    await endInterval();
    expect(counter.unsaved).toBe(0);
  });

  test('while half of the memory is used: all views are appended', async () => {
    const { view, counter, endInterval } = newTickingCounter({ publications_max: 2_000 });
    for (let n = 0; n < 999; n++) view(newPageView());
    await endInterval();
    expect(counter.unsaved).toBe(999);
    view(newPageView());
    await endInterval();
    expect(counter.unsaved).toBe(0);
  });

  test('a million views of 40,000 publications add less than 1 MB to the log', async () => {
    const { view, appended, counter, endInterval } = newTickingCounter();
    const products = Array.from({ length: 40_000 }, () => newPageView());
    const ranks = new Zipf(products.length, 0.9);
    const random = randomFrom(1);
    for (let n = 0; n < 1_000_000; n++) {
      view(products[ranks.draw(random)]!);
      if (n % 50_000 === 0) await endInterval();
    }
    await counter.stop(60_000);
    const bytes = appended.reduce((sum, { counts }) => sum + 700 + packCounts(counts).length, 0);
    expect(bytes).toBeLessThan(1_000_000);
  });
});
