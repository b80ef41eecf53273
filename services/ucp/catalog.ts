import { unescape as decodePercents } from 'node:querystring';
import { z } from 'zod';
import { minorUnitsOfHundredth } from '../../shared/catalog/amounts';
import type { Publication, Variant } from '../../shared/client';
import { isUuid } from '../../shared/kernel/ids';
import { productPath } from '../feeds/addresses';
import {
  byRelevance,
  matchesProduct,
  matchesVariant,
  present,
  SEPARATOR,
  type SelectedOption,
  type Source,
  type UcpVariant,
  unlessEmpty,
} from './product';
import { type Capability, failure, invalid, type Message, metadata } from './protocol';
import type { Reader } from './reader';
import {
  assertSearchable,
  assertSelectable,
  distinctIds,
  FILTER_NAMES,
  type Filters,
  type LookupRequest,
  lookupRequest,
  type ProductRequest,
  parseRequest,
  productRequest,
  type SearchRequest,
  searchRequest,
  type Values,
} from './requests';
import { availabilityMap, matching, relaxed } from './selection';

/** What an operation needs beside its request. */
export interface Visit {
  readonly reader: Reader;
  /** The address that the platform has sent the request to. */
  readonly base_url: string;
  readonly now: number;
  /** `Accept-Language` of the request. */
  readonly languages: string | undefined;
}

const operation = <Request extends Pick<SearchRequest, 'context'>>(
  name: string,
  path: string,
  capability: Capability,
  description: string,
  request: z.ZodType<Request>,
  answer: (visit: Visit, request: Request) => Promise<object>,
) => ({
  ...{ name, path, capability, description, request },
  run: async (visit: Visit, body: unknown) => {
    const parsed = parseRequest(request, body);
    await visit.reader.readFor({ languages: visit.languages, ...parsed.context });
    return answer(visit, parsed);
  },
});

/** The operations of the protocol, with their name by MCP and their path by REST. */
export const OPERATIONS = [
  operation(
    ...(['search_catalog', '/search', 'search', 'Search for products by words and filters.'] as const),
    ...([searchRequest, search] as const),
  ),
  operation(
    ...(['lookup_catalog', '/lookup', 'lookup'] as const),
    'Look up products or variants by id, SKU, barcode, handle or address.',
    ...([lookupRequest, lookup] as const),
  ),
  operation(
    ...(['get_product', '/product', 'lookup'] as const),
    'Get a product with all details, and its variants by selected options.',
    ...([productRequest, getProduct] as const),
  ),
] as const;

const EXPAND = ['media', 'variants'] as ('media' | 'variants')[];
/** The most products of a page. */
const LIMIT_MAX = 50;
const LIMIT_DEFAULT = 10;
/** How many pages a search reads until one has products. */
const PAGES_READ_MAX = 5;
/** How many variants of a product a search shows. `get_product` has the others. */
const SHOWN_MAX = 10;
/** The most characters of a search, and of a value of a filter. */
const QUERY_MAX = 200;
const VALUE_MAX = 255;

// --- Products ---

/** Returns the ids of the listings that contain the publication, its main listing first. */
const listingsOf = ({ listing_id, listing_ids = [] }: Publication): string[] => [
  ...new Set([...(listing_id ? [listing_id] : []), ...listing_ids]),
];

/** Whether a variant has a price in the currency of the answer. */
const isPriced = ({ price_active }: Variant): boolean => price_active !== false;

/** Returns the products with what their answers need. Leaves out those without an active price. */
async function sourcesOf(visit: Visit, publications: readonly Publication[]): Promise<Source[]> {
  const { reader, base_url, now } = visit;
  const shown = publications.filter(({ price_active }) => price_active);
  const ids = [...new Set(shown.flatMap(listingsOf))];
  const categories = new Map<string, string>();
  const readCategory = async (id: string): Promise<void> => {
    const listing = await reader.find('getListing', {}, { id });
    if (listing)
      categories.set(id, [...(listing.path ?? []), listing].map(({ name }) => name).join(SEPARATOR));
  };
  await Promise.all(ids.map(readCategory));
  const sources = shown.map((publication) => ({
    ...{ base_url, now, publication, variants: publication.variants?.data.filter(isPriced) ?? [] },
    edition: reader.edition,
    categories: listingsOf(publication).flatMap((id) => categories.get(id) ?? []),
  }));
  // A product whose first variants have no price is not its own only variant.
  return Promise.all(
    sources.map((source) => (source.variants.length === 0 ? withAllVariants(visit, source) : source)),
  );
}

