import { createPrivateKey, createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { ConfigError } from '../kernel/config';

export type TokenAlgorithm = 'HS256' | 'RS256' | 'EdDSA';

/** A key is only ever used with its own algorithm. */
export interface TokenKey {
  readonly kid: string;
  readonly alg: TokenAlgorithm;
  readonly verifying: KeyObject;
  /** Missing where only the public half is given: such a key verifies what was signed elsewhere or before. */
  readonly signing?: KeyObject;
}

/** The first signs, all verify: a new key is put first, and the one before stays until its last token has expired. */
export type KeyRing = readonly [TokenKey & { readonly signing: KeyObject }, ...TokenKey[]];

const RSA_BITS_MIN = 2048;

const kid = z.string().min(1).max(128);
const pem = z.string().min(1);
const ringSchema = z
  .array(
    z.discriminatedUnion('alg', [
      z.strictObject({ kid, alg: z.literal('HS256'), secret: z.string().min(32, 'at least 32 characters') }),
      z.strictObject({
        kid,
        alg: z.literal('RS256'),
        private_key: pem.optional(),
        public_key: pem.optional(),
      }),
      z.strictObject({
        kid,
        alg: z.literal('EdDSA'),
        private_key: pem.optional(),
        public_key: pem.optional(),
      }),
    ]),
  )
  .min(1);

type RingEntry = z.infer<typeof ringSchema>[number];

/** Errors name the entry and its field and never quote what is there. */
export function parseRing(text: string, source: string): KeyRing {
  const refuse = (what: string): never => {
    throw new ConfigError(`configuration: token keys of ${source}: ${what}`);
  };
  const parsed = ringSchema.safeParse(parseJson(text));
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!;
    return refuse(path.length === 0 ? 'not a JSON array of keys' : `${path.join('.')}: ${message}`);
  }
  const keys = parsed.data.map((entry) => tokenKey(entry, refuse));
  if (new Set(keys.map((key) => key.kid)).size < keys.length) refuse('two keys have the same kid');
  const [first, ...others] = keys;
  if (first?.signing === undefined)
    return refuse('the first key signs and so needs its secret or private_key');
  return [{ ...first, signing: first.signing }, ...others];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function tokenKey(entry: RingEntry, refuse: (what: string) => never): TokenKey {
  const { kid, alg } = entry;
  if (entry.alg === 'HS256') {
    const secret = createSecretKey(entry.secret, 'utf8');
    return { kid, alg, verifying: secret, signing: secret };
  }
  const pair = keyPair(entry, refuse);
  const { asymmetricKeyType, asymmetricKeyDetails } = pair.verifying;
  if (asymmetricKeyType !== (alg === 'RS256' ? 'rsa' : 'ed25519')) refuse(`${kid}: not a key for ${alg}`);
  if (alg === 'RS256' && (asymmetricKeyDetails?.modulusLength ?? 0) < RSA_BITS_MIN)
    refuse(`${kid}: shorter than ${RSA_BITS_MIN} bits`);
  return { kid, alg, ...pair };
}

function keyPair(
  entry: Exclude<RingEntry, { alg: 'HS256' }>,
  refuse: (what: string) => never,
): Pick<TokenKey, 'verifying' | 'signing'> {
  try {
    const signing = entry.private_key === undefined ? undefined : createPrivateKey(entry.private_key);
    const own = signing === undefined ? undefined : createPublicKey(signing);
    const given = entry.public_key === undefined ? undefined : createPublicKey(entry.public_key);
    const verifying = given ?? own ?? refuse(`${entry.kid}: neither private_key nor public_key`);
    if (given && own && !given.equals(own)) refuse(`${entry.kid}: public_key and private_key are no pair`);
    return signing === undefined ? { verifying } : { verifying, signing };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    return refuse(`${entry.kid}: not a PEM key`);
  }
}
