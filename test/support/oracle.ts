import { type Deleted, stateOf } from '../../shared/catalog/events/aggregate';
import { decodeEvent } from '../../shared/catalog/events/codec';
import { parseStreamName, type RecordedEvent } from '../../shared/catalog/events/envelope';
import {
  type Listing,
  type ListingEvent,
  listingAggregate,
  listingResource,
} from '../../shared/catalog/listing/listing';
import { type Media, type MediaEvent, mediaAggregate, mediaResource } from '../../shared/catalog/media/media';
import type { NameEvent } from '../../shared/catalog/name/name';
import { type PageViewEvent, viewsIn } from '../../shared/catalog/publication/page-views';
import { shownVariants } from '../../shared/catalog/publication/price-history';
import {
  type Publication,
  type PublicationEvent,
  publicationAggregate,
  publicationResource,
} from '../../shared/catalog/publication/publication';
import type { ReviewEvent, ReviewFields } from '../../shared/catalog/review/review';
import { labelTerm } from '../../shared/catalog/search/words';
import { type Store, type StoreEvent, storeAggregate, storeResource } from '../../shared/catalog/store/store';
import { foldText } from '../../shared/kernel/text';

/** The expected documents, computed from the whole log at once without the code of the projections. */
export interface Expected {
  readonly stores: ReadonlyMap<string, unknown>;
  readonly listings: ReadonlyMap<string, unknown>;
  readonly publications: ReadonlyMap<string, unknown>;
  readonly media: ReadonlyMap<string, unknown>;
  /** The owner of each reserved name. */
  readonly names: ReadonlyMap<string, string>;
  readonly reviews: ReadonlyMap<string, unknown>;
  /** `<media id>.<id of the item that refers to it>`. */
  readonly media_uses: readonly string[];
  /** `<listing id>.<id of the publication that has it among its other listings>`. */
  readonly places: readonly string[];
}

const exists = (one: Publication | Deleted<Publication>): one is Publication => !('tag' in one);