/** Returns the product with all its variants, of which a read shows the first ones. */
async function withAllVariants({ reader }: Visit, source: Source): Promise<Source> {
  const { id, variant_count = 0 } = source.publication;
  if (source.variants.length >= variant_count) return source;
  const pages = Array.from({ length: Math.ceil(variant_count / LIMIT_MAX) }, (_, index) =>
    reader.read('listVariants', { page: index + 1, limit: LIMIT_MAX }, { id }),
  );
  const variants = (await Promise.all(pages)).flatMap(({ data }) => data).filter(isPriced);
  // Their number may have changed since the publication was read.
  return { ...source, variants, publication: { ...source.publication, variant_count: variants.length } };
}

// --- Filters ---

/** The filters of a request that are applied, and what to tell of the others. */
interface Applied {
  readonly filters: Filters;
  /** The currency of the bounds of the price. Undefined: that of each product. */
  readonly currency: string | undefined;
  /** Whether the search for options looks at the texts of the answer, of which the lists of `/api` have no index. */
  readonly is_translated: boolean;
  readonly messages: readonly Message[];
}

/** Returns the filters to apply. A price filter in another currency than that of the store is ignored: none is converted. */
async function filtersOf(
  { reader }: Visit,
  { filters = {}, context: { currency: asked } = {} }: Pick<SearchRequest, 'filters' | 'context'>,
): Promise<Applied> {
  const unknown = Object.keys(filters).filter((name) => !FILTER_NAMES.includes(name));
  const messages: Message[] = unknown.map((name) => ({
    type: 'info',
    code: 'filter_ignored',
    content: `The filter ${name} is not supported.`,
  }));
  const is_translated = filters.option !== undefined && (await reader.isTranslating());
  const applied = { is_translated, messages };
  const { currencies = [], currency: usual = asked } =
    filters.price && !reader.currency ? (await reader.read('getStore', {})).data : {};
  const currency = reader.currency ?? currencies[0] ?? usual;
  if (!filters.price || asked === undefined || asked === currency) return { ...applied, filters, currency };
  const content = `The price filter was ignored: prices are in ${currency} and are not converted from ${asked}.`;
  messages.push({ type: 'warning', code: 'price_filter_ignored', content });
  return { ...applied, filters: { ...filters, price: undefined }, currency };
}

const listed = (value: Values | undefined) => (value === undefined ? undefined : [value].flat());

/** Returns the parameters of `/api` for the filters. The bounds of a price become hundredths. */
function parametersOf({ filters, currency, is_translated }: Applied) {
  const { price, option = {}, attributes = {}, in_stock, vendor, product_type, tag, sku, barcode } = filters;
  const hundredth = currency ? minorUnitsOfHundredth(currency) : 1;
  const named = [
    ...Object.entries(is_translated ? {} : option).map(([name, value]) => [`option.${name}`, listed(value)]),
    ...Object.entries(attributes).map(([name, value]) => [`attributes.${name}`, listed(value)]),
  ];
  return {
    has_price: true,
    min_price: price?.min === undefined ? undefined : Math.ceil(price.min / hundredth),
    max_price: price?.max === undefined ? undefined : Math.floor(price.max / hundredth),
    in_stock,
    ...{ vendor: listed(vendor), product_type: listed(product_type), tag: listed(tag) },
    ...{ sku: listed(sku), barcode: listed(barcode) },
    ...Object.fromEntries(named),
  };
}

/** Returns the ids of the listings that categories name, by their paths. */
async function listingsNamed({ reader }: Visit, categories: readonly string[]): Promise<string[]> {
  const found = categories.map(async (category) => {
    let parent_id = 'none';
    for (const name of category.split(SEPARATOR)) {
      const id = await childNamed(reader, parent_id, name);
      if (id === undefined) return [];
      parent_id = id;
    }
    return [parent_id];
  });
  return [...new Set((await Promise.all(found)).flat())];
}

