import { writes } from '../../shared/api/operations/writes';
import { featuredOrderBody } from '../../shared/api/requests/writes';
import { greatest } from '../../shared/catalog/events/positions';
import type { Idle } from '../../shared/catalog/fields';
import { type Listing, type ListingCommand, listingAggregate } from '../../shared/catalog/listing/listing';
import type { Publication } from '../../shared/catalog/publication/publication';
import { featuredIn } from '../../shared/catalog/search/words';
import { visibilitySchema } from '../../shared/catalog/vocabulary';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody } from '../../shared/http/validation';
import { allEnded } from '../../shared/kernel/async';
import { CatalogError, type Fault, invalidField } from '../../shared/kernel/errors';
import type { ListingId, PublicationId } from '../../shared/kernel/ids';
import { streamIn, streamNameOf } from '../../shared/ports/stream-state';
import { execute, type WriteContext, type Written, withResource } from './execute';
import { findPublication, type PublicationPatch, updatePublication } from './publication';
import { awaitProjection, guardFor, type RouteDeps, readView, writeContextOf } from './request';

/** How many publications are written at the same time. Concurrent writes can share a commit of the log. */
const CONCURRENCY = 50;
/** Reads at most this many featured publications. Any beyond it keep their position until the next request. */
const FEATURED_READ_MAX = 10_000;
const MOVED_MEANWHILE = 'A publication was moved or deleted at the same time. Send the request again';

export const featuredRoutes = (deps: RouteDeps): Route[] => [
  routeOf(writes.arrangeFeatured, (request) => arrangeFeatured(deps, request)),
];

/**
 * Handles `POST /api/listing/:id/featured`: gives the publications the positions 1, 2, 3 …, and takes the position of
 * all others of the listing. Each publication is a stream of its own, so there is an append for each one that changes.
 * If some of them fail, sending the request again does the rest. With an `Idempotency-Key`, the stream of the listing gets
 * an event at the end, which changes nothing. A repetition finds it there and changes no publication.
 */
async function arrangeFeatured(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const { publication_ids } = parseBody(featuredOrderBody, request.body);
  const listing_id = request.params.id as ListingId;
  const context = writeContextOf(request);
  const guard = guardFor(request, deps.stores, 'listing_not_found');
  const ref = streamIn(deps, request.principal.environment, listingAggregate, listing_id);
  let written: Written<Publication>[] | undefined;
  let changed_count = 0;
  const writing = execute<Listing, ListingCommand>({
    ...ref,
    context,
    prepare: async (state) => {
      if (state.tag !== 'present') throw new CatalogError('listing_not_found');
      if (!written) {
        await guard(state.resource);
        written = await placeAll(deps, request, context, state.resource, publication_ids);
        changed_count = written.filter(({ changed }) => changed).length;
      }
      if (!context.operation) return { command: { type: 'Update', changes: {} } };
      return { command: { type: 'Interrupt', field: 'handle', idle: { changed_count } } };
    },
  });
  const end = withResource(await writing);
  if (end.repeated) {
    const [event] = await ref.events.readStream(streamNameOf(ref), end.revision, 1);
    changed_count = (event?.data as { readonly idle?: Idle } | undefined)?.idle?.changed_count ?? 0;
  }
  const position = greatest([end, ...(written ?? [])].map((one) => one.position));
  const repeated = [end, ...(written ?? [])].some((one) => one.repeated === true);
  const data = { object: 'featured_order', listing_id, publication_ids: [...publication_ids], changed_count };
  return { data, headers: await awaitProjection(deps, request, end.value.store_id, { position, repeated }) };
}

/** Places the publications, and takes the positions of the others. Throws `field_invalid` if one is not in the listing. */
async function placeAll(
  deps: RouteDeps,
  request: ApiRequest,
  context: WriteContext,
  listing: Listing,
  publication_ids: readonly string[],
): Promise<Written<Publication>[]> {
  await checkPublications(deps, request, publication_ids);
  const featured = await featuredOf(deps, request, listing);
  const removed = featured.filter((id) => !publication_ids.includes(id));
  const places = [...publication_ids, ...removed].map((id, index) => ({
    id: id as PublicationId,
    position: index < publication_ids.length ? index + 1 : null,
  }));
  const { environment } = request.principal;
  const place = async ({ id, position }: (typeof places)[number]): Promise<Written<Publication>[]> => {
    try {
      const patchOf = async (before: Publication) => placedAt(position, before, listing.id);
      return [await updatePublication(deps, context, { environment, id }, patchOf)];
    } catch (error) {
      if (!(error instanceof CatalogError) || error.condition !== 'publication_not_found') throw error;
      if (position !== null) throw new CatalogError('lost_race', { message: MOVED_MEANWHILE, cause: error });
      // A deleted publication has no position.
      return [];
    }
  };
  const written: Written<Publication>[] = [];
  for (let start = 0; start < places.length; start += CONCURRENCY)
    written.push(...(await allEnded(places.slice(start, start + CONCURRENCY).map(place))).flat());
  return written;
}

/**
 * Returns the patch that gives a publication a position among the featured publications of a listing, or takes it. The
 * position in the main listing is `featured_position`, those in other listings are `featured_positions`. Throws `lost_race`
 * if the publication is to get a position and has left the listing.
 */
function placedAt(
  position: number | null,
  { listing_id: main_id, listing_ids, featured_positions }: Publication,
  listing_id: ListingId,
): PublicationPatch {
  if (main_id === listing_id) return { featured_position: position };
  const { [listing_id]: _, ...others } = featured_positions;
  if (listing_ids.includes(listing_id))
    return { featured_positions: position === null ? others : { ...others, [listing_id]: position } };
  if (position !== null) throw new CatalogError('lost_race', { message: MOVED_MEANWHILE });
  return {};
}

/** Throws `field_invalid` for each publication that is not in the listing. */
async function checkPublications(
  deps: RouteDeps,
  { principal: { environment }, params }: ApiRequest,
  ids: readonly string[],
): Promise<void> {
  const found = await Promise.all(ids.map((id) => findPublication(deps, environment, id as PublicationId)));
  const faults = found.flatMap((publication, index): Fault[] => {
    const { listing_id = null, listing_ids = [] } = publication ?? {};
    if ([listing_id, ...listing_ids].includes(params.id as ListingId)) return [];
    const field = `publication_ids.${index}`;
    return [invalidField(field, 'a publication of the listing')];
  });
  if (faults.length > 0) throw CatalogError.ofFaults(faults);
}

/** Returns the ids of the listing's featured publications, as far as they are projected. Throws `unavailable`. */
async function featuredOf(
  deps: RouteDeps,
  { principal }: ApiRequest,
  { id, store_id }: Listing,
): Promise<string[]> {
  const scope = { store_id, visibility: { in: visibilitySchema.options } };
  const term = [{ word: featuredIn(id) }];
  const featured = await readView(deps, principal.environment, (version) =>
    version.search('publications', {
      scope,
      where: scope,
      tiers: [[term]],
      is_exhaustive: true,
      order: [['id', 'asc']],
      limit: FEATURED_READ_MAX,
    }),
  );
  if (!featured) throw new CatalogError('unavailable');
  return featured.documents.map((stored) => stored.id);
}
