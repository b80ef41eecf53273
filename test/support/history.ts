import fc from 'fast-check';
import { type Category, type JsonObject, streamName } from '../../shared/catalog/events/envelope';
import { nameIdOf } from '../../shared/catalog/name/name';
import { packCounts } from '../../shared/catalog/publication/page-views';
import { variantId } from '../../shared/catalog/publication/variants';
import {
  type ReviewStatus,
  reviewStatusSchema,
  sortModeSchema,
  storeStatusSchema,
  visibilitySchema,
} from '../../shared/catalog/vocabulary';
import type { MemoryEventStore } from './memory-event-store';

/** One event of a generated history. `n` numbers the items of a kind. */
export interface Step {
  readonly category: Category;
  readonly id: string;
  readonly type: string;
  readonly data: JsonObject;
  readonly store_id: string;
}

const STORES = 2;
const LISTINGS = 28;
const PUBLICATIONS = 44;
/** The only listing of the second store. It may be created late. */
const LATE_LISTING = 3;
/** Publications with this number or a higher one belong to the second store. */
const SECOND_STORE_FROM = 40;
const REVIEWS = 12;
/** More than a store shows on its first page. */
const MEDIA = 26;
/**
 * Publications and listings refer only to the first few media, so that each has many references. The last of these few
 * belongs to the second store.
 */
const REFERRED_MEDIA = 6;

const uuid = (kind: string, n: number): string =>
  `${kind}0000000-0000-7000-8000-${String(n).padStart(12, '0')}`;
export const storeId = (n: number): string => uuid('a', n);
export const listingId = (n: number): string => uuid('b', n);
export const publicationId = (n: number): string => uuid('c', n);
export const reviewId = (n: number): string => uuid('d', n);
export const mediaId = (n: number): string => uuid('9', n);
export const methodId = (n: number): string => uuid('e', n);

/**
 * Nearly everything belongs to the first store and most publications to its first listing, so that lists grow beyond
 * twenty.
 */
const storeOfListing = (n: number): string => storeId(n === LATE_LISTING ? 1 : 0);
const storeOfPublication = (n: number): string => storeId(n < SECOND_STORE_FROM ? 0 : 1);

const store = (n: number, type: string, data: JsonObject): Step => ({
  category: 'store',
  id: storeId(n),
  store_id: storeId(n),
  type,
  data,
});
const listing = (n: number, type: string, data: JsonObject): Step => ({
  category: 'listing',
  id: listingId(n),
  store_id: storeOfListing(n),
  type,
  data,
});
const publication = (n: number, type: string, data: JsonObject): Step => ({
  category: 'publication',
  id: publicationId(n),
  store_id: storeOfPublication(n),
  type,
  data,
});

const media = (n: number, type: string, data: JsonObject): Step => ({
  category: 'media',
  id: mediaId(n),
  store_id: storeId(n === REFERRED_MEDIA - 1 ? 1 : 0),
  type,
  data,
});

const image = (n: number, letter: string): JsonObject => ({
  hash: `${letter}${n}`.padEnd(64, '0'),
  mime_type: 'image/png',
  size_bytes: 1000 + n,
  width: 30,
  height: 20,
});

export const mediaUploaded = (n: number): Step =>
  media(n, 'MediaUploaded', {
    store_id: storeId(n === REFERRED_MEDIA - 1 ? 1 : 0),
    ...image(n, 'a'),
    alt: null,
  });

export const mediaProcessed = (n: number): Step =>
  media(n, 'MediaProcessed', {
    picture: image(n, 'b'),
    variants: [{ name: 'thumb', ...image(n, 'c') }],
    placeholder: 'data:image/webp;base64,AA==',
  });

export const mediaFailed = (n: number): Step => media(n, 'MediaFailed', { reason: 'damaged' });
const mediaDescribed = (n: number, alt: string): Step =>
  media(n, 'MediaDescribed', { alt, focal_point: { x: 0.25, y: 1 } });
export const mediaDeleted = (n: number): Step => media(n, 'MediaDeleted', {});

const profile = { description: null, businessHours: null, contact: null, policies: null, ruc: null };

export const storeCreated = (n: number): Step =>
  store(n, 'StoreCreated', { account_id: uuid('f', 0), environment: 'live', name: `Store ${n}`, ...profile });

