import { sign, verify } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { z } from 'zod';
import type { JsonObject } from '../catalog/events/envelope';
import { environmentSchema, keyTypeSchema, permissionSchema } from '../catalog/vocabulary';
import { LRUCache } from '../kernel/cache';
import { CatalogError } from '../kernel/errors';
import { type AccountId, type AnyId, type ApiKeyId, generateId, isUuid, type StoreId } from '../kernel/ids';
import type { System } from '../kernel/system';
import { type KeyRing, KID_LENGTH_MAX, type TokenKey } from './token-keys';

/** Maximum number of cached tokens whose signature was verified. Each takes about 2 KB. */
const VERIFIED_MAX = 10_000;

const id = <Id extends AnyId>() => z.custom<Id>((value) => typeof value === 'string' && isUuid(value));

/**
 * Payload of a token (docs/interface/access.md#tokens). Checked although it is signed, because an older version may have
 * signed it.
 */
const tokenClaimsSchema = z.object({
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
  /**
   * Claims that limit a token to a recipient or to a later time. This service issues neither, so a token with one was
   * made for something else (RFC 7519 §4.1.3).
   */
  aud: z.undefined().optional(),
  nbf: z.undefined().optional(),
});

export type TokenClaims = z.infer<typeof tokenClaimsSchema>;

/** The claims that the caller of `sign` chooses. `sign` adds the rest. */
export type TokenGrant = Omit<TokenClaims, 'iss' | 'jti' | 'iat' | 'exp' | 'aud' | 'nbf'>;

export interface TokenCodecOptions {
  readonly ring: KeyRing;
  /** `JWT_ISSUER`. A token of another issuer is rejected, even if its signature is valid. */
  readonly issuer: string;
  readonly system: System;
  /**
   * Called for a token that looks like one of this service and has not expired, but names a key that the ring does not
   * have: another process probably has other keys. The token proves nothing, because its signature cannot be checked.
   */
  readonly onUnknownKey?: (kid: string) => void;
}

/**
 * Signs and verifies bearer tokens (docs/interface/access.md#tokens). Does not check whether the token's key is still valid.
 */
export class TokenCodec {
  private readonly options: TokenCodecOptions;
  private readonly keys: ReadonlyMap<string, TokenKey>;
  private readonly verified = new LRUCache<string, TokenClaims>({ max: VERIFIED_MAX });

  constructor(options: TokenCodecOptions) {
    this.options = options;
    this.keys = new Map(options.ring.map((key) => [key.kid, key]));
  }

  /** Signs a token that is valid for `ttl_s` seconds from now. */
  sign(grant: TokenGrant, ttl_s: number): string {
    const { ring, issuer, system } = this.options;
    const [key] = ring;
    const iat = Math.floor(system.now() / 1000);
    const jti = generateId(system.now(), system.random);
    const claims: TokenClaims = { ...grant, iss: issuer, jti, iat, exp: iat + ttl_s };
    if (key.alg === 'EdDSA') return signEdDsa(claims, key);
    return jwt.sign(claims, key.signing, { algorithm: key.alg, keyid: key.kid });
  }

  /** Returns the claims of a valid token. Throws `token_expired`, or `token_invalid` for any other invalid token. */
  verify(token: string): TokenClaims {
    const cached = this.verified.get(token);
    const claims = cached ?? this.check(token);
    if (claims.exp * 1000 <= this.options.system.now()) {
      this.verified.delete(token);
      throw new CatalogError('token_expired');
    }
    if (cached === undefined) this.verified.set(token, claims);
    return claims;
  }

  /**
   * Checks signature, issuer and shape. The caller checks `exp`, so that all algorithms and cached tokens share one
   * check.
   */
  private check(token: string): TokenClaims {
    const payload = this.checkSignature(token);
    const parsed = tokenClaimsSchema.safeParse(payload);
    if (!parsed.success || parsed.data.iss !== this.options.issuer) throw new CatalogError('token_invalid');
    return parsed.data;
  }

  private checkSignature(token: string): unknown {
    try {
      const key = this.keyOf(token);
      if (key === undefined) return this.reportUnknownKey(token);
      if (key.alg === 'EdDSA') return verifyEdDsa(token, key);
      return jwt.verify(token, key.verifying, {
        algorithms: [key.alg],
        ignoreExpiration: true,
        ignoreNotBefore: true,
      });
    } catch (error) {
      // Any other error is not caused by the token.
      if (!(error instanceof jwt.JsonWebTokenError || error instanceof SyntaxError)) throw error;
      throw new CatalogError('token_invalid', { cause: error });
    }
  }

  /**
   * Returns the key of the token's `kid`, but only if the token names the algorithm of that key. This prevents the
   * algorithm `none` and algorithm confusion.
   */
  private keyOf(token: string): TokenKey | undefined {
    const parts = token.split('.');
    if (parts.length !== 3 || !parts.every(isCanonical)) return undefined;
    const header = headerOf(token);
    // `crit` lists extensions that a verifier must understand. This one supports none (RFC 7515 §4.1.11).
    if (typeof header?.kid !== 'string' || header.crit !== undefined) return undefined;
    const key = this.keys.get(header.kid);
    return key?.alg === header.alg ? key : undefined;
  }

  private reportUnknownKey(token: string): undefined {
    const { onUnknownKey, issuer, system } = this.options;
    const kid = headerOf(token)?.kid;
    if (!onUnknownKey || typeof kid !== 'string' || kid.length > KID_LENGTH_MAX || this.keys.has(kid)) return;
    const { data } = tokenClaimsSchema.safeParse(parsePart(token.split('.')[1]));
    if (data?.iss === issuer && data.exp * 1000 > system.now()) onUnknownKey(kid);
  }
}

interface TokenHeader {
  readonly kid?: unknown;
  readonly alg?: unknown;
  readonly crit?: unknown;
}

const headerOf = (token: string): TokenHeader | null => parsePart(token.split('.')[0]) as TokenHeader | null;

/** Parses a part of a token. Throws `SyntaxError` if it is not JSON. */
function parsePart(part = ''): unknown {
  return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
}

/**
 * Whether the part is the canonical encoding of its bytes. Other encodings exist, because base64url decoders ignore unused
 * bits of the last character. They are rejected, so that a token has only one valid text.
 */
function isCanonical(part: string): boolean {
  return part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part;
}

/** Signs with Ed25519 (RFC 8037), which `jsonwebtoken` does not support. */
function signEdDsa(payload: object, key: TokenKey & { signing: NonNullable<TokenKey['signing']> }): string {
  const input = `${encode({ alg: 'EdDSA', typ: 'JWT', kid: key.kid })}.${encode(payload)}`;
  return `${input}.${sign(null, Buffer.from(input), key.signing).toString('base64url')}`;
}

/** Returns the payload if the signature is valid, otherwise undefined. Does not check the claims. */
function verifyEdDsa(token: string, key: TokenKey): JsonObject | undefined {
  const end = token.lastIndexOf('.');
  const signature = Buffer.from(token.slice(end + 1), 'base64url');
  if (!verify(null, Buffer.from(token.slice(0, end)), key.verifying, signature)) return undefined;
  const payload = token.slice(token.indexOf('.') + 1, end);
  return parsePart(payload) as JsonObject;
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
