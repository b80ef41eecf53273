import { projectJob, WrittenCheckpoints } from '../../../projections/engine/project';
import type { Position } from '../../../shared/catalog/events/envelope';
import { partitionOf } from '../../../shared/catalog/events/partitions';
import { cleanFold, eventsOf, expectSameDocuments, now, PARTITIONS } from '../../support/folding';
import { onPublication, play, publicationCreated, storeCreated, storeId } from '../../support/history';
import { MemoryEventStore } from '../../support/memory-event-store';
import { MemoryViewVersion } from '../../support/memory-view-store';

const partition = partitionOf(storeId(0), PARTITIONS);

/** Returns a log of six events of one store, its documents, and functions that give jobs to workers. */
async function startPartition() {
  const events = new MemoryEventStore();
  await play(events, [storeCreated(0), ...[0, 1, 2, 3, 4].map((n) => publicationCreated(n))]);
  const version = new MemoryViewVersion(1, { partition_count: PARTITIONS, transactions: false });
  const reads = jest.spyOn(version, 'partition');
  const job = (prev: Position, last: Position) => ({
    prev,
    last,
    events: eventsOf(events.log, partition).filter(({ position }) => position > prev && position <= last),
  });
  const startWorker = () => {
    const target = { version, partition, partition_count: PARTITIONS, events, now };
    const written = new WrittenCheckpoints();
    return (prev: Position, last: Position) => projectJob({ ...target, written }, job(prev, last));
  };
  return { events, version, reads, startWorker };
}

describe('a worker', () => {
  test('reads the state of a partition only before the first of several jobs', async () => {
    const { events, version, reads, startWorker } = await startPartition();
    const project = startWorker();
    await project(0n, 2n);
    await project(2n, 3n);
    await project(3n, 6n);
    expect(reads).toHaveBeenCalledTimes(1);
    await expectSameDocuments(version, await cleanFold(events.log));
  });

  test('starts again from fresh reads if another worker took the jobs between', async () => {
    const { events, version, reads, startWorker } = await startPartition();
    const [project, projectElsewhere] = [startWorker(), startWorker()];
    await project(0n, 2n);
    await projectElsewhere(2n, 4n);
    // The first worker gets the job of the other one again, and then the next one.
    await project(2n, 4n);
    await project(4n, 6n);
    expect(await version.checkpoint(partition)).toBe(6n);
    expect(reads.mock.calls.length).toBeGreaterThan(2);
    await expectSameDocuments(version, await cleanFold(events.log));
  });

  test('reads the log after a lost job', async () => {
    const { events, version, startWorker } = await startPartition();
    const project = startWorker();
    await project(0n, 2n);
    await project(4n, 6n);
    await expectSameDocuments(version, await cleanFold(events.log));
  });

  test('reads the state again after a dead letter, so that it notices a retry', async () => {
    const { events, reads, startWorker } = await startPartition();
    await play(events, [onPublication(0, 'PublicationDeleted', {})]);
    events.amend(7n, { type: 'FromTheFuture' });
    const project = startWorker();
    await project(0n, 7n);
    await play(events, [publicationCreated(5)]);
    await project(7n, 8n);
    expect(reads).toHaveBeenCalledTimes(2);
  });

  test('compares the stored checkpoint if it is woken, because the stored one may have been restored', async () => {
    const { reads, startWorker } = await startPartition();
    const project = startWorker();
    await project(0n, 6n);
    await project(6n, 6n);
    expect(reads).toHaveBeenCalledTimes(2);
  });
});
