import type { WriteContext } from '../../../services/command/execute';
import { updatePublication } from '../../../services/command/publication';
import { CatalogError } from '../../../shared/kernel/errors';
import { errorOf, NOW_MS, newId, publicationWithEvents } from './support';

const environment = 'live';

/** A publication whose stream has this many events that an earlier process appended. */
async function longPublication(count: number) {
  const viewed = { type: 'PublicationViewed', data: { count: 1 } } as const;
  const { world, id, events, stream } = await publicationWithEvents(count, () => viewed);
  const reads: { from: number; count: number | undefined }[] = [];
  const readStream = events.readStream.bind(events);
  const control = { failsFrom: Number.POSITIVE_INFINITY };
  events.readStream = async (name, from = 0, limit) => {
    if (name === stream) reads.push({ from, count: limit });
    if (from >= control.failsFrom) throw new CatalogError('database_timeout');
    return readStream(name, from, limit);
  };
  const patch = (price_amount: number, context: WriteContext = world.context()) =>
    updatePublication(world, context, { environment, id }, { price_amount });
  return { world, id, events, stream, reads, control, patch };
}

const operation = (resumed = false) => ({ id: newId(), started_at_ms: NOW_MS, resumed });

test('a long stream is read in pages, and later writes read only the new events', async () => {
  const { patch, reads } = await longPublication(3_000);
  const { value, revision } = await patch(1);
  expect([value.view_count, value.price_amount, revision]).toEqual([2_999, 1, 3_000]);
  expect(reads.length).toBeGreaterThan(3);
  for (const { count } of reads) expect(count).toBeLessThanOrEqual(512);
  reads.length = 0;
  await patch(2);
  expect(reads).toEqual([{ from: 3_000, count: 64 }]);
});

test('a write that failed on the way to the end of a long stream leaves its pages to the next one', async () => {
  const { patch, reads, control } = await longPublication(3_000);
  control.failsFrom = 2_000;
  expect((await errorOf(() => patch(1))).condition).toBe('database_timeout');
  const reached = reads.at(-1)!.from;
  expect(reached).toBeGreaterThan(1_000);
  control.failsFrom = Number.POSITIVE_INFINITY;
  reads.length = 0;
  expect((await patch(1)).value.view_count).toBe(2_999);
  expect(reads[0]!.from).toBe(reached);
});

test('a repeated write finds its events among the newest of a long stream', async () => {
  const { world, patch, reads } = await longPublication(3_000);
  const context = { source: 'api', request_id: 'first', operation: operation() } as const;
  const first = await patch(7, context);
  for (let price = 8; price < 100; price++) await patch(price);
  reads.length = 0;
  const again = await patch(7, { ...context, operation: { ...context.operation, resumed: true } });
  expect(again).toEqual({ ...first, repeated: true });
  expect(again.value.price_amount).toBe(7);
  for (const { count } of reads) expect(count).toBeLessThanOrEqual(512);
  expect(world.events.live.log.filter(({ metadata }) => metadata.operation_id !== undefined)).toHaveLength(1);
});

test('a write sees the events that another process appended after the cached state', async () => {
  const { world, id, patch, events } = await longPublication(101);
  await patch(1);
  // Another event store object simulates another process, because states are cached per event store.
  const other = { ...world, events: { ...world.events, live: Object.create(events) } };
  await updatePublication(other, world.context(), { environment, id }, { title: 'Theirs' });
  const { value } = await patch(2);
  expect(value).toMatchObject({ title: 'Theirs', price_amount: 2, version: 4, view_count: 100 });
});

test('a write to a stream that is shorter than before, in a restored copy of the log, reads it again', async () => {
  const { world, patch } = await longPublication(101);
  for (const price of [1, 2, 3]) await patch(price);
  world.events.live.log.splice(-2);
  expect(await patch(4)).toMatchObject({ revision: 102, value: { price_amount: 4, version: 3 } });
});