export function expectedOf(log: readonly RecordedEvent[]): Expected {
  const stores = new Map<string, Store>();
  const listings = new Map<string, Listing>();
  const deleted = new Map<string, Deleted<Listing>>();
  const products = new Map<string, Publication | Deleted<Publication>>();
  /** The time of the last event of each publication. */
  const times = new Map<string, string>();
  const reviews = new Map<string, ReviewFields | 'deleted'>();
  const page_views = new Map<string, number>();
  const media = new Map<string, Media | 'deleted'>();
  const names = new Map<string, string>();

  for (const recorded of log) {
    const { id, category } = parseStreamName(recorded.stream)!;
    const at = recorded.metadata.occurred_at;
    const event = decodeEvent(recorded);
    if (category === 'store') {
      const before = stores.get(id);
      const after = storeAggregate.evolve(stateOf(before), event as StoreEvent, id as never, at);
      if (after.tag === 'present') stores.set(id, after.resource);
    } else if (category === 'listing') {
      const before = deleted.get(id) ?? stateOf(listings.get(id));
      const after = listingAggregate.evolve(before, event as ListingEvent, id as never, at);
      listings.delete(id);
      deleted.delete(id);
      if (after.tag === 'present') listings.set(id, after.resource);
      if (after.tag === 'deleted') deleted.set(id, after);
    } else if (category === 'publication') {
      times.set(id, at);
      const known = products.get(id);
      const before = known && !exists(known) ? known : stateOf(known);
      const after = publicationAggregate.evolve(before, event as PublicationEvent, id as never, at);
      if (after.tag === 'deleted') products.set(id, after);
      if (after.tag === 'present') products.set(id, after.resource);
    } else if (category === 'media' && media.get(id) !== 'deleted') {
      const before = media.get(id) as Media | undefined;
      const after = mediaAggregate.evolve(stateOf(before), event as MediaEvent, id as never, at);
      if (after.tag === 'deleted') media.set(id, 'deleted');
      if (after.tag === 'present') media.set(id, after.resource);
    } else if (category === 'views') {
      for (const [viewed, views] of Object.entries(viewsIn(event as PageViewEvent)))
        page_views.set(viewed, (page_views.get(viewed) ?? 0) + views);
    } else if (category === 'name') {
      names.set(id, (event as NameEvent).data.owner_id);
    } else if (category === 'review') {
      const { type, data } = event as ReviewEvent;
      const before = reviews.get(id);
      if (type === 'ReviewPosted') reviews.set(id, before ?? data);
      else if (type === 'ReviewErased') reviews.set(id, 'deleted');
      else if (before !== undefined && before !== 'deleted')
        reviews.set(id, type === 'ReviewDeleted' ? 'deleted' : { ...before, status: data.status });
    } else if (!['listing', 'publication', 'media'].includes(category)) {
      throw new Error(`the oracle does not know the documents of ${category}`);
    }
  }
  const alive = [...products.values()].filter(exists);
  const lowestPrice = (product: Publication): number =>
    Math.min(...unitsOf(product, times.get(product.id)!).map((unit) => JSON.parse(unit).price as number));
  const inListing = (id: string): Publication[] => alive.filter((product) => product.listing_id === id);
  const placedIn = (id: string): Publication[] => alive.filter(({ listing_ids }) => listing_ids.includes(id));
  /** All publications of a listing, with their positions in it. */
  const membersOf = (id: string): Publication[] => [
    ...inListing(id),
    ...placedIn(id).map((one) => ({ ...one, featured_position: one.featured_positions[id] ?? null })),
  ];
  const keptReviews = [...reviews].filter((entry): entry is [string, ReviewFields] => entry[1] !== 'deleted');
  const present = [...media.values()].filter((one): one is Media => one !== 'deleted');
  const mediaOf = ({ media_ids, store_id }: Pick<Publication, 'media_ids' | 'store_id'>) =>
    media_ids.flatMap((id) => present.filter((one) => one.id === id && one.store_id === store_id));
  const shownMedia = (owner: Pick<Publication, 'media_ids' | 'store_id'>) =>
    mediaOf(owner).map((one) => mediaResource(one, 'live'));
  const mediaIds = (owner: Pick<Publication, 'media_ids' | 'store_id'>) => mediaOf(owner).map(({ id }) => id);
  const reviewsOf = ({ id }: Publication) => {
    const about = keptReviews.filter(
      ([, { publication_id, status }]) => publication_id === id && status === 'published',
    );
    return { count: about.length, sum: about.reduce((sum, [, { rating }]) => sum + rating, 0) };
  };
  const publicationBody = (publication: Publication) => {
    const { listing_id } = publication;
    const is_shown = listing_id !== null && listings.get(listing_id)?.visibility === 'public';
    const listing_ids = publication.listing_ids.filter((id) => listings.get(id)?.visibility === 'public');
    const shown = {
      ...{ listing_id: is_shown ? listing_id : null, listing_ids },
      media_ids: mediaIds(publication),
    };
    const view_count = publication.view_count + (page_views.get(publication.id) ?? 0);
    const { count, sum } = reviewsOf(publication);
    const average = Math.round((100 * sum) / count) / 100;
    return publicationResource(publication, shown, {
      view_count,
      ...(count > 0 && { rating: { average, count } }),
    });
  };
  const usesOf = (one: Media) => {
    const items = [...alive, ...listings.values()];
    const users = items.filter(
      ({ store_id, media_ids }) => store_id === one.store_id && media_ids.includes(one.id),
    );
    const countOf = (visibility: string) => users.filter((user) => user.visibility === visibility).length;
    return { public: countOf('public'), private: countOf('private') };
  };
  const visibilityOf = (one: Media) => (usesOf(one).public > 0 ? 'public' : 'private');
  const entryIn = (listing_id: string) => (product: Publication) => {
    const whole = alive.find(({ id }) => id === product.id)!;
    const main = product.listing_id === listing_id && { listing_id };
    return { id: product.id, body: { ...publicationBody(whole), ...main } };
  };

  const childrenOf = ({ id }: Listing) => {
    const children = [...listings.values()].filter(({ parent_id }) => parent_id === id);
    const countOf = (visibility: string) =>
      children.filter((child) => child.visibility === visibility).length;
    return { public: countOf('public'), private: countOf('private') };
  };
  const listingBody = (listing: Listing) => ({
    ...listingResource(listing),
    stats: {
      media_count: mediaOf(listing).length,
      publication_count: membersOf(listing.id).filter(({ visibility }) => visibility === 'public').length,
    },
    media_ids: mediaIds(listing),
    ...(childrenOf(listing).public > 0 && { children_count: childrenOf(listing).public }),
  });
  return {
    stores: mapValues(stores, (store) => {
      const own = [...listings.values()].filter(({ store_id }) => store_id === store.id);
      const newest = own.sort((a, b) => (a.created_at + a.id < b.created_at + b.id ? 1 : -1));
      const pictures = present.filter(({ store_id }) => store_id === store.id);
      pictures.sort((a, b) => (a.created_at + a.id < b.created_at + b.id ? 1 : -1));
      const shown = (visibility: string) => newest.filter((listing) => listing.visibility === visibility);
      const newestMedia = (visibility: string) =>
        pictures
          .filter((one) => visibilityOf(one) === visibility)
          .map((one) => ({ id: one.id, body: mediaResource(one, 'live') }));
      return {
        body: { ...storeResource(store), stats: { listing_count: shown('public').length } },
        facets: countsOf(alive.filter(({ store_id }) => store_id === store.id)),
        listings: { public: shown('public').length, private: shown('private').length },
        media: { public: newestMedia('public').length, private: newestMedia('private').length },
        newest_media: {
          public: newestMedia('public').slice(0, 20),
          private: newestMedia('private').slice(0, 20),
        },
        payment_methods: store.payment_methods.length,
        entries: {
          public: shown('public')
            .slice(0, 20)
            .map((listing) => ({ id: listing.id, body: listingBody(listing) })),
          private: shown('private')
            .slice(0, 20)
            .map((listing) => ({ id: listing.id, body: listingBody(listing) })),
        },
      };
    }),
    listings: mapValues(listings, (listing) => {
      const first = (visibility: string) =>
        membersOf(listing.id)
          .filter((product) => product.visibility === visibility)
          .sort((a, b) => naiveOrder(listing.default_sort_mode, a, b, lowestPrice))
          .slice(0, 20)
          .map(entryIn(listing.id));
      return {
        body: listingBody(listing),
        facets: countsOf(membersOf(listing.id)),
        children: childrenOf(listing),
        parent_id: listing.parent_id,
        entries: { public: first('public'), private: first('private') },
        media: shownMedia(listing),
      };
    }),
    publications: mapValues(new Map(alive.map((product) => [product.id as string, product])), (product) => {
      const listing = product.listing_id === null ? undefined : listings.get(product.listing_id);
      return {
        body: publicationBody(product),
        labels: labelsOf(product),
        media: shownMedia(product),
        variants: shownVariants(product).slice(0, 50),
        listing_id: product.listing_id,
        listings: product.listing_ids.filter((id) => listings.has(id)),
        due_at: dueAtOf(product, times.get(product.id)!),
        units: allUnits(product, times.get(product.id)!).sort(),
        listing: listing ? { visibility: listing.visibility, body: listingResource(listing) } : null,
        reviews: reviewsOf(product),
      };
    }),
    media: new Map(
      present.map((one) => [
        one.id as string,
        {
          body: mediaResource(one, 'live'),
          visibility: visibilityOf(one),
          in_use: usesOf(one).public + usesOf(one).private > 0 ? 1 : 0,
          uses: usesOf(one),
        },
      ]),
    ),
    names,
    reviews: mapValues(new Map(keptReviews), ({ publication_id, status }) => ({
      publication_id: status === 'published' ? publication_id : null,
      shown: status,
    })),
    media_uses: [...alive, ...listings.values()]
      .flatMap(({ id, media_ids }) => media_ids.map((media_id) => `${media_id}.${id}`))
      .sort(),
    places: alive
      .flatMap(({ id, listing_ids }) => listing_ids.map((listing_id) => `${listing_id}.${id}`))
      .sort(),
  };
}

