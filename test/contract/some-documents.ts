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

/** A publication's document with these keys, the others as usual. */
export function aPublication(keys: Record<string, Key> = {}, body: ViewDocument['body'] = {}): ViewDocument {
  return {
    keys: { ...PUBLICATION_KEYS, ...keys },
    body: { object: 'publication', ...body },
    state: { publication: { version: 1 } },
    expansions: { media: [] },
  };
}

/** A new document, or with `expected` the next state of one. */
export function aWrite(
  collection: CollectionName,
  id: string,
  position: Position,
  document: ViewDocument | null,
  expected: Position | null = null,
): DocumentWrite {
  return { collection, id, position, document, expected };
}

/** Writes to lane 0 wherever its checkpoint is, and moves it to the newest of the positions. */
export async function put(version: ViewVersion, ...writes: DocumentWrite[]): Promise<void> {
  const from = await version.checkpoint(0);
  let to = from;
  for (const { position } of writes) if (position > to) to = position;
  const outcome = await version.apply({ lane: 0, from, to, phases: [writes] });
  if (outcome !== 'applied') throw new Error(`the documents were not written: ${outcome}`);
}

export const aBatch = (batch: Partial<WriteBatch>): WriteBatch => ({
  lane: 0,
  from: 0n,
  to: 1n,
  phases: [],
  ...batch,
});

export const idsOf = (documents: readonly StoredDocument[]): string[] => documents.map(({ id }) => id);
