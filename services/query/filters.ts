import { prefixOf } from '../../shared/api/requests/parameters';
import {
  type LabelFilters,
  type ListingPublicationsQuery,
  labelFilters,
  type PriceBounds,
  publicationFilters,
} from '../../shared/api/requests/reads';
import { PRICE_AMOUNT_MAX } from '../../shared/catalog/amounts';
import { parseBarcode } from '../../shared/catalog/publication/barcode';
import {
  INACTIVE_PRICE_DOWN,
  INACTIVE_PRICE_UP,
  NOT_FEATURED,
  type PublicationKeys,
} from '../../shared/catalog/publication/document';
import { FACET_FLAGS, type FacetFlags } from '../../shared/catalog/publication/facets';
import { isOfVariant, labelTerm, variesIn } from '../../shared/catalog/search/words';
import { orderOf } from '../../shared/catalog/sorting';
import type { ListSortMode } from '../../shared/catalog/vocabulary';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { UnitCondition, ViewQuery, WordTerms } from '../../shared/ports/view-store';
import { wordScope } from './read';

/*
 * The filters of lists of publications, as conditions for a view store (docs/interface/lists.md#filters). Filters by price, stock,
 * options and codes hold together for one variant (docs/decisions/0034-units.md).
 */

type FilterName = keyof typeof publicationFilters;
export type FilterQuery = LabelFilters &
  PriceBounds & {
    /** Set if it is another currency than the first one of the store. The reader of the documents then finds them by prices in it. */
    readonly currency?: string | undefined;
  } & Pick<Partial<ListingPublicationsQuery>, FilterName>;
const FILTERS = Object.keys(publicationFilters) as FilterName[];
const LABEL_FILTERS = Object.keys(labelFilters) as (keyof LabelFilters)[];

// --- Filters by key ---

/** Returns the flags that the query filters by. Stores and listings have a total for each combination of flags. */
export function flagsOf(query: FilterQuery): Partial<FacetFlags> {
  return Object.fromEntries(FACET_FLAGS.filter(isSetIn(query)).map((name) => [name, query[name]]));
}

/**
 * Returns whether the store's or listing's document contains the total for this query. With a filter by price, or by a key
 * that is not a flag, the view store has to count the publications.
 */
export function hasMaintainedTotal(query: FilterQuery): boolean {
  const isFlag = (name: FilterName) => (FACET_FLAGS as readonly string[]).includes(name);
  return !filtersByPrice(query) && FILTERS.filter(isSetIn(query)).every(isFlag);
}

export const isFiltered = (query: FilterQuery): boolean =>
  filtersByPrice(query) || FILTERS.some(isSetIn(query)) || labelTerms(query).length > 0;

/** What the conditions depend on, besides the filters. */
export interface FilterContext {
  readonly version: DocumentReader;
  readonly store_id: string;
  /** The order of the list. */
  readonly mode: ListSortMode;
}

/** For a facet, which ignores the filter of its own name. */
export interface FacetFilter {
  readonly except?: string;
  /** Whether the facet counts the labels of variants. The condition for units is then returned also if it excludes nothing. */
  readonly of_units?: boolean;
}

/** Returns the filters of the query as conditions on keys and units. The terms of labels must be in the query, too. */
export async function filterKeys(
  { version, store_id, mode }: FilterContext,
  query: FilterQuery,
  { except, of_units = false }: FacetFilter = {},
): Promise<ViewQuery['where']> {
  const by_key = FILTERS.filter((name) => name !== 'has_price').filter(isSetIn(query));
  const conditions = by_key.map((name) => conditionOf(name, query[name]!));
  const do_prices_vary = filtersByPrice(query) && (await doPricesVary(version, store_id, query));
  const labels = termsOf(labelsIn(query).filter(([name]) => name !== except && isOfVariant(name)));
  // An option may have a value that no variant has, so a price and a label are two conditions even if all variants cost the same.
  const has_price = do_prices_vary || (filtersByPrice(query) && (of_units || labels.length > 0));
  const unit: UnitCondition['unit'] = {
    labels,
    ...(has_price && { price: activePrices(query) }),
    ...(query.in_stock === true && { in_stock: true }),
  };
  // A condition for units is needed if two conditions must hold for one variant: two filters, or both bounds of a price.
  const count = labels.length + Number(unit.in_stock === true) + Number(unit.price !== undefined);
  const { min_price, max_price } = query;
  const is_interval = unit.price !== undefined && min_price !== undefined && max_price !== undefined;
  const is_needed = count > 1 || is_interval || (of_units && count > 0);
  return Object.assign(
    {},
    ...conditions,
    priceRange(query, mode, do_prices_vary),
    priceState(query),
    is_needed && { units: { unit } },
  );
}

