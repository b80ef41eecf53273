import { z } from 'zod';
import type { JsonObject } from '../contracts/envelope';

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 50;
/** Beyond every catalog, and small enough that `page * limit` is an exact number everywhere. */
const PAGE_MAX = 100_000_000_000_000;

/** Digits alone: `1.0`, `+1`, `1e3` and the empty text are refused, not guessed at. */
function wholeNumber(max: number, constraint: string) {
  return z
    .string()
    .refine((text) => /^\d{1,15}$/.test(text) && Number(text) >= 1 && Number(text) <= max, {
      error: constraint,
    })
    .transform(Number);
}

/** `page` and `limit` as query strings (spec, "Query parameters"); beyond the maximum is refused, not clamped. */
export const paginationSchema = z.object({
  page: wholeNumber(PAGE_MAX, 'an integer of at least 1').prefault('1'),
  limit: wholeNumber(LIMIT_MAX, `an integer from 1 to ${LIMIT_MAX}`).prefault(String(LIMIT_DEFAULT)),
});

export type Pagination = z.infer<typeof paginationSchema>;

/** `meta` of the paginated envelope; an empty list has no pages. */
export function pageMeta(options: Pagination & { total: number }): JsonObject {
  const { page, limit, total } = options;
  const pagination = { page, total_pages: Math.ceil(total / limit), total_items: total, limit };
  return { page, take: limit, item_count: total, pagination };
}
