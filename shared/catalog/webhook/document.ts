import type { CollectionSpec, Document, KeysOf, Nothing } from '../stored-document';
import type { Webhook } from './webhook';

const keys = { store_id: 'text', status: 'text', created_at: 'text' } as const;

export const webhookCollection: CollectionSpec<typeof keys> = {
  keys,
  indexes: [
    ['store_id', 'created_at', 'id'],
    ['status', 'id'],
  ],
};

/** `webhook`: without its secrets, which are only in the log. */
export type WebhookDocument = Document<KeysOf<typeof keys>, { readonly webhook: Webhook }, Nothing>;
