import { nameKey } from '../../kernel/name-key';
import { foldText } from '../../kernel/text';
import { PRICE_AMOUNT_MAX } from '../amounts';
import type { Deleted } from '../events/aggregate';
import type { JsonObject } from '../events/envelope';
import type { ListingEmbed, PlaceEmbed } from '../listing/document';
import type { MediaEmbed } from '../media/document';
import { dueAt } from '../schedule';
import { featuredIn, listedIn, pricedIn, titledIn, variantLabels } from '../search/words';
import type { CollectionSpec, Document, KeysOf, Unit } from '../stored-document';
import { titlesOf } from '../translations';
import { type ListSortMode, type Visibility, visibilitySchema } from '../vocabulary';
import { publicationFields } from './fields';
import type { ShownVariant } from './price-history';
import { hasSale, inEachCurrency, isSale, type Priced, priceChangeAfter, priceIn, pricesAt } from './prices';
import { averageOf, type Publication, type PublicationCounts } from './publication';
import { isAvailable, type Variant } from './variants';

const keys = {
  store_id: 'text',
  /** Null if the publication is in no listing. The listing with this id may be deleted. */
  listing_id: 'text',
  /**
   * What the publication has in lists besides its own keys: the position in each other listing, the prices in each currency, and
   * the title in each language, as `placesText` writes them. Null if there is nothing.
   */
  places: 'text',
  visibility: 'text',
  featured_rank: 'integer',
  created_at: 'text',
  /**
   * The lowest price of its units, in lists from low to high (`up`) and from high to low (`down`). The keys differ for an
   * inactive price.
   */
  price_up: 'integer',
  price_down: 'integer',
  /** The highest price of its units, `INACTIVE_PRICE_DOWN` for an inactive price. */
  price_max: 'integer',
  /** The store of a publication whose units have different prices, otherwise null. */
  varies_in: 'text',
  /** The title without case and accents (`foldText`), to sort by name. */
  name_fold: 'text',
  /** The average rating, and the time of creation (`ratingRank`). */
  rating_rank: 'integer',
  free_shipping: 'integer',
  in_stock: 'integer',
  /** Whether something costs less now (docs/interface/lists.md#filters). */
  has_discount: 'integer',
  /** Whether it has media that exist. */
  has_media: 'integer',
  /** Whether its visibility changes at a time that is set. */
  scheduled: 'integer',
  external_id: 'text',
  /** When the visibility (`dueAt`) or a price changes next (`priceChangeAfter`), in milliseconds. Null if no time is set. */
  due_at: 'integer',
  version: 'integer',
  /** Of a deleted publication, whose other keys are null: its store, and the time of the deletion. */
  deleted_in: 'text',
  deleted_at: 'text',
} as const;

/** The `featured_rank` of a publication that is not featured. It sorts after every `featured_position` (1–10,000). */
export const NOT_FEATURED = 1_000_000;

const FILTERS = ['featured_rank', 'free_shipping', 'in_stock'] as const;
/** Filters that few lists use, and that a console counts all products by. */
const ATTENTION = ['has_media', 'scheduled', 'has_discount'] as const;
const LIST_SCOPES = ['listing_id', 'store_id'] as const;

export const NO_REVIEWS = { count: 0, sum: 0, distribution: { 1: 0, 2: 0, 3: 0, 4: 0, 5: 0 } };

const OPTIONAL_FIELDS = ['translations', 'prices'];
const REPEATED_FIELDS = Object.keys(publicationFields).filter((name) => !OPTIONAL_FIELDS.includes(name));

