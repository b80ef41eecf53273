import { type AccountEvent, type AccountState, evolveAccount } from '../../shared/catalog/account/account';
import type { AccountDocument } from '../../shared/catalog/account/document';
import type { AccountId } from '../../shared/kernel/ids';
import type { EventContext, View } from './view';

/** Documents of accounts. Accounts are never deleted. */
export const accountView: View<AccountDocument, AccountEvent> = {
  collection: 'accounts',
  category: 'account',
  fold: (before, event, { id, revision, occurred_at }: EventContext<AccountId>) => {
    const state: AccountState = before
      ? { tag: 'present', account: before.state.account }
      : { tag: 'absent' };
    const after = evolveAccount(state, event, id, occurred_at);
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
