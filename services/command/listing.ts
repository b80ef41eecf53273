import type { z } from 'zod';
import { writes } from '../../shared/api/operations/writes';
import { deleteListingSchema, listingPatchBody, newListingBody } from '../../shared/api/requests/writes';
import { LISTING_MEDIA_MAX } from '../../shared/catalog/listing/fields';
import { listingAggregate, listingResource } from '../../shared/catalog/listing/listing';
import { countFacets } from '../../shared/catalog/publication/facets';
import { visibilitySchema } from '../../shared/catalog/vocabulary';
import { parseQuery } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import { existingMedia } from './references';
import { readCount } from './request';
import { defineResource } from './resource';

export type NewListing = z.output<typeof newListingBody>;

/** The writes of listings. */
export const listings = defineResource({
  aggregate: listingAggregate,
  body: newListingBody,
  patch: listingPatchBody,
  media_max: LISTING_MEDIA_MAX,
  operations: {
    create: writes.createListing,
    update: writes.updateListing,
    delete: writes.deleteListing,
  },
  count: async (version, id) => {
    // There may be no document yet, and the body of a placeholder is empty.
    const stored = await version.get('listings', id);
    return stored?.document?.body.stats?.publication_count ?? 0;
  },
  present: async (deps, environment, listing, publication_count) => {
    const media_ids = await existingMedia(deps, environment, listing.media_ids);
    const stats = publication_count !== undefined && {
      stats: { media_count: media_ids.length, publication_count },
    };
    return { ...listingResource(listing), ...stats, media_ids };
  },
  beforeDelete: (deps, request, id) => {
    const { if_empty = false } = parseQuery(deleteListingSchema, request.query);
    return async () => {
      // The number of publications, private ones included, as far as they are projected.
      const publication_count = await readCount(deps, request.principal.environment, async (version) => {
        const stored = await version.get('listings', id, ['state']);
        return countFacets(stored?.document?.state.facets ?? {}, visibilitySchema.options);
      });
      if (if_empty) assertEmpty(publication_count);
      return publication_count === undefined ? {} : { publication_count };
    };
  },
});

export const {
  create: createListing,
  update: updateListing,
  put: putListing,
  remove: deleteListing,
  find: findListing,
} = listings;

/** Throws `listing_not_empty`, or `unavailable` if the number is not known. */
function assertEmpty(publication_count: number | undefined): void {
  if (publication_count === undefined) throw new CatalogError('unavailable');
  if (publication_count === 0) return;
  const publications = publication_count === 1 ? '1 publication' : `${publication_count} publications`;
  const message = `The listing has ${publications}. Move or delete them first, or leave out if_empty.`;
  throw new CatalogError('listing_not_empty', { message });
}