export const publicationCollection: CollectionSpec<typeof keys> = {
  keys,
  words: {
    scope: ['store_id', 'visibility'],
    newest_by: 'created_at',
    ranges: ['price_up', 'price_down', 'price_max', 'name_fold', 'rating_rank'],
  },
  units: true,
  repeats: {
    aggregate: 'publication',
    fields: [...REPEATED_FIELDS, 'id', 'store_id', 'version', 'created_at', 'updated_at'],
    optional_fields: OPTIONAL_FIELDS,
    // If free shipping is unknown, the body has no `free_shipping`. The default must be null, because the key is 0 then.
    aggregate_defaults: {
      ...{ free_shipping: null, view_count: 0, options: [], variants: [] },
      ...{ listing_ids: [], featured_positions: {}, former_listings: [] },
    },
    state_defaults: { deleted: null, reviews: NO_REVIEWS, page_views: 0, revision: 0 },
  },
  lists: {
    filters: {
      visibility: visibilitySchema.options,
      featured_rank: { below: NOT_FEATURED },
      free_shipping: [0, 1],
      in_stock: [0, 1],
    },
    scopes: ['listing_id', 'store_id'],
    orders: [
      // With `also`, a list that is filtered by these keys reads only the documents of its page, and a count none.
      { key: 'created_at', also: ['price_up', 'price_max', ...ATTENTION] },
      { key: 'price_up', also: ['created_at', 'price_max'] },
      { key: 'price_down' },
      { key: 'name_fold', also: ['price_up', 'price_max'] },
      { key: 'rating_rank', also: ['price_up', 'price_max'] },
    ],
    shared: {
      scope: 'listing_id',
      rank: 'featured_rank',
      rank_max: NOT_FEATURED,
      ranksOf: (keys) => ranksIn(keys as PublicationKeys),
      wordOf: (listing_id, is_featured) => (is_featured ? featuredIn : listedIn)(listing_id),
    },
    variants: [
      {
        name: 'language',
        keys: ['name_fold'],
        valuesOf: (keys) => namesOf(keys as PublicationKeys),
        wordOf: titledIn,
      },
      {
        name: 'currency',
        keys: ['price_up', 'price_max', 'has_discount'],
        valuesOf: (keys) => pricesOf(keys as PublicationKeys),
        wordOf: pricedIn,
      },
    ],
  },
  indexes: [
    // The keys after `id` are filters. With them in the index, a filtered list reads only the documents of its page, and
    // a count reads no document.
    ...LIST_SCOPES.flatMap((scope) => [
      [scope, 'visibility', 'created_at', 'id', 'price_up', ...FILTERS, ...ATTENTION] as const,
      [scope, 'visibility', 'price_up', 'id', ...FILTERS] as const,
      [scope, 'visibility', 'price_down', 'id', ...FILTERS] as const,
      [scope, 'visibility', 'name_fold', 'id', 'price_up', ...FILTERS] as const,
      [scope, 'visibility', 'rating_rank', 'id', 'price_up', ...FILTERS] as const,
    ]),
    ['store_id', 'visibility', 'featured_rank', 'id'],
    ['store_id', 'visibility', 'external_id', 'id'],
    ['due_at', 'id'],
    ['varies_in', 'price_max', 'id', 'price_up', 'visibility'],
    ['deleted_in', '-deleted_at', '-id'],
  ],
};

/**
 * `price_up` and `price_down` of an inactive price: beyond every price, so that it sorts last in both directions
 * (docs/interface/lists.md#sorting).
 */
export const INACTIVE_PRICE_UP = 1_000_000_000_000;
export const INACTIVE_PRICE_DOWN = -1;

export type PublicationKeys = KeysOf<typeof keys> & { readonly visibility: Visibility | null };

/**
 * Returns what customers can buy at a time, in Unix milliseconds. If the publication has prices in other currencies, there is
 * also a unit for each price in each currency, whose price contains the currency (`priceIn`).
 */
export function unitsOf(publication: Publication, at_ms: number): Unit[] {
  const { quantity_available } = publication;
  const in_currencies = currenciesOf(publication).flatMap((priced) =>
    unitsIn(priced, quantity_available, at_ms).map((unit) => ({
      ...unit,
      price: priceIn(priced.price_currency, unit.price!),
    })),
  );
  return [...unitsIn(publication, quantity_available, at_ms), ...in_currencies];
}

/** Returns the publication in each currency, also its own one. None without prices in other currencies, or if they are inactive. */
const currenciesOf = (publication: Publication): Priced[] =>
  publication.prices && publication.price_active ? inEachCurrency(publication) : [];

