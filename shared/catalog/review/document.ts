import type { CollectionSpec, Document, KeysOf, Nothing } from '../stored-document';
import type { ReviewStatus } from '../vocabulary';
import type { ReviewFields } from './review';

const keys = {
  store_id: 'text',
  /** The publication whose list and summary contain the review. Null unless the review is published. */
  publication_id: 'text',
  /** The publication of the review, also if the review is not published. */
  about_id: 'text',
  status: 'text',
  created_at: 'text',
  rating: 'integer',
} as const;

export const reviewCollection: CollectionSpec<typeof keys> = {
  keys,
  lists: {
    scopes: ['publication_id'],
    filters: {},
    orders: [{ key: 'created_at' }, { key: 'id' }],
  },
  indexes: [
    ['publication_id', 'created_at', 'id'],
    ['publication_id', 'id'],
    ['about_id', 'status', 'created_at', 'id'],
    ['store_id', 'status', 'created_at', 'id'],
  ],
};

export type ReviewKeys = KeysOf<typeof keys>;

export function reviewKeys(review: ReviewFields): ReviewKeys {
  const { store_id, publication_id: about_id, created_at, rating, status } = review;
  return { store_id, ...statusKeys(about_id, status), about_id, created_at, rating };
}

/** Returns the keys that depend on the status. */
export function statusKeys(about_id: string, status: ReviewStatus) {
  return { publication_id: status === 'published' ? about_id : null, status };
}

export type ReviewDocument = Document<ReviewKeys, Nothing, Nothing>;
