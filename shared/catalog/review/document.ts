import type { CollectionSpec, Document, KeysOf, Nothing } from '../stored-document';
import type { ReviewFields } from './review';

const keys = { store_id: 'text', publication_id: 'text', created_at: 'text', rating: 'integer' } as const;

export const reviewCollection: CollectionSpec<typeof keys> = {
  keys,
  indexes: [['publication_id', 'created_at', 'id']],
};

export type ReviewKeys = KeysOf<typeof keys>;

export function reviewKeys({ store_id, publication_id, created_at, rating }: ReviewFields): ReviewKeys {
  return { store_id, publication_id, created_at, rating };
}

export type ReviewDocument = Document<ReviewKeys, Nothing, Nothing>;
