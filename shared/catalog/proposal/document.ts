import type { CollectionSpec, Document, KeysOf, Nothing } from '../stored-document';
import type { Proposal } from './proposal';

/** `expires_ms`: when it expires if nobody decides it, in Unix milliseconds. All have the same time to be decided. */
const keys = { store_id: 'text', status: 'text', expires_ms: 'integer' } as const;

export const proposalCollection: CollectionSpec<typeof keys> = {
  keys,
  indexes: [
    ['store_id', 'expires_ms', 'id'],
    ['store_id', 'status', 'expires_ms', 'id'],
  ],
};

export type ProposalDocument = Document<KeysOf<typeof keys>, { readonly proposal: Proposal }, Nothing>;
