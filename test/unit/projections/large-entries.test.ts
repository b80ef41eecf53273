import { partitionOf } from '../../../shared/catalog/events/partitions';
import { ALL_PARTS } from '../../../shared/ports/view-store';
import { openVersion } from '../../support/faulty-views';
import { foldBatch, PARTITIONS } from '../../support/folding';
import {
  listingCreated,
  listingId,
  play,
  publicationCreated,
  storeCreated,
  storeId,
} from '../../support/history';
import { MemoryEventStore } from '../../support/memory-event-store';

/** The maximum size of a document in MongoDB is 16 MB. */
const DOCUMENT_BYTES_MAX = 8_000_000;

test('the document of a listing with the largest publications of both visibilities stays well below 16 MB', async () => {
  // Six bytes of JSON for each character: the most that a character can take.
  const large = { description: '\u0001'.repeat(10_000), description_html: '\u0001'.repeat(50_000) };
  const events = new MemoryEventStore();
  const created = Array.from({ length: 40 }, (_, n) =>
    publicationCreated(n, { ...large, listing_id: listingId(0), visibility: n % 2 ? 'public' : 'private' }),
  ).filter(({ store_id }) => store_id === storeId(0));
  await play(events, [storeCreated(0), listingCreated(0), ...created]);
  const version = await openVersion();
  await foldBatch(version, partitionOf(storeId(0), PARTITIONS), events.log, await events.head());

  const document = (await version.get('listings', listingId(0), ALL_PARTS))?.document;
  expect(Buffer.byteLength(JSON.stringify(document))).toBeLessThan(DOCUMENT_BYTES_MAX);
  expect(Buffer.byteLength(JSON.stringify(document))).toBeGreaterThan(2_000_000);
});
