import { z } from 'zod';

// Envelopes of all JSON responses (docs/interface/requests.md#responses).

/** Returns the schema of `{code, status: "OK", data}`. */
export function envelopeOf<Code extends 200 | 201 | 202 | 301, Data extends z.ZodType>(
  code: Code | readonly Code[],
  data: Data,
) {
  return z.strictObject({ code: codeOf(code), status, data });
}

const codeOf = <const Code extends number>(code: Code | readonly Code[]) =>
  z.literal(typeof code === 'number' ? [code] : code).describe('The HTTP status.');
const status = z.literal('OK').describe('Always `OK` in a successful response.');

const count = z.int().min(0);
const page = z.int().min(1).describe('Number of this page, starting at 1.');
/** Each page reads the file of rows from its start, so a whole report of 50,000 rows must not take many pages. */
export const IMPORT_ROWS_LIMIT_MAX = 1_000;
const limit = z
  .int()
  .min(1)
  .max(IMPORT_ROWS_LIMIT_MAX)
  .describe('Maximum number of items on a page: the `limit` that was used.');
const total_items = count.describe('Number of items on all pages.');

/** What the maximum size of an answer left out (docs/interface/reads.md#size-of-an-answer). */
export const pageCutsShape = {
  omitted_items: z
    .int()
    .min(1)
    .optional()
    .meta({ examples: [17] })
    .describe(
      'Number of the last items of this page that are left out, because the answer would have more than 8 MB. Read them with a smaller `limit`. Missing if there are none.',
    ),
  shortened_items: z
    .int()
    .min(1)
    .optional()
    .meta({ examples: [17] })
    .describe(
      'Number of the last items in this answer whose expansions are shortened, because the answer would have more than 8 MB. Missing if there are none.',
    ),
};
/** Example: a cursor of a list that is sorted by `created_at`. */
export const EXAMPLE_CURSOR =
  'WyJxMFpiM2tUMXhZY0EiLDIwLCIyMDI2LTAyLTAxVDA5OjMwOjAwLjAwMFoiLCIwMTk1ZDRhMi03YzMxLTdlNmItOWE1NS0zZjFmMGM4ZTJiMTAiXQ';

/** Where the next page begins (docs/interface/lists.md#cursors). */
export const nextCursorShape = {
  next_cursor: z
    .string()
    .optional()
    .meta({ examples: [EXAMPLE_CURSOR] })
    .describe(
      'Value of `cursor` for the next page. Missing on the last page, and in a search and in related publications without `sort`.',
    ),
};

export type PageCuts = Readonly<Partial<Record<keyof typeof pageCutsShape, number>>>;
/** What the answer with a page says besides its number and the totals. */
export type PageEnd = PageCuts & { readonly next_cursor?: string };

const facetLabel = z
  .string()
  .optional()
  .meta({
    description: 'Of an option: its text in the language of the answer, if that is not the default locale.',
    examples: ['Farbe'],
  });
const facetValue = {
  value: z.string().meta({ description: 'The value.', examples: ['Taller Rímac'] }),
  label: facetLabel,
  count: count
    .describe('Number of publications with this value that match all other filters.')
    .meta({ examples: [12] }),
  query: z
    .string()
    .meta({ description: 'The query parameter that selects it.', examples: ['vendor=Taller+R%C3%ADmac'] }),
};
/** Counts of the values of some filters (docs/interface/lists.md#facets). */
export const facetsShape = {
  facets: z
    .array(
      z.strictObject({
        name: z.string().meta({ description: 'The name of the filter.', examples: ['vendor'] }),
        label: facetLabel,
        values: z.array(z.strictObject(facetValue)).describe('The most frequent values, at most 100.'),
        has_more: z.boolean().describe('Whether there are other values.'),
        is_complete: z
          .literal(false)
          .optional()
          .describe(
            'Only if the facet has many values and counts only the newest 50,000 matching publications.',
          ),
      }),
    )
    .optional()
    .describe('With `facets` only: how many publications match, by the values of these filters.'),
};

export const pageMetaSchema = z.strictObject({
  page,
  take: limit,
  item_count: total_items,
  pagination: z
    .strictObject({
      page,
      total_pages: count.describe('Number of pages; 0 if there are no items.'),
      total_items,
      limit,
      ...nextCursorShape,
      ...pageCutsShape,
    })
    .describe('The same numbers, and the number of pages.'),
  is_complete: z
    .literal(false)
    .optional()
    .describe('Only in a search that did not look at all publications, because its words are too frequent.'),
  ...facetsShape,
});

/** Of an answer whose items are not counted. */
export const historyMetaSchema = z.strictObject({
  limit,
  next_cursor: z
    .string()
    .optional()
    .meta({ examples: ['00000000000000001042-0195d4a2'] })
    .describe('Value of `cursor` for older changes. Missing if there are none.'),
});

export const FEED_CURSOR =
  'MjAyNi0wMS0xNVQxMjowMDowMC4wMDBaIDAxOTVkNGEyLThhMDItN2MxZS05ZjMxLTViMGM3YTZlMWQwMw';

/** `meta` of a list that is read by cursor, and whose pages may have more or fewer items than `limit`. */
export const feedIssuesMetaSchema = z.strictObject({
  limit,
  next_cursor: z
    .string()
    .optional()
    .meta({ examples: [FEED_CURSOR] })
    .describe('Value of `cursor` for the products after these. Missing if there are none.'),
});

const ratedWith = (rating: number) => count.describe(`Number of reviews with the rating ${rating}.`);

/** Summary of all reviews of the publication, independent of the page (docs/interface/reviews.md). */
const reviewSummarySchema = z
  .strictObject({
    average: z
      .number()
      .min(0)
      .max(5)
      .describe('Average rating with two decimals; 0 if there are no reviews.'),
    count: count.describe('Number of reviews.'),
    distribution: z
      .strictObject({
        '1': ratedWith(1),
        '2': ratedWith(2),
        '3': ratedWith(3),
        '4': ratedWith(4),
        '5': ratedWith(5),
      })
      .describe('Number of reviews by rating.'),
  })
  .describe('Summary of all reviews of the publication, not only those of this page.');

export const reviewsMetaSchema = pageMetaSchema.extend({ summary: reviewSummarySchema });

/** Returns the schema of `{code, status: "OK", data: […], meta}`. */
export function pageOf<Item extends z.ZodType, Meta extends z.ZodType>(item: Item, meta: Meta) {
  return z.strictObject({
    code: codeOf(200),
    status,
    data: z.array(item).describe('The items of this page.'),
    meta,
  });
}
