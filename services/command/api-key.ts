import { z } from 'zod';
import {
  type ApiKey,
  type ApiKeyFields,
  apiKeyAggregate,
  hashKey,
  type KeyChanges,
  type KeyLimits,
  keyStatus,
} from '../../shared/catalog/api-key/api-key';
import { handleField, idField, lineField, timeField } from '../../shared/catalog/input-rules';
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
import { CatalogError, invalidField } from '../../shared/kernel/errors';
import type { ApiKeyId, RandomBytes, StoreId } from '../../shared/kernel/ids';
import { timestamp } from '../../shared/kernel/system';
import { findInLog, streamIn } from '../../shared/ports/stream-state';
import { requireAccount } from './account';
import { type ControlDeps, executeOn, idForNew, type WriteContext, type Written } from './execute';
import { locateStore } from './store';

/** The largest number of requests in a limit. A higher one would limit nothing. */
const REQUESTS_MAX = 1_000_000_000;
const requests = z.int().min(1).max(REQUESTS_MAX);

/** Input for the limits of a key. More requests per minute or at once than per day would be a mistake. */
const keyLimitsField = z
  .strictObject({ per_minute: requests, per_day: requests, burst: requests })
  .refine(({ per_minute, per_day, burst }) => per_day >= Math.max(per_minute, burst), {
    params: { condition: 'field_invalid' },
    path: ['per_day'],
    error: 'at least as high as per_minute and burst',
  });

const keyLimitsSchema = z.strictObject({ limits: keyLimitsField.nullable() });

/** Input for a new key. `environment` is only required for a key without stores. */
export const newApiKeySchema = z.strictObject({
  account_id: idField,
  name: lineField(120),
  type: keyTypeSchema,
  stores: z.array(idField).max(100),
  environment: environmentSchema.optional(),
  /** Default: all permissions of the key's type (docs/interface/access.md#permissions). */
  permissions: z.array(permissionSchema).optional(),
  expires_at: timeField.nullish(),
  /** Default: the limits of the key's type (docs/interface/access.md#rate-limits). */
  limits: keyLimitsField.nullish(),
  /** Whether the writes of a secret key are proposals. */
  needs_confirmation: z.boolean().optional(),
  /** The price list whose prices the key sees. */
  price_list: handleField.nullish(),
});

export type NewApiKey = z.input<typeof newApiKeySchema>;
export type CheckedApiKey = z.output<typeof newApiKeySchema>;

/**
 * A new key. `key` is the key itself. It is returned only here; the service stores its hash. If an earlier run of the
 * operation created the key (`repeated`), nobody has the key itself any more, and `key` is another text.
 */
export interface CreatedApiKey extends Written<ApiKey> {
  readonly id: ApiKeyId;
  readonly key: string;
}

/**
 * Creates a key. Throws the faults of the input, which include an unknown account or store and stores of different
 * environments.
 */
export async function createApiKey(
  deps: ControlDeps,
  context: WriteContext,
  input: NewApiKey,
): Promise<CreatedApiKey> {
  const checked = parseBody(newApiKeySchema, input);
  assertConfirmable(checked.type, checked.needs_confirmation);
  const account = await requireAccount(deps, checked.account_id as ApiKey['account_id']);
  const store_ids = [...new Set(checked.stores)];
  const stores = await Promise.all(store_ids.map((id) => locateStore(deps, id as StoreId)));
  const expires_at = checked.expires_at ?? null;
  assertFuture('expires_at', expires_at, deps.system.now());
  assertPriceList(stores, checked.price_list);
  return issue(deps, context, {
    account_id: account.id,
    name: checked.name,
    type: checked.type,
    environment: environmentOf({ ...checked, stores: store_ids }, stores),
    stores: store_ids,
    permissions: grantedPermissions(checked),
    expires_at,
    ...(checked.limits && { limits: checked.limits }),
    ...(checked.needs_confirmation && { needs_confirmation: true }),
    ...(checked.price_list && { price_list: checked.price_list }),
  });
}

/** Returns the key, from its events and not from a document that may be old. Returns undefined if it does not exist. */
export function findApiKey(deps: ControlDeps, id: ApiKeyId): Promise<ApiKey | undefined> {
  return findInLog(deps, 'control', apiKeyAggregate, id);
}

