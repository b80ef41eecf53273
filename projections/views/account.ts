import { type AccountEvent, type AccountState, evolveAccount } from '../../shared/catalog/account/account';
import type { AccountDocument } from '../../shared/catalog/account/document';
import type { AccountId } from '../../shared/kernel/ids';
import type { Occasion, View } from './view';

/** Accounts are never deleted. */
export const accountView: View<AccountDocument, AccountEvent> = {
  collection: 'accounts',
  category: 'account',
  fold: (before, event, { id, revision, at }: Occasion<AccountId>) => {
    const state: AccountState = before
      ? { tag: 'present', account: before.state.account }
      : { tag: 'absent' };
    const after = evolveAccount(state, event, id, at);
    if (after.tag === 'absent') return before;
    const { account } = after;
    const { name, status, created_at } = account;
    return {
      keys: { status },
      body: { id, name, status, created_at },
      state: { account, revision },
      expansions: {},
    };
  },
};