async function childNamed(reader: Reader, parent_id: string, name: string): Promise<string | undefined> {
  for (let cursor: string | undefined; ; ) {
    const query = { parent_id, limit: LIMIT_MAX, sort: 'name', ...(cursor && { cursor }) } as const;
    const { data, meta } = await reader.read('listListings', query);
    const child = data.find((listing) => listing.name === name);
    if (child) return child.id;
    cursor = meta.pagination.next_cursor;
    if (cursor === undefined) return undefined;
  }
}

// --- Search ---

/** Where a page of a search begins. */
const placeSchema = z.object({
  /** The index of the category. The products of one category come after those of the one before. */
  part: z.int().min(0),
  limit: z.int().min(1).max(LIMIT_MAX),
  /** The number of the page of a search with words, which has no cursors. */
  page: z.int().min(1),
  cursor: z.string().optional(),
});
type Place = z.infer<typeof placeSchema>;

function placeOf({ pagination: { cursor, limit = LIMIT_DEFAULT } = {} }: SearchRequest): Place {
  if (cursor === undefined) return { part: 0, limit: Math.min(limit, LIMIT_MAX), page: 1 };
  try {
    return placeSchema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch {
    throw invalid('Invalid pagination.cursor: expected the cursor of an answer.');
  }
}

async function search(visit: Visit, request: SearchRequest) {
  assertSearchable(request);
  const applied = await filtersOf(visit, request);
  const words = [...(request.query?.trim() ?? '')].slice(0, QUERY_MAX).join('');
  const { categories } = applied.filters;
  const listing_ids = categories ? await listingsNamed(visit, categories) : [undefined];
  const place = placeOf(request);
  const start = place.part < listing_ids.length ? place : undefined;
  let found: SearchPage = { products: [], next: start, total_count: 0 };
  // Filters by category and currency can leave nothing of a page.
  for (let read = 0; read < PAGES_READ_MAX && found.next && found.products.length === 0; read++)
    found = await searchPage(visit, applied, words, listing_ids, found.next);
  const { next } = found;
  const cursor = next && Buffer.from(JSON.stringify(next)).toString('base64url');
  return {
    ucp: metadata('search'),
    products: found.products,
    pagination: { has_next_page: next !== undefined, cursor, total_count: found.total_count },
    messages: unlessEmpty(applied.messages),
  };
}

interface SearchPage {
  readonly products: readonly object[];
  readonly next: Place | undefined;
  /** How many products match. Undefined if the search does not count them. */
  readonly total_count: number | undefined;
}

/** Reads a page of the products in one of the listings, without those that are also in a listing before it. */
async function searchPage(
  visit: Visit,
  applied: Applied,
  words: string,
  listing_ids: readonly (string | undefined)[],
  { part, limit, page, cursor }: Place,
): Promise<SearchPage> {
  const start = cursor === undefined ? { page } : { cursor };
  const query = { ...parametersOf(applied), ...start, limit, expand: EXPAND, listing_id: listing_ids[part] };
  const { data, meta } = await (words === ''
    ? visit.reader.read('listPublications', query)
    : visit.reader.read('searchStore', { ...query, q: words }));
  const { next_cursor, total_pages, total_items } = meta.pagination;
  const earlier = listing_ids.slice(0, part);
  const fresh = data.filter((publication) => !listingsOf(publication).some((id) => earlier.includes(id)));
  const sources = await sourcesOf(visit, fresh);
  const products = await Promise.all(sources.map((source) => searched(visit, source, applied, words)));
  const has_more = words === '' ? next_cursor !== undefined : page < total_pages;
  const further = has_more ? { part, limit, page: page + 1, cursor: next_cursor } : undefined;
  const next_part = part + 1 < listing_ids.length ? { part: part + 1, limit, page: 1 } : undefined;
  const is_counted = listing_ids.length === 1 && !applied.is_translated && !('is_complete' in meta);
  return {
    products: products.flat(),
    next: further ?? next_part,
    total_count: is_counted ? total_items : undefined,
  };
}

/** Returns the product with the variants that the filters select, the most relevant first. None if no variant is left. */
async function searched(
  visit: Visit,
  source: Source,
  { filters, currency }: Pick<Applied, 'filters' | 'currency'>,
  words: string,
): Promise<object[]> {
  const { all, show } = present(source);
  const selected = all.filter((variant) => matchesVariant(variant, filters, currency));
  if (selected.length > 0) return [show(byRelevance(selected, words).slice(0, SHOWN_MAX))];
  const complete = await withAllVariants(visit, source);
  return complete === source ? [] : searched(visit, complete, { filters, currency }, words);
}

// --- Look-ups ---

const PAGES = productPath({ id: '' });
/** The locale in the path of a page. */
const LOCALE = /^\/[a-z]{2,3}(-[a-z\d]{1,8})*(?=\/)/i;

/** Returns what an identifier names: the last part of the address of a product's page, or the identifier itself. */
function nameOf(id: string, base_url: string): string {
  const path = id.startsWith(base_url) ? id.slice(base_url.length).replace(LOCALE, '') : '';
  const name = path.startsWith(PAGES) ? decodePercents(path.slice(PAGES.length).replace(/[?#].*$/s, '')) : id;
  return isUuid(name) ? name.toLowerCase() : name;
}

/** Returns the ids of the publications whose variants have the id, the SKU or the barcode, or whose handle it is. */
async function idsNamed({ reader }: Visit, name: string): Promise<readonly string[]> {
  if (isUuid(name)) {
    const variant = await reader.find('getVariant', {}, { id: name });
    return variant ? [variant.publication_id] : [];
  }
  if (name === '' || name.length > VALUE_MAX) return [];
  const [by_sku, by_barcode, by_handle] = await Promise.all([
    reader.read('listPublications', { sku: [name] }),
    reader.read('listPublications', { barcode: [name] }),
    reader.find('getPublicationByHandle', {}, { handle: name }),
  ]);
  return [...by_sku.data, ...by_barcode.data, ...(by_handle ? [by_handle] : [])].map(({ id }) => id);
}

async function publicationsWith({ reader }: Visit, ids: readonly string[]): Promise<readonly Publication[]> {
  if (ids.length === 0) return [];
  return (await reader.read('listPublications', { ids: [...ids], expand: EXPAND })).data;
}

async function lookup(visit: Visit, request: LookupRequest) {
  const applied = await filtersOf(visit, request);
  const inputs = distinctIds(request).map((id) => ({ id, name: nameOf(id, visit.base_url) }));
  const direct = await publicationsWith(visit, [
    ...new Set(inputs.map(({ name }) => name).filter((name) => isUuid(name))),
  ]);
  const resolved = await Promise.all(
    inputs.map(async (input) => {
      const is_direct = direct.some(({ id }) => id === input.name);
      return { ...input, ids: is_direct ? [input.name] : await idsNamed(visit, input.name) };
    }),
  );
  const known = new Set(direct.map(({ id }) => id));
  const further = [...new Set(resolved.flatMap(({ ids }) => ids))].filter((id) => !known.has(id));
  const publications = [...direct, ...(await publicationsWith(visit, further.slice(0, LIMIT_MAX)))];
  const sources = await sourcesOf(visit, publications);
  const products = await Promise.all(
    sources.map((source) => {
      const own = resolved.filter(({ ids }) => ids.includes(source.publication.id));
      return lookedUp(visit, source, own, applied);
    }),
  );
  const found = new Set(sources.map(({ publication }) => publication.id));
  const missing = resolved.filter(({ ids }) => !ids.some((id) => found.has(id)));
  const not_found = missing.map(({ id }): Message => ({ type: 'info', code: 'not_found', content: id }));
  return {
    ucp: metadata('lookup'),
    products: products.flat(),
    messages: unlessEmpty([...applied.messages, ...not_found]),
  };
}

/** An identifier of a request, and the name that it stands for. */
interface Input {
  readonly id: string;
  readonly name: string;
}

/** Returns what of the address of a variant's page is the same in each language and currency. */
const variantIn = (url: string | undefined): string | undefined =>
  url?.replace(/^[^?]*/, '').replace(/[?&]currency=[A-Z]{3}/, '');

/** Whether the input is the id, the SKU, the barcode or the address of the variant. */
const isNamed = (variant: UcpVariant, { id, name }: Input): boolean =>
  [variant.id, variant.sku, variant.barcodes?.[0]?.value].includes(name) ||
  (id.includes('?') && name !== id && variantIn(variant.url) === variantIn(id));

/**
 * Returns the product with the variants that the inputs name. For an input that names the product, this is its most relevant
 * variant. Returns none if the filters leave no variant.
 */
async function lookedUp(
  visit: Visit,
  first: Source,
  inputs: readonly Input[],
  { filters, currency }: Applied,
) {
  if (!matchesProduct(first, filters)) return [];
  const namesProduct = ({ name }: Input): boolean =>
    [first.publication.id, first.publication.handle].includes(name);
  const source = inputs.every(namesProduct) ? first : await withAllVariants(visit, first);
  const { all, show } = present(source);
  const selected = byRelevance(all.filter((variant) => matchesVariant(variant, filters, currency)));
  const matchOf = (variant: UcpVariant, input: Input): string | undefined => {
    if (isNamed(variant, input)) return 'exact';
    const is_featured = variant === selected[0] && !all.some((each) => isNamed(each, input));
    return is_featured ? 'featured' : undefined;
  };
  const shown = selected.flatMap((variant) => {
    const found = inputs.map((input) => ({ id: input.id, match: matchOf(variant, input) }));
    const matches = found.filter(({ match }) => match !== undefined);
    return matches.length > 0 ? [{ ...variant, inputs: matches }] : [];
  });
  return shown.length > 0 ? [show(shown)] : [];
}

async function getProduct(visit: Visit, request: ProductRequest) {
  assertSelectable(request);
  const applied = await filtersOf(visit, request);
  const name = nameOf(request.id, visit.base_url);
  const found = (await viewed(visit, name)) ?? (await viewed(visit, (await idsNamed(visit, name))[0]));
  const [first] = await sourcesOf(visit, found ? [found] : []);
  if (!first) {
    const content = `Product not found: ${request.id}`;
    return failure('lookup', { code: 'not_found', content, severity: 'unrecoverable' });
  }
  const source = await withAllVariants(visit, first);
  const { all, show } = present(source);
  const requested = all.find((variant) => isNamed(variant, { id: request.id, name }));
  const selected = selectionOf(all, requested, request);
  const { filters, currency } = applied;
  const candidates = matchesProduct(source, filters)
    ? matching(all, selected).filter((variant) => matchesVariant(variant, filters, currency))
    : [];
  if (candidates.length === 0) {
    const content = `No variant of ${request.id} has the selected options and matches the filters`;
    return failure('lookup', { code: 'not_found', content, severity: 'recoverable' });
  }
  const ranked = byRelevance(candidates);
  const shown = requested ? [requested, ...ranked.filter((variant) => variant !== requested)] : ranked;
  const { options } = source.publication;
  const detail = options && { selected, options: availabilityMap(source.publication, all, selected) };
  return {
    ucp: metadata('lookup'),
    product: { ...show(shown), ...detail },
    messages: unlessEmpty(applied.messages),
  };
}

/** Reads a publication, which counts as a view of it. */
async function viewed({ reader }: Visit, id: string | undefined): Promise<Publication | undefined> {
  if (id === undefined || !isUuid(id)) return undefined;
  return reader.find('getPublication', { expand: EXPAND }, { id }, 'GET');
}

/**
 * Returns the selected options of the answer: the options of the requested variant, or else the options in the request, or else
 * the options of the most relevant variant.
 */
function selectionOf(
  all: readonly UcpVariant[],
  requested: UcpVariant | undefined,
  { selected = [], preferences }: ProductRequest,
): readonly SelectedOption[] {
  if (!requested && selected.length > 0) return relaxed(all, selected, preferences);
  return (requested ?? byRelevance(all)[0])?.options ?? [];
}
