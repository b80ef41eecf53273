import { z } from 'zod';
import { accept, type Decision, reject } from '../../kernel/decision';
import { assertNever } from '../../kernel/errors';
import type { AccountId } from '../../kernel/ids';
import type { Aggregate } from '../events/aggregate';
import { defineEvent, type EventOf } from '../events/event-definition';

export const accountEvents = [
  defineEvent('AccountCreated', z.object({ name: z.string() })),
  defineEvent('AccountSuspended', z.object({})),
  defineEvent('AccountReinstated', z.object({})),
] as const;

export type AccountEvent = EventOf<typeof accountEvents>;

/** What an account's events add up to. */
export interface Account {
  readonly id: AccountId;
  readonly name: string;
  readonly status: 'active' | 'suspended';
  readonly created_at: string;
  readonly updated_at: string;
}

export type AccountState =
  | { readonly tag: 'absent' }
  | { readonly tag: 'present'; readonly account: Account };

/** Pure and total. `at` is the event's `occurred_at`. */
export function evolveAccount(
  state: AccountState,
  event: AccountEvent,
  id: AccountId,
  at: string,
): AccountState {
  if (event.type === 'AccountCreated') {
    const account = { id, name: event.data.name, status: 'active', created_at: at, updated_at: at } as const;
    return { tag: 'present', account };
  }
  if (state.tag !== 'present') return state;
  const changed = (status: Account['status']): AccountState => ({
    tag: 'present',
    account: { ...state.account, status, updated_at: at },
  });
  switch (event.type) {
    case 'AccountSuspended':
      return changed('suspended');
    case 'AccountReinstated':
      return changed('active');
    default:
      return assertNever(event, 'account event');
  }
}

export const accountAggregate: Aggregate<AccountState, AccountEvent, AccountId> = {
  category: 'account',
  absent: { tag: 'absent' },
  evolve: evolveAccount,
  owner: (state) => (state.tag === 'absent' ? undefined : { account_id: state.account.id }),
};

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
