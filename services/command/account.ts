import { z } from 'zod';
import {
  type Account,
  type AccountCommand,
  type AccountState,
  accountAggregate,
  decideAccount,
} from '../../shared/catalog/account/account';
import { lineField } from '../../shared/catalog/input-rules';
import { parseBody } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import { type AccountId, generateId } from '../../shared/kernel/ids';
import { type ControlDeps, execute, load, placeIn, type WriteContext, type Written } from './execute';

const newAccountSchema = z.strictObject({ name: lineField(120) });

/** `id` where the caller derives it. Throws faults of `name`. */
export async function createAccount(
  deps: ControlDeps,
  context: WriteContext,
  input: { readonly name: string; readonly id?: AccountId },
): Promise<Written<Account>> {
  const { name } = parseBody(newAccountSchema, { name: input.name });
  const id = input.id ?? generateId<AccountId>(deps.system.now(), deps.system.random);
  return run(deps, context, id, { type: 'CreateAccount', name });
}

/** From now on its keys are answered with `account_suspended` on `/api/*`. Throws `field_invalid`: no such account. */
export async function suspendAccount(
  deps: ControlDeps,
  context: WriteContext,
  id: AccountId,
): Promise<Written<Account>> {
  return run(deps, context, id, { type: 'SuspendAccount' });
}

/** Throws `field_invalid`: no such account. */
export async function reinstateAccount(
  deps: ControlDeps,
  context: WriteContext,
  id: AccountId,
): Promise<Written<Account>> {
  return run(deps, context, id, { type: 'ReinstateAccount' });
}

/** Throws a fault of `account_id` where there is no such account. */
export async function requireAccount(deps: ControlDeps, id: AccountId): Promise<Account> {
  const { state } = await load(place(deps, id));
  if (state.tag === 'present') return state.account;
  throw CatalogError.ofFaults([
    { condition: 'field_invalid', field: 'account_id', constraint: 'an existing account' },
  ]);
}

async function run(
  deps: ControlDeps,
  context: WriteContext,
  id: AccountId,
  command: AccountCommand,
): Promise<Written<Account>> {
  const decide = (state: AccountState) => decideAccount(state, command);
  const written = await execute({ ...place(deps, id), context, decide });
  if (written.value.tag === 'absent') throw new Error('an account that was just written is not there');
  return { ...written, value: written.value.account };
}

function place(deps: ControlDeps, id: AccountId) {
  return placeIn(deps, 'control', accountAggregate, id);
}
