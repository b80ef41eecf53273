import { z } from 'zod';
import { idField, lineField, timeField } from '../../../shared/catalog/input-rules';
import type { Environment } from '../../../shared/catalog/realm';
import type { Store } from '../../../shared/catalog/store/store';
import {
  environmentSchema,
  keyTypeSchema,
  type Permission,
  permissionSchema,
  permissionsOf,
} from '../../../shared/catalog/vocabulary';
import { CatalogError } from '../../../shared/kernel/errors';

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

/** The permissions in their usual order. Throws `field_invalid` for one that its type may not hold. */
export function grantedPermissions(key: Pick<CheckedApiKey, 'type' | 'permissions'>): Permission[] {
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
export function environmentOf(
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
export function assertFuture(field: string, time: string | null, now_ms: number): void {
  if (time !== null && Date.parse(time) <= now_ms) throw refuse(field, 'a time to come');
}

function refuse(field: string, constraint: string): CatalogError {
  return CatalogError.ofFaults([{ condition: 'field_invalid', field, constraint }]);
}
