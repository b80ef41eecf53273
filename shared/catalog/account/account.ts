import { z } from 'zod';
import { accept, type Decision, reject } from '../../kernel/decision';
import { assertNever } from '../../kernel/errors';
import type { AccountId } from '../../kernel/ids';
import { type Aggregate, present, type State } from '../events/aggregate';
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

function evolve(
  state: State<Account>,
  event: AccountEvent,
  id: AccountId,
  occurred_at: string,
): State<Account> {
  if (event.type === 'AccountCreated') {
    const times = { created_at: occurred_at, updated_at: occurred_at };
    return present({ id, name: event.data.name, status: 'active', ...times });
  }
  if (state.tag !== 'present') return state;
  const changed = (status: Account['status']) =>
    present({ ...state.resource, status, updated_at: occurred_at });
  switch (event.type) {
    case 'AccountSuspended':
      return changed('suspended');
    case 'AccountReinstated':
      return changed('active');
    default:
      return assertNever(event, 'account event');
  }
}

export type AccountCommand =
  | { readonly type: 'CreateAccount'; readonly name: string }
  | { readonly type: 'SuspendAccount' }
  | { readonly type: 'ReinstateAccount' };

function decide(state: State<Account>, command: AccountCommand): Decision<AccountEvent> {
  if (command.type === 'CreateAccount') {
    const { name } = command;
    if (state.tag !== 'present') return accept({ type: 'AccountCreated', data: { name } });
    return state.resource.name === name
      ? accept()
      : reject('lost_race', 'An account with this id already exists');
  }
  if (state.tag !== 'present') return reject('field_invalid', 'There is no such account');
  const { status } = state.resource;
  switch (command.type) {
    case 'SuspendAccount':
      return status === 'suspended' ? accept() : accept({ type: 'AccountSuspended', data: {} });
    case 'ReinstateAccount':
      return status === 'active' ? accept() : accept({ type: 'AccountReinstated', data: {} });
    default:
      return assertNever(command, 'account command');
  }
}

export const accountAggregate: Aggregate<Account, AccountEvent, AccountId, AccountCommand> = {
  category: 'account',
  events: accountEvents,
  state_version: 1,
  not_found: 'field_invalid',
  evolve,
  decide,
  owner: ({ id }) => ({ account_id: id }),
};
