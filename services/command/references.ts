import { type Listing, listingAggregate } from '../../shared/catalog/listing/listing';
import { LISTING_LEVELS_MAX, listingsAbove } from '../../shared/catalog/listing/tree';
import { type Media, mediaAggregate } from '../../shared/catalog/media/media';
import { currenciesIn, type PricedContent } from '../../shared/catalog/publication/currency-prices';
import type { Environment } from '../../shared/catalog/realm';
import { storeAggregate } from '../../shared/catalog/store/store';
import { faultsOfTranslations, type Translated } from '../../shared/catalog/translations';
import { CatalogError, type Fault, invalidField } from '../../shared/kernel/errors';
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
  const { listing_id, listing_ids = [], media_ids = [], parent_id } = references;
  const faultOf = async (field: string, noun: string, finding: Promise<Media | Listing | undefined>) =>
    (await finding)?.store_id === store_id ? undefined : invalidField(field, `${noun} of the same store`);
  const faultOfListing = (field: string, id: string) =>
    faultOf(field, 'a listing', findListing(deps, environment, id));
  const found = await Promise.all([
    listing_id ? faultOfListing('listing_id', listing_id) : undefined,
    parent_id ? faultOfParent(deps, environment, store_id, parent_id, id) : undefined,
    ...listing_ids.map((id, index) => faultOfListing(`listing_ids.${index}`, id)),
    ...media_ids.map((id, index) =>
      faultOf(`media_ids.${index}`, 'media', findMedia(deps, environment, id as MediaId)),
    ),
  ]);
  const faults = found.filter((fault) => fault !== undefined);
  if (faults.length > 0) throw CatalogError.ofFaults(faults);
}

/** Throws `field_invalid` for changed translations in a locale that the store does not have. Reads the store only if some are sent. */
export async function checkTranslations(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  store_id: StoreId,
  sent: Translated,
  before: object | undefined,
): Promise<void> {
  if (!sent.translations) return;
  const store = await findInLog(deps, environment, storeAggregate, store_id);
  const faults = faultsOfTranslations(store?.locales, sent, before);
  if (faults.length > 0) throw CatalogError.ofFaults(faults);
}

/** Throws `field_invalid` for prices in a currency that neither the publication nor its store has. Reads the store only if there are some. */
export async function checkCurrencies(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  store_id: StoreId,
  sent: PricedContent,
  before: PricedContent = {},
): Promise<void> {
  const known = currenciesIn(before);
  const added = [...currenciesIn(sent)].filter((currency) => !known.has(currency));
  if (added.length === 0) return;
  const { currencies = [] } = (await findInLog(deps, environment, storeAggregate, store_id)) ?? {};
  const constraint =
    currencies.length === 0
      ? 'a currency of the store, which has none. Add its `currencies` first'
      : `one of the currencies of the store: ${currencies.join(', ')}`;
  const faults = added
    .filter((currency) => !currencies.includes(currency))
    .map((currency) => invalidField(`prices.${currency}`, constraint));
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
  const chain = await findChain(deps, environment, parent_id);
  if (chain[0]?.store_id !== store_id) return invalidField('parent_id', 'a listing of the same store');
  if (chain.some((listing) => listing.id === id))
    return invalidField('parent_id', 'neither the listing itself nor a listing below it');
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
  const chain = await findChain(deps, environment, parent_id);
  // `checkReferences` refuses a parent that does not exist, and a circle.
  if (chain.length === 0 || chain.some((listing) => listing.id === id)) return;
  if (chain.length + 1 + (await countLevelsBelow()) > LISTING_LEVELS_MAX)
    throw CatalogError.ofFaults([TOO_MANY_LEVELS]);
}

const TOO_MANY_LEVELS = invalidField(
  'parent_id',
  `a listing under which the tree has at most ${LISTING_LEVELS_MAX} levels`,
);

/** Returns the listing and the existing listings above it, the nearest first. Nothing if the listing does not exist. */
async function findChain(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  id: string,
): Promise<Listing[]> {
  const listing = await findListing(deps, environment, id);
  return listing ? [listing, ...(await findListingsAbove(deps, environment, listing))] : [];
}

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
  const { listing_id = null, listing_ids = [], featured_positions = {}, media_ids = [] } = stored;
  const before = { listing_id, listing_ids, featured_positions, media_ids };
  const names = (Object.keys(before) as (keyof typeof before)[]).filter(
    (name) => changes[name] !== undefined && !isSameValue(changes[name], before[name]),
  );
  if (names.length === 0) return changes;
  const shown = await existingReferences(deps, environment, before);
  const unchanged = names.filter((name) => isSameValue(changes[name], shown[name]));
  return { ...changes, ...Object.fromEntries(unchanged.map((name) => [name, undefined])) };
}

/**
 * Throws `field_invalid` if a patch has another `store_id`. A resource cannot change its store
 * (docs/interface/writes.md).
 */
export function assertSameStore(store_id: StoreId, patched: string | null | undefined): void {
  if (patched !== undefined && patched !== store_id) {
    throw CatalogError.ofFaults([invalidField('store_id', 'the store of the resource, which cannot change')]);
  }
}

/** Returns the references to resources that still exist. A resource shows these. */
export async function existingReferences(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  stored: Required<Omit<References, 'parent_id'>>,
) {
  const [listing, listing_ids, media_ids] = await Promise.all([
    findListing(deps, environment, stored.listing_id),
    existingListings(deps, environment, stored.listing_ids ?? []),
    existingMedia(deps, environment, stored.media_ids ?? []),
  ]);
  const positions = Object.entries(stored.featured_positions ?? {}).filter(([id]) =>
    listing_ids.some((existing) => existing === id),
  );
  const featured_positions = Object.fromEntries(positions);
  return { listing_id: listing?.id ?? null, listing_ids, featured_positions, media_ids };
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
  ids: readonly string[],
): Promise<MediaId[]> {
  const media = await Promise.all(ids.map((id) => findMedia(deps, environment, id as MediaId)));
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
  if (existing.length >= max) throw CatalogError.ofFaults([invalidField('media_ids', `at most ${max}`)]);
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
