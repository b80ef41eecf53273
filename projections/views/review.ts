import { reviewResource } from '../../shared/catalog/resources';
import type { ReviewFields } from '../../shared/catalog/review/review';
import type { View } from './view';

export type ReviewView = View<Record<never, never>, Record<never, never>>;

/** A review is written once. */
export function reviewView(id: string, review: ReviewFields): ReviewView {
  const { store_id, publication_id, created_at, rating } = review;
  return {
    keys: { store_id, publication_id, created_at, rating },
    body: reviewResource(id, review),
    state: {},
    expansions: {},
  };
}
