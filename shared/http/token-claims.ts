import { z } from 'zod';
import { environmentSchema, keyTypeSchema, permissionSchema } from '../catalog/vocabulary';
import type { AccountId, AnyId, ApiKeyId, StoreId } from '../kernel/ids';
import { isUuid } from '../kernel/uuid';

const id = <Id extends AnyId>() => z.custom<Id>((value) => typeof value === 'string' && isUuid(value));

/** A token's payload (spec, "Token claims"; decisions §7). Checked after the signature: old code may have signed it. */
export const tokenClaimsSchema = z.object({
  iss: z.string(),
  jti: z.string(),
  env: environmentSchema,
  api_key_id: id<ApiKeyId>(),
  account_id: id<AccountId>(),
  key_type: keyTypeSchema,
  stores: z.array(id<StoreId>()),
  permissions: z.array(permissionSchema),
  /** Unix seconds. */
  iat: z.int(),
  exp: z.int(),
});

export type TokenClaims = z.infer<typeof tokenClaimsSchema>;
