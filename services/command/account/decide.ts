import type { AccountEvent, AccountState } from '../../../shared/catalog/account/account';
import { assertNever } from '../../../shared/kernel/assert-never';
import { accept, type Decision, reject } from '../../../shared/kernel/decision';

export type AccountCommand =
  | { readonly type: 'CreateAccount'; readonly name: string }
  | { readonly type: 'SuspendAccount' }
  | { readonly type: 'ReinstateAccount' };

export function decideAccount(state: AccountState, command: AccountCommand): Decision<AccountEvent> {
  switch (command.type) {
    case 'CreateAccount':
      if (state.tag === 'absent') return accept({ type: 'AccountCreated', data: { name: command.name } });
      return state.account.name === command.name
        ? accept()
        : reject('lost_race', 'an account with this id exists already');
    case 'SuspendAccount':
      if (state.tag === 'absent') return unknown();
      return state.account.status === 'suspended' ? accept() : accept({ type: 'AccountSuspended', data: {} });
    case 'ReinstateAccount':
      if (state.tag === 'absent') return unknown();
      return state.account.status === 'active' ? accept() : accept({ type: 'AccountReinstated', data: {} });
    default:
      return assertNever(command, 'account command');
  }
}

const unknown = (): Decision<never> => reject('field_invalid', 'no such account');
