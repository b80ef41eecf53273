import { minorUnitsOfHundredth } from '../../shared/catalog/input-rules';
import { queryTokens } from '../../shared/catalog/search/words';
import type { Publication, Variant } from '../../shared/client';
import { productPath } from '../feeds/addresses';
import type { Filters } from './requests';

/** A product with what its answer needs beside it. */
export interface Source {
  readonly publication: Publication;
  /** All variants, or the first ones of many. A product without variants has none. */
  readonly variants: readonly Variant[];
  /** The names of each of its listings, from the top of the tree. */
  readonly paths: readonly (readonly string[])[];
  readonly base_url: string;
  /** Unix milliseconds: whether a sale runs depends on it. */
  readonly now: number;
}

export interface Price {
  readonly amount: number;
  readonly currency: string;
}

export interface SelectedOption {
  readonly name: string;
  readonly label: string;
}

/** A variant as the protocol has it. A product without variants is its only variant. */
export type UcpVariant = ReturnType<typeof variantOf>;

/** How many variants of a product a search shows. `get_product` has the others. */
export const SHOWN_MAX = 10;

// --- Prices ---

/** Returns an amount in minor units of the currency. */
const priceOf = (hundredths: number, currency: string): Price => ({
  amount: Math.round(hundredths * minorUnitsOfHundredth(currency)),
  currency,
});

const isInSale = ({ sale_from, sale_to }: Publication, now: number): boolean =>
  (sale_from === undefined || Date.parse(sale_from) <= now) &&
  (sale_to === undefined || Date.parse(sale_to) > now);

/** Returns what a variant costs now, and its price before a sale or discount if that is higher. */
function pricesOf(publication: Publication, variant: Variant | undefined, now: number) {
  const { price_currency, sale_price_amount: sale_of_all } = publication;
  const { price_amount, compare_at_amount = price_amount, sale_price_amount } = variant ?? publication;
  const sale = isInSale(publication, now) ? (sale_price_amount ?? sale_of_all) : undefined;
  const amount = Math.min(price_amount, sale ?? price_amount);
  const before = Math.max(price_amount, compare_at_amount);
  return {
    price: priceOf(amount, price_currency),
    ...(before > amount && { list_price: priceOf(before, price_currency) }),
  };
}

const rangeOf = (prices: readonly Price[]) => {
  const sorted = prices.toSorted((a, b) => a.amount - b.amount);
  return { min: sorted[0]!, max: sorted.at(-1)! };
};

// --- Fields ---

function descriptionOf({ description, description_html }: Publication) {
  const html = description_html === undefined ? {} : { html: description_html };
  return description === '' && description_html !== undefined ? html : { plain: description, ...html };
}

const mediaOf = ({ publication: { media }, base_url }: Source) =>
  (media?.data ?? []).flatMap(({ id, url, alt, width, height }) =>
    url === undefined
      ? []
      : [
          {
            id,
            shown: {
              type: 'image',
              url: new URL(url, base_url).href,
              ...(alt && { alt_text: alt }),
              width,
              height,
            },
          },
        ],
  );

type Stock = Partial<Pick<Variant, 'quantity_available' | 'allow_backorder'>>;

function availabilityOf({ quantity_available: quantity = 1, allow_backorder = false }: Stock) {
  if (quantity > 0) return { available: true, status: 'in_stock' };
  return allow_backorder
    ? { available: true, status: 'backorder' }
    : { available: false, status: 'out_of_stock' };
}

/** The name of the standard of a barcode, by its number of digits. Others are of the merchant. */
const BARCODES: Readonly<Record<number, string>> = { 8: 'EAN', 10: 'ISBN', 12: 'UPC', 13: 'EAN', 14: 'GTIN' };

/** Returns the options of a variant, in the order of those of the product. */
function optionsOf({ options = [] }: Publication, { option_values }: Variant): SelectedOption[] {
  return options.flatMap(({ name }) => {
    const label = option_values[name];
    return label === undefined ? [] : [{ name, label }];
  });
}

function variantOf(source: Source, variant?: Variant) {
  const { publication, now } = source;
  const options = variant ? optionsOf(publication, variant) : [];
  const title = options.map(({ label }) => label).join(' / ') || publication.title;
  const { sku, barcode, media_id, attributes } = variant ?? ({} as Partial<Variant>);
  const media = mediaOf(source).filter(({ id }) => id === media_id);
  return {
    id: variant?.id ?? publication.id,
    ...(sku !== undefined && { sku }),
    ...(barcode !== undefined && {
      barcodes: [{ type: BARCODES[barcode.length] ?? 'merchant', value: barcode }],
    }),
    title,
    description: variant ? { plain: title } : descriptionOf(publication),
    ...pricesOf(publication, variant, now),
    availability: availabilityOf(variant ?? publication),
    ...(options.length > 0 && { options }),
    ...(media.length > 0 && { media: media.map(({ shown }) => shown) }),
    ...(attributes && { metadata: { attributes } }),
  };
}