function unitsIn(publication: Priced, quantity_available: number | null, at_ms: number): Unit[] {
  const { variants } = publication;
  const priceOf = pricesAt(publication, at_ms);
  if (variants.length === 0) {
    const in_stock = quantity_available === null || quantity_available > 0;
    return [{ price: priceOf(publication), in_stock, labels: [] }];
  }
  // No two are equal, because no two variants have the same option values.
  return variants.map((variant) => ({
    price: priceOf(variant),
    in_stock: isAvailable(variant),
    labels: variantLabels(variant),
  }));
}

/** Whether something costs less at a time than before, or than elsewhere (docs/interface/publications.md#sales). */
function hasDiscount(publication: Priced, at_ms: number): boolean {
  const { price_active, variants } = publication;
  const isCompared = (one: Variant | Priced) => (one.compare_at_amount ?? 0) > one.price_amount;
  const is_compared = price_active && [publication, ...variants].some(isCompared);
  return is_compared || (isSale(publication, at_ms) && hasSale(publication));
}

/** Replaces a space in a title in `places`. `nameKey` never returns this character. */
const SPACE = '\u00a0';

/**
 * Returns the places as one text: `<listing id>=<position>`, without a position `<listing id>=`,
 * `<currency>=<lowest price>,<highest price>,<whether there is a discount>`, and `<language>:<title for sorting>`, with spaces
 * between them.
 */
function placesText(publication: Publication, units: readonly Unit[], at_ms: number): string | null {
  const { listing_ids, featured_positions } = publication;
  const listings = listing_ids.map((id) => `${id}=${featured_positions[id] ?? ''}`);
  const currencies = currenciesOf(publication).map((priced) => {
    const prices = pricesAmong(units, priceIn(priced.price_currency, 0));
    const values = [Math.min(...prices), Math.max(...prices), +hasDiscount(priced, at_ms)];
    return `${priced.price_currency}=${values}`;
  });
  const languages = titlesOf(publication).map(
    ([language, title]) => `${language}:${nameKey(title, language).replaceAll(' ', SPACE)}`,
  );
  return [...listings, ...currencies, ...languages].join(' ') || null;
}

/** Returns the prices of the units in a currency. `zero`: the number of a price of 0 in it (`priceIn`). */
const pricesAmong = (units: readonly Unit[], zero: number): number[] =>
  units.flatMap(({ price }) =>
    price !== null && zero <= price && price <= zero + PRICE_AMOUNT_MAX ? price - zero : [],
  );

/** A place of each kind: its name and its value. */
const PLACES = {
  listing: /^(?![A-Z]{3}=)([^=:]+)=(.*)$/s,
  currency: /^([A-Z]{3})=(.*)$/s,
  language: /^([A-Za-z-]+):(.*)$/s,
};

function placesIn(
  { places }: Pick<PublicationKeys, 'places'>,
  kind: keyof typeof PLACES,
): [name: string, value: string][] {
  if (!places) return [];
  return places.split(' ').flatMap((place): [string, string][] => {
    const [, name, value] = PLACES[kind].exec(place) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value]];
  });
}

type PriceKeys = Pick<PublicationKeys, 'price_up' | 'price_max' | 'has_discount'>;

/** Returns the keys of prices in each currency, if the publication has prices in other currencies. `price_down` is `price_up`. */
function pricesOf(keys: PublicationKeys): Map<string, PriceKeys> {
  return new Map(
    placesIn(keys, 'currency').map(([currency, values]) => {
      const [lowest = 0, price_max = 0, has_discount = 0] = values.split(',').map(Number);
      return [currency, { price_up: lowest, price_max, has_discount }];
    }),
  );
}

/** Returns the sort key of the title in each language that has one. */
const namesOf = (keys: PublicationKeys): Map<string, Pick<PublicationKeys, 'name_fold'>> =>
  new Map(
    placesIn(keys, 'language').map(([language, name]) => [
      language,
      { name_fold: name.replaceAll(SPACE, ' ') },
    ]),
  );

