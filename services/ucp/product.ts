import { minorUnitsOfHundredth } from '../../shared/catalog/amounts';
import { queryTokens } from '../../shared/catalog/search/words';
import type { Publication, Variant } from '../../shared/client';
import { type Edition, productPath, variantPath } from '../feeds/addresses';
import type { Filters, Values } from './requests';

/** A product with what its answer needs beside it. */
export interface Source {
  readonly publication: Publication;
  /** All variants, or the first ones of many. A product without variants has none. */
  readonly variants: readonly Variant[];
  /** Its categories: the names of the listings above each of its listings, and of the listing. */
  readonly categories: readonly string[];
  readonly base_url: string;
  /** What the addresses of pages open. */
  readonly edition: Edition;
  /** Unix milliseconds: whether a sale runs depends on it. */
  readonly now: number;
}

export interface SelectedOption {
  readonly name: string;
  readonly label: string;
}

/** A variant as the protocol has it. Fields that are undefined are not sent. */
export type UcpVariant = ReturnType<typeof variantOf>;

/** Between the names of the listings in a category: `Clothing > Shirts`. */
export const SEPARATOR = ' > ';

// --- Fields ---

/** Returns the list, or undefined if it is empty. */
export const unlessEmpty = <Item>(list: readonly Item[]): readonly Item[] | undefined =>
  list.length > 0 ? list : undefined;

/** Returns an amount in minor units of the currency. */
const priceOf = (hundredths: number, currency: string) => ({
  amount: Math.round(hundredths * minorUnitsOfHundredth(currency)),
  currency,
});

const isInSale = ({ sale_from, sale_to }: Publication, now: number): boolean =>
  (sale_from === undefined || Date.parse(sale_from) <= now) &&
  (sale_to === undefined || Date.parse(sale_to) > now);

/** Returns what a variant costs now, and its price before a sale or discount if that is higher. */
function pricesOf({ publication, now }: Source, priced: Publication | Variant) {
  const { price_currency, sale_price_amount: sale_of_all } = publication;
  const { price_amount, compare_at_amount = price_amount, sale_price_amount = sale_of_all } = priced;
  const sale = isInSale(publication, now) ? sale_price_amount : undefined;
  const amount = Math.min(price_amount, sale ?? price_amount);
  const before = Math.max(price_amount, compare_at_amount);
  return {
    price: priceOf(amount, price_currency),
    list_price: before > amount ? priceOf(before, price_currency) : undefined,
  };
}

function rangeOf(prices: readonly ReturnType<typeof priceOf>[]) {
  const sorted = prices.toSorted((a, b) => a.amount - b.amount);
  return { min: sorted[0]!, max: sorted.at(-1)! };
}

const descriptionOf = ({ description, description_html: html }: Publication) => ({
  plain: description === '' && html !== undefined ? undefined : description,
  html,
});

interface Picture {
  readonly id: string;
  readonly type: 'image';
  readonly url: string;
  readonly alt_text: string | undefined;
  readonly width: number;
  readonly height: number;
}

const picturesOf = ({ publication: { media }, base_url }: Source): readonly Picture[] =>
  (media?.data ?? []).flatMap(({ id, url, alt, width, height }) =>
    url === undefined
      ? []
      : [
          {
            id,
            type: 'image',
            url: url.startsWith('/') ? base_url + url : url,
            alt_text: alt,
            width,
            height,
          },
        ],
  );

type Stock = Partial<Pick<Variant, 'quantity_available' | 'allow_backorder'>>;

function availabilityOf({ quantity_available: quantity = 1, allow_backorder = false }: Stock) {
  if (quantity > 0) return { available: true, status: 'in_stock' };
  return { available: allow_backorder, status: allow_backorder ? 'backorder' : 'out_of_stock' };
}

/** The name of the standard of a barcode, by its number of digits. Others are of the merchant. */
const BARCODES: Readonly<Record<number, string>> = { 8: 'EAN', 10: 'ISBN', 12: 'UPC', 13: 'EAN', 14: 'GTIN' };

