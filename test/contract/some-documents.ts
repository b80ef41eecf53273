import type { CollectionName, Key, StoredDocument, ViewDocument } from '../../shared/catalog/documents';
import type { Position } from '../../shared/catalog/events/envelope';
import type { DocumentWrite, ViewVersion, WriteBatch } from '../../shared/ports/view-store';

const PUBLICATION_KEYS: Record<string, Key> = {
  store_id: 'store-1',
  listing_id: 'listing-1',
  visibility: 'public',
  featured_rank: 1_000_000,
  created_at: '2026-01-31T12:00:00.000Z',
  price_up: 1_000,
  price_down: 1_000,
  name_fold: 'a name',
  free_shipping: 0,
  in_stock: 1,
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

/** Returns the write of a new document, or with `expected` of an existing one. */
export function aWrite(
  collection: CollectionName,
  id: string,
  position: Position,
  document: ViewDocument | null,
  expected: Position | null = null,
): DocumentWrite {
  return { collection, id, position, document, expected };
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
  const from = await version.checkpoint(partition);
  let to = from;
  for (const { position } of writes) if (position > to) to = position;
  const outcome = await version.apply({ partition, from, to, phases: [writes] });
  if (outcome !== 'applied') throw new Error(`the documents were not written: ${outcome}`);
}

export const aBatch = (batch: Partial<WriteBatch>): WriteBatch => ({
  partition: 0,
  from: 0n,
  to: 1n,
  phases: [],
  ...batch,
});

export const idsOf = (documents: readonly StoredDocument[]): string[] => documents.map(({ id }) => id);
