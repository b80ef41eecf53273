import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import {
  type ViewBatch,
  ViewCounter,
  type ViewCounterOptions,
  type Viewed,
} from '../../../services/query/view-counter';
import { CatalogError } from '../../../shared/kernel/errors';
import { generateId, type PublicationId } from '../../../shared/kernel/ids';
import { waitFor } from '../../support/wait-for';

const system = { now: Date.now, random: randomBytes };
const some = (environment: Viewed['environment'] = 'live'): Viewed => ({
  environment,
  publication_id: generateId<PublicationId>(Date.now(), randomBytes),
});

/** A log that takes batches, or fails as `fails` says. */
function counting(options: Partial<ViewCounterOptions> = {}) {
  const taken: ViewBatch[] = [];
  const tried: ViewBatch[] = [];
  const given = { fails: (_batch: ViewBatch): unknown => undefined };
  const append = async (batch: ViewBatch): Promise<void> => {
    tried.push(batch);
    await new Promise((resolve) => setImmediate(resolve));
    const failure = given.fails(batch);
    if (failure) throw failure;
    taken.push(batch);
  };
  const log = pino({ level: 'silent' });
  const counter = new ViewCounter({ append, interval_ms: 3_600_000, system, log, ...options });
  const view = (viewed: Viewed, times = 1): void => {
    for (let n = 0; n < times; n++) counter.record(viewed);
  };
  const counts = (viewed: Viewed): number[] =>
    taken
      .filter(
        (batch) => batch.publication_id === viewed.publication_id && batch.environment === viewed.environment,
      )
      .map(({ count }) => count);
  return { counter, view, taken, tried, given, counts };
}

test('views of an interval are one batch per publication and environment', async () => {
  const { counter, view, taken, counts } = counting();
  const [a, b] = [some(), some()];
  const a_in_test = { ...a, environment: 'test' as const };
  view(a, 3);
  view(b);
  view(a_in_test, 2);
  await counter.flush();
  view(a, 4);
  await counter.flush();
  await counter.flush();
  expect([counts(a), counts(b), counts(a_in_test)]).toEqual([[3, 4], [1], [2]]);
  expect(new Set(taken.map(({ id }) => id)).size).toBe(4);
  expect(counter.views).toBe(0);
});

test('a batch that failed is tried again as it was; what was counted since waits for the next', async () => {
  const { counter, view, tried, given, counts } = counting();
  const a = some();
  given.fails = () => new CatalogError('database_timeout');
  view(a, 3);
  await counter.flush();
  view(a, 2);
  await counter.flush();
  expect(counter.views).toBe(5);
  given.fails = () => undefined;
  await counter.flush();
  expect(counts(a)).toEqual([3]);
  await counter.flush();
  expect(counts(a)).toEqual([3, 2]);
  expect(tried.map(({ retried }) => retried)).toEqual([false, true, true, false]);
  expect(new Set(tried.slice(0, 3).map(({ id }) => id)).size).toBe(1);
});

test('views during a flush are not lost', async () => {
  const { counter, view, counts } = counting();
  const a = some();
  view(a);
  const flushing = counter.flush();
  view(a, 2);
  await flushing;
  await counter.flush();
  expect(counts(a)).toEqual([1, 2]);
});

test('a store that is down is not asked for every publication; a stream that fails holds up no other', async () => {
  const { counter, view, tried, given, counts } = counting();
  const all = Array.from({ length: 100 }, () => some());
  for (const one of all) view(one);
  given.fails = () => new CatalogError('unavailable');
  await counter.flush();
  expect(tried.length).toBeLessThan(50);
  given.fails = ({ publication_id }) =>
    publication_id === all[0]?.publication_id && new Error('cannot be read');
  await counter.flush();
  expect(all.map((one) => counts(one).length)).toEqual([0, ...Array(99).fill(1)]);
  expect(counter.views).toBe(1);
});

test('the buffer is bounded: views of one publication too many are dropped, and told of', async () => {
  let dropped = 0;
  const { counter, view } = counting({ publications_max: 2, onDropped: () => dropped++ });
  const [a, b, c] = [some(), some(), some()];
  for (const one of [a, b, c, a, c]) view(one);
  expect([counter.views, dropped]).toEqual([3, 2]);
  await counter.flush();
  view(c);
  expect(counter.views).toBe(1);
});

test('it flushes by itself, and what is left when it stops', async () => {
  const { counter, view, counts } = counting({ interval_ms: 5 });
  const a = some();
  counter.start();
  view(a);
  await waitFor(() => counts(a).length === 1);
  view(a, 2);
  await counter.stop(60_000);
  expect(counts(a).reduce((sum, count) => sum + count)).toBe(3);
});

test('a stop hands on what had failed before as well, and does not wait for ever', async () => {
  const { counter, view, given, counts } = counting();
  const a = some();
  given.fails = () => new CatalogError('unavailable');
  view(a);
  await counter.flush();
  view(a, 2);
  given.fails = () => undefined;
  await counter.stop(60_000);
  expect(counts(a)).toEqual([1, 2]);

  const stuck = counting({ append: () => sleep(60_000, undefined, { ref: false }) });
  stuck.view(a);
  await stuck.counter.stop(10);
  expect(stuck.counter.views).toBe(1);
});
