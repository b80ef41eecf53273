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

export type TokenAlgorithm = 'HS256' | 'RS256' | 'EdDSA';

/** A key is only ever used with its own algorithm. */
export interface TokenKey {
  readonly kid: string;
  readonly alg: TokenAlgorithm;
  readonly verifying: KeyObject;
  /** Missing if only the public half is given: such a key verifies what was signed elsewhere or before. */
  readonly signing?: KeyObject;
}

/** The first key signs, all verify. A new key is put first; the one before stays until its last token has expired. */
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

/** Parses a key ring. Throws `ConfigError`, which names the entry and its field and never quotes a value. */
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

const OWN_RING_FILE = 'jwt-keys.json';

/**
 * Loads the keys that sign and verify tokens: from JWT_KEYS_FILE, else JWT_SECRET, else a ring that is generated once
 * and stored in DATA_DIR (mode 600) for all processes on that folder. Throws `ConfigError`, never with a secret.
 */
export async function loadTokenKeys(
  config: Pick<Config, 'JWT_KEYS_FILE' | 'JWT_SECRET' | 'DATA_DIR'>,
): Promise<KeyRing> {
  if (config.JWT_KEYS_FILE !== undefined)
    return parseRing(await readRing(config.JWT_KEYS_FILE), config.JWT_KEYS_FILE);
  if (config.JWT_SECRET !== undefined) {
    // Named by its hash, so that every process with the same secret accepts the others' tokens.
    const name = hash('sha256', config.JWT_SECRET, 'hex').slice(0, 12);
    return parseRing(JSON.stringify([{ kid: name, alg: 'HS256', secret: config.JWT_SECRET }]), 'JWT_SECRET');
  }
  const path = join(config.DATA_DIR, OWN_RING_FILE);
  return parseRing(await ownRing(config.DATA_DIR, path), path);
}

async function readRing(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'error';
    throw new ConfigError(`configuration: JWT_KEYS_FILE: ${path} cannot be read (${code})`);
  }
}

async function ownRing(directory: string, path: string): Promise<string> {
  const kept = await readIfThere(path);
  if (kept !== undefined) return kept;
  await mkdir(directory, { recursive: true });
  const made = {
    kid: randomBytes(6).toString('hex'),
    alg: 'HS256',
    secret: randomBytes(48).toString('base64url'),
  };
  await createOnce(path, `${JSON.stringify([made], null, 2)}\n`);
  return readFile(path, 'utf8');
}

/** Writes the file under another name, then links it: other processes see all of it or none, and only one link wins. */
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

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
