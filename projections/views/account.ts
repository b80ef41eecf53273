import { type AccountEvent, accountAggregate } from '../../shared/catalog/account/account';
import type { AccountDocument } from '../../shared/catalog/account/document';
import { stateOf } from '../../shared/catalog/events/aggregate';
import type { AccountId } from '../../shared/kernel/ids';
import type { EventContext, View } from './view';

/** Documents of accounts. Accounts are never deleted. */
export const accountView: View<AccountDocument, AccountEvent> = {
  collection: 'accounts',
  category: 'account',
  fold: (before, event, { id, revision, occurred_at }: EventContext<AccountId>) => {
    const after = accountAggregate.evolve(stateOf(before?.state.account), event, id, occurred_at);
    if (after.tag !== 'present') return before;
    const account = after.resource;
    const { name, status, created_at } = account;
    return {
      keys: { status },
      body: { id, name, status, created_at },
      state: { account, revision },
      expansions: {},
    };
  },
};
