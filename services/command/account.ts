import { z } from 'zod';
import { type Account, accountAggregate } from '../../shared/catalog/account/account';
import { lineField } from '../../shared/catalog/input-rules';
import { parseBody } from '../../shared/http/validation';
import { CatalogError, invalidField } from '../../shared/kernel/errors';
import { type AccountId, generateId } from '../../shared/kernel/ids';
import { findInLog, streamIn } from '../../shared/ports/stream-state';
import { type ControlDeps, executeOn, type WriteContext, type Written } from './execute';

export const newAccountSchema = z.strictObject({ name: lineField(120) });

/** Creates an account. `id`: set if the caller derives it, otherwise generated. Throws the faults of `name`. */
export async function createAccount(
  deps: ControlDeps,
  context: WriteContext,
  input: { readonly name: string; readonly id?: AccountId },
): Promise<Written<Account>> {
  const { name } = parseBody(newAccountSchema, { name: input.name });
  const id = input.id ?? generateId<AccountId>(deps.system.now(), deps.system.random);
  return executeOn(streamRef(deps, id), context, { type: 'CreateAccount', name });
}

/**
 * Suspends an account: `/api/*` rejects its keys with `account_suspended`. Throws `field_invalid` if it does not exist.
 */
export async function suspendAccount(
  deps: ControlDeps,
  context: WriteContext,
  id: AccountId,
): Promise<Written<Account>> {
  return executeOn(streamRef(deps, id), context, { type: 'SuspendAccount' });
}

/** Reverts `suspendAccount`. Throws `field_invalid` if the account does not exist. */
export async function reinstateAccount(
  deps: ControlDeps,
  context: WriteContext,
  id: AccountId,
): Promise<Written<Account>> {
  return executeOn(streamRef(deps, id), context, { type: 'ReinstateAccount' });
}

/** Returns the account, undefined if it does not exist. */
export function findAccount(deps: ControlDeps, id: AccountId): Promise<Account | undefined> {
  return findInLog(deps, 'control', accountAggregate, id);
}

/** Returns the account. Throws a fault of `account_id` if it does not exist. */
export async function requireAccount(deps: ControlDeps, id: AccountId): Promise<Account> {
  const account = await findAccount(deps, id);
  if (account) return account;
  throw CatalogError.ofFaults([invalidField('account_id', 'an existing account')]);
}

function streamRef(deps: ControlDeps, id: AccountId) {
  return streamIn(deps, 'control', accountAggregate, id);
}