function dueAtOf(publication: Publication, at: string): number | null {
  const { publish_at, unpublish_at } = publication;
  const sale_changes = inEachCurrency(publication).flatMap((one) =>
    [one.sale_from, one.sale_to].filter((time) => time !== null && time > at && hasOtherPrice(one, time, at)),
  );
  const times = [publish_at, unpublish_at, ...sale_changes].flatMap((time) =>
    time === null ? [] : Date.parse(time),
  );
  return times.length > 0 ? Math.min(...times) : null;
}

/** Returns the publication with its own prices, and then with those in each other currency. */
const inEachCurrency = (publication: Publication): Publication[] => [
  publication,
  ...Object.entries(publication.prices ?? {}).map(([currency, price]) => ({
    ...publication,
    price_currency: currency,
    price_amount: price.price_amount,
    sale_price_amount: price.sale_price_amount ?? null,
    sale_from: price.sale_from ?? null,
    sale_to: price.sale_to ?? null,
    variants: publication.variants.flatMap((variant) => {
      const of_variant = variant.prices?.[currency];
      if (!of_variant) return [];
      const { price_amount, sale_price_amount = null } = of_variant;
      return [{ ...variant, price_amount, sale_price_amount }];
    }),
  })),
];

/** Whether something costs less during the sale than without it. */
const hasOtherPrice = (publication: Publication, ...times: string[]): boolean =>
  new Set(times.map((at) => JSON.stringify(unitsOf(publication, at)))).size > 1;

/** Returns the units of a document: those in the own currency, and those in all currencies, with numbers for prices. */
function allUnits(publication: Publication, at: string): string[] {
  const currencies = publication.prices && publication.price_active ? inEachCurrency(publication) : [];
  const in_currencies = currencies.flatMap((one) =>
    unitsOf(one, at).map((text) => {
      const unit = JSON.parse(text) as { price: number };
      return JSON.stringify({ ...unit, price: Number.parseInt(one.price_currency, 36) * 1e11 + unit.price });
    }),
  );
  return [...unitsOf(publication, at), ...in_currencies];
}

