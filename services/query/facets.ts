import { prefixOf } from '../../shared/api/requests/parameters';
import { type LabelFilters, labelFilters } from '../../shared/api/requests/reads';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { parseBarcode } from '../../shared/catalog/publication/barcode';
import { labelPrefix, labelTerm, labelValue } from '../../shared/catalog/search/words';
import type { WordCountsQuery, WordTerms } from '../../shared/ports/view-store';
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
 * match `terms`, `where` and the filters by other labels (docs/interface.md#facets). Without `found`, there are none.
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
    const prefix = labelPrefix(name);
    const terms = [...(found?.terms ?? []), ...labelTerms(query, name)];
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
