import type { ApiKeyEvent, ApiKeyFields, ApiKeyState } from '../../../shared/catalog/api-key/api-key';
import { assertNever } from '../../../shared/kernel/assert-never';
import { accept, type Decision, reject } from '../../../shared/kernel/decision';
import { sameValue } from '../../../shared/kernel/same-value';

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
