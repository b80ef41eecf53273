import { type ApiKey, keyStatus } from './api-key';

/** Returns the fields of a key to show, without its hash. `limits` is null if the key has those of its type. */
export function keyFields(key: ApiKey, now_ms: number) {
  const { id, type, environment, account_id, stores, permissions, name } = key;
  const { expires_at, revoked_at, last_used_at, created_at, last_four = null, limits = null } = key;
  const { needs_confirmation = false, price_list = null } = key;
  const status = keyStatus(key, now_ms);
  const grants = { account_id, stores, permissions, last_four, limits, needs_confirmation, price_list };
  return {
    ...{ id, type, environment, status, name, ...grants },
    ...{ expires_at, revoked_at, last_used_at, created_at },
  };
}

export type KeyFields = ReturnType<typeof keyFields>;
