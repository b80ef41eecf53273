import type { Pagination } from '../api/requests/parameters';
import type { JsonObject } from '../catalog/events/envelope';

/** `meta` of the paginated envelope; an empty list has no pages. */
export function pageMeta(options: Pagination & { total: number }): JsonObject {
  const { page, limit, total } = options;
  const pagination = { page, total_pages: Math.ceil(total / limit), total_items: total, limit };
  return { page, take: limit, item_count: total, pagination };
}
