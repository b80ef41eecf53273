import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { updatePublication } from '../../../services/command/publication';
import { stateSchemaOf } from '../../../shared/catalog/events/aggregate';
import { publicationAggregate } from '../../../shared/catalog/publication/publication';
import { CatalogError } from '../../../shared/kernel/errors';
import type { SnapshotStore } from '../../../shared/ports/snapshot-store';
import { load, streamIn } from '../../../shared/ports/stream-state';
import { cases } from '../../support/long';
import type { MemoryEventStore } from '../../support/memory-event-store';
import { waitFor } from '../../support/wait-for';
import { errorOf, newId, publicationWithEvents } from './support';

const environment = 'live';

/** A publication with this many events. Event `n` sets the price to `n`. */
async function longPublication(count: number) {
  const { world, id, events, stream } = await publicationWithEvents(count, (revision) => ({
    type: 'PublicationPriced',
    data: { price_currency: 'USD', price_amount: revision, price_active: true },
  }));
  /** Returns what another process has: the same log and snapshots, and nothing in memory. */
  const restarted = (replaced: Partial<SnapshotStore> = {}) => {
    const reads: number[] = [];
    const store: MemoryEventStore = Object.create(events);
    store.readStream = async (...args) => {
      const recorded = await events.readStream(...args);
      reads.push(recorded.length);
      return recorded;
    };
    Object.defineProperty(store, 'snapshots', {
      value: Object.assign(Object.create(events.snapshots), replaced),
    });
    const deps = { ...world, events: { ...world.events, live: store } };
    const patch = (price_amount: number) =>
      updatePublication(deps, world.context(), { environment, id }, { price_amount });
    const loaded = () => load(streamIn(deps, environment, publicationAggregate, id));
    const eventsRead = (): number => reads.splice(0).reduce((sum, read) => sum + read, 0);
    return { deps, patch, loaded, eventsRead };
  };
  const written = () => waitFor(() => events.snapshots.stored.get(stream) !== undefined);
  const { stored } = events.snapshots;
  return { world, id, events, stream, restarted, written, stored };
}

test('the first write after a restart reads as much of 300 events as of 5,000, after the first one', async () => {
  for (const count of [300, 5_000]) {
    const { restarted, written } = await longPublication(count);
    const first = restarted();
    await first.patch(0);
    expect(first.eventsRead()).toBe(count);
    await first.patch(1);
    expect(first.eventsRead()).toBe(1);
    await written();
    const next = restarted();
    const { value, revision } = await next.patch(2);
    expect([value.price_amount, value.version, revision]).toEqual([2, count + 3, count + 2]);
    // The first page, the event of the snapshot, and the two events after it.
    expect(next.eventsRead()).toBe(64 + 1 + 2);
  }
});

test('a repeated write that is in the snapshot is found', async () => {
  const { restarted, written, world, id } = await longPublication(300);
  const operation = { id: newId(), started_at_ms: world.now_ms, resumed: false };
  const context = { ...world.context(), operation };
  const changes = { price_amount: 7 };
  const first = await updatePublication(restarted().deps, context, { environment, id }, changes);
  const process = restarted();
  await process.patch(1);
  await written();
  await process.patch(2);
  const again = await updatePublication(restarted().deps, context, { environment, id }, changes);
  expect(again).toEqual({ ...first, repeated: true });
});

test('a short stream has no snapshot', async () => {
  const { restarted, stored } = await longPublication(250);
  const process = restarted();
  await process.patch(0);
  await process.patch(1);
  await nextTurn();
  expect(stored.size).toBe(0);
});

test('a snapshot is replaced after some hundred events, also by a process that has the stream in memory', async () => {
  const { restarted, written, stored, stream } = await longPublication(300);
  const process = restarted();
  await process.patch(0);
  await written();
  const before = stored.get(stream);
  for (let price = 1; price <= 255; price++) await process.patch(price);
  expect(stored.get(stream)).toBe(before);
  await process.patch(256);
  await process.patch(257);
  await waitFor(() => stored.get(stream) !== before);
});

test('for a snapshot at any event, the state is that of all events', async () => {
  const COUNT = 700;
  const { world, id, events, stream, restarted, stored } = await longPublication(COUNT);
  const ref = streamIn(world, environment, publicationAggregate, id);
  const expected = await load(ref);
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: COUNT - 1 }), async (revision) => {
      const later_events = events.log.splice(revision + 1);
      stored.clear();
      const { state, event_id } = await restarted().loaded();
      events.log.push(...later_events);
      const schema = stateSchemaOf(publicationAggregate);
      await events.snapshots.write(stream, {
        schema,
        revision,
        event_id: event_id!,
        state: { state, operations: [] },
      });
      const { state: loaded, revision: last, position } = await restarted().loaded();
      expect({ loaded, last, position }).toStrictEqual({
        ...{ loaded: expected.state, last: expected.revision, position: expected.position },
      });
    }),
    cases(25),
  );
});

describe('a snapshot is ignored', () => {
  type Stored = { schema: string; revision: number; event_id: string; state: unknown };
  const wrong: [string, (snapshot: Stored) => unknown][] = [
    ['if other code has folded it', (snapshot) => ({ ...snapshot, schema: 'of another release' })],
    ['if it is of another log', (snapshot) => ({ ...snapshot, event_id: newId() })],
    ['if it is beyond the end of the log', (snapshot) => ({ ...snapshot, revision: 100_000 })],
    ['if it has no state', (snapshot) => ({ ...snapshot, state: 'lost' })],
    ['if it is no snapshot', () => null],
  ];
  test.each(wrong)('%s', async (_, change) => {
    const { restarted, written, stored, stream } = await longPublication(400);
    await restarted().patch(0);
    await written();
    stored.set(stream, JSON.stringify(change(JSON.parse(stored.get(stream)!))));
    const { value } = await restarted().patch(1);
    expect([value.price_amount, value.version]).toEqual([1, 402]);
  });
});

test('a write neither waits for its snapshot nor fails with it', async () => {
  const { restarted } = await longPublication(400);
  const endless = restarted({ write: () => new Promise(() => {}) });
  expect((await endless.patch(0)).value.price_amount).toBe(0);
  const failing = restarted({ write: () => Promise.reject(new CatalogError('unavailable')) });
  expect((await failing.patch(1)).value.price_amount).toBe(1);
});

test('if the snapshots cannot be reached, the log cannot either, and the write fails as soon', async () => {
  const { restarted } = await longPublication(400);
  const process = restarted({ read: () => Promise.reject(new CatalogError('database_timeout')) });
  expect((await errorOf(() => process.patch(0))).condition).toBe('database_timeout');
});
