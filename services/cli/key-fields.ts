import { type ApiKey, type KeyLimits, keyStatus } from '../../shared/catalog/api-key/api-key';
import { type Permission, permissionsOf } from '../../shared/catalog/vocabulary';
import { table } from './table';

/** Returns the fields of a key to print, without its hash. `limits` is null if the key has those of its type. */
export function keyFields(key: ApiKey, now_ms: number) {
  const { id, type, environment, account_id, stores, permissions, name } = key;
  const { expires_at, revoked_at, last_used_at, created_at, last_four = null, limits = null } = key;
  const status = keyStatus(key, now_ms);
  const grants = { account_id, stores, permissions, last_four, limits };
  return {
    ...{ id, type, environment, status, name, ...grants },
    ...{ expires_at, revoked_at, last_used_at, created_at },
  };
}

export type KeyFields = ReturnType<typeof keyFields>;

const COLUMNS = [
  ...['id', 'name', 'type', 'environment', 'last four', 'status', 'permissions', 'stores', 'limits'],
  ...['last used at', 'expires at'],
];

/** Renders one row per key. */
export function keysTable(keys: readonly KeyFields[]): string {
  const rows = keys.map((key) => [
    ...[key.id, key.name, key.type, key.environment, key.last_four, key.status],
    ...[permissionsText(key), storesText(key.stores), limitsText(key.limits)],
    ...[key.last_used_at, key.expires_at],
  ]);
  return table(COLUMNS, rows);
}

/** Formats a key's own limits like the settings of the service, such as `600/100000/900`, otherwise `default`. */
export function limitsText(limits: KeyLimits | null): string {
  if (limits === null) return 'default';
  return [limits.per_minute, limits.per_day, limits.burst].join('/');
}

/**
 * Shortens a list of permissions: `read` or `write` if a key has all such permissions of its type, otherwise for example
 * `read:listings,media`.
 */
export function permissionsText({ type, permissions }: Pick<ApiKey, 'type' | 'permissions'>): string | null {
  const all = permissionsOf(type);
  const parts = ['read', 'write'].flatMap((access) => {
    const withAccess = (names: readonly Permission[]) =>
      names.filter((name) => name.startsWith(`${access}:`));
    const granted = withAccess(permissions);
    if (granted.length === 0) return [];
    if (granted.length === withAccess(all).length) return [access];
    return [`${access}:${granted.map((name) => name.slice(access.length + 1)).join(',')}`];
  });
  return parts.length === 0 ? null : parts.join(' ');
}

/** Names the first store, which is the default of requests, and how many others there are. */
function storesText(stores: readonly string[]): string | null {
  const [first, ...others] = stores;
  if (first === undefined) return null;
  return others.length === 0 ? first : `${first} +${others.length}`;
}
