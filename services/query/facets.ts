import { KEY_FACETS } from '../../shared/api/requests/reads';
import { PRICE_AMOUNT_MAX } from '../../shared/catalog/amounts';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import {
  isOfVariant,
  labelPrefix,
  labelValue,
  TRANSLATED_AS,
  translatedOption,
} from '../../shared/catalog/search/words';
import { orderOf, type SortDirection, type SortOrder } from '../../shared/catalog/sorting';
import { visibilitySchema } from '../../shared/catalog/vocabulary';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { ViewQuery, WordCountsQuery, WordTerms } from '../../shared/ports/view-store';
import { doPricesVary, type FacetFilter, type FilterQuery, labelsIn, labelTerms } from './filters';
import type { PageSource } from './page-items';

/** The most values of one facet in an answer: those that most publications have. */
const VALUES_MAX = 100;
/** The most translations of one option that a facet reads in a locale. It reads the translations that most publications have. */
const LABELS_MAX = 500;
/** How many publications are counted for a facet with many values: about 0.35 s of CPU with SQLite. */
const COUNTED_MAX = 50_000;
/** How many publications times facets count as a request for the rate limit: about 75 ms of CPU with SQLite. */
const COUNTED_AS_REQUEST = 50_000;

export type FacetQuery = FilterQuery & { readonly facets: readonly string[] };

/** Returns the conditions on keys and units for the publications that the filters of the query find. */
export type WhereOf = (query: FilterQuery, facet?: FacetFilter) => Promise<ViewQuery['where']>;

/** The publications that a request finds. */
interface Found {
  readonly scope: WordCountsQuery['scope'];
  readonly whereOf: WhereOf;
  /** Besides those of labels. */
  readonly terms: WordTerms;
}

/** What counts the publications that a request finds. */
interface Counting extends Found {
  readonly version: DocumentReader;
  readonly query: FacetQuery;
  readonly assertAwaited: () => void;
}

/** The conditions for the publications that one group of facets counts. */
type Matching = Pick<WordCountsQuery, 'scope' | 'where' | 'terms' | 'of_units'>;

/**
 * Returns `meta.facets` if the query asks for facets: how many publications have each value of a label, among those that
 * the query finds without the filter of its name (docs/interface/lists.md#facets). A label of variants is counted if a variant
 * with it fulfils the other filters. Without `found`, there are none. `total` is the number of publications that the request
 * finds, for the rate limit.
 */
export async function facetsOf(
  { version, as: { locales = [] }, request }: PageSource,
  query: FacetQuery,
  found: Found | undefined,
  total: number,
): Promise<{ readonly facets?: JsonObject[] }> {
  if (query.facets.length === 0) return {};
  await request.admitItems?.(Math.ceil((total * query.facets.length) / COUNTED_AS_REQUEST));
  if (!found) return { facets: query.facets.map((name) => ({ name, values: [], has_more: false })) };
  const assertAwaited = (): void => request.assertAwaited();
  const counting = { ...found, version, query, assertAwaited };
  const facets = new Map<string, JsonObject>();
  for (const names of groupsOf(query)) {
    assertAwaited();
    for (const [name, facet] of await countLabels(names, counting)) facets.set(name, facet);
  }
  for (const name of query.facets.filter((one) => KEY_FACETS.includes(one))) {
    assertAwaited();
    facets.set(name, { name, values: await countKey(name, counting), has_more: false });
  }
  const all = query.facets.map((name) => facets.get(name)!);
  return { facets: locales.length > 0 ? await withLabels(all, counting, locales) : all };
}

const OPTION = 'option.';

/**
 * Returns the facets with the names and values of options in another language. Of several translations, that of the most
 * publications counts.
 */
