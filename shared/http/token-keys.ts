import { hash, randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, ConfigError } from '../kernel/config';
import { type KeyRing, parseRing } from './key-ring';

const OWN_RING_FILE = 'jwt-keys.json';

/**
 * The keys that tokens are signed and verified with: JWT_KEYS_FILE, else JWT_SECRET, else a ring that is made once and
 * kept in DATA_DIR (mode 600), the same for all processes on that folder. Throws `ConfigError`, never with a secret.
 */
export async function loadTokenKeys(
  config: Pick<Config, 'JWT_KEYS_FILE' | 'JWT_SECRET' | 'DATA_DIR'>,
): Promise<KeyRing> {
  if (config.JWT_KEYS_FILE !== undefined)
    return parseRing(await readRing(config.JWT_KEYS_FILE), config.JWT_KEYS_FILE);
  if (config.JWT_SECRET !== undefined) {
    // Named by its hash, so that every process with the same secret knows the others' tokens.
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

/** Written whole under another name, then linked: another process sees all of it or none, and only one link wins. */
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