/** Returns price, stock and labels of what customers can buy at a time. Of an inactive price, returns null. */
function unitsOf(publication: Publication, at: string): string[] {
  const { sale_from, sale_to, sale_price_amount, price_active, variants } = publication;
  const is_sale = (sale_from === null || sale_from <= at) && (sale_to === null || sale_to > at);
  const sold =
    variants.length > 0 ? variants : [{ ...publication, allow_backorder: false, option_values: {} }];
  const units = sold.map((one) => {
    const sale = one.sale_price_amount ?? sale_price_amount ?? one.price_amount;
    const price = is_sale ? Math.min(one.price_amount, sale) : one.price_amount;
    const in_stock = one.allow_backorder || one.quantity_available !== 0;
    const labels = Object.entries(one.option_values).map(([name, value]) =>
      labelTerm(`option.${name}`, value),
    );
    if ('sku' in one && one.sku !== null) labels.push(labelTerm('sku', one.sku));
    return JSON.stringify({ price: price_active ? price : null, in_stock, labels });
  });
  return [...new Set(units)];
}

/** Returns the terms by which lists are filtered. */
function labelsOf(publication: Publication): string[] {
  const { vendor, product_type, tags, attributes, options, variants, prices, price_active } = publication;
  const labels: string[] = [];
  if (vendor !== null) labels.push(labelTerm('vendor', vendor));
  if (product_type !== null) labels.push(labelTerm('product_type', product_type));
  for (const tag of tags ?? []) labels.push(labelTerm('tag', tag));
  for (const [name, values] of Object.entries(attributes ?? {}))
    for (const value of Array.isArray(values) ? values : [values])
      labels.push(labelTerm(`attributes.${name}`, `${value}`));
  for (const { name, values } of options)
    for (const value of values) labels.push(labelTerm(`option.${name}`, value));
  for (const { sku } of variants) if (sku !== null) labels.push(labelTerm('sku', sku));
  for (const { barcode } of variants) if (barcode !== null) labels.push(labelTerm('barcode', barcode));
  const { listing_id, listing_ids, featured_position, featured_positions, former_listings } = publication;
  const positions = { ...featured_positions, [listing_id ?? '']: featured_position ?? undefined };
  const all = [...(listing_id === null ? [] : [listing_id]), ...listing_ids];
  for (const id of all) if (positions[id]) labels.push(labelTerm('featured_in', id));
  for (const id of all) if (!positions[id]) labels.push(labelTerm('listed_in', id));
  for (const id of former_listings ?? []) labels.push(labelTerm('formerly_in', id));
  if (price_active && prices) {
    const currencies = [publication.price_currency, ...Object.keys(prices)];
    for (const currency of currencies) labels.push(labelTerm('priced_in', currency));
    for (const currency of currencies) {
      const amounts = new Set(variants.map((one) => JSON.stringify(one.prices?.[currency])));
      const is_own = currency === publication.price_currency && variants.length > 1;
      if (is_own || amounts.size > 1) labels.push(labelTerm('varies_in', currency));
    }
  }
  return [...new Set(labels)];
}

const _visibilitiesIn = (products: readonly Publication[]) => ({
  public: products.filter(({ visibility }) => visibility === 'public').length,
  private: products.filter(({ visibility }) => visibility === 'private').length,
});

function countsOf(products: readonly Publication[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const p of products) {
    const can_be_bought = p.variants.some((each) => each.allow_backorder || each.quantity_available !== 0);
    const in_stock = p.variants.length > 0 ? can_be_bought : p.quantity_available !== 0;
    const flags = [p.featured_position !== null, p.free_shipping === true, in_stock];
    const key = `${p.visibility}:f${+flags[0]!}s${+flags[1]!}i${+flags[2]!}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

/** Sorts featured publications first, then by mode. Equal ones are sorted by id in the mode's direction. */
function naiveOrder(
  mode: string,
  a: Publication,
  b: Publication,
  priceOf: (publication: Publication) => number,
): number {
  const featured = (p: Publication): number => p.featured_position ?? 1e9;
  if (featured(a) !== featured(b)) return featured(a) - featured(b);
  const sign = mode.endsWith('_desc') ? -1 : 1;
  const key = (p: Publication): string | number => {
    if (mode.startsWith('created_at')) return p.created_at;
    if (mode.startsWith('name')) return foldText(p.title);
    // Publications without a price are last in both directions.
    return p.price_active ? priceOf(p) : sign * 1e15;
  };
  const [left, right] = [key(a), key(b)];
  if (left !== right) return left < right ? -sign : sign;
  return a.id < b.id ? -sign : sign;
}

function mapValues<V, R>(map: ReadonlyMap<string, V>, change: (value: V) => R): Map<string, R> {
  return new Map([...map].map(([key, value]) => [key, change(value)]));
}