export const listingCreated = (n: number, fields: JsonObject = {}): Step =>
  listing(n, 'ListingCreated', {
    store_id: storeOfListing(n),
    name: `Listing ${n}`,
    description: null,
    visibility: 'public',
    default_sort_mode: 'created_at_desc',
    media_ids: [],
    ...fields,
  });

/** Undoes a deletion. The listing comes back at the top. */
export const listingRestored = (n: number, fields: JsonObject = {}): Step =>
  listing(n, 'ListingRestored', { store_id: storeOfListing(n), parent_id: null, media_ids: [], ...fields });

export const publicationCreated = (n: number, fields: JsonObject = {}): Step =>
  publication(n, 'PublicationCreated', {
    store_id: storeOfPublication(n),
    title: `Publication ${n}`,
    description: '',
    description_html: null,
    visibility: 'public',
    price_currency: 'USD',
    price_amount: 1000 + n,
    price_active: true,
    free_shipping: null,
    quantity_available: null,
    featured_position: null,
    listing_id: listingId(n < SECOND_STORE_FROM ? 0 : LATE_LISTING),
    media_ids: [],
    ...fields,
  });

/** Undoes a deletion. */
export const publicationRestored = (n: number, fields: JsonObject = {}): Step => {
  const { data, ...step } = publicationCreated(n, fields);
  const { store_id, listing_id, media_ids, listing_ids = [] } = data as JsonObject;
  const references = { store_id, listing_id, media_ids, listing_ids } as JsonObject;
  return { ...step, type: 'PublicationRestored', data: references };
};

export const reviewPosted = (n: number, publication_n: number, rating: number): Step => ({
  category: 'review',
  id: reviewId(n),
  store_id: storeOfPublication(publication_n),
  type: 'ReviewPosted',
  data: {
    store_id: storeOfPublication(publication_n),
    publication_id: publicationId(publication_n),
    rating,
    title: null,
    body: 'as expected',
    author_name: 'A.',
    verified: false,
    created_at: '2025-12-01T00:00:00.000Z',
  },
});

export const reviewModerated = (n: number, publication_n: number, status: ReviewStatus): Step => ({
  ...reviewPosted(n, publication_n, 1),
  type: 'ReviewModerated',
  data: { publication_id: publicationId(publication_n), status },
});
export const reviewDeleted = (n: number, publication_n: number): Step => ({
  ...reviewPosted(n, publication_n, 1),
  type: 'ReviewDeleted',
  data: {},
});

/** Page views of publications of one store: `[number of the publication, views]`. */
export const publicationsViewed = (...counts: readonly (readonly [number, number])[]): Step => {
  const store_id = storeOfPublication(counts[0]![0]);
  return {
    ...{ category: 'views', id: `${store_id}-2026-01-01`, store_id, type: 'PageViewsCounted' },
    data: { counts: packCounts(Object.fromEntries(counts.map(([n, views]) => [publicationId(n), views]))) },
  };
};

/** The publication with number `n` reserves a name of the first store. */
const nameReserved = (value: string, n: number): Step => {
  const name = { store_id: storeId(0), kind: 'publication', field: 'external_id', value };
  const data = { ...name, owner_id: publicationId(n) };
  return { category: 'name', id: nameIdOf(name), store_id: storeId(0), type: 'NameReserved', data };
};

export const onListing = listing;
export const onPublication = publication;
export const onStore = store;

/** Returns one of the steps, with weights. */
const oneOf = (...choices: readonly (readonly [weight: number, step: fc.Arbitrary<Step>])[]) =>
  fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));

const visibility = fc.constantFrom(...visibilitySchema.options);
const sortMode = fc.constantFrom(...sortModeSchema.options);
const featured = fc.option(fc.integer({ min: 1, max: 4 }));
const stock = fc.option(fc.integer({ min: 0, max: 2 }));
const anyListing = (n: number): fc.Arbitrary<string | null> =>
  fc.option(fc.constantFrom(...(n < SECOND_STORE_FROM ? [0, 0, 1, 2] : [LATE_LISTING])).map(listingId));
