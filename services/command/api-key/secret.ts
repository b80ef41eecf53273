import type { Environment } from '../../../shared/catalog/realm';
import type { KeyType } from '../../../shared/catalog/vocabulary';
import type { RandomBytes } from '../../../shared/kernel/ids';

const PREFIXES = { public: 'pk', secret: 'sk' } as const;
const BODY_BYTES = 32;

/** `pk_live_` and 43 base64url characters (decisions §2). */
export function generateKey(type: KeyType, environment: Environment, random: RandomBytes): string {
  const body = Buffer.from(random(BODY_BYTES)).toString('base64url');
  return `${PREFIXES[type]}_${environment}_${body}`;
}
