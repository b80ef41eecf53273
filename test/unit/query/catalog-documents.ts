import type { CollectionName, Key, ViewDocument } from '../../../shared/catalog/documents';
import type { JsonObject } from '../../../shared/catalog/events/envelope';
import type { Listing } from '../../../shared/catalog/listing/listing';
import { listingResource } from '../../../shared/catalog/listing/listing';
import {
  INACTIVE_PRICE_DOWN,
  INACTIVE_PRICE_UP,
  publicationKeys as keysOf,
  NO_REVIEWS,
  NOT_FEATURED,
  unitsOf as storedUnits,
} from '../../../shared/catalog/publication/document';
import { addToFacet, type Facets, facetKey } from '../../../shared/catalog/publication/facets';
import type { Publication } from '../../../shared/catalog/publication/publication';
import { publicationResource } from '../../../shared/catalog/publication/publication';
import { labelTerm, publicationWords } from '../../../shared/catalog/search/words';
import { compareByOrder, featuredFirst, orderOf, type SortOrder } from '../../../shared/catalog/sorting';
import type { Store } from '../../../shared/catalog/store/store';
import { storeResource } from '../../../shared/catalog/store/store';
import type { Unit } from '../../../shared/catalog/stored-document';
import { foldText } from '../../../shared/kernel/text';

/** The contents of one store, from which `documentsOf` computes what the projection would have written. */
export interface StoreContents {
  readonly store: Store;
  readonly listings: readonly Listing[];
  readonly publications: readonly Publication[];
}

export interface Document {
  readonly collection: CollectionName;
  readonly id: string;
  readonly document: ViewDocument;
}

type Keyed = { readonly id: string; readonly keys: Readonly<Record<string, Key>>; readonly body: JsonObject };

/** Returns all documents of one store. Computes them independently of the projection. */
export function documentsOf(contents: StoreContents): Document[] {
  const { listings, publications } = contents;
  const existing = new Map(listings.map((listing) => [listing.id as string, listing]));
  return [
    storeDocument(contents),
    ...listings.map((listing) => listingDocument(listing, publications)),
    ...publications.map((item) => publicationDocument(item, existing.get(item.listing_id ?? ''))),
  ];
}

/** The current time in the documents, in Unix milliseconds. */
export const NOW_MS = 1_000_000;

/** Returns the lowest price with which a variant, or the publication without variants, is offered now. */
function priceNow(
  item: Publication,
  sold: { price_amount: number; sale_price_amount: number | null },
): number {
  const begins = item.sale_from === null || new Date(item.sale_from).getTime() <= NOW_MS;
  const ends = item.sale_to !== null && new Date(item.sale_to).getTime() <= NOW_MS;
  const sale = sold.sale_price_amount ?? item.sale_price_amount;
  return begins && !ends && sale !== null && sale < sold.price_amount ? sale : sold.price_amount;
}

/** What a customer can buy. */
export interface Sold {
  /** Undefined if the price is inactive. */
  readonly price: number | undefined;
  readonly in_stock: boolean;
  /** The values of the options. */
  readonly values: Readonly<Record<string, string>>;
}

/** Returns the variants of a publication, or the publication itself. */
export function soldOf(item: Publication): Sold[] {
  const all = item.variants.length > 0 ? item.variants : [{ ...item, option_values: {} }];
  return all.map((one) => ({
    price: item.price_active ? priceNow(item, one) : undefined,
    in_stock: one.quantity_available === null || one.quantity_available > 0,
    values: one.option_values,
  }));
}

const unitsOf = (item: Publication): Unit[] =>
  soldOf(item).map(({ price, in_stock, values }) => ({
    price: price ?? null,
    in_stock,
    labels: Object.entries(values).map(([name, value]) => labelTerm(`option.${name}`, value)),
  }));

export function publicationKeys(item: Publication, listing?: Listing): Record<string, Key> {
  const prices = soldOf(item).flatMap(({ price }) => price ?? []);
  const [lowest, highest] = [Math.min(...prices), Math.max(...prices)];
  return {
    store_id: item.store_id,
    listing_id: listing?.id ?? null,
    visibility: item.visibility,
    featured_rank: item.featured_position ?? NOT_FEATURED,
    created_at: item.created_at,
    price_up: item.price_active ? lowest : INACTIVE_PRICE_UP,
    price_down: item.price_active ? lowest : INACTIVE_PRICE_DOWN,
    price_max: item.price_active ? highest : INACTIVE_PRICE_DOWN,
    varies_in: highest > lowest ? item.store_id : null,
    name_fold: foldText(item.title),
    // They have no reviews.
    rating_rank: Date.parse(item.created_at),
    free_shipping: Number(item.free_shipping === true),
    in_stock: Number(inStock(item)),
    version: item.version,
  };
}

