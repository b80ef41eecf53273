import { type ReviewDocument, reviewKeys } from '../../shared/catalog/review/document';
import { type ReviewEvent, reviewResource } from '../../shared/catalog/review/review';
import type { View } from './view';

/** Documents of reviews. A review never changes, so a redelivered event keeps the stored document. */
export const reviewView: View<ReviewDocument, ReviewEvent> = {
  collection: 'reviews',
  category: 'review',
  fold: (before, { data }, { id }) =>
    before ?? { keys: reviewKeys(data), body: reviewResource(id, data), state: {}, expansions: {} },
};
