import type { CollectionSpec, Document, KeysOf, Nothing } from '../stored-document';
import type { ApiKey } from './api-key';

const keys = { key_hash: 'text', account_id: 'text', created_at: 'text' } as const;

export const apiKeyCollection: CollectionSpec<typeof keys> = {
  keys,
  indexes: [['account_id', 'created_at', 'id'], ['key_hash']],
};

interface ApiKeyDocumentState {
  /** Revision of the last event of its own stream that is in this document. */
  readonly revision: number;
}

/** The body is the state that the key's events fold to. No response contains it. */
export type ApiKeyDocument = Document<KeysOf<typeof keys>, ApiKeyDocumentState, Nothing, ApiKey>;