const inStock = (item: Publication): boolean => soldOf(item).some(({ in_stock }) => in_stock);

/** Returns the position in a listing: null if the publication is not featured there, undefined if it is not in the listing. */
const positionIn = (item: Publication, listing_id: string): number | null | undefined =>
  item.listing_id === listing_id
    ? item.featured_position
    : (item.listing_ids as readonly string[]).includes(listing_id)
      ? (item.featured_positions[listing_id] ?? null)
      : undefined;

/** Returns the publications of a listing, with their positions there. */
const containedIn = (listing: Listing, all: readonly Publication[]): Publication[] =>
  all.flatMap((item) => {
    const featured_position = positionIn(item, listing.id);
    return featured_position === undefined ? [] : { ...item, featured_position };
  });

function facetsOf(publications: readonly Publication[]): Facets {
  return publications.reduce<Facets>((facets, item) => {
    const flags = {
      featured: item.featured_position !== null,
      free_shipping: item.free_shipping === true,
      in_stock: inStock(item),
    };
    return addToFacet(facets, facetKey(item.visibility, flags), 1);
  }, {});
}

function entries(items: readonly Keyed[], order: SortOrder): JsonObject {
  const firstOf = (visibility: string) =>
    items
      .filter((item) => item.keys.visibility === visibility)
      .sort((a, b) => compareByOrder(order, a, b))
      .slice(0, 20)
      .map(({ id, keys, body }) => ({ id, keys: { ...keys }, body }));
  return { public: firstOf('public'), private: firstOf('private') };
}

function storeDocument({ store, listings, publications }: StoreContents): Document {
  const count = (visibility: string) =>
    listings.filter((listing) => listing.visibility === visibility).length;
  const items = listings.map((listing) => ({
    id: listing.id,
    keys: listingKeys(listing),
    body: listingBody(listing, publications),
  }));
  const document = {
    keys: {
      account_id: store.account_id,
      status: store.status,
      created_at: store.created_at,
      name_fold: foldText(store.name),
    },
    body: { ...storeResource(store), stats: { listing_count: count('public') } },
    state: {
      facets: facetsOf(publications),
      listings: { public: count('public'), private: count('private') },
      media: { public: 0, private: 0 },
      payment_methods: store.payment_methods.length,
      account_id: store.account_id,
      store: store as unknown as JsonObject,
    },
    expansions: {
      listings: entries(items, orderOf('created_at_desc')),
      media: { public: [], private: [] },
    },
  };
  return { collection: 'stores', id: store.id, document };
}

function listingKeys(listing: Listing): Record<string, Key> {
  const { store_id, visibility, created_at, version, name, parent_id } = listing;
  return { store_id, visibility, created_at, name_fold: foldText(name), version, parent_id };
}

function listingBody(listing: Listing, all: readonly Publication[]): JsonObject {
  const contained = containedIn(listing, all).filter((item) => item.visibility === 'public');
  const stats = { media_count: listing.media_ids.length, publication_count: contained.length };
  return { ...listingResource(listing), stats, media_ids: [...listing.media_ids] };
}

function listingDocument(listing: Listing, all: readonly Publication[]): Document {
  const contained = containedIn(listing, all);
  const items = contained.map((item) => ({
    id: item.id,
    keys: publicationKeys(item, listing),
    body: publicationResource(item, item, item),
  }));
  const document = {
    keys: listingKeys(listing),
    body: listingBody(listing, all),
    state: { facets: facetsOf(contained), listing: listing as unknown as JsonObject },
    expansions: { publications: entries(items, featuredFirst(listing.default_sort_mode)), media: [] },
  };
  return { collection: 'listings', id: listing.id, document };
}

function publicationDocument(item: Publication, listing: Listing | undefined): Document {
  const units = item.prices ? storedUnits(item, NOW_MS) : [];
  const { places, has_discount } = keysOf(
    item,
    { listing_id: null, has_media: null },
    NO_REVIEWS,
    NOW_MS,
    units,
  );
  const stored = { places, has_discount };
  const document = {
    keys: { ...publicationKeys(item, listing), ...stored },
    body: publicationResource(
      item,
      { ...item, listing_id: listing?.visibility === 'public' ? listing.id : null },
      item,
    ),
    state: {
      publication: item as unknown as JsonObject,
      reviews: { count: 0, sum: 0, distribution: {} },
    },
    expansions: {
      listing: listing
        ? { id: listing.id, visibility: listing.visibility, body: listingResource(listing) }
        : null,
      media: [],
    },
    words: publicationWords(item),
    units: item.prices ? storedUnits(item, NOW_MS) : unitsOf(item),
  };
  return { collection: 'publications', id: item.id, document };
}
