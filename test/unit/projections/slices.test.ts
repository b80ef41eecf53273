import timers from 'node:timers/promises';
import { PartitionRun } from '../../../projections/engine/run';
import { partitionOf } from '../../../shared/catalog/events/partitions';
import { openVersion } from '../../support/faulty-views';
import { eventsOf, now, PARTITIONS } from '../../support/folding';
import { play, publicationCreated, storeCreated, storeId } from '../../support/history';
import { MemoryEventStore } from '../../support/memory-event-store';

const EVENTS = 50;

test('other work of the process gets a turn while a batch is folded that takes long', async () => {
  const events = new MemoryEventStore();
  await play(events, [storeCreated(0), ...Array.from({ length: EVENTS }, (_, n) => publicationCreated(n))]);
  const version = await openVersion();
  const partition = partitionOf(storeId(0), PARTITIONS);
  const state = await version.partition(partition);
  const batch = eventsOf(events.log, partition);
  const run = new PartitionRun(state, { version, partition, poison: 'throw', now });
  // Each look at the clock is much later than the one before, as if each event took long.
  let now_ms = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => (now_ms += 1_000));
  const turns = jest.spyOn(timers, 'setImmediate');
  try {
    await run.take(batch);
    expect(batch.length).toBeGreaterThan(EVENTS / 2);
    expect(turns.mock.calls.length).toBeGreaterThan(batch.length / 2);
  } finally {
    clock.mockRestore();
    turns.mockRestore();
  }
});
