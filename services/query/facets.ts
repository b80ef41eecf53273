import type { LabelFilters } from '../../shared/api/requests/reads';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { labelPrefix, labelTerm, labelValue } from '../../shared/catalog/search/words';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { WordCountsQuery, WordTerms } from '../../shared/ports/view-store';

/** The most values of one facet in an answer: those that most publications have. */
const VALUES_MAX = 100;

export interface FacetQuery extends LabelFilters {
  readonly facets: readonly string[];
}

/** Returns the terms that the filters by labels demand, except the one with the name `except`. */
export function labelTerms(query: LabelFilters, except?: string): WordTerms {
  const { 'attributes.<name>': attributes = {}, vendor, product_type, tag } = query;
  const named = Object.entries(attributes).map(([name, values]) => [`attributes.${name}`, values] as const);
  const all = [...Object.entries({ vendor, product_type, tag }), ...named];
  return all
    .filter(([name, values]) => values !== undefined && name !== except)
    .map(([name, values = []]) => values.map((value) => ({ word: labelTerm(name, value) })));
}

/**
 * Returns `meta.facets` if the query asks for facets: how many publications have each value of a label, among those that
 * match `terms`, `where` and the filters by other labels (docs/interface.md#facets). Without `found`, there are none.
 */
export async function facetsOf(
  version: DocumentReader,
  query: FacetQuery,
  found: (Pick<WordCountsQuery, 'scope' | 'where'> & { readonly terms?: WordTerms }) | undefined,
): Promise<{ readonly facets?: JsonObject[] }> {
  if (query.facets.length === 0) return {};
  const facets: JsonObject[] = [];
  for (const name of query.facets) {
    const prefix = labelPrefix(name);
    const terms = [...(found?.terms ?? []), ...labelTerms(query, name)];
    const counts = found ? await version.countWords('publications', { ...found, terms, prefix }) : [];
    const values = counts.map(({ word, count }) => ({ value: labelValue(word, prefix), count }));
    values.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1));
    const shown = values
      .slice(0, VALUES_MAX)
      .map(({ value, count }) => ({ value, count, query: `${new URLSearchParams([[name, value]])}` }));
    facets.push({ name, values: shown, has_more: values.length > VALUES_MAX });
  }
  return { facets };
}
