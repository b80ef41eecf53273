import type { CollectionSpec, Document, KeysOf, Nothing } from '../stored-document';
import type { ReviewFields } from './review';

const keys = { store_id: 'text', publication_id: 'text', created_at: 'text', rating: 'integer' } as const;

export const reviewCollection: CollectionSpec<typeof keys> = {
  keys,
  lists: {
    filters: {},
    orders: [
      { scope: 'publication_id', key: 'created_at' },
      { scope: 'publication_id', key: 'id' },
    ],
  },
  indexes: [
    ['publication_id', 'created_at', 'id'],
    ['publication_id', 'id'],
  ],
};

export type ReviewKeys = KeysOf<typeof keys>;

export function reviewKeys({ store_id, publication_id, created_at, rating }: ReviewFields): ReviewKeys {
  return { store_id, publication_id, created_at, rating };
}

export type ReviewDocument = Document<ReviewKeys, Nothing, Nothing>;
