import type { z } from 'zod';
import { writes } from '../../shared/api/operations/writes';
import { deleteListingSchema, listingPatchBody, newListingBody } from '../../shared/api/requests/writes';
import { publicationCount } from '../../shared/catalog/listing/document';
import { LISTING_MEDIA_MAX, listingFields } from '../../shared/catalog/listing/fields';
import {
  childrenCount,
  listingAggregate,
  listingResource,
  placeInTree,
} from '../../shared/catalog/listing/listing';
import { LISTINGS_BELOW_MAX, listingsBelow } from '../../shared/catalog/listing/tree';
import { SCHEDULE_SPAN } from '../../shared/catalog/schedule';
import { parseQuery } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import type { ListingId } from '../../shared/kernel/ids';
import type { DocumentReader } from '../../shared/ports/document-reader';
import { checkLevels, existingMedia, findListingsAbove } from './references';
import { readView } from './request';
import { defineResource } from './resource';

export type NewListing = z.output<typeof newListingBody>;

/** The writes of listings. */
export const listings = defineResource({
  aggregate: listingAggregate,
  fields: listingFields,
  derived_kind: 'listing of an external id',
  handle_from: 'name',
  body: newListingBody,
  patch: listingPatchBody,
  media: { max: LISTING_MEDIA_MAX, patchOf: (media_ids) => ({ media_ids }) },
  operations: {
    create: writes.createListing,
    update: writes.updateListing,
    put: writes.putListing,
    delete: writes.deleteListing,
    deleteExternal: writes.deleteListingByExternalId,
    restore: writes.restoreListing,
  },
  spans: [SCHEDULE_SPAN],
  count: async (version, id) => {
    // There may be no document yet, and the body of a placeholder is empty.
    const body = (await version.get('listings', id))?.document?.body;
    return { publications: body?.stats?.publication_count ?? 0, children: body?.children_count ?? 0 };
  },
  counts_of_new: { publications: 0, children: 0 },
  present: async (deps, environment, listing, counts) => {
    const [media_ids, above] = await Promise.all([
      existingMedia(deps, environment, listing.media_ids),
      findListingsAbove(deps, environment, listing),
    ]);
    const stats = counts && {
      stats: { media_count: media_ids.length, publication_count: counts.publications },
    };
    const children = childrenCount(counts?.children ?? 0);
    return { ...listingResource(listing), ...stats, media_ids, ...children, ...placeInTree(above) };
  },
  beforeUpdate: async (deps, request, { id }, { parent_id }) => {
    if (!parent_id) return;
    const { environment } = request.principal;
    await checkLevels(deps, environment, id, parent_id, async () => {
      // As far as they are projected.
      const levels = await readView(deps, environment, (version) =>
        listingsBelow(id, (ids) => findChildren(version, ids)),
      );
      return levels?.length ?? 0;
    });
  },
  beforeDelete: async (deps, request, id) => {
    const { if_empty = false } = parseQuery(deleteListingSchema, request.query);
    // The numbers of publications and children, private ones included, as far as they are projected.
    const { environment } = request.principal;
    const counts = await readView(deps, environment, (version) => contentsOf(version, id));
    if (counts && counts.children > 0)
      throw notEmpty(counts.children, 'listing', 'Move or delete them first.');
    if (if_empty && !counts) throw new CatalogError('unavailable');
    if (if_empty && counts && counts.publications > 0)
      throw notEmpty(counts.publications, 'publication', 'Move or delete them first, or leave out if_empty.');
    return counts ? { publication_count: counts.publications } : {};
  },
});

export const {
  create: createListing,
  update: updateListing,
  put: putListing,
  remove: deleteListing,
  find: findListing,
} = listings;

/** Returns how many publications are in the listing, and how many listings directly below it, private ones included. */
export async function contentsOf(version: DocumentReader, id: ListingId) {
  const state = (await version.get('listings', id, ['state']))?.document?.state;
  const { public: shown = 0, private: hidden = 0 } = state?.children ?? {};
  const publications = state ? publicationCount(state) : 0;
  return { publications, children: shown + hidden };
}

/** Returns the documents of the listings directly below these. */
export const findChildren = (version: DocumentReader, ids: readonly string[]) =>
  version.find('listings', {
    where: { parent_id: { in: ids } },
    order: [['id', 'asc']],
    limit: LISTINGS_BELOW_MAX,
  });

function notEmpty(count: number, noun: string, advice: string): CatalogError {
  const message = `The listing has ${count} ${noun}${count === 1 ? '' : 's'}. ${advice}`;
  return new CatalogError('listing_not_empty', { message });
}
