import { tokens as operations } from '../../shared/api/operations/tokens';
import type { ApiKey } from '../../shared/catalog/api-key/api-key';
import { hashKey } from '../../shared/catalog/api-key/api-key';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { Authenticator } from '../../shared/http/auth';
import { bearerOf } from '../../shared/http/auth';
import type { AuthEndpoint, AuthEndpoints, AuthExchange } from '../../shared/http/route';
import type { TokenClaims, TokenCodec } from '../../shared/http/tokens';
import { parseBody } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import { type System, timestamp } from '../../shared/kernel/system';
import { KeyUse, type OnKeyUsed } from './key-use';
import { BEARER_REQUIRED, KEY_INVALID, KEY_REQUIRED, type Messages, TOKEN_INVALID, worded } from './messages';

export interface AuthOptions {
  readonly authenticator: Authenticator;
  readonly tokens: TokenCodec;
  readonly system: System;
  /** Told that a key was used, at most once per key and interval; not waited for. */
  readonly onKeyUsed?: OnKeyUsed;
}

/** `<prefix><43 base64url characters>` (decisions §2): anything else is not looked up. */
const API_KEY = /^[ps]k_(live|test)_[\w-]{43}$/;

const BAD_KEY: Messages = { key_revoked: KEY_INVALID, key_invalid: KEY_INVALID };
const BAD_TOKEN: Messages = { token_invalid: TOKEN_INVALID, token_expired: TOKEN_INVALID };

/**
 * The endpoints of `/auth` (spec, "Authentication endpoints"). A suspended account gets tokens all the same: it is
 * `/api/*` that refuses them (decisions §3).
 */
export function authEndpoints(options: AuthOptions): AuthEndpoints {
  const use = new KeyUse(options);
  return {
    [operations.issueToken.path]: tokenEndpoint(options, use),
    [operations.refreshToken.path]: refreshEndpoint(options, use),
    [operations.validateToken.path]: validateEndpoint(options),
  };
}

/** An API key for a token. */
function tokenEndpoint(options: AuthOptions, use: KeyUse): AuthEndpoint {
  const open: AuthEndpoint['open'] = async (header) => {
    const given = header('x-api-key') ?? '';
    if (given === '') throw new CatalogError('unauthenticated', { message: KEY_REQUIRED });
    const key = await worded(BAD_KEY, () => findKey(options.authenticator, given));
    return exchange(key, (body) => {
      const { ttl_minutes } = parseBody(operations.issueToken.schema, body);
      use.record(key);
      return issueToken(options, key, ttl_minutes * 60);
    });
  };
  return { name: 'token', open };
}

/** A token for a new one of the same lifetime; the key is checked anew (decisions §7). */
function refreshEndpoint(options: AuthOptions, use: KeyUse): AuthEndpoint {
  const open: AuthEndpoint['open'] = async (header) => {
    const bearer = requireBearer(header('authorization'));
    const check = () => options.authenticator.verifyToken(bearer);
    const { claims, key } = await worded({ ...BAD_KEY, ...BAD_TOKEN }, check);
    return exchange(key, (body) => {
      parseBody(operations.refreshToken.schema, body);
      use.record(key);
      return issueToken(options, key, claims.exp - claims.iat);
    });
  };
  return { name: 'refresh', open };
}

/** A token's claims; that its key is gone makes it invalid too. */
function validateEndpoint({ authenticator }: AuthOptions): AuthEndpoint {
  const messages: Messages = { ...BAD_TOKEN, key_revoked: TOKEN_INVALID, key_invalid: TOKEN_INVALID };
  const open: AuthEndpoint['open'] = async (header) => {
    const bearer = requireBearer(header('authorization'));
    const { claims, key } = await worded(messages, () => authenticator.verifyToken(bearer));
    return exchange(key, (body) => {
      parseBody(operations.validateToken.schema, body);
      return describeClaims(claims);
    });
  };
  return { name: 'validate', open };
}

async function findKey(authenticator: Authenticator, given: string): Promise<ApiKey> {
  if (!API_KEY.test(given)) throw new CatalogError('key_invalid');
  return authenticator.assertUsable(await authenticator.findKeyByHash(hashKey(given)));
}

function requireBearer(header: string | undefined): string {
  const bearer = bearerOf(header);
  if (bearer === undefined) throw new CatalogError('unauthenticated', { message: BEARER_REQUIRED });
  return bearer;
}

function exchange(key: ApiKey, respond: AuthExchange['respond']): AuthExchange {
  return { api_key_id: key.id, key_type: key.type, respond };
}

function issueToken({ tokens }: AuthOptions, key: ApiKey, ttl_s: number): JsonObject {
  const { id: api_key_id, account_id, type: key_type, environment: env } = key;
  const stores = [...key.stores];
  const token = tokens.sign(
    { api_key_id, account_id, key_type, env, stores, permissions: key.permissions },
    ttl_s,
  );
  return { token, token_type: 'Bearer', expires_in: ttl_s };
}

function describeClaims(claims: TokenClaims): JsonObject {
  const { api_key_id, account_id, key_type, stores, permissions, exp } = claims;
  const expires_at = timestamp(exp * 1000);
  return { valid: true, api_key_id, account_id, key_type, stores, permissions, expires_at };
}
