import { UnitOfWork } from '../../../projections/engine/unit-of-work';
import type { CollectionName } from '../../../shared/catalog/documents';
import { streamName } from '../../../shared/catalog/events/envelope';
import { cleanFold } from '../../support/folding';
import { listingCreated, listingId, play, storeCreated, storeId } from '../../support/history';
import { MemoryEventStore } from '../../support/memory-event-store';

/** The listing of the second store (`test/support/history.ts`). */
const OTHER_LISTING = 3;

test('a dead letter is recorded in documents of its own store, not in others that are loaded with it', async () => {
  const events = new MemoryEventStore();
  await play(events, [storeCreated(0), storeCreated(1), listingCreated(0), listingCreated(OTHER_LISTING)]);
  const version = await cleanFold(events.log, 1);
  const stream = streamName('live', 'publication', '1');
  const unit = new UnitOfWork(version, { dead_letters: new Map([[stream, {}]]) });
  await unit.load('stores', [storeId(0), storeId(1)]);
  await unit.load('listings', [listingId(0), listingId(OTHER_LISTING)]);
  const other = await version.get('listings', listingId(OTHER_LISTING));
  expect(other?.document?.keys.store_id).toBe(storeId(1));

  const metadata = { ...events.log[0]!.metadata, partition_key: storeId(0) };
  unit.recordIncluded({ stream, position: 1n, metadata });

  const changed = (collection: CollectionName) => [...unit.changedDocuments(collection)].map(({ id }) => id);
  expect(changed('stores')).toEqual([storeId(0)]);
  expect(changed('listings')).toEqual([listingId(0)]);
});
