import type { CollectionName, Key, StoredDocument, ViewDocument } from '../../shared/catalog/documents';
import type { Position } from '../../shared/catalog/events/envelope';
import { greatest } from '../../shared/catalog/events/positions';
import type { DocumentWrite, ViewVersion, WriteBatch } from '../../shared/ports/view-store';
import { untilAnswered } from '../support/wait-for';

const PUBLICATION_KEYS: Record<string, Key> = {
  store_id: 'store-1',
  listing_id: 'listing-1',
  visibility: 'public',
  featured_rank: 1_000_000,
  created_at: '2026-01-31T12:00:00.000Z',
  price_up: 1_000,
  price_down: 1_000,
  price_max: 1_000,
  varies_in: null,
  name_fold: 'a name',
  rating_rank: 1_769_860_800_000,
  free_shipping: 0,
  in_stock: 1,
  external_id: null,
  due_at: null,
  places: null,
  deleted_in: null,
  deleted_at: null,
  has_discount: 0,
  has_media: 0,
  scheduled: 0,
  version: 0,
};

/** Returns a publication's document with these keys and default values for the others. */
export function aPublication(keys: Record<string, Key> = {}, body: ViewDocument['body'] = {}): ViewDocument {
  return {
    keys: { ...PUBLICATION_KEYS, ...keys },
    body: { object: 'publication', ...body },
    state: { publication: { version: 1 } },
    expansions: { media: [] },
  };
}

export function aWrite(
  collection: CollectionName,
  id: string,
  position: Position,
  document: ViewDocument | null,
): DocumentWrite {
  return { collection, id, position, document };
}

/** Writes documents in partition 0, and moves its checkpoint to the newest of their positions. */
export const put = (version: ViewVersion, ...writes: DocumentWrite[]): Promise<void> =>
  putIn(version, 0, writes);

/** The same for documents of another partition. */
export async function putIn(
  version: ViewVersion,
  partition: number,
  writes: readonly DocumentWrite[],
): Promise<void> {
  const batch = await nextBatch(version, { partition, writes });
  const checkpoint = greatest([batch.checkpoint, ...writes.map(({ position }) => position)]);
  let is_repeated = false;
  const outcome = await untilAnswered(async () => {
    // A server that does not answer in time may have decided the batch. Reading the partition then completes it.
    if (is_repeated && (await version.partition(partition)).revision > batch.revision) return 'applied';
    is_repeated = true;
    return version.apply({ ...batch, checkpoint });
  });
  if (outcome !== 'applied') throw new Error(`the documents were not written: ${outcome}`);
}

/** Returns a batch that follows the state of its partition. By default, it changes nothing in partition 0. */
export async function nextBatch(version: ViewVersion, batch: Partial<WriteBatch>): Promise<WriteBatch> {
  const { partition = 0 } = batch;
  const { checkpoint, revision } = await version.partition(partition);
  return { partition, revision, checkpoint, writes: [], ...batch };
}

/** Returns a batch. By default, it is the first one of partition 0 and moves its checkpoint to 1. */
export const aBatch = (batch: Partial<WriteBatch>): WriteBatch => ({
  partition: 0,
  revision: 0,
  checkpoint: 1n,
  writes: [],
  ...batch,
});

export const idsOf = (documents: readonly StoredDocument[]): string[] => documents.map(({ id }) => id);
