import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import {
  type PageView,
  type PageViewBatch,
  PageViewCounter,
  type PageViewCounterOptions,
} from '../../../services/query/page-view-counter';
import { COUNTED_PUBLICATIONS_MAX } from '../../../shared/catalog/publication/page-views';
import { CatalogError } from '../../../shared/kernel/errors';
import { generateId, type PublicationId, type StoreId } from '../../../shared/kernel/ids';
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

test('appends every view at the end of the interval, however many publications were viewed', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
  try {
    const { counter, view, counts } = newCounter({ interval_ms: 60_000 });
    counter.start();
    const all = Array.from({ length: 10_000 }, () => newPageView());
    for (const one of all) view(one);
    jest.advanceTimersByTime(60_000);
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(counter.unsaved).toBe(0);
    expect(counts(all[0]!)).toEqual([1]);
  } finally {
    jest.useRealTimers();
  }
});
