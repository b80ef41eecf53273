import { START, type StreamName } from '../../shared/catalog/events/envelope';
import { type EventStore, NO_STREAM } from '../../shared/ports/event-store';
import type { Snapshot, SnapshotStore } from '../../shared/ports/snapshot-store';
import { bounded } from '../support/bounded';
import { readLogBatches } from '../support/read-log';
import { within } from '../support/wait-for';
import type { EventStoreUnderTest } from './event-store.contract';
import { aStream, someEvents } from './some-events';

const aSnapshot = (revision: number, state: object = { tag: 'present', text: '漢字 🛒' }): Snapshot => ({
  ...{ schema: 'a', revision, event_id: `event ${revision}`, state },
});

/** Tests what the snapshots of every event store guarantee (shared/ports/snapshot-store.ts). */
export function eventSnapshotsContract(name: string, open: () => Promise<EventStoreUnderTest>): void {
  describe(`snapshots on ${name}`, () => {
    let under_test: EventStoreUnderTest;
    const snapshotsOf = (store: EventStore): SnapshotStore => bounded(store.snapshots!, 'snapshots');
    let snapshots: SnapshotStore;
    let stream: StreamName;

    beforeEach(async () => {
      under_test = await open();
      snapshots = snapshotsOf(under_test.store);
      stream = aStream();
    });
    afterEach(() => within(under_test.dispose(), 'everything under test to close'));

    test('a stream has none until one is written', async () => {
      expect(await snapshots.read(stream)).toBeUndefined();
      await snapshots.write(stream, aSnapshot(7));
      expect(await snapshots.read(stream)).toEqual(aSnapshot(7));
      expect(await snapshots.read(aStream())).toBeUndefined();
    });

    test('the last written one replaces the others, also in another process', async () => {
      const other = snapshotsOf(await under_test.openAnother());
      await snapshots.write(stream, aSnapshot(300));
      await other.write(stream, aSnapshot(600));
      expect(await snapshots.read(stream)).toEqual(aSnapshot(600));
      // A log that was restored from a back-up is shorter than before.
      await snapshots.write(stream, aSnapshot(10));
      expect(await other.read(stream)).toEqual(aSnapshot(10));
    });

    test('they are no part of the stream and of the log', async () => {
      const { store } = under_test;
      await store.append(stream, NO_STREAM, someEvents(2));
      await snapshots.write(stream, aSnapshot(1));
      await snapshots.write(stream, aSnapshot(1));
      await store.append(stream, 1, someEvents(1));
      expect(await store.readStream(stream)).toHaveLength(3);
      const { events, last } = await readLogBatches(store, START);
      expect(events.map(({ revision }) => revision)).toEqual([0, 1, 2]);
      expect(last.position).toBeGreaterThanOrEqual(await store.head());
    });
  });
}
