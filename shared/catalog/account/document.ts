import type { CollectionSpec, Document, KeysOf, Nothing } from '../stored-document';
import type { Account } from './account';

const keys = { status: 'text' } as const;

export const accountCollection: CollectionSpec<typeof keys> = { keys, indexes: [] };

export type AccountKeys = KeysOf<typeof keys> & { readonly status: Account['status'] | null };

export interface AccountDocumentState {
  readonly account: Account;
  /** Revision of the last event of its own stream that is in this document. */
  readonly revision: number;
}

export type AccountDocument = Document<AccountKeys, AccountDocumentState, Nothing>;
