import fc from 'fast-check';
import { PartitionRun } from '../../../projections/engine/run';
import { openVersion } from '../../support/faulty-views';
import { eventsOf, now, PARTITIONS } from '../../support/folding';
import { historyOf, play } from '../../support/history';
import { SEED } from '../../support/long';
import { MemoryEventStore } from '../../support/memory-event-store';

test('other work of the process runs while a large batch is folded', async () => {
  const events = new MemoryEventStore();
  const [steps] = fc.sample(historyOf(3_000), { numRuns: 1, seed: SEED });
  await play(events, steps!);
  const version = await openVersion();
  const batches = Array.from({ length: PARTITIONS }, (_, partition) => eventsOf(events.log, partition));
  const largest = batches.toSorted((a, b) => b.length - a.length)[0]!;
  const partition = batches.indexOf(largest);
  const state = await version.partition(partition);
  const options = { version, partition, poison: 'throw' as const, now };
  let turns = 0;
  const other = setInterval(() => turns++, 1);
  try {
    await new PartitionRun(state, options).take(largest);
    // Without slices, folding these events takes some 100 ms in which no timer runs.
    expect(turns).toBeGreaterThan(2);
  } finally {
    clearInterval(other);
  }
});
