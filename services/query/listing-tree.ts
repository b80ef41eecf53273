import type { VisibilityFilter } from '../../shared/api/requests/reads';
import type { StoredDocument } from '../../shared/catalog/documents';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { ListingDocument } from '../../shared/catalog/listing/document';
import { type ListingAbove, placeInTree } from '../../shared/catalog/listing/listing';
import { LISTINGS_BELOW_MAX, listingsAbove, listingsBelow } from '../../shared/catalog/listing/tree';
import type { Translated } from '../../shared/catalog/translations';
import type { DocumentReader } from '../../shared/ports/document-reader';
import { isContainerVisible, visibilityKey } from './read';

/*
 * Where listings are in the tree (docs/interface/listings.md#tree-of-listings). The place is read for each answer, because a move
 * of one listing changes the places of all listings below it.
 */

type Stored = StoredDocument<ListingDocument>;
type Above = ListingAbove & Translated & { readonly parent_id: string | null };

/**
 * Returns the documents with `parent_id` and `path` in their bodies. Returns the same documents if all listings are at
 * the top. A listing that is deleted or hidden ends the path, and what is below it looks like the top.
 */
export async function withPlaces(
  version: DocumentReader,
  page: readonly Stored[],
  filter: VisibilityFilter,
): Promise<readonly Stored[]> {
  const found = new Map<string, Promise<Above | undefined>>();
  const find = (store_id: string | null, id: string): Promise<Above | undefined> => {
    const read = found.get(id) ?? findVisible(version, store_id, id, filter);
    found.set(id, read);
    return read;
  };
  return Promise.all(
    page.map(async (stored): Promise<Stored> => {
      const { id, document } = stored;
      // Undefined in a document of an earlier release, which is read until a rebuild.
      const { parent_id = null, store_id = null } = document?.keys ?? {};
      if (!document || parent_id === null) return stored;
      const above = await listingsAbove({ id, parent_id }, (next) => find(store_id, next));
      const { keys, body, state, expansions } = document;
      return {
        ...stored,
        document: { keys, body: { ...body, ...placeInTree(above, entryOf) }, state, expansions },
      };
    }),
  );
}

/** The entry of a path has its translations until the answer is in a language (`presented`). */
const entryOf = ({ id, name, translations }: Above): JsonObject => ({
  id,
  name,
  ...(translations && { translations: namesOnly(translations) }),
});

const namesOnly = (translations: NonNullable<Above['translations']>): JsonObject =>
  Object.fromEntries(
    Object.entries(translations).flatMap(([locale, texts]) =>
      texts?.name === undefined ? [] : [[locale, { name: texts.name }]],
    ),
  );

async function findVisible(
  version: DocumentReader,
  store_id: string | null,
  id: string,
  filter: VisibilityFilter,
): Promise<Above | undefined> {
  const document = (await version.get('listings', id))?.document;
  if (document?.keys.store_id !== store_id || !isContainerVisible(filter, document.keys.visibility))
    return undefined;
  const { name, translations } = document.body;
  return { id, name, parent_id: document.keys.parent_id, translations };
}

/** Returns the listings below one that the filter shows, with their states. What is below a hidden listing is hidden. */
export async function visibleListingsBelow(
  version: DocumentReader,
  { body }: Pick<ListingDocument, 'body'>,
  filter: VisibilityFilter,
): Promise<Stored[]> {
  const visibility = filter === 'public' ? { visibility: visibilityKey(filter) } : {};
  const levels = await listingsBelow(body.id, (ids) =>
    version.find('listings', {
      where: { parent_id: { in: ids }, ...visibility },
      order: [['id', 'asc']],
      limit: LISTINGS_BELOW_MAX,
      parts: ['state'],
    }),
  );
  return levels.flat();
}
