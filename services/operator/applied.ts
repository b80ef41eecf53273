import type { Realm } from '../../shared/catalog/realm';
import { withTimeout } from '../../shared/kernel/async';
import type { AccountId, StoreId } from '../../shared/kernel/ids';
import type { Written } from '../command/execute';
import { waitUntilProjected } from '../command/request';
import type { OperatorDeps } from './endpoint';

const WAIT_MS = 1_000;

/**
 * Returns `meta` of a write: `is_applied` tells whether the documents show the write, which is waited for at most
 * `WAIT_MS`. `owner`: the store of the write, or the account. Never throws, because the write is already done.
 */
export async function appliedMeta(
  { views }: OperatorDeps,
  realm: Realm,
  owner: StoreId | AccountId,
  { position }: Pick<Written<unknown>, 'position'>,
): Promise<{ readonly is_applied: boolean }> {
  const waiting = waitUntilProjected(views[realm], owner, position, WAIT_MS);
  return { is_applied: await withTimeout(waiting, WAIT_MS, () => false).catch(() => false) };
}
