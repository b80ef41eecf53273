import { loadAt, streamIn, type WriteContext } from '../../../services/command/execute';
import {
  createPublication,
  deletePublication,
  recordPageViews,
  updatePublication,
} from '../../../services/command/publication';
import { streamName } from '../../../shared/catalog/events/envelope';
import { publicationAggregate } from '../../../shared/catalog/publication/publication';
import type { StoreId } from '../../../shared/kernel/ids';
import { newId, World } from './support';

const environment = 'live';
const input = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };

async function shop() {
  const world = new World();
  const target = { environment, store_id: newId<StoreId>() } as const;
  const { id } = (await createPublication(world, world.context(), target, input)).value;
  const stream = streamName(environment, 'publication', id);
  const view = (count: number, context: WriteContext = world.context()) =>
    recordPageViews(world, context, { environment, id, count });
  const patch = (price_amount: number) =>
    updatePublication(world, world.context(), { environment, id }, { price_amount });
  return { world, id, view, patch, events: world.events.live, stream };
}

test('views add up and change neither version nor updated_at', async () => {
  const { world, view, patch } = await shop();
  await view(3);
  world.now_ms += 1_000;
  await view(4);
  const { value } = await patch(1_250);
  expect(value).toMatchObject({ view_count: 7, version: 1, updated_at: value.created_at });
});

test('a batch of views that is recorded twice counts once', async () => {
  const { view, patch } = await shop();
  const operation = { id: newId(), started_at_ms: 0, resumed: false };
  const context: WriteContext = { source: 'system', request_id: operation.id, operation };
  await view(3, context);
  await view(3, { ...context, operation: { ...operation, resumed: true } });
  expect((await patch(1_250)).value.view_count).toBe(3);
});

test('views of a deleted publication are discarded', async () => {
  const { world, id, view, events } = await shop();
  await deletePublication(world, world.context(), { environment, id });
  await view(3);
  expect(events.log.map(({ type }) => type)).toEqual(['PublicationCreated', 'PublicationDeleted']);
});

test('a write to a publication with many views reads only the new events', async () => {
  const { view, patch, events, stream } = await shop();
  for (let n = 0; n < 200; n++) await view(1);
  const from: (number | undefined)[] = [];
  const readStream = events.readStream.bind(events);
  events.readStream = async (...args) => {
    if (args[0] === stream) from.push(args[1]);
    return readStream(...args);
  };
  const first = await patch(1);
  const second = await patch(2);
  expect(from).toEqual([200, 201]);
  expect([first.value.version, second.value.version, second.value.view_count]).toEqual([2, 3, 200]);
  expect(second).toMatchObject({ changed: true, position: 203n });
});

test('a write sees the events that another process appended after the cached state', async () => {
  const { world, id, view, patch, events } = await shop();
  for (let n = 0; n < 100; n++) await view(1);
  await patch(1);
  // Another event store object simulates another process, because states are cached per event store.
  const other = { ...world, events: { ...world.events, live: Object.create(events) } };
  await updatePublication(other, world.context(), { environment, id }, { title: 'Theirs' });
  const { value } = await patch(2);
  expect(value).toMatchObject({ title: 'Theirs', price_amount: 2, version: 4, view_count: 100 });
});

test('an earlier state of a long stream is read from the nearest remembered one', async () => {
  const { world, id, view, patch, events, stream } = await shop();
  await patch(1);
  for (let n = 0; n < 2_500; n++) await view(1);
  const { revision } = await patch(2);
  let read = 0;
  const readStream = events.readStream.bind(events);
  events.readStream = async (...args) => {
    const recorded = await readStream(...args);
    if (args[0] === stream) read += recorded.length;
    return recorded;
  };
  const ref = streamIn(world, environment, publicationAggregate, id);
  const viewsAt = async (at: number): Promise<unknown> => {
    const state = await loadAt(ref, at);
    return state.tag === 'present' && state.publication.view_count;
  };
  // `patch` has cached the state before its own event.
  expect([await viewsAt(revision), read]).toEqual([2_500, 1]);
  read = 0;
  // The first two events are not views.
  expect([await viewsAt(2_001), read]).toEqual([2_000, 2_002]);
  for (const at of [1_999, 1_500, 999, 1]) {
    read = 0;
    expect([await viewsAt(at), read < 32]).toEqual([at - 1, true]);
    read = 0;
    expect([await viewsAt(at), read]).toEqual([at - 1, 0]);
  }
  // Concurrent loads share what the first one read.
  read = 0;
  await Promise.all([1_015, 1_014, 1_014, 1_013, 1_014].map(viewsAt));
  expect(read).toBeLessThan(64);
  await expect(loadAt(ref, revision + 1)).rejects.toThrow('has no revision');
});
