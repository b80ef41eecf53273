import { hash } from 'node:crypto';
import { z } from 'zod';
import { accept, type Decision, reject } from '../../kernel/decision';
import { assertNever } from '../../kernel/errors';
import type { AccountId, ApiKeyId, StoreId } from '../../kernel/ids';
import { isSameValue } from '../../kernel/same-value';
import { type Aggregate, present, type State } from '../events/aggregate';
import type { JsonObject } from '../events/envelope';
import { defineEvent, type EventOf } from '../events/event-definition';
import { withoutNulls } from '../fields';
import { environmentSchema, keyTypeSchema, permissionSchema, permissionsOf } from '../vocabulary';

/** Rate limits of one key, in requests. They replace the limits of its type (docs/interface/access.md#rate-limits). */
const keyLimitsSchema = z.object({ per_minute: z.number(), per_day: z.number(), burst: z.number() });
export type KeyLimits = Readonly<z.infer<typeof keyLimitsSchema>>;

export const apiKeyEvents = [
  defineEvent(
    'ApiKeyCreated',
    z.object({
      account_id: z.string(),
      name: z.string(),
      type: keyTypeSchema,
      environment: environmentSchema,
      stores: z.array(z.string()),
      permissions: z.array(permissionSchema),
      /** SHA-256 of the full key, in hex. The key itself is not stored (docs/interface/access.md#api-keys). */
      key_hash: z.string(),
      expires_at: z.string().nullable(),
      // `last_four`, `limits`, `needs_confirmation` and `price_list` are absent, not null, in the events and documents of older keys. Their
      // documents are therefore still valid, and no rebuild is needed.
      /** The last characters of the key, by which people recognise it (docs/interface/access.md#api-keys). */
      last_four: z.string().exactOptional(),
      /** Absent: the limits of the key's type. */
      limits: keyLimitsSchema.exactOptional(),
      /** Absent: the writes of the key are carried out. Present: they are proposals. */
      needs_confirmation: z.literal(true).exactOptional(),
      /** Absent: the key sees the prices of the publications. */
      price_list: z.string().exactOptional(),
    }),
  ),
  /** Null: the limits of the key's type. */
  defineEvent('ApiKeyLimitsSet', z.object({ limits: keyLimitsSchema.nullable() })),
  defineEvent('ApiKeyConfirmationSet', z.object({ needs_confirmation: z.boolean() })),
  /** Null: the prices of the publications. */
  defineEvent('ApiKeyPriceListSet', z.object({ price_list: z.string().nullable() })),
  /** Set by a rotation: the old key works until this time. */
  defineEvent('ApiKeyExpirySet', z.object({ expires_at: z.string() })),
  defineEvent('ApiKeyRenamed', z.object({ name: z.string() })),
  defineEvent('ApiKeyRevoked', z.object({})),
  /** Appended at most once per key and `USE_INTERVAL_MS`, so that using a key does not cost a write per request. */
  defineEvent('ApiKeyUsed', z.object({})),
] as const;

export type ApiKeyEvent = EventOf<typeof apiKeyEvents>;
export type ApiKeyFields = Extract<ApiKeyEvent, { type: 'ApiKeyCreated' }>['data'];

/** An API key: the state that its events fold to. */
export interface ApiKey extends Omit<ApiKeyFields, 'account_id' | 'stores'> {
  readonly id: ApiKeyId;
  readonly account_id: AccountId;
  /** A request that names no store uses the first one (docs/interface/access.md#stores-and-environments). */
  readonly stores: readonly StoreId[];
  readonly revoked_at: string | null;
  readonly last_used_at: string | null;
  readonly created_at: string;
}

/** Whether the service accepts the key at a time, in Unix milliseconds. A revoked key is not `expired`. */
export function keyStatus(
  { revoked_at, expires_at }: Pick<ApiKey, 'revoked_at' | 'expires_at'>,
  now_ms: number,
): 'active' | 'expired' | 'revoked' {
  if (revoked_at !== null) return 'revoked';
  return expires_at !== null && Date.parse(expires_at) <= now_ms ? 'expired' : 'active';
}

/** Whether a key may manage keys: it has every right that the keys which it makes could have. */
export function managesKeys({ permissions, limits, expires_at, needs_confirmation }: ApiKey): boolean {
  const may_all = permissionsOf('secret').every((each) => permissions.includes(each));
  return may_all && limits === undefined && expires_at === null && !needs_confirmation;
}

/** Whether a key belongs to the account, and all its stores are among these. */
export function isKeyWithin(
  key: ApiKey,
  { account_id, stores }: { readonly account_id: AccountId; readonly stores: readonly StoreId[] },
): boolean {
  return (
    key.account_id === account_id && key.stores.length > 0 && key.stores.every((id) => stores.includes(id))
  );
}

/** Returns the resource of a key. `own_id`: the key of the request. */
export function keyResource(key: ApiKey, now_ms: number, own_id: string): JsonObject {
  const { id, name, type, permissions, stores, created_at, last_used_at, expires_at, last_four = null } = key;
  return withoutNulls({
    id,
    object: 'key',
    name,
    type,
    last_four,
    permissions: [...permissions],
    stores: [...stores],
    status: keyStatus(key, now_ms),
    is_own: id === own_id,
    needs_confirmation: key.needs_confirmation === true,
    price_list: key.price_list ?? null,
    created_at,
    last_used_at,
    expires_at,
  });
}

