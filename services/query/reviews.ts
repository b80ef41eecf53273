import { reads } from '../../shared/api/operations/reads';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { ReviewCounts } from '../../shared/catalog/publication/document';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta } from '../../shared/http/validation';
import { findById, openForId } from './find-by-id';
import { orderWithin, pageOf, sortModeOf } from './list-query';
import { parseRead } from './read-query';
import type { ReadSides } from './store-guard';
import { showsContainer } from './visibility';

/** `GET /api/publication/:id/reviews` */
export async function readReviews(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.listReviews, request, []);
  const version = await openForId(sides, request, 'publications');
  const [publication, page] = await Promise.all([
    findById(sides, request, version, 'publications', {
      visibility: query.visibility,
      shows: showsContainer,
      parts: ['state'],
    }),
    version.find('reviews', {
      where: { publication_id: request.params.id ?? '' },
      order: orderWithin('reviews', sortModeOf(query)),
      ...pageOf(query),
    }),
  ]);
  const { reviews } = publication.state;
  const data = page.flatMap(({ document }) => (document ? [document.body] : []));
  return { data, meta: { ...pageMeta({ ...query, total: reviews.count }), summary: summaryOf(reviews) } };
}

/** `average` has two decimals, and is 0 where there is no review: `count` says whether it means anything. */
function summaryOf({ count, sum, distribution }: ReviewCounts): JsonObject {
  const average = count === 0 ? 0 : Math.round((sum / count) * 100) / 100;
  const ratings = [1, 2, 3, 4, 5].map((rating) => [String(rating), distribution[rating] ?? 0]);
  return { average, count, distribution: Object.fromEntries(ratings) };
}
