import type { CollectionSpec, Document, KeysOf, Nothing } from '../stored-document';
import type { Proposal } from './proposal';

/**
 * `expires_ms`: when the proposal expires if nobody decides it, in Unix milliseconds. All proposals expire after the same time,
 * so this is also the order in which they were made.
 */
const keys = { store_id: 'text', api_key_id: 'text', status: 'text', expires_ms: 'integer' } as const;

export const proposalCollection: CollectionSpec<typeof keys> = {
  keys,
  indexes: [
    ['store_id', 'expires_ms', 'id'],
    ['store_id', 'status', 'expires_ms', 'id'],
  ],
};

export type ProposalDocument = Document<KeysOf<typeof keys>, { readonly proposal: Proposal }, Nothing>;
