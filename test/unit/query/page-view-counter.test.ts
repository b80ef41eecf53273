import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import {
  type PageView,
  type PageViewBatch,
  PageViewCounter,
  type PageViewCounterOptions,
} from '../../../services/query/page-view-counter';
import { CatalogError } from '../../../shared/kernel/errors';
import { generateId, type PublicationId } from '../../../shared/kernel/ids';
import { waitFor, within } from '../../support/wait-for';

const system = { now: Date.now, random: randomBytes };
const newPageView = (environment: PageView['environment'] = 'live'): PageView => ({
  environment,
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
      .filter(
        (batch) => batch.publication_id === viewed.publication_id && batch.environment === viewed.environment,
      )
      .map(({ count }) => count);
  return { counter, view, appended, attempts, control, counts };
}

test('views of an interval are one batch per publication and environment', async () => {
  const { counter, view, appended, counts } = newCounter();
  const [a, b] = [newPageView(), newPageView()];
  const a_in_test = { ...a, environment: 'test' as const };
  view(a, 3);
  view(b);
  view(a_in_test, 2);
  await counter.flush();
  view(a, 4);
  await counter.flush();
  await counter.flush();
  expect([counts(a), counts(b), counts(a_in_test)]).toEqual([[3, 4], [1], [2]]);
  expect(new Set(appended.map(({ id }) => id)).size).toBe(4);
  expect(counter.unsaved).toBe(0);
});

test('a failed batch is retried unchanged; later views wait for the next batch', async () => {
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
  expect(counts(a)).toEqual([3]);
  await counter.flush();
  expect(counts(a)).toEqual([3, 2]);
  expect(attempts.map(({ retried }) => retried)).toEqual([false, true, true, false]);
  expect(new Set(attempts.slice(0, 3).map(({ id }) => id)).size).toBe(1);
});

test('views during a flush are not lost', async () => {
  const { counter, view, counts } = newCounter();
  const a = newPageView();
  view(a);
  const flushing = counter.flush();
  view(a, 2);
  await flushing;
  await counter.flush();
  expect(counts(a)).toEqual([1, 2]);
});

test('a flush stops at an outage, but not at the failure of a single stream', async () => {
  const { counter, view, attempts, control, counts } = newCounter();
  const all = Array.from({ length: 100 }, () => newPageView());
  for (const one of all) view(one);
  control.failureOf = () => new CatalogError('unavailable');
  await counter.flush();
  expect(attempts.length).toBeLessThan(50);
  control.failureOf = ({ publication_id }) =>
    publication_id === all[0]?.publication_id && new Error('cannot be read');
  await counter.flush();
  expect(all.map((one) => counts(one).length)).toEqual([0, ...Array(99).fill(1)]);
  expect(counter.unsaved).toBe(1);
});

test('views of more publications than the limit are dropped and reported', async () => {
  let dropped = 0;
  const { counter, view } = newCounter({ publications_max: 2, onDropped: () => dropped++ });
  const [a, b, c] = [newPageView(), newPageView(), newPageView()];
  for (const one of [a, b, c, a, c]) view(one);
  expect([counter.unsaved, dropped]).toEqual([3, 2]);
  await counter.flush();
  view(c);
  expect(counter.unsaved).toBe(1);
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

test('stop retries failed batches, and ends after its timeout', async () => {
  const { counter, view, control, counts } = newCounter();
  const a = newPageView();
  control.failureOf = () => new CatalogError('unavailable');
  view(a);
  await counter.flush();
  view(a, 2);
  control.failureOf = () => undefined;
  await counter.stop(60_000);
  expect(counts(a)).toEqual([1, 2]);

  const stalled = newCounter({ append: () => sleep(3_600_000, undefined, { ref: false }) });
  stalled.view(a);
  await within(stalled.counter.stop(10), 'the counter to stop');
  expect(stalled.counter.unsaved).toBe(1);
});
