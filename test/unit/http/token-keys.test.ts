import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadTokenKeys, parseRing } from '../../../shared/http/token-keys';
import { ConfigError, parseConfig } from '../../../shared/kernel/config';
import { withTempDir } from '../../support/temp-dir';
import { codecAt, entries, grant } from './token-fixtures';

const clock = { now_ms: Date.now() };
const load = (settings: Record<string, string>) => loadTokenKeys(parseConfig(settings));

describe('token keys', () => {
  test('JWT_SECRET is one HS256 key with the same kid in every process', async () => {
    const secret = { JWT_SECRET: 'a secret of more than thirty-two characters' };
    const [ring, other_ring] = [await load(secret), await load(secret)];
    expect(ring.map((key) => [key.alg, key.kid])).toEqual([
      ['HS256', expect.stringMatching(/^[0-9a-f]{12}$/)],
    ]);
    expect(codecAt(clock, other_ring).verify(codecAt(clock, ring).sign(grant, 60))).toBeDefined();
  });

  test('JWT_KEYS_FILE is a list of keys and has priority over JWT_SECRET', () =>
    withTempDir(async (folder) => {
      const path = join(folder, 'ring.json');
      writeFileSync(path, JSON.stringify([entries.EdDSA, entries.RS256, entries.HS256]));
      const ring = await load({ JWT_KEYS_FILE: path, JWT_SECRET: 'x'.repeat(32) });
      expect(ring.map((key) => key.kid)).toEqual(['ed', 'rs', 'hs']);
    }));

  test('without settings, concurrent processes generate one key file that only its owner can read', () =>
    withTempDir(async (folder) => {
      const DATA_DIR = join(folder, 'data');
      const rings = await Promise.all(Array.from({ length: 8 }, () => load({ DATA_DIR })));
      expect(new Set(rings.map(([key]) => key.kid)).size).toBe(1);
      const again = await load({ DATA_DIR });
      expect(codecAt(clock, again).verify(codecAt(clock, rings[0]!).sign(grant, 60))).toBeDefined();
      expect(readdirSync(DATA_DIR)).toEqual(['jwt-keys.json']);
      expect(statSync(join(DATA_DIR, 'jwt-keys.json')).mode & 0o777).toBe(0o600);
      expect(parseRing(readFileSync(join(DATA_DIR, 'jwt-keys.json'), 'utf8'), 'own')).toHaveLength(1);
    }));

  test('an invalid generated file is reported and not replaced', () =>
    withTempDir(async (folder) => {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'jwt-keys.json'), '[]');
      await expect(load({ DATA_DIR: folder })).rejects.toThrow(ConfigError);
      expect(readFileSync(join(folder, 'jwt-keys.json'), 'utf8')).toBe('[]');
    }));

  test('a missing JWT_KEYS_FILE is reported with its path', async () => {
    await expect(load({ JWT_KEYS_FILE: '/nowhere/ring.json' })).rejects.toThrow(
      '/nowhere/ring.json cannot be read (ENOENT)',
    );
  });

  const { private_key: _rs, ...rsPublic } = entries.RS256;
  test.each([
    ['a text that is not JSON', 'not json', /expected a JSON array/],
    ['an empty list', '[]', /expected a JSON array/],
    ['an unknown algorithm', [{ kid: 'a', alg: 'none', secret: 'x'.repeat(40) }], /0\.alg/],
    ['a short secret', [{ ...entries.HS256, secret: 'hunter2' }], /0\.secret: at least 32 characters/],
    ['an unknown field', [{ ...entries.HS256, public_key: 'x' }], /0/],
    ['two keys with the same kid', [entries.HS256, { ...entries.RS256, kid: 'hs' }], /same kid/],
    ['a first key that cannot sign', [rsPublic], /first key signs/],
    ['a key that is not PEM', [{ kid: 'a', alg: 'RS256', private_key: 'hunter2' }], /a: not a PEM key/],
    ['a key without private_key and public_key', [{ kid: 'a', alg: 'RS256' }], /a: neither/],
    ['a key of another algorithm', [{ ...entries.EdDSA, alg: 'RS256' }], /ed: not a key for RS256/],
    [
      'a public_key of another private_key',
      [{ ...entries.RS256, public_key: entries.EdDSA.public_key }],
      /public_key does not belong to private_key/,
    ],
  ])('%s is rejected with a message without secrets', (_name, ring, reason) => {
    const text = typeof ring === 'string' ? ring : JSON.stringify(ring);
    expect(() => parseRing(text, 'JWT_KEYS_FILE')).toThrow(reason);
    try {
      parseRing(text, 'JWT_KEYS_FILE');
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError);
      expect((error as Error).message).not.toMatch(/hunter2|PRIVATE/);
    }
  });
});
