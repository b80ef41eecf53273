import fc from 'fast-check';
import { type CountedPageViews, PageViewLog } from '../../../services/command/page-views';
import { pageViewStream, unpackCounts } from '../../../shared/catalog/publication/page-views';
import { CatalogError } from '../../../shared/kernel/errors';
import type { StoreId } from '../../../shared/kernel/ids';
import type { EventStore } from '../../../shared/ports/event-store';
import { cases } from '../../support/long';
import { MemoryEventStore } from '../../support/memory-event-store';
import { errorOf, NOW_MS, newId, World } from './support';

const environment = 'live';
const store_id = newId<StoreId>();
/** Short names of publications, so that the tests can be read. */
const idOf = (name: string): string =>
  `00000000-0000-7000-8000-${Buffer.from(name).toString('hex').padStart(12, '0')}`;
const nameOf = (id: string): string => Buffer.from(id.slice(-12), 'hex').toString().replaceAll('\0', '');
const views = (counts: Record<string, number>, counted_at_ms = NOW_MS): CountedPageViews => ({
  ...{ id: newId(), environment, store_id, counted_at_ms },
  counts: Object.fromEntries(Object.entries(counts).map(([name, count]) => [idOf(name), count])),
});

/** What happens to an append: it succeeds, fails before it is stored, or is stored and fails. */
type Fate = 'succeeds' | 'fails' | 'is stored and fails';

/** A process with a log of page views of its own, on the log that all processes share. */
function processOn(shared: MemoryEventStore, fateOfNext: () => Fate = () => 'succeeds'): PageViewLog {
  const store = Object.create(shared) as EventStore;
  store.append = async (...args) => {
    const fate = fateOfNext();
    if (fate === 'fails') throw new CatalogError('unavailable');
    const result = await shared.append(...args);
    if (fate === 'is stored and fails') throw new CatalogError('database_timeout');
    return result;
  };
  return new PageViewLog({ events: { live: store, test: store } });
}

/** Returns the sum of all stored counts, by publication. */
function totalsOf({ log }: MemoryEventStore): Record<string, number> {
  const totals: Record<string, number> = {};
  for (const { data } of log)
    for (const [id, count] of Object.entries(unpackCounts(String(data.counts))))
      totals[nameOf(id)] = (totals[nameOf(id)] ?? 0) + count;
  return totals;
}

test('views are one event in the stream of their store and UTC day', async () => {
  const { events } = new World();
  const page_views = new PageViewLog({ events });
  const late_evening_ms = Date.UTC(2026, 10, 22, 23, 59, 59, 999);
  const last = views({ a: 3, b: 1 }, late_evening_ms);
  await page_views.append(last);
  await page_views.append(views({ a: 1 }, late_evening_ms + 1));
  expect(events.live.log.map(({ stream }) => stream)).toEqual([
    `live.views-${store_id}-2026-11-22`,
    `live.views-${store_id}-2026-11-23`,
  ]);
  expect(events.live.log[0]).toMatchObject({
    ...{ id: last.id, type: 'PageViewsCounted' },
    metadata: { occurred_at: '2026-11-22T23:59:59.999Z', partition_key: store_id, store_id },
  });
  expect(totalsOf(events.live)).toEqual({ a: 4, b: 1 });
});

test('a new process appends after the events of others, and then at the revision that it knows', async () => {
  const shared = new MemoryEventStore();
  for (let n = 0; n < 5; n++) await processOn(shared).append(views({ a: 1 }));
  const appends = jest.spyOn(shared, 'append');
  const page_views = processOn(shared);
  await page_views.append(views({ a: 1 }));
  await page_views.append(views({ a: 1 }));
  expect(appends.mock.calls.map(([, expected]) => expected)).toEqual([-1, 4, 5]);
  expect(totalsOf(shared)).toEqual({ a: 7 });
});

test('a stored event whose append failed is not appended again, also after events of another process', async () => {
  const shared = new MemoryEventStore();
  const fates: Fate[] = ['is stored and fails', 'fails', 'succeeds'];
  const page_views = processOn(shared, () => fates.shift()!);
  const batch = views({ a: 3 });
  await errorOf(() => page_views.append(batch));
  await processOn(shared).append(views({ a: 10 }));
  await errorOf(() => page_views.append(batch));
  await page_views.append(batch);
  expect(totalsOf(shared)).toEqual({ a: 13 });
});

test('an append that always loses the race rejects, and is stored once by a later one', async () => {
  const shared = new MemoryEventStore();
  const other = processOn(shared);
  let is_contested = true;
  const store = Object.create(shared) as EventStore;
  store.append = async (...args) => {
    if (is_contested) await other.append(views({ a: 1 }));
    return shared.append(...args);
  };
  const page_views = new PageViewLog({ events: { live: store, test: store } });
  const batch = views({ b: 5 });
  expect((await errorOf(() => page_views.append(batch))).condition).toBe('lost_race');
  is_contested = false;
  await page_views.append(batch);
  expect(totalsOf(shared).b).toBe(5);
});

test('for any failures of any number of processes, every view is stored once', async () => {
  const fate = fc.constantFrom<Fate>('succeeds', 'fails', 'is stored and fails');
  const steps = fc.array(fc.record({ process: fc.nat({ max: 3 }), fate }), { maxLength: 60, size: 'max' });
  await fc.assert(
    fc.asyncProperty(steps, async (chosen) => {
      const shared = new MemoryEventStore();
      let next: Fate = 'succeeds';
      const processes = [0, 1, 2, 3].map((n) => ({
        page_views: processOn(shared, () => next),
        batch: views({ [`p${n}`]: 1 }),
        stored: 0,
      }));
      const attempt = async (process: (typeof processes)[number], key: string): Promise<void> => {
        try {
          await process.page_views.append(process.batch);
          process.stored++;
          process.batch = views({ [key]: 1 });
        } catch (error) {
          expect(error).toBeInstanceOf(CatalogError);
        }
      };
      for (const step of chosen) {
        next = step.fate;
        await attempt(processes[step.process]!, `p${step.process}`);
      }
      next = 'succeeds';
      for (const [n, process] of processes.entries()) await attempt(process, `p${n}`);
      expect(totalsOf(shared)).toEqual(
        Object.fromEntries(processes.map(({ stored }, n) => [`p${n}`, stored])),
      );
      expect(new Set(shared.log.map(({ stream }) => stream))).toEqual(
        new Set([pageViewStream(environment, store_id, NOW_MS)]),
      );
    }),
    cases(),
  );
});
