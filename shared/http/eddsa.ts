import { sign, verify } from 'node:crypto';
import type { JsonObject } from '../catalog/events/envelope';
import type { TokenKey } from './key-ring';

/** EdDSA with Ed25519 (RFC 8037), which `jsonwebtoken` does not know. Signature only: claims are checked by the caller. */
export function signEdDsa(
  payload: object,
  key: TokenKey & { signing: NonNullable<TokenKey['signing']> },
): string {
  const input = `${encode({ alg: 'EdDSA', typ: 'JWT', kid: key.kid })}.${encode(payload)}`;
  return `${input}.${sign(null, Buffer.from(input), key.signing).toString('base64url')}`;
}

/** The payload of a validly signed token, else undefined. */
export function verifyEdDsa(token: string, key: TokenKey): JsonObject | undefined {
  const end = token.lastIndexOf('.');
  const signature = Buffer.from(token.slice(end + 1), 'base64url');
  if (!verify(null, Buffer.from(token.slice(0, end)), key.verifying, signature)) return undefined;
  const payload = token.slice(token.indexOf('.') + 1, end);
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as JsonObject;
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
