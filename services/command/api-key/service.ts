import type { ApiKey, ApiKeyFields, ApiKeyState } from '../../../shared/catalog/api-key/api-key';
import { type ApiKeyCommand, decideApiKey, hashKey } from '../../../shared/catalog/api-key/api-key';
import { parseBody } from '../../../shared/http/validation';
import { CatalogError } from '../../../shared/kernel/errors';
import { type ApiKeyId, generateId, type StoreId } from '../../../shared/kernel/ids';
import { timestamp } from '../../../shared/kernel/system';
import { requireAccount } from '../account/service';
import { apiKeyAggregate } from '../aggregates';
import type { ControlDeps, WriteContext } from '../context';
import { execute, load, type Written } from '../execute';
import { locateStore } from '../store/service';
import { assertFuture, environmentOf, grantedPermissions, type NewApiKey, newApiKeySchema } from './grants';
import { generateKey } from './secret';

/** A key as created: `key` is the secret itself, which is told here and kept nowhere. */
export interface CreatedApiKey extends Written<ApiKey> {
  readonly id: ApiKeyId;
  readonly key: string;
}

/** Throws faults of the input; an unknown account or store is one, stores of two environments are one. */
export async function createApiKey(
  deps: ControlDeps,
  context: WriteContext,
  input: NewApiKey,
): Promise<CreatedApiKey> {
  const checked = parseBody(newApiKeySchema, input);
  const account = await requireAccount(deps, checked.account_id as ApiKey['account_id']);
  const store_ids = [...new Set(checked.stores)];
  const stores = await Promise.all(store_ids.map((id) => locateStore(deps, id as StoreId)));
  const expires_at = checked.expires_at ?? null;
  assertFuture('expires_at', expires_at, deps.system.now());
  return issue(deps, context, {
    account_id: account.id,
    name: checked.name,
    type: checked.type,
    environment: environmentOf({ ...checked, stores: store_ids }, stores),
    stores: store_ids,
    permissions: grantedPermissions(checked),
    expires_at,
  });
}

/** Its tokens are refused within 5 s, on every node. Throws `key_invalid` where there is no such key. */
export async function revokeApiKey(
  deps: ControlDeps,
  context: WriteContext,
  id: ApiKeyId,
): Promise<Written<ApiKey>> {
  return run(deps, context, id, { type: 'RevokeApiKey' });
}

/**
 * A new key with the grants of the old one, which works on until `old_valid_until` (or its own end, if that is sooner).
 * The new key ends at `expires_at`, by default never. It is made first: a crash between the two steps leaves both
 * working, never none. Throws `key_invalid` (no such key, or expired), `key_revoked`, and faults of the times.
 */
export async function rotateApiKey(
  deps: ControlDeps,
  context: WriteContext,
  id: ApiKeyId,
  times: { readonly old_valid_until: Date; readonly expires_at?: Date },
): Promise<CreatedApiKey> {
  const { state } = await load(place(deps, id));
  if (state.tag === 'absent') throw new CatalogError('key_invalid', { message: 'no such API key' });
  const { key: old } = state;
  const now_ms = deps.system.now();
  if (old.revoked_at !== null) throw new CatalogError('key_revoked', { message: 'the API key is revoked' });
  if (old.expires_at !== null && Date.parse(old.expires_at) <= now_ms)
    throw new CatalogError('key_invalid', { message: 'the API key has expired' });
  const old_ends_at = timestamp(times.old_valid_until.getTime());
  const expires_at = times.expires_at === undefined ? null : timestamp(times.expires_at.getTime());
  assertFuture('expires_at', expires_at, now_ms);

  const { account_id, name, type, environment, stores, permissions } = old;
  const fields = { account_id, name, type, environment, stores: [...stores], permissions, expires_at };
  const created = await issue(deps, context, fields);
  await run(deps, context, id, { type: 'ExpireApiKey', expires_at: old_ends_at });
  return created;
}

/** Writes at most one event in five minutes; cheap to call for every token that is issued. Throws `key_invalid`. */
export async function recordApiKeyUse(
  deps: ControlDeps,
  context: WriteContext,
  id: ApiKeyId,
): Promise<Written<ApiKey>> {
  return run(deps, context, id, { type: 'RecordApiKeyUse', used_at_ms: deps.system.now() });
}

async function issue(
  deps: ControlDeps,
  context: WriteContext,
  grants: Omit<ApiKeyFields, 'key_hash'>,
): Promise<CreatedApiKey> {
  const { now, random } = deps.system;
  const id = generateId<ApiKeyId>(now(), random);
  const key = generateKey(grants.type, grants.environment, random);
  const fields = { ...grants, key_hash: hashKey(key) };
  return { ...(await run(deps, context, id, { type: 'CreateApiKey', fields })), id, key };
}

async function run(
  deps: ControlDeps,
  context: WriteContext,
  id: ApiKeyId,
  command: ApiKeyCommand,
): Promise<Written<ApiKey>> {
  const decide = (state: ApiKeyState) => decideApiKey(state, command);
  const written = await execute({ ...place(deps, id), context, decide });
  if (written.value.tag === 'absent') throw new Error('an API key that was just written is not there');
  return { ...written, value: written.value.key };
}

function place(deps: ControlDeps, id: ApiKeyId) {
  const { system, events } = deps;
  return { system, events: events.control, realm: 'control', aggregate: apiKeyAggregate, id } as const;
}