function evolve(state: State<ApiKey>, event: ApiKeyEvent, id: ApiKeyId, occurred_at: string): State<ApiKey> {
  if (event.type === 'ApiKeyCreated') {
    const { account_id, stores, ...rest } = event.data;
    const granted = { account_id: account_id as AccountId, stores: stores as StoreId[] };
    return present({
      ...rest,
      ...granted,
      id,
      revoked_at: null,
      last_used_at: null,
      created_at: occurred_at,
    });
  }
  if (state.tag !== 'present') return state;
  const key = state.resource;
  switch (event.type) {
    case 'ApiKeyExpirySet':
      return present({ ...key, expires_at: event.data.expires_at });
    case 'ApiKeyRenamed':
      return present({ ...key, name: event.data.name });
    case 'ApiKeyRevoked':
      return present({ ...key, revoked_at: key.revoked_at ?? occurred_at });
    case 'ApiKeyUsed':
      return present({ ...key, last_used_at: occurred_at });
    case 'ApiKeyLimitsSet':
      return present(withLimits(key, event.data.limits));
    case 'ApiKeyConfirmationSet': {
      const { needs_confirmation: _, ...others } = key;
      return present(event.data.needs_confirmation ? { ...others, needs_confirmation: true } : others);
    }
    case 'ApiKeyPriceListSet': {
      const { price_list: _, ...others } = key;
      const { price_list } = event.data;
      return present(price_list === null ? others : { ...others, price_list });
    }
    default:
      return assertNever(event, 'API key event');
  }
}

function withLimits({ limits: _, ...key }: ApiKey, limits: KeyLimits | null): ApiKey {
  return limits === null ? key : { ...key, limits };
}

/** Shortest time between two recorded uses of a key. Precise enough to find unused keys, at a negligible load. */
export const USE_INTERVAL_MS = 5 * 60_000;

/** What `PATCH /api/key/:id` changes. */
export interface KeyChanges {
  readonly name?: string | undefined;
  readonly needs_confirmation?: boolean | undefined;
  /** Null: the prices of the publications. */
  readonly price_list?: string | null | undefined;
}

export type ApiKeyCommand =
  | { readonly type: 'CreateApiKey'; readonly fields: ApiKeyFields }
  /** Sets an earlier expiry. Never postpones it. */
  | { readonly type: 'ExpireApiKey'; readonly expires_at: string }
  | { readonly type: 'ChangeApiKey'; readonly changes: KeyChanges }
  | { readonly type: 'RevokeApiKey' }
  /** Null: the limits of the key's type. */
  | { readonly type: 'SetApiKeyLimits'; readonly limits: KeyLimits | null }
  | { readonly type: 'RecordApiKeyUse'; readonly used_at_ms: number };

function decide(state: State<ApiKey>, command: ApiKeyCommand): Decision<ApiKeyEvent> {
  if (command.type === 'CreateApiKey') return create(state, command.fields);
  if (state.tag !== 'present') return reject('key_invalid', 'There is no such API key');
  const key = state.resource;
  switch (command.type) {
    case 'ExpireApiKey': {
      const { expires_at } = command;
      const expires_earlier = key.expires_at !== null && key.expires_at <= expires_at;
      return expires_earlier ? accept() : accept({ type: 'ApiKeyExpirySet', data: { expires_at } });
    }
    case 'ChangeApiKey': {
      const { needs_confirmation: before = false, price_list: list_before = null } = key;
      const { name = key.name, needs_confirmation = before, price_list = list_before } = command.changes;
      const events: ApiKeyEvent[] = [];
      if (name !== key.name) events.push({ type: 'ApiKeyRenamed', data: { name } });
      if (needs_confirmation !== before)
        events.push({ type: 'ApiKeyConfirmationSet', data: { needs_confirmation } });
      if (price_list !== list_before) events.push({ type: 'ApiKeyPriceListSet', data: { price_list } });
      return accept(...events);
    }
    case 'RevokeApiKey':
      return key.revoked_at === null ? accept({ type: 'ApiKeyRevoked', data: {} }) : accept();
    case 'SetApiKeyLimits': {
      const { limits } = command;
      if (isSameValue(key.limits ?? null, limits)) return accept();
      if (key.revoked_at !== null) return reject('key_revoked', 'The API key is revoked');
      return accept({ type: 'ApiKeyLimitsSet', data: { limits } });
    }
    case 'RecordApiKeyUse': {
      const last_ms = key.last_used_at === null ? Number.NEGATIVE_INFINITY : Date.parse(key.last_used_at);
      const is_due = command.used_at_ms - last_ms >= USE_INTERVAL_MS;
      return is_due ? accept({ type: 'ApiKeyUsed', data: {} }) : accept();
    }
    default:
      return assertNever(command, 'API key command');
  }
}

function create(state: State<ApiKey>, fields: ApiKeyFields): Decision<ApiKeyEvent> {
  if (state.tag !== 'present') return accept({ type: 'ApiKeyCreated', data: fields });
  const is_repeat = isSameValue({ ...state.resource, ...fields }, state.resource);
  return is_repeat ? accept() : reject('lost_race', 'An API key with this id already exists');
}

export const apiKeyAggregate: Aggregate<ApiKey, ApiKeyEvent, ApiKeyId, ApiKeyCommand> = {
  category: 'api_key',
  events: apiKeyEvents,
  state_version: 1,
  not_found: 'key_invalid',
  evolve,
  decide,
  owner: ({ account_id }) => ({ account_id }),
};

/** `<prefix><43 base64url characters>` (docs/interface/access.md#api-keys). */
const API_KEY = /^[ps]k_(live|test)_[\w-]{43}$/;

/** Whether the text has the form of an API key. The key may not exist. */
export function isApiKeyText(text: string): boolean {
  return API_KEY.test(text);
}

/** Returns the SHA-256 of the full key, in hex: the form in which keys are stored and looked up. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex');
}