/** Returns the key as `findApiKey` does. Throws `key_invalid` if it does not exist. */
export async function readApiKey(deps: ControlDeps, id: ApiKeyId): Promise<ApiKey> {
  const key = await findApiKey(deps, id);
  if (!key) throw new CatalogError('key_invalid', { message: 'There is no such API key' });
  return key;
}

/**
 * Gives a key limits of its own, or with null those of its type. All processes apply them within 5 s. Throws the faults
 * of the limits, `key_invalid` if the key does not exist, and `key_revoked`.
 */
export async function setApiKeyLimits(
  deps: ControlDeps,
  context: WriteContext,
  id: ApiKeyId,
  limits: KeyLimits | null,
): Promise<Written<ApiKey>> {
  return executeOn(streamRef(deps, id), context, {
    type: 'SetApiKeyLimits',
    ...parseBody(keyLimitsSchema, { limits }),
  });
}

/**
 * Gives a key another name or price list, and sets whether its writes are proposals. Throws `key_invalid` if the key does not
 * exist, and `field_invalid` for proposals of a public key and for a price list that no store of the key has.
 */
export async function changeApiKey(
  deps: ControlDeps,
  context: WriteContext,
  id: ApiKeyId,
  changes: KeyChanges,
): Promise<Written<ApiKey>> {
  return executeOn(streamRef(deps, id), context, { type: 'ChangeApiKey', changes }, async (key) => {
    assertConfirmable(key.type, changes.needs_confirmation);
    assertPriceList(
      await Promise.all(key.stores.map((store) => locateStore(deps, store))),
      changes.price_list,
    );
  });
}

/** Throws `field_invalid` unless one of the stores has the price list, or there is none. */
function assertPriceList(
  stores: readonly (Store | undefined)[],
  price_list: string | null | undefined,
): void {
  const isKnown = (store: Store | undefined) => Object.hasOwn(store?.price_lists ?? {}, price_list!);
  if (typeof price_list === 'string' && !stores.some(isKnown))
    throw invalid('price_list', 'one of the `price_lists` of a store of the key');
}

/** Throws `field_invalid` if the writes of a public key were to be confirmed. It has none. */
function assertConfirmable(type: KeyType, needs_confirmation: boolean | undefined): void {
  if (needs_confirmation && type === 'public')
    throw invalid('needs_confirmation', 'false for a public key, which writes nothing');
}

/** Revokes a key. All processes reject its tokens within 5 s. Throws `key_invalid` if the key does not exist. */
export async function revokeApiKey(
  deps: ControlDeps,
  context: WriteContext,
  id: ApiKeyId,
): Promise<Written<ApiKey>> {
  return executeOn(streamRef(deps, id), context, { type: 'RevokeApiKey' });
}

/** A new key, and the old key after its expiry was set. */
export interface RotatedApiKey extends CreatedApiKey {
  readonly old: Written<ApiKey>;
}

/**
 * Creates a key with the stores, permissions, limits and price list of the old one. The old key then expires at `old_valid_until`,
 * or at its own expiry if that is earlier. The new key expires at `expires_at`, by default never. The new key is
 * created first, so that a crash between the two steps leaves two valid keys rather than none. `onCreated` is called
 * between them: the new key cannot be read later, and the second step may fail. Throws `key_invalid` if the old key does
 * not exist or has expired, `key_revoked`, and the faults of the times.
 */
export async function rotateApiKey(
  deps: ControlDeps,
  context: WriteContext,
  id: ApiKeyId,
  times: { readonly old_valid_until: Date; readonly expires_at?: Date },
  onCreated?: (created: CreatedApiKey) => Promise<void>,
): Promise<RotatedApiKey> {
  const old = await readApiKey(deps, id);
  const now_ms = deps.system.now();
  const status = keyStatus(old, now_ms);
  if (status === 'revoked') throw new CatalogError('key_revoked', { message: 'The API key is revoked' });
  if (status === 'expired') throw new CatalogError('key_invalid', { message: 'The API key has expired' });
  const old_expires_at = timestamp(times.old_valid_until.getTime());
  const expires_at = times.expires_at === undefined ? null : timestamp(times.expires_at.getTime());
  assertFuture('expires_at', expires_at, now_ms);

  const { account_id, name, type, environment, permissions, limits, needs_confirmation, price_list } = old;
  const grants = { account_id, name, type, environment, stores: [...old.stores], permissions };
  const created = await issue(deps, context, {
    ...{ ...grants, expires_at },
    ...(limits && { limits }),
    ...(needs_confirmation && { needs_confirmation }),
    ...(price_list !== undefined && { price_list }),
  });
  await onCreated?.(created);
  const expired = await executeOn(streamRef(deps, id), context, {
    type: 'ExpireApiKey',
    expires_at: old_expires_at,
  });
  return { ...created, old: expired };
}