/** Larger than `INACTIVE_PRICE_UP`. */
const UNPRICED_STEP = 10_000_000_000_000;

/** Returns how far a publication that has no price in a currency is behind its place in the order of the own prices. */
export const unpricedStep = (key: string): number =>
  key === 'price_up' ? UNPRICED_STEP : key === 'price_down' ? -UNPRICED_STEP : 0;

/**
 * Returns the keys with the prices in a currency. A publication without one gets keys that are behind those of all others, in
 * the order of the prices in its own currency.
 */
export function keysInCurrency(keys: PublicationKeys, currency: string): PublicationKeys {
  const prices = pricesOf(keys).get(currency);
  if (prices) return { ...keys, ...prices, price_down: prices.price_up };
  const price_up = keys.price_up! + unpricedStep('price_up');
  return { ...keys, price_up, price_down: keys.price_down! + unpricedStep('price_down') };
}

/** Returns the prefix of sort keys in a language. It puts publications without a title in the language behind all others. */
export const namePrefix = (is_translated: boolean, mode: ListSortMode): string =>
  is_translated === (mode === 'name_asc') ? '0' : '1';

/** Returns the keys for an order by the titles in a language. A publication without such a title has the key of its own title. */
export function keysInLanguage(keys: PublicationKeys, language: string, mode: ListSortMode): PublicationKeys {
  const translated = namesOf(keys).get(language);
  const { name_fold } = translated ?? keys;
  return { ...keys, name_fold: `${namePrefix(translated !== undefined, mode)}${name_fold}` };
}

/** Returns the position in each of the other listings, in the order of the listings. `NOT_FEATURED` stands for no position. */
export function placesOf(keys: Pick<PublicationKeys, 'places'>): Map<string, number> {
  return new Map(
    placesIn(keys, 'listing').map(([id, position]) => [
      id,
      position === '' ? NOT_FEATURED : Number(position),
    ]),
  );
}

/** Returns the `featured_rank` in each listing of the publication, the main one included. */
function ranksIn(keys: PublicationKeys): ReadonlyMap<string, number> {
  const ranks = placesOf(keys);
  if (keys.listing_id !== null) ranks.set(keys.listing_id, keys.featured_rank ?? NOT_FEATURED);
  return ranks;
}

/** Returns the keys without these listings. */
export function keysWithoutListings(keys: PublicationKeys, ids: ReadonlySet<string>): PublicationKeys {
  const listing_id = keys.listing_id !== null && ids.has(keys.listing_id) ? null : keys.listing_id;
  const places = (keys.places ?? '').split(' ').filter((place) => !ids.has(place.split('=')[0]!));
  return { ...keys, listing_id, places: places.join(' ') || null };
}

/** Returns the keys with the first position that the publication has in one of these listings. */
export function keysInListings(keys: PublicationKeys, listing_ids: readonly string[]): PublicationKeys {
  const ranks = ranksIn(keys);
  const featured_rank = Math.min(...listing_ids.map((id) => ranks.get(id) ?? NOT_FEATURED));
  return featured_rank === keys.featured_rank ? keys : { ...keys, featured_rank };
}

/** Larger than every time of creation in milliseconds until the year 2527. 500 times as much is still a safe integer. */
const RATING_STEP = 2 ** 44;

/**
 * Returns the place in an order by rating as one number, so that a list is sorted by one key and the id. Equal averages,
 * and publications without reviews, which have the average 0, are sorted by `created_at`.
 */
export const ratingRank = (reviews: ReviewCounts, created_at: string): number =>
  Math.round(averageOf(reviews) * 100) * RATING_STEP + Date.parse(created_at);

/**
 * Returns the keys, with the prices at a time in Unix milliseconds. `listing_id` is null if the publication is in no listing of
 * its store.
 */
