import type { Messages } from '../../shared/api/operations/operation';
import { tokens as operations } from '../../shared/api/operations/tokens';
import { type ApiKey, hashKey, isApiKeyText, USE_INTERVAL_MS } from '../../shared/catalog/api-key/api-key';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { type Authenticator, bearerOf } from '../../shared/http/auth';
import type { Principal } from '../../shared/http/request';
import type { AuthEndpoint, AuthEndpoints, AuthExchange } from '../../shared/http/route';
import type { TokenClaims, TokenCodec } from '../../shared/http/tokens';
import { parseBody } from '../../shared/http/validation';
import { TtlCache } from '../../shared/kernel/cache';
import { CatalogError } from '../../shared/kernel/errors';
import type { ApiKeyId } from '../../shared/kernel/ids';
import { type System, timestamp } from '../../shared/kernel/system';

export interface AuthOptions {
  readonly authenticator: Authenticator;
  readonly tokens: TokenCodec;
  readonly system: System;
  /** Called when a token is issued for a key that was not used lately. The response does not wait for it. */
  readonly onKeyUsed?: (api_key_id: ApiKeyId) => void | Promise<void>;
}

/**
 * Builds the endpoints of `/auth` (docs/interface/README.md#endpoints). They also issue tokens for keys of a suspended
 * account; `/api/*` rejects these tokens (docs/interface/access.md#tokens).
 */
export function authEndpoints(options: AuthOptions): AuthEndpoints {
  const { authenticator } = options;
  const { issueToken: issue, refreshToken: refresh, validateToken: validate } = operations;
  const issueFor = (key: ApiKey, ttl_s: number) => issueToken(options, key, ttl_s);
  return {
    [issue.path]: endpoint('token', issue.messages, async (header) => {
      const key = await findUsableKey(authenticator, header('x-api-key') ?? '');
      return exchange(key, (body) => issueFor(key, parseBody(issue.schema, body).ttl_minutes * 60));
    }),
    // Checks the key again. The new token has the lifetime of the old one (docs/interface/access.md#tokens).
    [refresh.path]: endpoint('refresh', refresh.messages, async (header) => {
      const { claims, key } = await authenticator.verifyToken(requireBearer(header('authorization')));
      return exchange(key, (body) => {
        parseBody(refresh.schema, body);
        return issueFor(key, claims.exp - claims.iat);
      });
    }),
    // A token whose key was revoked, has expired or does not exist is invalid, too.
    [validate.path]: endpoint('validate', validate.messages, async (header) => {
      const { claims, key } = await authenticator.verifyToken(requireBearer(header('authorization')));
      return exchange(key, (body) => {
        parseBody(validate.schema, body);
        return describeToken(claims, key);
      });
    }),
  };
}

/** Returns the endpoint. Its errors with a condition in `messages` get that message. */
function endpoint(
  name: string,
  messages: Messages,
  authenticate: AuthEndpoint['authenticate'],
): AuthEndpoint {
  return {
    name,
    authenticate: (header) =>
      authenticate(header).catch((error: unknown) => {
        const message = error instanceof CatalogError ? messages[error.condition] : undefined;
        if (message === undefined) throw error;
        throw new CatalogError((error as CatalogError).condition, { message, cause: error });
      }),
  };
}

/** Returns the key. Rejects with `unauthenticated` if it is empty, with `key_revoked` or `key_invalid` if it cannot be used. */
export async function findUsableKey(authenticator: Authenticator, api_key: string): Promise<ApiKey> {
  if (api_key === '') throw new CatalogError('unauthenticated');
  // Other texts are rejected without a look-up.
  if (!isApiKeyText(api_key)) throw new CatalogError('key_invalid');
  return authenticator.assertUsable(await authenticator.findKeyByHash(hashKey(api_key)));
}

/** The principal of each key that was read lately. */
const principals = new WeakMap<ApiKey, Principal>();

/**
 * Returns the principal of a request that this service makes itself with a key, without a token. Records that the key was
 * used. Rejects as `Authenticator.authenticate` does.
 */
export async function principalOfKey(options: AuthOptions, api_key: string): Promise<Principal> {
  const key = await findUsableKey(options.authenticator, api_key);
  const { id: api_key_id, account_id, type: key_type, environment, stores, permissions } = key;
  if ((await options.authenticator.accountStatus(account_id)) !== 'active')
    throw new CatalogError('account_suspended');
  void recordUse(options, key);
  const principal = principals.get(key) ?? {
    api_key_id,
    account_id,
    key_type,
    environment,
    stores,
    permissions,
  };
  principals.set(key, principal);
  return principal;
}

/** How long a token is used for the requests that this service makes with a key, and how long it is valid. */
const KEY_TOKEN_MS = 600_000;
const KEY_TOKEN_TTL_S = 900;
const KEY_TOKENS_MAX = 10_000;

/** Issues tokens for the requests that this service makes with a key, and uses each of them for `KEY_TOKEN_MS`. */
export class KeyTokens {
  private readonly tokens: TtlCache<string>;

  constructor(options: AuthOptions) {
    this.tokens = new TtlCache({
      ttl_ms: KEY_TOKEN_MS,
      entries_max: KEY_TOKENS_MAX,
      now: options.system.now,
      load: async (key_hash) => {
        const { authenticator } = options;
        const key = authenticator.assertUsable(await authenticator.findKeyByHash(key_hash));
        return issueToken(options, key, KEY_TOKEN_TTL_S).token as string;
      },
    });
  }

  /** Returns a token for the key. Rejects with `key_revoked` or `key_invalid` if the key cannot be used. */
  async of(api_key: string): Promise<string> {
    // Keys themselves stay in no cache.
    return (await this.tokens.get(hashKey(api_key)))!;
  }
}

function requireBearer(header: string | undefined): string {
  const bearer = bearerOf(header);
  if (bearer === undefined) throw new CatalogError('unauthenticated');
  return bearer;
}

function exchange(key: ApiKey, respond: AuthExchange['respond']): AuthExchange {
  return { api_key_id: key.id, key_type: key.type, respond };
}

/** Returns a token for the key, as `POST /auth/token` answers. Records that the key was used. */
export function issueToken(options: AuthOptions, key: ApiKey, ttl_s: number): JsonObject {
  const { tokens } = options;
  void recordUse(options, key);
  const { id: api_key_id, account_id, type: key_type, environment: env } = key;
  const stores = [...key.stores];
  const token = tokens.sign(
    { api_key_id, account_id, key_type, env, stores, permissions: key.permissions },
    ttl_s,
  );
  return { token, token_type: 'Bearer', expires_in: ttl_s };
}

function describeToken(claims: TokenClaims, key: ApiKey): JsonObject {
  const { api_key_id, account_id, key_type, stores, permissions, exp } = claims;
  const expires_at = timestamp(exp * 1000);
  const needs_confirmation = key.needs_confirmation === true;
  return {
    ...{ valid: true, api_key_id, account_id, key_type, stores, permissions, needs_confirmation, expires_at },
  };
}

/**
 * Records the use of a key in the background, unless its document has one of the last five minutes. Never throws: issuing
 * a token must not depend on it.
 */
async function recordUse({ system, onKeyUsed }: AuthOptions, { id, last_used_at }: ApiKey): Promise<void> {
  if (last_used_at !== null && system.now() - Date.parse(last_used_at) < USE_INTERVAL_MS) return;
  try {
    await onKeyUsed?.(id);
  } catch {
    // The next use of the key is recorded.
  }
}
