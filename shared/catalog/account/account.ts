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

/** An account: the state that its events fold to. */
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

/** Applies one event to the state. Pure and total: it never throws. */
export function evolveAccount(
  state: AccountState,
  event: AccountEvent,
  id: AccountId,
  occurred_at: string,
): AccountState {
  if (event.type === 'AccountCreated') {
    const account = {
      id,
      name: event.data.name,
      status: 'active',
      created_at: occurred_at,
      updated_at: occurred_at,
    } as const;
    return { tag: 'present', account };
  }
  if (state.tag !== 'present') return state;
  const changed = (status: Account['status']): AccountState => ({
    tag: 'present',
    account: { ...state.account, status, updated_at: occurred_at },
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
  events: accountEvents,
  state_version: 1,
  absent: { tag: 'absent' },
  evolve: evolveAccount,
  owner: (state) => (state.tag === 'absent' ? undefined : { account_id: state.account.id }),
};

export type AccountCommand =
  | { readonly type: 'CreateAccount'; readonly name: string }
  | { readonly type: 'SuspendAccount' }
  | { readonly type: 'ReinstateAccount' };

/** Returns the events of the command, none if it changes nothing, or the condition to reject it with. Pure. */
export function decideAccount(state: AccountState, command: AccountCommand): Decision<AccountEvent> {
  switch (command.type) {
    case 'CreateAccount':
      if (state.tag === 'absent') return accept({ type: 'AccountCreated', data: { name: command.name } });
      return state.account.name === command.name
        ? accept()
        : reject('lost_race', 'An account with this id already exists');
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

const unknown = (): Decision<never> => reject('field_invalid', 'There is no such account');
