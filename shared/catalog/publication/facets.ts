import type { Visibility } from '../vocabulary';

/**
 * Number of publications of a store or listing, by visibility and by each flag that a list can filter by. The total of
 * a page is a sum of these counts, so that a read does not count documents. (A filter by price needs a count over the
 * collection.) Stored in `state.facets` of stores and listings. A key is the visibility and three flags:
 * `public:f1s0i1` counts public publications that are featured, have no free shipping and are in stock.
 */
export type Facets = Readonly<Record<string, number>>;

export const FACET_FLAGS = ['featured', 'free_shipping', 'in_stock'] as const;
export type FacetFlags = Readonly<Record<(typeof FACET_FLAGS)[number], boolean>>;

export function facetKey(visibility: Visibility, flags: FacetFlags): string {
  return `${visibility}:f${+flags.featured}s${+flags.free_shipping}i${+flags.in_stock}`;
}

/** Adds 1 or -1 to a count. Removes a count that reaches zero, so that equal counts are equal objects. */
export function addToFacet(facets: Facets, key: string, change: 1 | -1): Facets {
  const copy: Record<string, number> = { ...facets };
  const count = (copy[key] ?? 0) + change;
  if (count === 0) delete copy[key];
  else copy[key] = count;
  return copy;
}

/** Returns the total for a filter. A flag that is missing from `flags` does not filter. */
export function countFacets(
  facets: Facets,
  visibilities: readonly Visibility[],
  flags: Partial<FacetFlags> = {},
): number {
  const filtered = FACET_FLAGS.filter((flag) => flags[flag] !== undefined);
  const letter = { featured: 'f', free_shipping: 's', in_stock: 'i' } as const;
  let total = 0;
  for (const [key, count] of Object.entries(facets)) {
    const [visibility, bits] = key.split(':') as [Visibility, string];
    if (!visibilities.includes(visibility)) continue;
    if (filtered.every((flag) => bits.includes(`${letter[flag]}${+flags[flag]!}`))) total += count;
  }
  return total;
}