/** Some other listings, possibly the main one among them, and positions in some of these. */
const someListings = (n: number) =>
  fc
    .tuple(
      fc.shuffledSubarray((n < SECOND_STORE_FROM ? [0, 1, 2, 4] : [LATE_LISTING]).map(listingId)),
      fc.array(featured, { minLength: 4, maxLength: 4 }),
    )
    .map(([listing_ids, positions]) => ({
      listing_ids,
      featured_positions: Object.fromEntries(
        listing_ids.flatMap((id, index) => (positions[index] ? [[id, positions[index]]] : [])),
      ),
    }));
/** Few parents, so that moves make deep trees and circles. */
const anyParent = (n: number): fc.Arbitrary<string | null> =>
  n === LATE_LISTING
    ? fc.constant(null)
    : fc.option(fc.constantFrom(...[0, 1, 2, 4, 5].filter((parent) => parent !== n)).map(listingId));
const price = fc.record({
  price_currency: fc.constant('USD'),
  price_amount: fc.integer({ min: 0, max: 5 }),
  price_active: fc.boolean(),
});
const classification = fc.record({
  vendor: fc.constantFrom(null, 'Acme', 'Zeta'),
  product_type: fc.constantFrom(null, 'Tea'),
  tags: fc.constantFrom<string[] | null>(null, ['new'], ['new', 'Green, loose']),
  attributes: fc.constantFrom<JsonObject | null>(
    null,
    { size: 'M', grams: 250, vegan: true },
    { colour: ['red', 'blue'] },
  ),
});
const sale = fc.record({
  compare_at_amount: fc.constantFrom(null, 3),
  sale_price_amount: fc.constantFrom(null, 2),
  sale_from: fc.constantFrom(null, '2026-01-01T00:00:00.000Z'),
  sale_to: fc.constantFrom(null, '2026-02-01T00:00:00.000Z'),
});
const prices = fc.constantFrom<JsonObject>(
  {},
  { PEN: { price_amount: 4 } },
  {
    PEN: { price_amount: 4, sale_price_amount: 2, sale_to: '2026-02-01T00:00:00.000Z' },
    EUR: { price_amount: 1 },
  },
);
const schedule = fc.record({
  publish_at: fc.constantFrom(null, '2026-01-01T00:00:00.000Z'),
  unpublish_at: fc.constantFrom(null, '2026-02-01T00:00:00.000Z'),
});
const seo = fc.constantFrom(null, { title: 'Tea' });
const word = fc.constantFrom('Älpha', 'alpha', 'beta', 'Gamma', 'delta');

const someMediaIds = fc
  .shuffledSubarray(Array.from({ length: REFERRED_MEDIA }, (_, n) => mediaId(n)))
  .map((media_ids) => ({ media_ids }));

const external_id = fc.constantFrom('erp-1', 'erp-2', 'erp-3');
const names = fc.record({
  external_id: fc.option(external_id),
  handle: fc.option(fc.constantFrom('tea', 'mate')),
});
const someName = fc
  .tuple(external_id, fc.integer({ min: 0, max: SECOND_STORE_FROM - 1 }))
  .map(([value, n]) => nameReserved(value, n));

const onSomeMedia = fc
  .integer({ min: 0, max: MEDIA - 1 })
  .chain((n) =>
    oneOf(
      [2, fc.constant(mediaUploaded(n))],
      [3, fc.constant(mediaProcessed(n))],
      [1, fc.constant(mediaFailed(n))],
      [1, word.map((alt) => mediaDescribed(n, alt))],
      [2, fc.constant(mediaDeleted(n))],
    ),
  );

/** A variant of a publication, as events contain it. */
const variantOf = (publication_n: number, n: number, fields: JsonObject = {}): JsonObject => ({
  id: variantId(publicationId(publication_n), 0, n),
  sku: null,
  barcode: null,
  option_values: { Size: String(n) },
  price_amount: 1000 + n,
  compare_at_amount: null,
  quantity_available: null,
  allow_backorder: false,
  position: n + 1,
  media_id: null,
  weight_grams: null,
  attributes: null,
  ...fields,
});
const someVariant = (publication_n: number) =>
  fc
    .record({
      n: fc.integer({ min: 0, max: 2 }),
      price_amount: fc.integer({ min: 0, max: 5 }),
      quantity_available: stock,
      allow_backorder: fc.boolean(),
      position: fc.integer({ min: 1, max: 3 }),
      more: fc.constantFrom<JsonObject>({}, {}, { prices: { PEN: { price_amount: 3 } } }),
    })
    .map(({ n, more, ...fields }) => variantOf(publication_n, n, { ...fields, ...more }));

