import { type ReviewDocument, reviewKeys, statusKeys } from '../../shared/catalog/review/document';
import { type ReviewEvent, reviewResource } from '../../shared/catalog/review/review';
import { assertNever } from '../../shared/kernel/errors';
import type { View } from './view';

/** Documents of reviews. */
export const reviewView: View<ReviewDocument, ReviewEvent> = {
  collection: 'reviews',
  category: 'review',
  fold: (before, event, { id }) => {
    if (event.type === 'ReviewPosted') {
      const { data } = event;
      return before ?? { keys: reviewKeys(data), body: reviewResource(id, data), state: {}, expansions: {} };
    }
    if (event.type === 'ReviewErased') return null;
    if (!before) return before;
    const { keys, body } = before;
    switch (event.type) {
      case 'ReviewModerated': {
        const { publication_id, status } = event.data;
        const moderated = { ...keys, ...statusKeys(publication_id, status) };
        return { ...before, keys: moderated, body: { ...body, status } };
      }
      case 'ReviewDeleted':
        return null;
      default:
        return assertNever(event, 'review event');
    }
  },
};
