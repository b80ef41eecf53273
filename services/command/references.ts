import { listingAggregate } from '../../shared/catalog/listing/listing';
import { type Media, mediaAggregate } from '../../shared/catalog/media/media';
import type { Environment } from '../../shared/catalog/realm';
import { CatalogError, type Fault } from '../../shared/kernel/errors';
import type { ListingId, MediaId, StoreId } from '../../shared/kernel/ids';
import { load, type StoreDeps } from './execute';

/** What a publication or listing points at; what is not given or null points at nothing. */
export interface References {
  readonly listing_id?: string | null | undefined;
  readonly media_ids?: readonly string[] | undefined;
}

/** Throws `field_invalid` for every reference to what is unknown, deleted or another store's (decisions §4). */
export async function checkReferences(
  deps: StoreDeps,
  environment: Environment,
  store_id: StoreId,
  references: References,
): Promise<void> {
  const [listing, ...media] = await Promise.all([
    listingFault(deps, environment, store_id, references.listing_id ?? null),
    ...(references.media_ids ?? []).map(async (id, index) => {
      const known = await findMedia(deps, environment, id as MediaId);
      return known?.store_id === store_id
        ? undefined
        : fault(`media_ids.${index}`, 'media of the same store');
    }),
  ]);
  const faults = [listing, ...media].filter((found) => found !== undefined);
  if (faults.length > 0) throw CatalogError.ofFaults(faults);
}

/** `store_id` in a patch may repeat what is, never change it (decisions §6). */
export function refuseMove(store_id: StoreId, asked: string | undefined): void {
  if (asked !== undefined && asked !== store_id) {
    throw CatalogError.ofFaults([fault('store_id', 'the same store: it cannot change')]);
  }
}

async function listingFault(
  deps: StoreDeps,
  environment: Environment,
  store_id: StoreId,
  listing_id: string | null,
): Promise<Fault | undefined> {
  if (listing_id === null) return undefined;
  const { state } = await load({
    aggregate: listingAggregate,
    events: deps.events[environment],
    realm: environment,
    id: listing_id as ListingId,
  });
  const usable = state.tag === 'present' && state.listing.store_id === store_id;
  return usable ? undefined : fault('listing_id', 'a listing of the same store');
}

/** Those of the ids that lead to media which exist, in order: others were deleted since they were written. */
export async function existingMedia(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  ids: readonly MediaId[],
): Promise<MediaId[]> {
  const media = await Promise.all(ids.map((id) => findMedia(deps, environment, id)));
  return media.flatMap((found) => found?.id ?? []);
}

/** The media that exist, and then this one. Throws `field_invalid` where that is more than `max`. */
export async function withMedia(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  { media_ids }: { readonly media_ids: readonly MediaId[] },
  media_id: MediaId,
  max: number,
): Promise<MediaId[]> {
  if (media_ids.includes(media_id)) return [...media_ids];
  const existing = await existingMedia(deps, environment, media_ids);
  if (existing.length >= max) throw CatalogError.ofFaults([fault('media_ids', `at most ${max}`)]);
  return [...existing, media_id];
}

/** The media as the log has it; undefined where there is none, or none any more. */
export async function findMedia(
  { events }: Pick<StoreDeps, 'events'>,
  environment: Environment,
  id: MediaId,
): Promise<Media | undefined> {
  const place = { aggregate: mediaAggregate, events: events[environment], realm: environment, id };
  const { state } = await load(place);
  return state.tag === 'present' ? state.media : undefined;
}

function fault(field: string, constraint: string): Fault {
  return { condition: 'field_invalid', field, constraint };
}
