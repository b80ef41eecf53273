import { reads } from '../../shared/api/operations/reads';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { findById, openForId } from './find-by-id';
import { EXPANSIONS, partsFor, presentListing } from './present';
import { parseRead } from './read-query';
import type { ReadSides } from './store-guard';
import { showsItem } from './visibility';

/** `GET /api/listing/:id` */
export async function readListing(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.getListing, request, EXPANSIONS.listing);
  const version = await openForId(sides, request, 'listings');
  const listing = await findById(sides, request, version, 'listings', {
    visibility: query.visibility,
    shows: showsItem,
    parts: partsFor('listing', query),
  });
  return { data: presentListing(listing, query), version: Number(listing.keys.version) };
}
