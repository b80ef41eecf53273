import type { Visibility } from '../vocabulary';

/**
 * How many publications a store or listing has, by everything a list can be asked for but a price: the totals of
 * pages are sums of these and never a count over the collection. Kept under `state.facets` of stores and listings.
 * A key is visibility and three flags, `public:f1s0i1` = featured, no free shipping, in stock.
 */
export type Facets = Readonly<Record<string, number>>;

export const FACET_FLAGS = ['featured', 'free_shipping', 'in_stock'] as const;
export type FacetFlags = Readonly<Record<(typeof FACET_FLAGS)[number], boolean>>;

export function facetKey(visibility: Visibility, flags: FacetFlags): string {
  return `${visibility}:f${+flags.featured}s${+flags.free_shipping}i${+flags.in_stock}`;
}

/** One more or one fewer; a count that reaches zero is dropped, so that equal counts are equal objects. */
export function addToFacet(facets: Facets, key: string, change: 1 | -1): Facets {
  const { [key]: before = 0, ...rest } = facets;
  return before + change === 0 ? rest : { ...rest, [key]: before + change };
}

/** The total for a filter; a flag that is left out may be either. */
export function countFacets(
  facets: Facets,
  visibilities: readonly Visibility[],
  flags: Partial<FacetFlags> = {},
): number {
  const asked = FACET_FLAGS.filter((flag) => flags[flag] !== undefined);
  const letter = { featured: 'f', free_shipping: 's', in_stock: 'i' } as const;
  let total = 0;
  for (const [key, count] of Object.entries(facets)) {
    const [visibility, bits] = key.split(':') as [Visibility, string];
    if (!visibilities.includes(visibility)) continue;
    if (asked.every((flag) => bits.includes(`${letter[flag]}${+flags[flag]!}`))) total += count;
  }
  return total;
}
