import { z } from 'zod';

// Envelopes of all JSON responses (docs/interface.md#responses).

/** Returns the schema of `{code, status: "OK", data}`. */
export function envelopeOf<Code extends 200 | 201 | 202, Data extends z.ZodType>(code: Code, data: Data) {
  return z.strictObject({ code: z.literal(code), status: z.literal('OK'), data });
}

const count = z.int().min(0);
const page = z.int().min(1);
const limit = z.int().min(1).max(50);

export const pageMetaSchema = z.strictObject({
  page,
  take: limit.describe('Value of `limit` that was used.'),
  item_count: count.describe('Number of items on all pages.'),
  pagination: z.strictObject({ page, total_pages: count, total_items: count, limit }),
});

/** Summary of all reviews of the publication, independent of the page (docs/interface.md#reviews). */
const reviewSummarySchema = z.strictObject({
  average: z.number().min(0).max(5).describe('Average rating with two decimals; 0 if there are no reviews.'),
  count,
  distribution: z.strictObject({ '1': count, '2': count, '3': count, '4': count, '5': count }),
});

export const reviewsMetaSchema = pageMetaSchema.extend({ summary: reviewSummarySchema });

/** Returns the schema of `{code, status: "OK", data: […], meta}`. */
export function pageOf<Item extends z.ZodType, Meta extends z.ZodType>(item: Item, meta: Meta) {
  return z.strictObject({ code: z.literal(200), status: z.literal('OK'), data: z.array(item), meta });
}