const onSomePublication = fc.integer({ min: 0, max: PUBLICATIONS - 1 }).chain((n) =>
  oneOf(
    [3, anyListing(n).map((listing_id) => publication(n, 'PublicationMovedToListing', { listing_id }))],
    [3, someListings(n).map((data) => publication(n, 'PublicationPlaced', data))],
    [3, price.map((data) => publication(n, 'PublicationPriced', data))],
    [3, visibility.map((to) => publication(n, 'PublicationVisibilityChanged', { visibility: to }))],
    [2, featured.map((at) => publication(n, 'PublicationFeatured', { featured_position: at }))],
    [2, stock.map((left) => publication(n, 'PublicationStocked', { quantity_available: left }))],
    [2, fc.constant(publication(n, 'PublicationViewed', { count: 1 }))],
    [3, fc.constant(publication(n, 'PublicationDeleted', {}))],
    [1, fc.constant(publication(n, 'PublicationErased', { store_id: storeOfPublication(n) }))],
    [
      3,
      fc
        .tuple(someMediaIds, someListings(n))
        .map(([{ media_ids }, { listing_ids }]) => publicationRestored(n, { media_ids, listing_ids })),
    ],
    [
      2,
      fc.tuple(word, fc.boolean()).map(([title, free_shipping]) =>
        publication(n, 'PublicationDescribed', {
          title,
          description: '',
          description_html: null,
          free_shipping,
        }),
      ),
    ],
    [3, someMediaIds.map((data) => publication(n, 'PublicationMediaArranged', data))],
    [2, classification.map((data) => publication(n, 'PublicationClassified', data))],
    [1, sale.map((data) => publication(n, 'PublicationSaleSet', data))],
    [1, prices.map((data) => publication(n, 'PublicationPricesSet', { prices: data }))],
    [1, schedule.map((data) => publication(n, 'PublicationScheduled', data))],
    [1, seo.map((data) => publication(n, 'PublicationSeoSet', { seo: data }))],
    [2, names.map((data) => publication(n, 'PublicationNamed', data))],
    [3, someVariant(n).map((variant) => publication(n, 'VariantChanged', { variant }))],
    [2, someVariant(n).map(({ id }) => publication(n, 'VariantRemoved', { variant_id: id! }))],
    [1, fc.constant(publication(n, 'VariantsReplaced', { variants: [variantOf(n, 0), variantOf(n, 1)] }))],
  ),
);

const onSomeListing = fc
  .integer({ min: 0, max: LISTINGS - 1 })
  .chain((n) =>
    oneOf(
      [2, word.map((name) => listing(n, 'ListingDescribed', { name, description: null }))],
      [2, visibility.map((to) => listing(n, 'ListingVisibilityChanged', { visibility: to }))],
      [3, sortMode.map((mode) => listing(n, 'ListingSortModeChanged', { default_sort_mode: mode }))],
      [2, someMediaIds.map((data) => listing(n, 'ListingMediaArranged', data))],
      [3, anyParent(n).map((parent_id) => listing(n, 'ListingMoved', { parent_id }))],
      [1, names.map((data) => listing(n, 'ListingNamed', data))],
      [1, seo.map((data) => listing(n, 'ListingSeoSet', { seo: data }))],
      [2, fc.constant(listing(n, 'ListingDeleted', {}))],
      [1, fc.constant(listing(n, 'ListingErased', { store_id: storeOfListing(n) }))],
      [2, someMediaIds.map(({ media_ids }) => listingRestored(n, { media_ids }))],
    ),
  );

