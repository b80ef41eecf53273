import type { ApiKey, KeyLimits } from '../../shared/catalog/api-key/api-key';
import type { KeyFields } from '../../shared/catalog/api-key/key-fields';
import { type Permission, permissionsOf } from '../../shared/catalog/vocabulary';
import { table } from './table';

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
