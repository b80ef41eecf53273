import { z } from 'zod';
import {
  type ApiKey,
  type ApiKeyCommand,
  type ApiKeyFields,
  type ApiKeyState,
  apiKeyAggregate,
  decideApiKey,
  hashKey,
} from '../../shared/catalog/api-key/api-key';
import { idField, lineField, timeField } from '../../shared/catalog/input-rules';
import type { Environment } from '../../shared/catalog/realm';
import type { Store } from '../../shared/catalog/store/store';
import {
  environmentSchema,
  type KeyType,
  keyTypeSchema,
  type Permission,
  permissionSchema,
  permissionsOf,
} from '../../shared/catalog/vocabulary';
import { parseBody } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import { type ApiKeyId, generateId, type RandomBytes, type StoreId } from '../../shared/kernel/ids';
import { timestamp } from '../../shared/kernel/system';
import { requireAccount } from './account';
import { type ControlDeps, execute, load, placeIn, type WriteContext, type Written } from './execute';
import { locateStore } from './store';

/** What a key is created with. `environment` is only needed for a key without stores. */
export const newApiKeySchema = z.strictObject({
  account_id: idField,
  name: lineField(120),
  type: keyTypeSchema,
  stores: z.array(idField).max(100),
  environment: environmentSchema.optional(),
  /** Every one of its type by default (decisions §7). */
  permissions: z.array(permissionSchema).optional(),
  expires_at: timeField.nullish(),
});

export type NewApiKey = z.input<typeof newApiKeySchema>;
export type CheckedApiKey = z.output<typeof newApiKeySchema>;

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
  return placeIn(deps, 'control', apiKeyAggregate, id);
}

/** The permissions in their usual order. Throws `field_invalid` for one that its type may not hold. */
function grantedPermissions(key: Pick<CheckedApiKey, 'type' | 'permissions'>): Permission[] {
  const possible = permissionsOf(key.type);
  const refused = key.permissions?.find((permission) => !possible.includes(permission));
  if (refused !== undefined)
    throw refuse('permissions', `nothing that a ${key.type} key cannot hold: ${refused}`);
  return possible.filter((permission) => key.permissions?.includes(permission) ?? true);
}

/**
 * The one environment of a key's stores (decisions §2). Throws `field_invalid` where a store is unknown, another
 * account's, or of another environment than the others or than the one asked for.
 */
function environmentOf(
  key: Pick<CheckedApiKey, 'account_id' | 'environment' | 'stores'>,
  stores: readonly (Store | undefined)[],
): Environment {
  let environment = key.environment;
  stores.forEach((store, index) => {
    if (store?.account_id !== key.account_id) throw refuse(`stores.${index}`, 'a store of the account');
    environment ??= store.environment;
    if (store.environment !== environment)
      throw refuse(`stores.${index}`, `a ${environment} store like the others`);
  });
  if (environment !== undefined) return environment;
  throw CatalogError.ofFaults([
    { condition: 'field_required', field: 'stores', constraint: 'at least one store, or an environment' },
  ]);
}

/** Throws `field_invalid` for an end that is past already. */
function assertFuture(field: string, time: string | null, now_ms: number): void {
  if (time !== null && Date.parse(time) <= now_ms) throw refuse(field, 'a time to come');
}

function refuse(field: string, constraint: string): CatalogError {
  return CatalogError.ofFaults([{ condition: 'field_invalid', field, constraint }]);
}

const PREFIXES = { public: 'pk', secret: 'sk' } as const;
const BODY_BYTES = 32;

/** `pk_live_` and 43 base64url characters (decisions §2). */
function generateKey(type: KeyType, environment: Environment, random: RandomBytes): string {
  const body = Buffer.from(random(BODY_BYTES)).toString('base64url');
  return `${PREFIXES[type]}_${environment}_${body}`;
}
