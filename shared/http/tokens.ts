import { hash } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { CatalogError } from '../kernel/errors';
import { generateId } from '../kernel/ids';
import type { System } from '../kernel/system';
import { signEdDsa, verifyEdDsa } from './eddsa';
import type { KeyRing, TokenKey } from './key-ring';
import { type TokenClaims, tokenClaimsSchema } from './token-claims';

export type { KeyRing } from './key-ring';
export type { TokenClaims } from './token-claims';
export { loadTokenKeys } from './token-keys';

/** Tokens whose signature was checked and that need no second check; about 1 KB each. */
const VERIFIED_MAX = 10_000;

/** What a token grants; the rest of its claims are made when it is signed. */
export type TokenGrant = Omit<TokenClaims, 'iss' | 'jti' | 'iat' | 'exp'>;

export interface TokenCodecOptions {
  readonly ring: KeyRing;
  /** `JWT_ISSUER`: a token of another issuer is not ours, whoever signed it. */
  readonly issuer: string;
  readonly system: System;
}

/** Signs and verifies bearer tokens (decisions §7). Knows nothing of whether a token's key still stands. */
export class TokenCodec {
  private readonly options: TokenCodecOptions;
  private readonly keys: ReadonlyMap<string, TokenKey>;
  private readonly verified = new Map<string, TokenClaims>();

  constructor(options: TokenCodecOptions) {
    this.options = options;
    this.keys = new Map(options.ring.map((key) => [key.kid, key]));
  }

  /** A token that is valid for `ttl_s` seconds from now. */
  sign(grant: TokenGrant, ttl_s: number): string {
    const { ring, issuer, system } = this.options;
    const [key] = ring;
    const iat = Math.floor(system.now() / 1000);
    const jti = generateId(system.now(), system.random);
    const claims: TokenClaims = { ...grant, iss: issuer, jti, iat, exp: iat + ttl_s };
    if (key.alg === 'EdDSA') return signEdDsa(claims, key);
    return jwt.sign(claims, key.signing, { algorithm: key.alg, keyid: key.kid });
  }

  /** Throws `token_expired` for a token that was good once, `token_invalid` for everything else that is not. */
  verify(token: string): TokenClaims {
    const name = hash('sha256', token, 'base64url');
    const known = this.verified.get(name);
    const claims = known ?? this.check(token);
    if (claims.exp * 1000 <= this.options.system.now()) {
      this.verified.delete(name);
      throw new CatalogError('token_expired');
    }
    if (known === undefined) this.remember(name, claims);
    return claims;
  }

  /** Signature, issuer and shape; `exp` is the caller's, so that both ways of signing meet the same check. */
  private check(token: string): TokenClaims {
    const payload = this.checkSignature(token);
    const parsed = tokenClaimsSchema.safeParse(payload);
    if (!parsed.success || parsed.data.iss !== this.options.issuer) throw new CatalogError('token_invalid');
    return parsed.data;
  }

  private checkSignature(token: string): unknown {
    try {
      const key = this.keyOf(token);
      if (key === undefined) return undefined;
      if (key.alg === 'EdDSA') return verifyEdDsa(token, key);
      return jwt.verify(token, key.verifying, { algorithms: [key.alg], ignoreExpiration: true });
    } catch (error) {
      throw new CatalogError('token_invalid', { cause: error });
    }
  }

  /** Of the token's `kid`, and only where the token names that key's own algorithm: no `none`, no confusion of kinds. */
  private keyOf(token: string): TokenKey | undefined {
    const parts = token.split('.');
    if (parts.length !== 3 || !parts.every(isCanonical)) return undefined;
    const header = JSON.parse(Buffer.from(parts[0]!, 'base64url').toString('utf8')) as {
      kid?: unknown;
      alg?: unknown;
      crit?: unknown;
    };
    // An extension that must be understood and is not: RFC 7515 §4.1.11 has it refused.
    if (typeof header.kid !== 'string' || header.crit !== undefined) return undefined;
    const key = this.keys.get(header.kid);
    return key?.alg === header.alg ? key : undefined;
  }

  private remember(name: string, claims: TokenClaims): void {
    this.verified.set(name, claims);
    if (this.verified.size > VERIFIED_MAX) this.verified.delete(this.verified.keys().next().value!);
  }
}

/** One spelling per token: base64url would else let the last character's unused bits differ. */
function isCanonical(part: string): boolean {
  return part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part;
}
