import { projectJob } from '../../../projections/engine/project';
import type { Position } from '../../../shared/catalog/events/envelope';
import { partitionOf } from '../../../shared/catalog/events/partitions';
import { openVersion } from '../../support/faulty-views';
import { cleanFold, eventsOf, expectSameDocuments, now, PARTITIONS } from '../../support/folding';
import { play, publicationCreated, storeCreated, storeId } from '../../support/history';
import { MemoryEventStore } from '../../support/memory-event-store';

const partition = partitionOf(storeId(0), PARTITIONS);

/** Returns a log of six events of one store, its documents, and functions that give jobs to workers. */
async function startPartition() {
  const events = new MemoryEventStore();
  await play(events, [storeCreated(0), ...[0, 1, 2, 3, 4].map((n) => publicationCreated(n))]);
  const version = await openVersion();
  const job = (prev: Position, last: Position) => ({
    prev,
    last,
    events: eventsOf(events.log, partition).filter(({ position }) => position > prev && position <= last),
  });
  const target = { version, partition, partition_count: PARTITIONS, events, now };
  const project = (prev: Position, last: Position) => projectJob(target, job(prev, last));
  return { events, version, project };
}

describe('a worker', () => {
  test('does nothing for a job that was delivered again, and skips the events of an overlapping one', async () => {
    const { events, version, project } = await startPartition();
    const apply = jest.spyOn(version, 'apply');
    await project(0n, 4n);
    await project(0n, 4n);
    await project(2n, 4n);
    expect(apply).toHaveBeenCalledTimes(1);
    await project(2n, 6n);
    expect(apply).toHaveBeenCalledTimes(2);
    await expectSameDocuments(version, await cleanFold(events.log));
  });

  test('reads the log after a lost job', async () => {
    const { events, version, project } = await startPartition();
    await project(0n, 2n);
    await project(4n, 6n);
    await expectSameDocuments(version, await cleanFold(events.log));
  });

  test('starts again from fresh reads if another worker has applied a batch meanwhile', async () => {
    const { events, version, project } = await startPartition();
    const apply = version.apply.bind(version);
    jest.spyOn(version, 'apply').mockImplementationOnce(async (batch) => {
      await project(0n, 2n);
      return apply(batch);
    });
    await project(0n, 6n);
    expect((await version.partition(partition)).revision).toBe(2);
    await expectSameDocuments(version, await cleanFold(events.log));
  });
});