function conditionOf(
  name: Exclude<FilterName, 'has_price'>,
  value: boolean | string | number,
): ViewQuery['where'] {
  if (name === 'featured') return { featured_rank: value ? { lte: NOT_FEATURED - 1 } : NOT_FEATURED };
  const key: keyof PublicationKeys = name;
  return { [key]: typeof value === 'boolean' ? Number(value) : value };
}

/** Active prices in the range of the query. */
const activePrices = ({ min_price = 0, max_price = PRICE_AMOUNT_MAX }: PriceBounds) => ({
  gte: min_price,
  lte: Math.min(max_price, PRICE_AMOUNT_MAX),
});

/**
 * Returns the condition for a price range. The keys of prices contain active ones; for an inactive price they contain
 * a number outside every range (docs/interface/lists.md#filters). Uses the key that the list is sorted by, so that one index
 * serves the filter and the order.
 */
function priceRange(query: PriceBounds, mode: ListSortMode, do_prices_vary: boolean): ViewQuery['where'] {
  if (!filtersByPrice(query)) return {};
  const key = mode === 'price_desc' ? 'price_down' : 'price_up';
  const { gte, lte } = activePrices(query);
  if (!do_prices_vary) return { [key]: { gte, lte } };
  return { [key]: { gte: 0, lte }, ...(gte > 0 && { price_max: { gte } }) };
}

/** Returns the condition that the price is active, or that it is not. Publications in a price range have an active one. */
function priceState({ has_price, ...query }: FilterQuery): ViewQuery['where'] {
  if (has_price === undefined || (has_price && filtersByPrice(query))) return {};
  if (filtersByPrice(query)) return { price_max: INACTIVE_PRICE_DOWN };
  return { price_up: has_price ? activePrices({}) : { gte: INACTIVE_PRICE_UP } };
}

/**
 * Returns whether the store has a publication that has variants with different prices, some of which may be in the range.
 * Without one, the lowest price of a publication shows whether all of its variants are in the range.
 */
export async function doPricesVary(
  version: DocumentReader,
  store_id: string,
  { currency, ...query }: FilterQuery,
): Promise<boolean> {
  if (currency !== undefined) {
    const scope = wordScope(store_id, 'all');
    const asked = { scope, where: scope, tiers: [[[{ word: variesIn(currency) }]]], limit: 1, total_max: 1 };
    return (await version.search('publications', { ...asked, order: orderOf('created_at_desc') })).total > 0;
  }
  const { gte, lte } = activePrices(query);
  const found = await version.find('publications', {
    where: { varies_in: store_id, price_max: { gte }, price_up: { gte: 0, lte } },
    order: [
      ['price_max', 'asc'],
      ['id', 'asc'],
    ],
    limit: 1,
  });
  return found.length > 0;
}

function filtersByPrice({ min_price, max_price }: PriceBounds): boolean {
  return min_price !== undefined || max_price !== undefined;
}

function isSetIn(query: FilterQuery): (name: FilterName) => boolean {
  return (name) => query[name] !== undefined;
}

// --- Filters by label ---

/** The selected values of a label. */
type Selection = readonly [name: string, values: readonly string[]];

/** Returns the terms that the filters by labels demand, except the one with the name `except`. */
export const labelTerms = (query: LabelFilters, except?: string): WordTerms =>
  termsOf(labelsIn(query).filter(([name]) => name !== except));

/** Returns the labels by which the query filters. */
export function labelsIn(query: LabelFilters): Selection[] {
  return LABEL_FILTERS.flatMap((filter): Selection[] => {
    const selected = query[filter];
    if (selected === undefined) return [];
    if (Array.isArray(selected)) return [[filter, selected]];
    return Object.entries(selected).map(([name, values]) => [prefixOf(filter) + name, values]);
  });
}

const termsOf = (labels: readonly Selection[]): WordTerms =>
  labels.map(([name, values]) => values.map((value) => ({ word: labelTerm(name, storedForm(name, value)) })));

/** Variants store the digits of a barcode only. */
const storedForm = (name: string, value: string): string =>
  name === 'barcode' ? (parseBarcode(value) ?? value) : value;
