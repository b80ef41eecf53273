import { type AccountEvent, type AccountState, evolveAccount } from '../../shared/catalog/account/account';
import type { AccountDocument } from '../../shared/catalog/account/document';
import type { AccountId } from '../../shared/kernel/ids';
import type { Known, Occasion } from './view';

/** One event of the account's stream. Accounts are never deleted. */
export function foldAccount(
  before: Known<AccountDocument>,
  event: AccountEvent,
  { id, revision, at }: Occasion<AccountId>,
): Known<AccountDocument> {
  if (before === null || (before && revision <= before.state.revision)) return before;
  const state: AccountState = before ? { tag: 'present', account: before.state.account } : { tag: 'absent' };
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
}