/** Returns the variants as the protocol has them. */
export const variantsOf = (source: Source): readonly UcpVariant[] =>
  source.variants.length === 0
    ? [variantOf(source)]
    : source.variants.map((variant) => variantOf(source, variant));

/** Returns the product with these of its variants. `all`: the variants that are known, for its range of prices. */
export function productOf(source: Source, all: readonly UcpVariant[], shown: readonly UcpVariant[]) {
  const { publication, paths, base_url } = source;
  const { id, handle, title, price_range, price_currency, options = [] } = publication;
  const { tags, stats, vendor, product_type, attributes } = publication;
  const is_partial = source.variants.length < (publication.variant_count ?? 0);
  const others = is_partial && price_range ? [price_range.min, price_range.max] : [];
  const prices = [...all.map(({ price }) => price), ...others.map((each) => priceOf(each, price_currency))];
  const is_reduced = all.some(({ list_price }) => list_price);
  const media = mediaOf(source);
  const metadata = {
    ...(vendor && { vendor }),
    ...(product_type && { product_type }),
    ...(attributes && { attributes }),
  };
  return {
    id,
    ...(handle !== undefined && { handle }),
    title,
    description: descriptionOf(publication),
    url: base_url + productPath(publication),
    ...(paths.length > 0 && {
      categories: paths.map((path) => ({ value: categoryOf(path), taxonomy: 'merchant' })),
    }),
    price_range: rangeOf(prices),
    ...(is_reduced && { list_price_range: rangeOf(all.map(({ price, list_price }) => list_price ?? price)) }),
    ...(media.length > 0 && { media: media.map(({ shown: each }) => each) }),
    ...(options.length > 0 && {
      options: options.map(({ name, values }) => ({ name, values: values.map((label) => ({ label })) })),
    }),
    variants: shown,
    ...(stats?.rating && {
      rating: { value: stats.rating.average, scale_min: 1, scale_max: 5, count: stats.rating.count },
    }),
    ...(tags && tags.length > 0 && { tags }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

/** Returns the value of a category: `Clothing > Shirts`. */
export const SEPARATOR = ' > ';
const categoryOf = (path: readonly string[]): string => path.join(SEPARATOR);

// --- Filters ---

const listOf = (values: string | readonly string[] | undefined): readonly string[] | undefined =>
  values === undefined ? undefined : [values].flat();

/** Whether one of the values is asked for. */
const isAmong = (
  asked: string | readonly string[] | undefined,
  ...values: readonly (string | undefined)[]
): boolean => listOf(asked)?.some((each) => values.includes(each)) ?? true;

/** Returns whether the product fulfils the filters about products. */
export function matchesProduct({ publication, paths }: Source, filters: Filters): boolean {
  const { categories, vendor, product_type, tag, attributes = {} } = filters;
  const inCategory = (value: string): boolean =>
    paths.some((path) => `${categoryOf(path)}${SEPARATOR}`.startsWith(`${value}${SEPARATOR}`));
  return (
    (categories?.some(inCategory) ?? true) &&
    isAmong(vendor, publication.vendor) &&
    isAmong(product_type, publication.product_type) &&
    isAmong(tag, ...(publication.tags ?? [])) &&
    Object.entries(attributes).every(([name, asked]) =>
      isAmong(asked, ...[publication.attributes?.[name] ?? []].flat().map(String)),
    )
  );
}

/** Returns whether the variant fulfils the filters about variants. The price is compared in `currency`, if there is one. */
export function matchesVariant(variant: UcpVariant, filters: Filters, currency: string | undefined): boolean {
  const {
    price: { min = 0, max = Number.POSITIVE_INFINITY } = {},
    option = {},
    sku,
    barcode,
    in_stock,
  } = filters;
  const { amount } = variant.price;
  const is_comparable =
    filters.price === undefined || currency === undefined || variant.price.currency === currency;
  return (
    is_comparable &&
    amount >= min &&
    amount <= max &&
    (in_stock === undefined || variant.availability.available === in_stock) &&
    isAmong(sku, variant.sku) &&
    isAmong(barcode, variant.barcodes?.[0]?.value) &&
    Object.entries(option).every(([name, asked]) =>
      isAmong(asked, variant.options?.find((each) => each.name === name)?.label),
    )
  );
}

/** Returns the variants, the most relevant first: those with most words of a search, then those that can be bought. */
export function byRelevance(variants: readonly UcpVariant[], words = ''): readonly UcpVariant[] {
  const asked = new Set(queryTokens(words));
  const scoreOf = ({ options = [], availability: { available } }: UcpVariant): number =>
    2 * options.flatMap(({ label }) => queryTokens(label)).filter((word) => asked.has(word)).length +
    Number(available);
  return variants
    .map((variant) => ({ variant, score: scoreOf(variant) }))
    .sort((a, b) => b.score - a.score)
    .map(({ variant }) => variant);
}
