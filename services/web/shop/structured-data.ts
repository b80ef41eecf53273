import { plainAmount } from '../../../shared/catalog/amounts';
import type { Media, Publication, Variant } from '../../../shared/client';
import { type Edition, knownOption, productPath, variantPath } from '../../feeds/addresses';
import { isAvailable, pricedAs } from './pages';
import { canBeBought, pathOf, saleAmount } from './parts';

/*
 * The content of a page in the vocabulary of https://schema.org, as search engines read it (JSON-LD). They also read the
 * fields that Google requires: https://developers.google.com/search/docs/appearance/structured-data/product-variants.
 */

interface Reader {
  /** The address of the shop. */
  readonly base_url: string;
  /** Milliseconds since 1970, to know which sales run. */
  readonly now: number;
  /** The language of the canonical page, and the currency of the prices. */
  readonly edition: Edition;
}

export const breadcrumbs = (
  base_url: string,
  crumbs: readonly { readonly name: string; readonly path: string }[],
): object => ({
  '@context': 'https://schema.org',
  '@type': 'BreadcrumbList',
  itemListElement: crumbs.map(({ name, path }, index) => ({
    ...{ '@type': 'ListItem', position: index + 1, name },
    item: base_url + path,
  })),
});

/** Returns a `Product`, or a `ProductGroup` if the product has variants. */
export function productData(product: Publication, reader: Reader): object {
  const { base_url } = reader;
  const { vendor, listing, stats, variants, options = [] } = product;
  const about = {
    '@context': 'https://schema.org',
    name: product.title,
    ...(product.description && { description: product.description }),
    url: base_url + productPath(product, { locale: reader.edition.locale }),
    image: imagesOf(product, base_url),
    ...(vendor && { brand: { '@type': 'Brand', name: vendor } }),
    ...(listing && { category: listing.name }),
    ...(stats?.rating && {
      aggregateRating: {
        '@type': 'AggregateRating',
        ratingValue: stats.rating.average,
        reviewCount: stats.rating.count,
      },
    }),
  };
  const page = base_url + productPath(product, reader.edition);
  if (!variants?.data.length)
    return { '@type': 'Product', ...about, ...offers(product, canBeBought(product), page, reader) };
  return {
    '@type': 'ProductGroup',
    productGroupID: product.id,
    ...about,
    variesBy: options.map(({ name }) =>
      knownOption(name) ? `https://schema.org/${knownOption(name)}` : name,
    ),
    hasVariant: variants.data.map((variant) => variantData(product, variant, reader)),
  };
}

function variantData(product: Publication, variant: Variant, reader: Reader): object {
  const { sku, barcode, option_values } = variant;
  const values = Object.entries(option_values);
  const url = reader.base_url + variantPath(product, variant, reader.edition);
  const known = values.flatMap(([name, value]) => (knownOption(name) ? [[knownOption(name), value]] : []));
  return {
    '@type': 'Product',
    name: `${product.title} - ${values.map(([, value]) => value).join(' / ')}`,
    ...(sku && { sku }),
    ...(/^(\d{8}|\d{12,14})$/.test(barcode ?? '') && { gtin: barcode }),
    ...Object.fromEntries(known),
    url,
    image: imagesOf(product, reader.base_url, variant.media_id).slice(0, 1),
    ...offers(pricedAs(product, variant), isAvailable(variant), url, reader),
  };
}

/** Returns the addresses of the pictures. That of the variant is the first. */
function imagesOf({ media }: Publication, base_url: string, first_id?: string): string[] {
  const is_first = ({ id }: Media): number => (id === first_id ? 0 : 1);
  const sorted = [...(media?.data ?? [])].sort((a, b) => is_first(a) - is_first(b));
  return sorted.flatMap(({ url }) => (url ? [base_url + pathOf(url)] : []));
}

/** Returns what it costs now. Nothing if the price is on request. */
function offers(priced: Publication, is_available: boolean, url: string, { now }: Reader): object {
  const { price_active, price_amount, price_currency, sale_to } = priced;
  if (!price_active) return {};
  const sale = saleAmount(priced, now);
  return {
    offers: {
      '@type': 'Offer',
      url,
      price: plainAmount(sale ?? price_amount, price_currency),
      priceCurrency: price_currency,
      ...(sale !== undefined && sale_to && { priceValidUntil: sale_to }),
      availability: `https://schema.org/${is_available ? 'InStock' : 'OutOfStock'}`,
      itemCondition: 'https://schema.org/NewCondition',
    },
  };
}
