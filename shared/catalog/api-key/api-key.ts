import { hash } from 'node:crypto';
import { z } from 'zod';
import { accept, type Decision, reject } from '../../kernel/decision';
import { assertNever } from '../../kernel/errors';
import type { AccountId, ApiKeyId, StoreId } from '../../kernel/ids';
import { sameValue } from '../../kernel/same-value';
import type { Aggregate } from '../events/aggregate';
import { defineEvent, type EventOf } from '../events/event-definition';
import { environmentSchema, keyTypeSchema, permissionSchema } from '../vocabulary';

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
      /** SHA-256 of the whole key, hex; the key itself is kept nowhere (decisions §2). */
      key_hash: z.string(),
      expires_at: z.string().nullable(),
    }),
  ),
  /** Rotation: the old key works until then. */
  defineEvent('ApiKeyExpirySet', z.object({ expires_at: z.string() })),
  defineEvent('ApiKeyRevoked', z.object({})),
  /** At most one per key and interval, so that use costs no write per request. */
  defineEvent('ApiKeyUsed', z.object({})),
] as const;

export type ApiKeyEvent = EventOf<typeof apiKeyEvents>;
export type ApiKeyFields = Extract<ApiKeyEvent, { type: 'ApiKeyCreated' }>['data'];

/** What an API key's events add up to. */
export interface ApiKey extends Omit<ApiKeyFields, 'account_id' | 'stores'> {
  readonly id: ApiKeyId;
  readonly account_id: AccountId;
  /** The first is meant where a request names none (decisions §2). */
  readonly stores: readonly StoreId[];
  readonly revoked_at: string | null;
  readonly last_used_at: string | null;
  readonly created_at: string;
}

export type ApiKeyState = { readonly tag: 'absent' } | { readonly tag: 'present'; readonly key: ApiKey };

/** Pure and total. `at` is the event's `occurred_at`. */
export function evolveApiKey(state: ApiKeyState, event: ApiKeyEvent, id: ApiKeyId, at: string): ApiKeyState {
  if (event.type === 'ApiKeyCreated') {
    const { account_id, stores, ...rest } = event.data;
    const granted = { account_id: account_id as AccountId, stores: stores as StoreId[] };
    return {
      tag: 'present',
      key: { ...rest, ...granted, id, revoked_at: null, last_used_at: null, created_at: at },
    };
  }
  if (state.tag !== 'present') return state;
  const changed = (fields: Partial<ApiKey>): ApiKeyState => ({
    tag: 'present',
    key: { ...state.key, ...fields },
  });
  switch (event.type) {
    case 'ApiKeyExpirySet':
      return changed({ expires_at: event.data.expires_at });
    case 'ApiKeyRevoked':
      return changed({ revoked_at: state.key.revoked_at ?? at });
    case 'ApiKeyUsed':
      return changed({ last_used_at: at });
    default:
      return assertNever(event, 'API key event');
  }
}

export const apiKeyAggregate: Aggregate<ApiKeyState, ApiKeyEvent, ApiKeyId> = {
  category: 'api_key',
  absent: { tag: 'absent' },
  evolve: evolveApiKey,
  owner: (state) => (state.tag === 'absent' ? undefined : { account_id: state.key.account_id }),
};

/** A key's use is written down at most every five minutes: enough to find keys that nobody uses, and no load. */
export const USE_INTERVAL_MS = 5 * 60_000;

export type ApiKeyCommand =
  | { readonly type: 'CreateApiKey'; readonly fields: ApiKeyFields }
  /** Brings the end nearer; never puts it off. */
  | { readonly type: 'ExpireApiKey'; readonly expires_at: string }
  | { readonly type: 'RevokeApiKey' }
  | { readonly type: 'RecordApiKeyUse'; readonly used_at_ms: number };

export function decideApiKey(state: ApiKeyState, command: ApiKeyCommand): Decision<ApiKeyEvent> {
  if (command.type === 'CreateApiKey') return create(state, command.fields);
  if (state.tag === 'absent') return reject('key_invalid', 'no such API key');
  const { key } = state;
  switch (command.type) {
    case 'ExpireApiKey': {
      const { expires_at } = command;
      const ends_before = key.expires_at !== null && key.expires_at <= expires_at;
      return ends_before ? accept() : accept({ type: 'ApiKeyExpirySet', data: { expires_at } });
    }
    case 'RevokeApiKey':
      return key.revoked_at === null ? accept({ type: 'ApiKeyRevoked', data: {} }) : accept();
    case 'RecordApiKeyUse': {
      const last_ms = key.last_used_at === null ? Number.NEGATIVE_INFINITY : Date.parse(key.last_used_at);
      const due = command.used_at_ms - last_ms >= USE_INTERVAL_MS;
      return due ? accept({ type: 'ApiKeyUsed', data: {} }) : accept();
    }
    default:
      return assertNever(command, 'API key command');
  }
}

function create(state: ApiKeyState, fields: ApiKeyFields): Decision<ApiKeyEvent> {
  if (state.tag === 'absent') return accept({ type: 'ApiKeyCreated', data: fields });
  const repeated = sameValue({ ...state.key, ...fields }, state.key);
  return repeated ? accept() : reject('lost_race', 'an API key with this id exists already');
}

/** What is kept of a key, and what it is found by: SHA-256 of the whole, hex. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex');
}
