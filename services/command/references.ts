import { type Listing, listingAggregate } from '../../shared/catalog/listing/listing';
import { LISTING_LEVELS_MAX, listingsAbove } from '../../shared/catalog/listing/tree';
import { type Media, mediaAggregate } from '../../shared/catalog/media/media';
import type { Environment } from '../../shared/catalog/realm';
import { CatalogError, type Fault } from '../../shared/kernel/errors';
import type { AnyId, ListingId, MediaId, StoreId } from '../../shared/kernel/ids';
import { isSameValue } from '../../shared/kernel/same-value';
import { findInLog } from '../../shared/ports/stream-state';
import type { StoreDeps } from './execute';

/** The resources to which a publication or listing refers. */
export interface References {
  readonly listing_id?: string | null | undefined;
  /** Of a publication: its other listings. */
  readonly listing_ids?: readonly string[] | undefined;
  readonly featured_positions?: Readonly<Record<string, number>> | undefined;
  readonly media_ids?: readonly string[] | undefined;
  /** Of a listing. */
  readonly parent_id?: string | null | undefined;
}

/**
 * Throws `field_invalid` for every reference to a resource that does not exist, is deleted or belongs to another store
 * (docs/interface/writes.md), and for a `parent_id` that would make a circle or too many levels. `id`: the resource, if it
 * exists already.
 */
export async function checkReferences(
  deps: StoreDeps,
  environment: Environment,
  store_id: StoreId,
  references: References,
  id?: AnyId,
): Promise<void> {
  const { listing_id, parent_id } = references;
  const [listing, parent, ...others] = await Promise.all([
    findListing(deps, environment, listing_id).then((found) =>
      !listing_id || found?.store_id === store_id
        ? undefined
        : fault('listing_id', 'a listing of the same store'),
    ),
    parent_id ? faultOfParent(deps, environment, store_id, parent_id, id) : undefined,
    ...(references.listing_ids ?? []).map(async (id, index) => {
      const found = await findListing(deps, environment, id);
      return found?.store_id === store_id
        ? undefined
        : fault(`listing_ids.${index}`, 'a listing of the same store');
    }),
    ...(references.media_ids ?? []).map(async (id, index) => {
      const media = await findMedia(deps, environment, id as MediaId);
      return media?.store_id === store_id
        ? undefined
        : fault(`media_ids.${index}`, 'media of the same store');
    }),
  ]);
  const faults = [listing, parent, ...others].filter((fault) => fault !== undefined);
  if (faults.length > 0) throw CatalogError.ofFaults(faults);
}

/** Returns what is wrong with the parent of a listing, undefined if nothing is. `id`: the listing, if it exists already. */
async function faultOfParent(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  store_id: StoreId,
  parent_id: string,
  id: AnyId | undefined,
): Promise<Fault | undefined> {
  const parent = await findListing(deps, environment, parent_id);
  if (parent?.store_id !== store_id) return fault('parent_id', 'a listing of the same store');
  const chain = [parent, ...(await findListingsAbove(deps, environment, parent))];
  if (chain.some((listing) => listing.id === id))
    return fault('parent_id', 'neither the listing itself nor a listing below it');
  return chain.length < LISTING_LEVELS_MAX ? undefined : TOO_MANY_LEVELS;
}

/** Throws `field_invalid` if the levels below a listing would be too many under this parent. */
export async function checkLevels(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  id: ListingId,
  parent_id: string,
  countLevelsBelow: () => Promise<number>,
): Promise<void> {
  const parent = await findListing(deps, environment, parent_id);
  if (!parent) return;
  const chain = [parent, ...(await findListingsAbove(deps, environment, parent))];
  // `checkReferences` refuses a circle.
  if (chain.some((listing) => listing.id === id)) return;
  if (chain.length + 1 + (await countLevelsBelow()) > LISTING_LEVELS_MAX)
    throw CatalogError.ofFaults([TOO_MANY_LEVELS]);
}

const TOO_MANY_LEVELS = fault(
  'parent_id',
  `a listing under which the tree has at most ${LISTING_LEVELS_MAX} levels`,
);

/** Returns the existing listings above one, the nearest first. */
export function findListingsAbove(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  listing: Listing,
): Promise<Listing[]> {
  return listingsAbove(listing, (id) => findListing(deps, environment, id));
}