export function publicationKeys(
  publication: Publication,
  { listing_id, has_media }: Pick<PublicationKeys, 'listing_id' | 'has_media'>,
  reviews: ReviewCounts,
  at_ms: number,
  units: readonly Unit[] = unitsOf(publication, at_ms),
): PublicationKeys {
  const prices = pricesAmong(units, 0);
  const [lowest, highest] = [Math.min(...prices), Math.max(...prices)];
  const is_active = prices.length > 0;
  const due_at = dueAt(publication);
  const changes = [due_at, priceChangeAfter(publication, at_ms)].filter((time) => time !== null);
  return {
    store_id: publication.store_id,
    listing_id,
    places: placesText(publication, units, at_ms),
    visibility: publication.visibility,
    featured_rank: publication.featured_position ?? NOT_FEATURED,
    created_at: publication.created_at,
    price_up: is_active ? lowest : INACTIVE_PRICE_UP,
    price_down: is_active ? lowest : INACTIVE_PRICE_DOWN,
    price_max: is_active ? highest : INACTIVE_PRICE_DOWN,
    varies_in: lowest < highest ? publication.store_id : null,
    name_fold: foldText(publication.title),
    rating_rank: ratingRank(reviews, publication.created_at),
    free_shipping: publication.free_shipping ? 1 : 0,
    has_discount: +hasDiscount(publication, at_ms),
    has_media: has_media ?? 0,
    scheduled: +(due_at !== null),
    in_stock: +units.some(({ in_stock }) => in_stock),
    deleted_in: null,
    deleted_at: null,
    external_id: publication.external_id,
    due_at: changes.length > 0 ? Math.min(...changes) : null,
    version: publication.version,
  };
}

export type PublicationBody = JsonObject & {
  readonly id: string;
  readonly object: 'publication';
  readonly handle?: string;
  /** Absent if the publication is in no listing that exists, or if its listing is private. */
  readonly listing_id?: string;
  /** The other listings that are public. Absent if there are none. */
  readonly listing_ids?: string[];
  /** The ids of the media in `expansions`. */
  readonly media_ids: string[];
  readonly stats: PublicationCounts & { readonly media_count: number };
};

/** The counts from which the summary of reviews is computed (docs/interface/reviews.md). */
export interface ReviewCounts {
  readonly count: number;
  readonly sum: number;
  /** Number of reviews by rating, `"1"` to `"5"`. Ratings without reviews are 0 or missing. */
  readonly distribution: Readonly<Record<string, number>>;
}

/** Returns the rating that a publication shows. No field without reviews. */
export const ratingOf = (reviews: ReviewCounts): Pick<PublicationCounts, 'rating'> =>
  reviews.count === 0 ? {} : { rating: { average: averageOf(reviews), count: reviews.count } };

/**
 * The part of a publication's document that the projection needs for the next event.
 *
 * A publication's document is created as a placeholder if a review or a view is projected before the first event of the
 * publication's own stream, for example because that stream is on the dead-letter list. In a placeholder, `publication`
 * is null, all keys are null and the body is empty, so no read returns it. That of a deleted publication has `deleted_in` and
 * `deleted_at`.
 */
export interface PublicationDocumentState {
  readonly publication: Publication | null;
  /** Set if the publication is deleted. The document is a placeholder then, and becomes one again if it is restored. */
  readonly deleted: Deleted<Publication> | null;
  readonly reviews: ReviewCounts;
  /** Views counted in the streams of views. `publication.view_count` counts views in the publication's own stream. */
  readonly page_views: number;
  /** Revision of the last event of the publication's own stream that is in this document. */
  readonly revision: number;
}

export interface PublicationExpansions {
  /** Null if the publication is in no listing that exists. */
  readonly listing: ListingEmbed | null;
  /** The other listings that exist, in the order of `listing_ids`. */
  readonly listings: readonly PlaceEmbed[];
  /** All media of the publication that exist, in the order of its `media_ids`. */
  readonly media: readonly MediaEmbed[];
  /** The first `LISTED_VARIANTS_MAX` variants. All of them are in the state. */
  readonly variants: readonly ShownVariant[];
}

export type PublicationDocument = Document<
  PublicationKeys,
  PublicationDocumentState,
  PublicationExpansions,
  PublicationBody
>;
