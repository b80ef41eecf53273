import type { CollectionSpec, Document, KeysOf, Nothing } from '../stored-document';
import type { ApiKey } from './api-key';

const keys = { key_hash: 'text', account_id: 'text', created_at: 'text' } as const;

export const apiKeyCollection: CollectionSpec<typeof keys> = {
  keys,
  indexes: [['account_id', 'created_at', 'id']],
  unique: ['key_hash'],
};

export type ApiKeyKeys = KeysOf<typeof keys>;

export interface ApiKeyDocumentState {
  /** Of the newest event that is part of this. */
  readonly revision: number;
}

/** The body is the key as its events add up to. */
export type ApiKeyDocument = Document<ApiKeyKeys, ApiKeyDocumentState, Nothing, ApiKey>;
