import { type ReviewDocument, reviewKeys } from '../../shared/catalog/review/document';
import type { ReviewFields } from '../../shared/catalog/review/review';
import { reviewResource } from '../../shared/catalog/review/review';

/** A review is written once. */
export function reviewView(id: string, review: ReviewFields): ReviewDocument {
  return { keys: reviewKeys(review), body: reviewResource(id, review), state: {}, expansions: {} };
}