async function withLabels(
  facets: readonly JsonObject[],
  { version, scope, assertAwaited }: Counting,
  locales: readonly string[],
): Promise<JsonObject[]> {
  const options = facets.flatMap(({ name }) => (String(name).startsWith(OPTION) ? String(name) : []));
  if (options.length === 0) return [...facets];
  const names = options.flatMap((name) =>
    locales.map((locale) => translatedOption(locale, name.slice(OPTION.length))),
  );
  const prefixes = names.map(labelPrefix);
  const asked = { scope, where: scope, terms: [], prefixes, limit: LABELS_MAX, documents_max: COUNTED_MAX };
  const counted = await version.countWords('publications', { ...asked, assertAwaited });
  return facets.map((facet) => {
    const first = options.indexOf(String(facet.name)) * locales.length;
    if (first < 0) return facet;
    const labels = new Map<string, string>();
    for (let index = first; index < first + locales.length; index++)
      for (const { word } of counted[index]!.counts) {
        const [value = '', label = ''] = labelValue(word, prefixes[index]!).split(TRANSLATED_AS);
        if (!labels.has(value)) labels.set(value, label);
      }
    const labelOf = (value: string): JsonObject => {
      const label = labels.get(value);
      return label === undefined ? {} : { label };
    };
    const values = (facet.values as JsonObject[]).map((each) => ({
      ...each,
      ...labelOf(String(each.value)),
    }));
    return { ...facet, ...labelOf(''), values };
  });
}

/**
 * Groups the names of the facets by what they count. A facet with a filter of its own name ignores that filter, so it is a group
 * of its own. Of the others, those of variants are counted by variant.
 */
function groupsOf(query: FacetQuery): string[][] {
  const selected = new Set(labelsIn(query).map(([name]) => name));
  const names = query.facets.filter((name) => !KEY_FACETS.includes(name));
  const others = names.filter((name) => !selected.has(name));
  return [
    others.filter((name) => !isOfVariant(name)),
    others.filter(isOfVariant),
    ...names.filter((name) => selected.has(name)).map((name) => [name]),
  ].filter((group) => group.length > 0);
}

/** Returns the conditions for the publications that a facet of this name counts. */
async function matchingOf({ query, scope, whereOf, terms }: Counting, name: string): Promise<Matching> {
  const of_units = isOfVariant(name);
  const where = await whereOf(query, { except: name, of_units });
  return {
    ...{ scope, where, terms: [...terms, ...labelTerms(query, name)] },
    of_units: of_units && where.units !== undefined,
  };
}

/** Counts the labels of these names, which are a group. Returns a facet for each name. */
async function countLabels(
  names: readonly string[],
  counting: Counting,
): Promise<(readonly [name: string, facet: JsonObject])[]> {
  const prefixes = names.map(labelPrefix);
  const { version, assertAwaited } = counting;
  const matching = await matchingOf(counting, names[0]!);
  const asked = { limit: VALUES_MAX + 1, documents_max: COUNTED_MAX, assertAwaited, prefixes };
  const counted = await version.countWords('publications', { ...asked, ...matching });
  return names.map((name, index) => {
    const { counts, is_complete } = counted[index]!;
    const values = counts.map(({ word, count }) => ({ value: labelValue(word, prefixes[index]!), count }));
    values.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1));
    const shown = values
      .slice(0, VALUES_MAX)
      .map(({ value, count }) => ({ value, count, query: `${new URLSearchParams([[name, value]])}` }));
    const has_more = values.length > VALUES_MAX;
    return [name, { name, values: shown, has_more, ...(is_complete ? {} : { is_complete }) }];
  });
}

// --- Facets by key ---

function countKey(name: string, counting: Counting): Promise<JsonObject[]> {
  if (name === 'price') return countPrices(counting);
  return name === 'visibility' ? countVisibilities(counting) : countFlag(name, counting);
}

/** Counts the publications by a flag. Ignores the filter by the flag. */
async function countFlag(name: string, counting: Counting): Promise<JsonObject[]> {
  const countOf = async (value: boolean): Promise<JsonObject> => {
    const where = await counting.whereOf({ ...counting.query, [name]: value });
    return facetValue(name, String(value), await countIn(counting, where));
  };
  return [await countOf(true), await countOf(false)].filter(({ count }) => count !== 0);
}

