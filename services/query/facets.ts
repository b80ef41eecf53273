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

/**
 * Returns `meta.facets` if the query asks for facets: how many publications have each value of a label, among those that
 * match `terms`, `where` and the other filters (docs/interface.md#facets). Without `found`, there are none.
 */
export async function facetsOf(
  { version, request }: PageSource,
  query: FacetQuery,
  found: (Pick<WordCountsQuery, 'scope' | 'where'> & { readonly terms?: WordTerms }) | undefined,
): Promise<{ readonly facets?: JsonObject[] }> {
  if (query.facets.length === 0) return {};
  const facets: JsonObject[] = [];
  const assertAwaited = (): void => request.assertAwaited();
  const asked = { limit: VALUES_MAX + 1, documents_max: COUNTED_MAX, assertAwaited };
  for (const name of query.facets) {
    assertAwaited();
    const terms = [...(found?.terms ?? []), ...labelTerms(query, name)];
    if (name === 'price') {
      const values = found ? await countPrices(version, { ...found, terms }, assertAwaited) : [];
      facets.push({ name, values, has_more: false });
      continue;
    }
    const prefix = labelPrefix(name);
    const { counts, is_complete } = found
      ? await version.countWords('publications', { ...asked, ...found, terms, prefix })
      : { counts: [], is_complete: true };
    const values = counts.map(({ word, count }) => ({ value: labelValue(word, prefix), count }));
    values.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1));
    const shown = values
      .slice(0, VALUES_MAX)
      .map(({ value, count }) => ({ value, count, query: `${new URLSearchParams([[name, value]])}` }));
    const has_more = values.length > VALUES_MAX;
    facets.push({ name, values: shown, has_more, ...(is_complete ? {} : { is_complete }) });
  }
  return { facets };
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
  {
    scope,
    where: { price_up: _, price_down: __, ...where },
    terms,
  }: Pick<WordCountsQuery, 'scope' | 'where' | 'terms'>,
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
