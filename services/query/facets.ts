import { prefixOf } from '../../shared/api/requests/parameters';
import { type LabelFilters, labelFilters } from '../../shared/api/requests/reads';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { PRICE_AMOUNT_MAX } from '../../shared/catalog/input-rules';
import { parseBarcode } from '../../shared/catalog/publication/barcode';
import { labelPrefix, labelTerm, labelValue } from '../../shared/catalog/search/words';
import { orderOf } from '../../shared/catalog/sorting';
import type { SortMode } from '../../shared/catalog/vocabulary';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { ViewQuery, WordCountsQuery, WordTerms } from '../../shared/ports/view-store';
import type { PageSource } from './page-items';

/** The most values of one facet in an answer: those that most publications have. */
const VALUES_MAX = 100;
/** How many publications are counted for a facet with many values: about 0.35 s of CPU with SQLite. */
const COUNTED_MAX = 50_000;
/** How many publications times facets count as a request for the rate limit: about 75 ms of CPU with SQLite. */
const COUNTED_AS_REQUEST = 50_000;

const LABEL_FILTERS = Object.keys(labelFilters) as (keyof LabelFilters)[];

export interface FacetQuery extends LabelFilters {
  readonly facets: readonly string[];
}

/** Returns the terms that the filters by labels demand, except the one with the name `except`. */
export function labelTerms(query: LabelFilters, except?: string): WordTerms {
  return LABEL_FILTERS.flatMap((filter) => selectedBy(filter, query[filter]))
    .filter(([name]) => name !== except)
    .map(([name, values]) => values.map((value) => ({ word: labelTerm(name, storedForm(name, value)) })));
}

type Selection = readonly [name: string, values: readonly string[]];

function selectedBy(filter: string, selected: LabelFilters[keyof LabelFilters]): Selection[] {
  if (selected === undefined) return [];
  if (Array.isArray(selected)) return [[filter, selected]];
  return Object.entries(selected).map(([name, values]) => [prefixOf(filter) + name, values]);
}

/** Variants store the digits of a barcode only. */
const storedForm = (name: string, value: string): string =>
  name === 'barcode' ? (parseBarcode(value) ?? value) : value;

type Matching = Pick<WordCountsQuery, 'scope' | 'where' | 'terms'>;

/**
 * Returns `meta.facets` if the query asks for facets: how many publications have each value of a label, among those that
 * match `terms`, `where` and the other filters (docs/interface/lists.md#facets). Without `found`, there are none. `total` is the
 * number of publications that the request finds, for the rate limit.
 */
export async function facetsOf(
  { version, request }: PageSource,
  query: FacetQuery,
  found: (Omit<Matching, 'terms'> & { readonly terms?: WordTerms }) | undefined,
  total: number,
): Promise<{ readonly facets?: JsonObject[] }> {
  if (query.facets.length === 0) return {};
  await request.admitItems?.(Math.ceil((total * query.facets.length) / COUNTED_AS_REQUEST));
  const assertAwaited = (): void => request.assertAwaited();
  const matching = (name?: string): Matching | undefined =>
    found && { ...found, terms: [...(found.terms ?? []), ...labelTerms(query, name)] };
  const facets = new Map<string, JsonObject>();
  // Without the filter of its own name, a facet counts other publications than those that have no such filter.
  const selected = new Set(
    LABEL_FILTERS.flatMap((filter) => selectedBy(filter, query[filter])).map(([name]) => name),
  );
  const labels = query.facets.filter((name) => name !== 'price');
  const groups = [
    labels.filter((name) => !selected.has(name)),
    ...labels.filter((name) => selected.has(name)).map((name) => [name]),
  ];
  for (const names of groups) {
    assertAwaited();
    for (const [name, facet] of await countLabels(version, names, matching(names[0]), assertAwaited))
      facets.set(name, facet);
  }
  if (query.facets.includes('price')) {
    const priced = matching('price');
    const values = priced ? await countPrices(version, priced, assertAwaited) : [];
    facets.set('price', { name: 'price', values, has_more: false });
  }
  return { facets: query.facets.map((name) => facets.get(name)!) };
}

/** Counts the labels of these names. Returns a facet for each name. */
async function countLabels(
  version: DocumentReader,
  names: readonly string[],
  matching: Matching | undefined,
  assertAwaited: () => void,
): Promise<(readonly [name: string, facet: JsonObject])[]> {
  const prefixes = names.map(labelPrefix);
  const asked = { limit: VALUES_MAX + 1, documents_max: COUNTED_MAX, assertAwaited, prefixes };
  const counted = matching ? await version.countWords('publications', { ...asked, ...matching }) : [];
  return names.map((name, index) => {
    const { counts, is_complete } = counted[index] ?? { counts: [], is_complete: true };
    const values = counts.map(({ word, count }) => ({ value: labelValue(word, prefixes[index]!), count }));
    values.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1));
    const shown = values
      .slice(0, VALUES_MAX)
      .map(({ value, count }) => ({ value, count, query: `${new URLSearchParams([[name, value]])}` }));
    const has_more = values.length > VALUES_MAX;
    return [name, { name, values: shown, has_more, ...(is_complete ? {} : { is_complete }) }];
  });
}

/** About how many intervals of prices a facet has. */
const INTERVALS = 6;
const ACTIVE_PRICES = { gte: 0, lte: PRICE_AMOUNT_MAX };

/**
 * Counts the publications by intervals of their active price. The intervals are equally wide, have round bounds and reach
 * from the lowest to the highest price. Those without a publication are left out. Ignores the price range of the query.
 */
async function countPrices(
  version: DocumentReader,
  { scope, where: { price_up: _, price_down: __, ...where }, terms }: Matching,
  assertAwaited: () => void,
): Promise<JsonObject[]> {
  const is_search = terms.length > 0;
  const search = (asked: Pick<ViewQuery, 'where' | 'order'>) =>
    version.search('publications', { ...asked, scope, limit: 1, tiers: [terms], is_exhaustive: true });
  const countIn = async (range: ViewQuery['where']): Promise<number> =>
    is_search
      ? (await search({ where: range, order: orderOf('price_asc') })).total
      : version.count('publications', range);
  const priceOf = async (key: 'price_up' | 'price_down', mode: SortMode): Promise<number | undefined> => {
    const asked = { where: { ...where, [key]: ACTIVE_PRICES }, order: orderOf(mode) };
    const [first] = is_search
      ? (await search(asked)).documents
      : await version.find('publications', { ...asked, limit: 1 });
    return first?.document?.body.price_amount as number | undefined;
  };
  const lowest = await priceOf('price_up', 'price_asc');
  const highest = await priceOf('price_down', 'price_desc');
  if (lowest === undefined || highest === undefined) return [];
  const width = roundWidth((highest - lowest) / INTERVALS);
  const values: JsonObject[] = [];
  for (let from = Math.floor(lowest / width) * width; from <= highest; from += width) {
    assertAwaited();
    const to = from + width - 1;
    const count = await countIn({ ...where, price_up: { gte: from, lte: Math.min(to, PRICE_AMOUNT_MAX) } });
    const query = `${new URLSearchParams({ min_price: String(from), max_price: String(to) })}`;
    if (count > 0) values.push({ value: `${from}-${to}`, count, query });
  }
  return values;
}

/** Rounds up to 1, 2 or 5 times a power of ten. Returns at least 100, which is one major unit. */
function roundWidth(width: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(width, 100)));
  return power * ([1, 2, 5].find((factor) => factor * power >= width) ?? 10);
}