/** Returns a variant, or the product as its only variant. */
function variantOf(source: Source, pictures: readonly Picture[], variant?: Variant) {
  const { publication } = source;
  const { sku, barcode, media_id, attributes, option_values = {} }: Partial<Variant> = variant ?? {};
  const options = (publication.options ?? []).flatMap(({ name }): SelectedOption[] => {
    const label = option_values[name];
    return label === undefined ? [] : [{ name, label }];
  });
  const title = options.map(({ label }) => label).join(' / ') || publication.title;
  return {
    id: variant?.id ?? publication.id,
    sku,
    barcodes:
      barcode === undefined ? undefined : [{ type: BARCODES[barcode.length] ?? 'merchant', value: barcode }],
    title,
    url: variant && source.base_url + variantPath(publication, variant, source.edition),
    description: variant ? { plain: title } : descriptionOf(publication),
    ...pricesOf(source, variant ?? publication),
    availability: availabilityOf(variant ?? publication),
    options: unlessEmpty(options),
    media: unlessEmpty(pictures.filter(({ id }) => id === media_id)),
    metadata: attributes && { attributes },
  };
}

/** Returns all variants of the product as the protocol has them, and the product with those that are shown. */
export function present(source: Source) {
  const { publication, variants, categories, base_url, edition } = source;
  const { id, handle, title, tags, stats, vendor, product_type, attributes } = publication;
  const pictures = picturesOf(source);
  const all =
    variants.length === 0
      ? [variantOf(source, pictures)]
      : variants.map((variant) => variantOf(source, pictures, variant));
  const is_partial = variants.length < (publication.variant_count ?? 0);
  const others = is_partial ? Object.values(publication.price_range ?? {}) : [];
  const prices = all.map(({ price }) => price);
  const { average, count } = stats?.rating ?? {};
  const product = {
    id,
    handle,
    title,
    description: descriptionOf(publication),
    url: base_url + productPath(publication, edition),
    categories: unlessEmpty(categories.map((value) => ({ value, taxonomy: 'merchant' }))),
    price_range: rangeOf([...prices, ...others.map((each) => priceOf(each, publication.price_currency))]),
    list_price_range: all.some(({ list_price }) => list_price)
      ? rangeOf(all.map(({ price, list_price }) => list_price ?? price))
      : undefined,
    media: unlessEmpty(pictures),
    options: publication.options?.map(({ name, values }) => ({
      name,
      values: values.map((label) => ({ label })),
    })),
    rating: average === undefined ? undefined : { value: average, scale_min: 1, scale_max: 5, count },
    tags,
    metadata: vendor || product_type || attributes ? { vendor, product_type, attributes } : undefined,
  };
  return { all, show: (shown: readonly UcpVariant[]) => ({ ...product, variants: shown }) };
}

// --- Filters ---

/** Whether one of the values is asked for. */
const isAmong = (asked: Values | undefined, values: readonly (string | undefined)[]): boolean =>
  asked === undefined || [asked].flat().some((each) => values.includes(each));

/** Returns whether the product fulfils the filters about products. */
export function matchesProduct({ publication, categories }: Source, filters: Filters): boolean {
  const { vendor, product_type, tag, attributes = {} } = filters;
  return (
    isAmong(filters.categories, categories) &&
    isAmong(vendor, [publication.vendor]) &&
    isAmong(product_type, [publication.product_type]) &&
    isAmong(tag, publication.tags ?? []) &&
    Object.entries(attributes).every(([name, asked]) =>
      isAmong(asked, [publication.attributes?.[name] ?? []].flat().map(String)),
    )
  );
}

/** Returns whether the variant fulfils the filters about variants. The price is compared in `currency`, if there is one. */
export function matchesVariant(variant: UcpVariant, filters: Filters, currency: string | undefined): boolean {
  const { price: asked, option = {}, sku, barcode, in_stock } = filters;
  const { price, options = [], barcodes, availability } = variant;
  const { min = 0, max = Number.POSITIVE_INFINITY } = asked ?? {};
  const is_comparable = asked === undefined || currency === undefined || price.currency === currency;
  return (
    is_comparable &&
    price.amount >= min &&
    price.amount <= max &&
    (in_stock === undefined || availability.available === in_stock) &&
    isAmong(sku, [variant.sku]) &&
    isAmong(barcode, [barcodes?.[0]?.value]) &&
    Object.entries(option).every(([name, labels]) =>
      isAmong(labels, [options.find((each) => each.name === name)?.label]),
    )
  );
}

/** Returns the variants, the most relevant first: those with most words of a search, then those that can be bought. */
export function byRelevance(variants: readonly UcpVariant[], words = ''): readonly UcpVariant[] {
  const asked = new Set(queryTokens(words));
  const scoreOf = ({ options = [], availability }: UcpVariant): number => {
    const found = options.flatMap(({ label }) => queryTokens(label)).filter((word) => asked.has(word));
    return 2 * found.length + Number(availability.available);
  };
  const scores = new Map(variants.map((variant) => [variant, scoreOf(variant)]));
  return variants.toSorted((a, b) => scores.get(b)! - scores.get(a)!);
}