const onSomeStore = fc.integer({ min: 0, max: STORES - 1 }).chain((n) =>
  fc.oneof(
    word.map((name) => store(n, 'StoreDescribed', { name, ...profile })),
    fc.constantFrom(...storeStatusSchema.options).map((status) => store(n, 'StoreStatusChanged', { status })),
    fc.integer({ min: 0, max: 2 }).map((m) =>
      store(n, 'PaymentMethodAdded', {
        payment_method_id: methodId(n * 10 + m),
        type: 'cash',
        name: 'Cash',
        instructions: null,
        position: m + 1,
      }),
    ),
    fc
      .integer({ min: 0, max: 2 })
      .map((m) => store(n, 'PaymentMethodRemoved', { payment_method_id: methodId(n * 10 + m) })),
  ),
);

const someReview = fc.integer({ min: 0, max: REVIEWS - 1 }).chain((n) => {
  // Several reviews of a publication, and some of the second store.
  const of = n < 8 ? n % 3 : SECOND_STORE_FROM + (n % 2);
  return oneOf(
    [4, fc.integer({ min: 1, max: 5 }).map((rating) => reviewPosted(n, of, rating))],
    [3, fc.constantFrom(...reviewStatusSchema.options).map((status) => reviewModerated(n, of, status))],
    [1, fc.constant(reviewDeleted(n, of))],
  );
});

const someViews = fc
  .uniqueArray(fc.integer({ min: 0, max: SECOND_STORE_FROM - 1 }), {
    minLength: 1,
    maxLength: 30,
    size: 'max',
  })
  .map((viewed) => publicationsViewed(...viewed.map((n) => [n, n + 1] as const)));

const looks = fc.array(
  fc.record({
    price,
    featured,
    pictures: fc.constantFrom([], [0], [0, 1]),
    visibility: fc.constantFrom('public', 'public', 'private'),
  }),
  { minLength: PUBLICATIONS, maxLength: PUBLICATIONS },
);

const creations: fc.Arbitrary<Step[]> = fc
  .tuple(sortMode, looks)
  .map(([default_sort_mode, generated_looks]) => {
    const steps = [0, 1].map(storeCreated);
    for (let n = 0; n < LISTINGS; n++)
      if (n !== LATE_LISTING) steps.push(listingCreated(n, { default_sort_mode }));
    for (let n = 0; n < MEDIA; n++) if (n % 2 === 0) steps.push(mediaUploaded(n));
    for (const [
      n,
      { price: cost, featured: featured_position, visibility: shown, pictures },
    ] of generated_looks.entries()) {
      const media_ids = pictures.map(mediaId);
      steps.push(publicationCreated(n, { ...cost, featured_position, visibility: shown, media_ids }));
    }
    return steps;
  });

const changes = (length: number): fc.Arbitrary<Step[]> =>
  fc.array(
    oneOf(
      [12, onSomePublication],
      [3, onSomeListing],
      [3, onSomeMedia],
      [1, onSomeStore],
      [3, someReview],
      [2, someViews],
      [2, someName],
      [1, fc.constant(listingCreated(LATE_LISTING))],
    ),
    { maxLength: length, size: 'max' },
  );

/** Generates a history in a natural order: items are created, then changed. */
export function historyOf(length: number): fc.Arbitrary<Step[]> {
  return fc.tuple(creations, changes(length)).map(([made, changed]) => firstCreations([...made, ...changed]));
}

/** Generates a history in any order: reviews may precede their publication, and publications their listing. */
export function shuffledHistoryOf(length: number): fc.Arbitrary<Step[]> {
  return historyOf(length).chain((steps) => fc.shuffledSubarray(steps, { minLength: steps.length }));
}

/** Keeps the first creation of each review, listing, payment method and media. */
function firstCreations(steps: readonly Step[]): Step[] {
  const seen = new Set<string>();
  return steps.filter(({ type, id, data }) => {
    if (!['ReviewPosted', 'ListingCreated', 'PaymentMethodAdded', 'MediaUploaded'].includes(type))
      return true;
    const key = `${type} ${id} ${String(data.payment_method_id ?? '')}`;
    return !seen.has(key) && seen.add(key);
  });
}

/** Appends the steps. Three consecutive events share a minute, so that some publications are sorted by id alone. */
export async function play(events: MemoryEventStore, steps: readonly Step[]): Promise<void> {
  for (const { category, id, type, data, store_id } of steps) {
    const minute = Math.floor(events.log.length / 3);
    const at = new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
    await events.push(streamName('live', category, id), type, data, store_id, at);
  }
}