/**
 * Removes references from `changes` if the client sends back what it has read.
 *
 * Reads omit a deleted listing and deleted media, but the stored resource still refers to them. A client that sends back
 * its last read therefore sends other references than the stored ones, although it wants to change nothing
 * (docs/interface/writes.md).
 */
export async function omitUnchangedReferences<Changes extends References>(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  stored: References,
  changes: Changes,
): Promise<Changes> {
  const { listing_id, listing_ids, featured_positions, media_ids } = changes;
  const { listing_id: old_listing_id = null, media_ids: old_media_ids = [] } = stored;
  const { listing_ids: old_listing_ids = [], featured_positions: old_positions = {} } = stored;
  let reduced = changes;
  if (listing_id === null && (await findListing(deps, environment, old_listing_id)) === undefined)
    reduced = { ...reduced, listing_id: undefined };
  if (hasFewer(listing_ids, old_listing_ids) || hasFewer(featured_positions, old_positions)) {
    const existing = await existingListings(deps, environment, old_listing_ids);
    const positions = Object.entries(old_positions).filter(([id]) => existing.some((each) => each === id));
    if (isSameValue(listing_ids, existing)) reduced = { ...reduced, listing_ids: undefined };
    if (isSameValue(featured_positions, Object.fromEntries(positions)))
      reduced = { ...reduced, featured_positions: undefined };
  }
  if (hasFewer(media_ids, old_media_ids)) {
    const existing = await existingMedia(deps, environment, old_media_ids as readonly MediaId[]);
    if (isSameValue(media_ids, existing)) reduced = { ...reduced, media_ids: undefined };
  }
  return reduced;
}

const hasFewer = (sent: object | undefined, old: object): boolean =>
  sent !== undefined && Object.keys(sent).length < Object.keys(old).length;

/**
 * Throws `field_invalid` if a patch has another `store_id`. A resource cannot change its store
 * (docs/interface/writes.md).
 */
export function assertSameStore(store_id: StoreId, patched: string | null | undefined): void {
  if (patched !== undefined && patched !== store_id) {
    throw CatalogError.ofFaults([fault('store_id', 'the store of the resource, which cannot change')]);
  }
}

/** Returns the references to resources that still exist. A resource shows these. */
export async function existingReferences(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  {
    listing_id,
    listing_ids,
    media_ids,
  }: {
    readonly listing_id: ListingId | null;
    readonly listing_ids: readonly string[];
    readonly media_ids: readonly MediaId[];
  },
): Promise<{ listing_id: ListingId | null; listing_ids: ListingId[]; media_ids: MediaId[] }> {
  const [listing, listings, media] = await Promise.all([
    findListing(deps, environment, listing_id),
    existingListings(deps, environment, listing_ids),
    existingMedia(deps, environment, media_ids),
  ]);
  return { listing_id: listing?.id ?? null, listing_ids: listings, media_ids: media };
}

/** Returns the ids of the listings that still exist, in the given order. */
async function existingListings(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  ids: readonly string[],
): Promise<ListingId[]> {
  const listings = await Promise.all(ids.map((id) => findListing(deps, environment, id)));
  return listings.flatMap((found) => found?.id ?? []);
}

/** Returns the ids of the media that still exist, in the given order. */
export async function existingMedia(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  ids: readonly MediaId[],
): Promise<MediaId[]> {
  const media = await Promise.all(ids.map((id) => findMedia(deps, environment, id)));
  return media.flatMap((found) => found?.id ?? []);
}

/**
 * Returns the existing media with `media_id` after them, or undefined if `media_ids` contains it. Throws `field_invalid` if
 * they are more than `max`.
 */
export async function addedMedia(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  media_ids: readonly MediaId[],
  media_id: MediaId,
  max: number,
): Promise<MediaId[] | undefined> {
  if (media_ids.includes(media_id)) return undefined;
  const existing = await existingMedia(deps, environment, media_ids);
  if (existing.length >= max) throw CatalogError.ofFaults([fault('media_ids', `at most ${max}`)]);
  return [...existing, media_id];
}

/** Returns the media from the event log, undefined if it does not exist or is deleted. */
export function findMedia(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  id: MediaId,
): Promise<Media | undefined> {
  return findInLog(deps, environment, mediaAggregate, id);
}

async function findListing(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  id: string | null | undefined,
): Promise<Listing | undefined> {
  return id ? findInLog(deps, environment, listingAggregate, id as ListingId) : undefined;
}

function fault(field: string, constraint: string): Fault {
  return { condition: 'field_invalid', field, constraint };
}