/**
 * Records that the key was used. Appends at most one event per `USE_INTERVAL_MS`, so it is cheap to call for every
 * issued token. Throws `key_invalid` if the key does not exist.
 */
export async function recordApiKeyUse(
  deps: ControlDeps,
  context: WriteContext,
  id: ApiKeyId,
): Promise<Written<ApiKey>> {
  return executeOn(streamRef(deps, id), context, { type: 'RecordApiKeyUse', used_at_ms: deps.system.now() });
}

async function issue(
  deps: ControlDeps,
  context: WriteContext,
  grants: Omit<ApiKeyFields, 'key_hash' | 'last_four'>,
): Promise<CreatedApiKey> {
  const { random } = deps.system;
  const { id } = await idForNew(deps, 'control', apiKeyAggregate, context);
  const key = generateKey(grants.type, grants.environment, random);
  const fields = { ...grants, key_hash: hashKey(key), last_four: key.slice(-LAST_SHOWN) };
  return { ...(await executeOn(streamRef(deps, id), context, { type: 'CreateApiKey', fields })), id, key };
}

function streamRef(deps: ControlDeps, id: ApiKeyId) {
  return streamIn(deps, 'control', apiKeyAggregate, id);
}

/**
 * Returns the permissions in canonical order. Throws `field_invalid` for a permission that the key's type does not
 * allow.
 */
function grantedPermissions(key: Pick<CheckedApiKey, 'type' | 'permissions'>): Permission[] {
  const allowed = permissionsOf(key.type);
  const rejected = key.permissions?.find((permission) => !allowed.includes(permission));
  if (rejected !== undefined)
    throw invalid('permissions', `permissions of a ${key.type} key, which do not include ${rejected}`);
  return allowed.filter((permission) => key.permissions?.includes(permission) ?? true);
}

/**
 * Returns the environment of a key: the environment of its stores (docs/interface/access.md#api-keys). Throws `field_invalid` if a
 * store does not exist, belongs to another account, or is in another environment than the other stores or the input.
 */
function environmentOf(
  key: Pick<CheckedApiKey, 'account_id' | 'environment' | 'stores'>,
  stores: readonly (Store | undefined)[],
): Environment {
  let environment = key.environment;
  stores.forEach((store, index) => {
    if (store?.account_id !== key.account_id) throw invalid(`stores.${index}`, 'a store of the account');
    environment ??= store.environment;
    if (store.environment !== environment)
      throw invalid(`stores.${index}`, `a ${environment} store, like the others`);
  });
  if (environment !== undefined) return environment;
  throw CatalogError.ofFaults([
    { condition: 'field_required', field: 'stores', constraint: 'at least one store, or an environment' },
  ]);
}

/** Throws `field_invalid` if the time is not in the future. */
function assertFuture(field: string, time: string | null, now_ms: number): void {
  if (time !== null && Date.parse(time) <= now_ms) throw invalid(field, 'a time in the future');
}

const invalid = (field: string, constraint: string): CatalogError =>
  CatalogError.ofFaults([invalidField(field, constraint)]);

const PREFIXES = { public: 'pk', secret: 'sk' } as const;
const BODY_BYTES = 32;
/**
 * Number of characters by which people recognise a key. Four contain 22 bits (the last character of 32 bytes in
 * base64url has only four), so 234 of 256 bits remain secret.
 */
const LAST_SHOWN = 4;

/** Returns a new key, for example `pk_live_` and 43 base64url characters (docs/interface/access.md#api-keys). */
function generateKey(type: KeyType, environment: Environment, random: RandomBytes): string {
  const body = Buffer.from(random(BODY_BYTES)).toString('base64url');
  return `${PREFIXES[type]}_${environment}_${body}`;
}