/** Counts the publications by visibility. Ignores the visibility of the query. */
async function countVisibilities(counting: Counting): Promise<JsonObject[]> {
  const others = await counting.whereOf(counting.query);
  const values: JsonObject[] = [];
  for (const visibility of visibilitySchema.options) {
    const scope = { ...counting.scope, visibility };
    const count = await countIn({ ...counting, scope }, { ...others, visibility });
    if (count > 0) values.push(facetValue('visibility', visibility, count));
  }
  return values;
}

const facetValue = (name: string, value: string, count: number): JsonObject => ({
  value,
  count,
  query: `${new URLSearchParams([[name, value]])}`,
});

/** Counts the publications that fulfil the conditions, and the terms of the query. */
async function countIn(
  { version, query, scope, terms: members }: Counting,
  where: ViewQuery['where'],
): Promise<number> {
  const terms = [...members, ...labelTerms(query)];
  if (terms.length === 0) return version.count('publications', where);
  const asked = {
    scope,
    where,
    order: orderOf('created_at_desc'),
    limit: 1,
    tiers: [terms],
    is_exhaustive: true as const,
  };
  return (await version.search('publications', asked)).total;
}

/** About how many intervals of prices a facet has. */
const INTERVALS = 6;
type PriceKey = 'price_up' | 'price_down' | 'price_max';
const ACTIVE_PRICES = { gte: 0, lte: PRICE_AMOUNT_MAX };

/**
 * Counts the publications by intervals of their active price. The intervals are equally wide, have round bounds and reach
 * from the lowest to the highest price. Those without a publication are left out. Ignores the price range of the query.
 */
async function countPrices(counting: Counting): Promise<JsonObject[]> {
  const { version, query, scope, whereOf, terms: members, assertAwaited } = counting;
  const terms = [...members, ...labelTerms(query)];
  const is_search = terms.length > 0;
  const unbounded = { ...query, min_price: undefined, max_price: undefined };
  const unpriced = await whereOf(unbounded);
  const search = (asked: Pick<ViewQuery, 'where' | 'order'>) =>
    version.search('publications', { ...asked, scope, limit: 1, tiers: [terms], is_exhaustive: true });
  /** Returns the first active price of the key in the direction, among the publications with these further conditions. */
  const firstOf = async (key: PriceKey, direction: SortDirection, more: ViewQuery['where'] = {}) => {
    const where = { ...unpriced, ...more, [key]: ACTIVE_PRICES };
    const order: SortOrder = [
      [key, direction],
      ['id', direction],
    ];
    const [first] = is_search
      ? (await search({ where, order })).documents
      : await version.find('publications', { where, order, limit: 1 });
    return first?.document?.keys[key] ?? undefined;
  };
  const lowest = await firstOf('price_up', 'asc');
  if (lowest === undefined) return [];
  // Only publications whose prices vary have a highest price that is not their lowest one, too. To look for them among the
  // matches of words reads the keys of all publications.
  const store_id = String(scope.store_id);
  const varied = (await doPricesVary(version, store_id, unbounded))
    ? await firstOf('price_max', 'desc', { varies_in: store_id })
    : undefined;
  const highest = Math.max((await firstOf('price_down', 'desc')) ?? lowest, varied ?? lowest);
  const width = roundWidth((highest - lowest) / INTERVALS);
  const values: JsonObject[] = [];
  for (let from = Math.floor(lowest / width) * width; from <= highest; from += width) {
    assertAwaited();
    const to = from + width - 1;
    const range = await whereOf({ ...query, min_price: from, max_price: to });
    const count = await countIn(counting, range);
    const selected = `${new URLSearchParams({ min_price: String(from), max_price: String(to) })}`;
    if (count > 0) values.push({ value: `${from}-${to}`, count, query: selected });
  }
  return values;
}

/** Rounds up to 1, 2 or 5 times a power of ten. Returns at least 100, which is one major unit. */
function roundWidth(width: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(width, 100)));
  return power * ([1, 2, 5].find((factor) => factor * power >= width) ?? 10);
}
