import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type KeyRing, parseRing } from '../../../shared/http/token-keys';
import { TokenCodec, type TokenGrant } from '../../../shared/http/tokens';
import { CatalogError } from '../../../shared/kernel/errors';
import type { AccountId } from '../../../shared/kernel/ids';
import { realSystem } from '../../../shared/kernel/system';
import { KEY, STORE } from './tiny-app';

export const ISSUER = 'catalog-service';
export const grant: TokenGrant = {
  env: 'live',
  api_key_id: KEY,
  account_id: '01890a5d-ac96-774b-bcce-b302099a8050' as AccountId,
  key_type: 'public',
  stores: [STORE],
  permissions: ['read:stores', 'read:publications'],
};

const rsa = pem(generateKeyPairSync('rsa', { modulusLength: 2048 }));
const ed25519 = pem(generateKeyPairSync('ed25519'));

/** One entry of a keys file for each algorithm. */
export const entries = {
  HS256: { kid: 'hs', alg: 'HS256', secret: 'a secret of more than thirty-two characters' },
  RS256: { kid: 'rs', alg: 'RS256', ...rsa },
  EdDSA: { kid: 'ed', alg: 'EdDSA', ...ed25519 },
} as const;

export const ring = (...keys: readonly object[]): KeyRing => parseRing(JSON.stringify(keys), 'test');

/** Makes a codec whose clock the test sets. */
export function codecAt(clock: { now_ms: number }, keys: KeyRing, issuer = ISSUER): TokenCodec {
  return new TokenCodec({ ring: keys, issuer, system: { ...realSystem, now: () => clock.now_ms } });
}

/** Returns the condition that `run` fails with, or `none`. */
export async function conditionOf(run: () => unknown): Promise<string> {
  try {
    await run();
  } catch (error) {
    if (error instanceof CatalogError) return error.condition;
    throw error;
  }
  return 'none';
}

function pem(pair: { privateKey: KeyObject; publicKey: KeyObject }) {
  return {
    private_key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    public_key: pair.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}
