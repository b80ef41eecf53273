import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  hash,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type Config, ConfigError } from '../kernel/config';
import { ifExists } from '../kernel/if-exists';

export type TokenAlgorithm = 'HS256' | 'RS256' | 'EdDSA';

/** A key for tokens. It is used only with its own algorithm. */
export interface TokenKey {
  readonly kid: string;
  readonly alg: TokenAlgorithm;
  readonly verifying: KeyObject;
  /** Undefined if only the public key is configured. The key then only verifies tokens that another process signed. */
  readonly signing?: KeyObject;
}

/**
 * The first key signs, and all keys verify. To rotate keys, insert the new key at the start and keep the old key until
 * its last token has expired.
 */
export type KeyRing = readonly [TokenKey & { readonly signing: KeyObject }, ...TokenKey[]];

/** RFC 7518 §3.3. */
const RSA_BITS_MIN = 2048;
/** RFC 7518 §3.2: 256 bits. */
const SECRET_LENGTH_MIN = 32;

export const KID_LENGTH_MAX = 128;

const kid = z.string().min(1).max(KID_LENGTH_MAX);
const pem = z.string().min(1);
const ringSchema = z
  .array(
    z.discriminatedUnion('alg', [
      z.strictObject({
        kid,
        alg: z.literal('HS256'),
        secret: z.string().min(SECRET_LENGTH_MIN, `at least ${SECRET_LENGTH_MIN} characters`),
      }),
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

/**
 * Parses a key ring. Throws `ConfigError` if it is invalid. The error names the entry and the field, but contains no
 * value, because values may be secret.
 */
export function parseRing(text: string, source: string): KeyRing {
  const fail = (reason: string): never => {
    throw new ConfigError(`Invalid token keys in ${source}: ${reason}.`);
  };
  const parsed = ringSchema.safeParse(parseJson(text));
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!;
    return fail(path.length === 0 ? 'expected a JSON array of keys' : `${path.join('.')}: ${message}`);
  }
  const keys = parsed.data.map((entry) => tokenKey(entry, fail));
  if (new Set(keys.map((key) => key.kid)).size < keys.length) fail('two keys have the same kid');
  const [first, ...others] = keys;
  if (first?.signing === undefined)
    return fail('the first key signs tokens, so it needs a secret or private_key');
  return [{ ...first, signing: first.signing }, ...others];
}

/** Returns undefined, which no ring is, if the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function tokenKey(entry: RingEntry, fail: (reason: string) => never): TokenKey {
  const { kid, alg } = entry;
  if (entry.alg === 'HS256') {
    const secret = createSecretKey(entry.secret, 'utf8');
    return { kid, alg, verifying: secret, signing: secret };
  }
  const pair = keyPair(entry, fail);
  const { asymmetricKeyType, asymmetricKeyDetails } = pair.verifying;
  if (asymmetricKeyType !== (alg === 'RS256' ? 'rsa' : 'ed25519')) fail(`${kid}: not a key for ${alg}`);
  if (alg === 'RS256' && (asymmetricKeyDetails?.modulusLength ?? 0) < RSA_BITS_MIN)
    fail(`${kid}: shorter than ${RSA_BITS_MIN} bits`);
  return { kid, alg, ...pair };
}

function keyPair(
  entry: Exclude<RingEntry, { alg: 'HS256' }>,
  fail: (reason: string) => never,
): Pick<TokenKey, 'verifying' | 'signing'> {
  try {
    const signing = entry.private_key === undefined ? undefined : createPrivateKey(entry.private_key);
    const derived = signing === undefined ? undefined : createPublicKey(signing);
    const configured = entry.public_key === undefined ? undefined : createPublicKey(entry.public_key);
    const verifying =
      configured ?? derived ?? fail(`${entry.kid}: neither private_key nor public_key is set`);
    if (configured && derived && !configured.equals(derived))
      fail(`${entry.kid}: public_key does not belong to private_key`);
    return signing === undefined ? { verifying } : { verifying, signing };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    return fail(`${entry.kid}: not a PEM key`);
  }
}

const GENERATED_RING_FILE = 'jwt-keys.json';

/**
 * Loads the keys that sign and verify tokens: from JWT_KEYS_FILE, else from JWT_SECRET, else from a file in DATA_DIR. The
 * first process creates this file with a new key (mode 600). Rejects with `ConfigError`, which contains no secret.
 */
export async function loadTokenKeys(
  config: Pick<Config, 'JWT_KEYS_FILE' | 'JWT_SECRET' | 'DATA_DIR'>,
): Promise<KeyRing> {
  if (config.JWT_KEYS_FILE !== undefined)
    return parseRing(await readRing(config.JWT_KEYS_FILE), config.JWT_KEYS_FILE);
  if (config.JWT_SECRET !== undefined) {
    // The kid is a hash of the secret, so that all processes with the same secret accept each other's tokens.
    const kid = hash('sha256', config.JWT_SECRET, 'hex').slice(0, 12);
    return parseRing(JSON.stringify([{ kid, alg: 'HS256', secret: config.JWT_SECRET }]), 'JWT_SECRET');
  }
  const path = join(config.DATA_DIR, GENERATED_RING_FILE);
  return parseRing(await readOrGenerateRing(config.DATA_DIR, path), path);
}

async function readRing(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'error';
    throw new ConfigError(`Invalid JWT_KEYS_FILE: ${path} cannot be read (${code}).`);
  }
}

async function readOrGenerateRing(directory: string, path: string): Promise<string> {
  const stored = await ifExists(readFile(path, 'utf8'));
  if (stored !== undefined) return stored;
  await mkdir(directory, { recursive: true });
  const key = {
    kid: randomBytes(6).toString('hex'),
    alg: 'HS256',
    secret: randomBytes(48).toString('base64url'),
  };
  await createOnce(path, `${JSON.stringify([key], null, 2)}\n`);
  // Another process may have created the file first.
  return readFile(path, 'utf8');
}

/**
 * Creates the file unless it exists. Writes a temporary file and links it, so that other processes never see a
 * partial file and only one of them creates it.
 */
async function createOnce(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}-${randomBytes(4).toString('hex')}`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
    await link(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await file.close();
    await rm(temporary, { force: true });
  }
}
