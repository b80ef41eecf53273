import { formatPrice } from '../../shared/catalog/input-rules';
import type { Listing } from '../../shared/catalog/listing/listing';
import type { PublicationDocument } from '../../shared/catalog/publication/document';
import type { Publication } from '../../shared/catalog/publication/publication';
import type { Variant } from '../../shared/catalog/publication/variants';
import type { StoredDocument } from '../../shared/catalog/stored-document';
import type { ViewQuery } from '../../shared/ports/view-store';
import { htmlToText } from '../import/html-text';
import {
  type Export,
  type ExportedImage,
  imageOf,
  publicationPages,
  readListings,
} from '../query/export-items';
import { type Edition, type KnownOption, knownOption, productPath, variantPath } from './addresses';

/** The store whose products are read, and the address of its shop. */
export interface Shop extends Export {
  readonly name: string;
  /** The time of the request, in Unix milliseconds. */
  readonly now: number;
  /** The locales of the store. None if it has one language. */
  readonly locales?: readonly string[];
  /** What the addresses of pages open. */
  readonly edition?: Edition;
  /** Returns a resource with its texts and prices as the feed shows them. Undefined if the feed shows what is stored. */
  readonly show?: <Resource extends object>(resource: Resource) => Resource;
}

/** A public product with an active price, as the fields of a channel read it. */
export interface Product {
  readonly shop: Shop;
  readonly publication: Publication;
  readonly link: string;
  readonly description: string;
  readonly images: readonly ExportedImage[];
  /** The names of its public listing and of those above it: `Home > Kitchen > Mugs`. */
  readonly listing_path: string | undefined;
  /** Its variants, or the product itself if it has none. */
  readonly offers: readonly Offer[];
}

/** What a customer can buy: a variant, or a product without variants. */
export interface Offer extends Pick<Product, 'description' | 'listing_path' | 'publication' | 'shop'> {
  readonly id: string;
  readonly variant: Variant | undefined;
  readonly title: string;
  readonly link: string;
  /** Its own picture is the first. */
  readonly images: readonly ExportedImage[];
  readonly amount: number;
  readonly sale: Sale | undefined;
  readonly availability: 'in_stock' | 'out_of_stock' | 'backorder';
  readonly quantity: number | null;
  /** The barcode, if it is a GTIN. */
  readonly gtin: string | undefined;
  /** Returns an attribute of the variant, or else of the product. */
  readonly attribute: (name: string) => string | undefined;
  /** Returns the value of an option, or else an attribute. */
  readonly detail: (name: KnownOption) => string | undefined;
}

/** A reduced price that has not ended. */
interface Sale {
  readonly amount: number;
  readonly from: string | null;
  readonly to: string | null;
  readonly is_running: boolean;
}

/** The order of feeds. New products come last. */
export const ORDER: ViewQuery['order'] = [
  ['created_at', 'asc'],
  ['id', 'asc'],
];

/** The place of a product in a feed. */
export type Place = readonly [created_at: string, id: string];

export interface Placed {
  readonly place: Place;
  /** Undefined for a product without an active price. */
  readonly product: Product | undefined;
}

/** Yields the public products of a store, the oldest first, after a place. Only pages of them are in memory. */
export async function* productsOf(shop: Shop, after?: Place): AsyncGenerator<Placed> {
  const listings = await readListings(shop);
  const paths = listingPaths(shop.show ? listings.map(listingShownBy(shop.show)) : listings);
  for await (const { id, document } of publicDocuments(shop, { after })) {
    const stored = document!.state.publication;
    const publication = stored && shop.show ? shownBy(shop.show, stored) : stored;
    const product = publication?.price_active ? productOf(shop, publication, document!, paths) : undefined;
    yield { place: [document!.keys.created_at!, id], product };
  }
}

/** Yields the documents of public publications, the oldest first. */
export function publicDocuments(
  shop: Export,
  { after, skip }: { readonly after?: Place | undefined; readonly skip?: number },
): AsyncGenerator<StoredDocument<PublicationDocument>> {
  const where = { store_id: shop.store_id, visibility: 'public' };
  return publicationPages(shop, (last) => {
    const place = last ? ([last.document!.keys.created_at!, last.id] as const) : after;
    return { where, order: ORDER, ...(place ? { after: place } : { skip: skip ?? 0 }) };
  });
}

type Show = NonNullable<Shop['show']>;

export const listingShownBy = (show: Show) => (listing: Listing) => show({ ...listing, object: 'listing' });

/** What a publication or a variant with a price in another currency may lack. */
const NO_SALE = { compare_at_amount: null, sale_price_amount: null, sale_from: null, sale_to: null };

