import { z } from 'zod';
import { commaList, flag, paginationSchema, priceBound, queryId } from './parameters';

/** The query parameters of the reads (spec, "Query parameters"; decisions §3, §5). */

/** The values of `expand`. Every read takes all three; most add nothing to it. */
const EXPANDABLE = ['publication', 'listing', 'media'] as const;
export type Expandable = (typeof EXPANDABLE)[number];

/** What a read asks for (decisions §3): the storefront's view, what is hidden from it, or both. */
const VISIBILITY_FILTERS = ['public', 'private', 'all'] as const;
export type VisibilityFilter = (typeof VISIBILITY_FILTERS)[number];

export const SORT_FIELDS = ['created_at', 'price', 'name'] as const;

/** The parameters of every read. `store_id` is checked here and followed by the store guard. */
export const readSchema = z.object({
  store_id: queryId
    .optional()
    .describe("The store that is meant; without it the first of the token's `stores`."),
  visibility: z
    .enum(VISIBILITY_FILTERS)
    .default('public')
    .describe('What is shown. Anything but `public` needs a secret key.'),
  expand: commaList(EXPANDABLE, 'What to add to each resource; a value that adds nothing to it is accepted.'),
});

/** The parameters of every list (decisions §5). */
export const listSchema = readSchema.extend({
  ...paginationSchema.shape,
  sort: z
    .enum(SORT_FIELDS)
    .optional()
    .describe("What to sort by; `name` is a publication's title. Ties are broken by id."),
  order: z.enum(['asc', 'desc']).optional().describe('The direction of `sort`.'),
});

export type ListQuery = z.infer<typeof listSchema>;

const priceBounds = {
  min_price: priceBound.describe('The least price, in hundredths; inactive prices are in no range.'),
  max_price: priceBound.describe('The greatest price, in hundredths.'),
};

export interface PriceBounds {
  readonly min_price?: number | undefined;
  readonly max_price?: number | undefined;
}

const BOUNDS_IN_ORDER = { path: ['min_price'], error: 'at most max_price' };

function areBoundsInOrder({ min_price, max_price }: PriceBounds): boolean {
  return (min_price ?? 0) <= (max_price ?? Number.MAX_SAFE_INTEGER);
}

const listing_id = queryId.optional().describe('Only publications of this listing.');

/**
 * The filters of `GET /api/publications`. Each but `featured` asks for the value of the document's key of its name;
 * totals are maintained for flags and counted for any other.
 */
export const publicationFilters = {
  featured: flag.describe('Only those with a `featured_position`, or only those without.'),
  free_shipping: flag.describe('Only those with free shipping, or only those without.'),
  in_stock: flag.describe('Only what is in stock (a quantity above 0, or none given), or only what is not.'),
};

/** The parameters of `GET /api/publications`: those of every list, and its filters (decisions §5). */
export const publicationsSchema = listSchema
  .extend({ listing_id, ...publicationFilters, ...priceBounds })
  .refine(areBoundsInOrder, BOUNDS_IN_ORDER);

export type PublicationsQuery = z.infer<typeof publicationsSchema>;

const Q_LENGTH_MAX = 200;

/** The parameters of `GET /api/store/search`. */
export const searchSchema = listSchema
  .extend({
    q: z
      .string()
      .transform((text) => text.trim())
      .refine((text) => text !== '' && [...text].length <= Q_LENGTH_MAX, {
        error: `from 1 to ${Q_LENGTH_MAX} characters`,
      })
      .meta({ minLength: 1, maxLength: Q_LENGTH_MAX })
      .describe('What to look for: every word must be there, the last may be the beginning of one.'),
    listing_id,
    ...priceBounds,
  })
  .refine(areBoundsInOrder, BOUNDS_IN_ORDER);

export type SearchQuery = z.infer<typeof searchSchema>;