/** Returns the publication as the feed shows it. Leaves out variants that have no price in the currency. */
function shownBy(show: Show, publication: Publication): Publication {
  const variants = publication.variants.map((variant) => ({
    ...{ ...variant, object: 'variant', price_active: true },
    stored_options: Object.keys(variant.option_values),
  }));
  const { variants: all, ...fields } = show({ ...publication, object: 'publication', variants });
  const priced = all.filter(({ price_active }) => price_active);
  return { ...NO_SALE, ...fields, variants: priced.map((variant) => ({ ...NO_SALE, ...variant })) };
}

/** Returns the path of each public listing by its id. Names of private listings do not appear. */
function listingPaths(listings: readonly Listing[]): ReadonlyMap<string, string> {
  const by_id = new Map(listings.map((listing) => [listing.id as string, listing]));
  const pathOf = (listing: Listing | undefined): string[] =>
    listing ? [...pathOf(by_id.get(listing.parent_id ?? '')), ...publicName(listing)] : [];
  const publicName = ({ visibility, name }: Listing) => (visibility === 'public' ? [name] : []);
  const shown = listings.filter(({ visibility }) => visibility === 'public');
  return new Map(shown.map((listing) => [listing.id, pathOf(listing).join(' > ')]));
}

function productOf(
  shop: Shop,
  publication: Publication,
  { expansions }: PublicationDocument,
  paths: ReadonlyMap<string, string>,
): Product {
  const { description, description_html, listing_id, variants } = publication;
  const common = {
    shop,
    publication,
    description: description || (description_html ? htmlToText(description_html) : ''),
    listing_path: paths.get(listing_id ?? ''),
    images: imagesOf(shop, expansions),
  };
  const offers = variants.length > 0 ? variants.map((each) => offerOf(common, each)) : [offerOf(common)];
  return { ...common, link: shop.base_url + productPath(publication, shop.edition), offers };
}

/** Returns the pictures of a publication that are ready. */
export const imagesOf = (
  { base_url, show = (resource) => resource }: Shop,
  { media }: Pick<PublicationDocument['expansions'], 'media'>,
): ExportedImage[] => media.flatMap((each) => imageOf({ ...each, body: show(each.body) }, base_url));

function offerOf(product: Omit<Product, 'offers' | 'link'>, variant?: Variant): Offer {
  const { shop, publication, images } = product;
  const sold = variant ?? publication;
  const { edition } = shop;
  const path = variant ? variantPath(publication, variant, edition) : productPath(publication, edition);
  const values = Object.entries(variant?.option_values ?? {});
  // Other systems may not know the names in another language.
  const { stored_options = values.map(([option]) => option) } = (variant ?? {}) as StoredOptions;
  const own = images.filter(({ media_id }) => media_id === variant?.media_id);
  const attribute = (name: string): string | undefined =>
    textOf(variant?.attributes?.[name]) ?? textOf(publication.attributes?.[name]);
  return {
    ...product,
    variant,
    id: sold.id,
    // The only variant of a product may have no options.
    title: [
      publication.title,
      ...(values.length > 0 ? [values.map(([, value]) => value).join(' / ')] : []),
    ].join(' - '),
    link: shop.base_url + path,
    images: [...own, ...images.filter((each) => !own.includes(each))],
    amount: sold.price_amount,
    sale: saleOf(publication, sold, shop.now),
    availability: availabilityOf(sold.quantity_available, variant?.allow_backorder),
    quantity: sold.quantity_available,
    gtin: GTIN.test(variant?.barcode ?? '') ? variant!.barcode! : undefined,
    attribute,
    detail: (name) =>
      values.find((_, index) => knownOption(stored_options[index]!) === name)?.[1] ?? attribute(name),
  };
}

interface StoredOptions {
  /** The names of the options in the default locale. */
  readonly stored_options?: readonly string[];
}

const GTIN = /^(\d{8}|\d{12,14})$/;

const textOf = (value: unknown): string | undefined =>
  value === undefined ? undefined : [value].flat().join(', ');

function availabilityOf(quantity: number | null, allow_backorder = false): Offer['availability'] {
  if (quantity === null || quantity > 0) return 'in_stock';
  return allow_backorder ? 'backorder' : 'out_of_stock';
}

function saleOf(publication: Publication, sold: Publication | Variant, now: number): Sale | undefined {
  const { sale_from: from, sale_to: to } = publication;
  const amount = sold.sale_price_amount ?? publication.sale_price_amount;
  const is_over = to !== null && Date.parse(to) <= now;
  if (amount === null || amount >= sold.price_amount || is_over) return undefined;
  return { amount, from, to, is_running: from === null || Date.parse(from) <= now };
}

/** Returns an amount as Google and Meta expect it: `12.50 PEN`. */
export const priceText = (amount: number, { price_currency }: Publication): string =>
  `${formatPrice(amount)} ${price_currency}`;
