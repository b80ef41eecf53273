import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import jwt from 'jsonwebtoken';
import { TokenCodec } from '../../../shared/http/tokens';
import { realSystem } from '../../../shared/kernel/system';
import { cases } from '../../support/long';
import { codecAt, conditionOf, entries, grant, ISSUER, ring } from './token-fixtures';

const NOW_MS = Date.UTC(2026, 0, 31, 12);
const clock = { now_ms: NOW_MS };
const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
const decode = (part: string | undefined) => JSON.parse(Buffer.from(part ?? '', 'base64url').toString());
const claimsOf = (changes: object = {}) => ({
  ...grant,
  iss: ISSUER,
  jti: 'x',
  iat: NOW_MS / 1000,
  exp: NOW_MS / 1000 + 900,
  ...changes,
});
const signHs = (header: object, payload: object, secret: string): string => {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
};

beforeEach(() => {
  clock.now_ms = NOW_MS;
});

describe.each(['HS256', 'RS256', 'EdDSA'] as const)('%s tokens', (alg) => {
  const codec = codecAt(clock, ring(entries[alg]));

  test('contain the claims of the interface, the issuer, a unique id and the kid', () => {
    const token = codec.sign(grant, 900);
    const [header, payload] = token.split('.');
    expect(decode(header)).toEqual({ alg, typ: 'JWT', kid: entries[alg].kid });
    expect(decode(payload)).toEqual({ ...claimsOf(), jti: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    expect(codec.verify(token)).toEqual(decode(payload));
    expect(codec.sign(grant, 900)).not.toBe(token);
  });

  test('expire at their last second, whether cached or not', async () => {
    const token = codec.sign(grant, 60);
    clock.now_ms = NOW_MS + 59_999;
    expect(codec.verify(token)).toBeDefined();
    clock.now_ms = NOW_MS + 60_000;
    expect(await conditionOf(() => codec.verify(token))).toBe('token_expired');
    const fresh = codecAt(clock, ring(entries[alg]));
    expect(await conditionOf(() => fresh.verify(token))).toBe('token_expired');
    expect(await conditionOf(() => codec.verify(token))).toBe('token_expired');
  });

  test('are invalid if any character is changed', async () => {
    const token = codec.sign(grant, 900);
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom(...'AZaz09-_.'), async (at, letter) => {
        fc.pre(token[at] !== letter);
        const changed = token.slice(0, at) + letter + token.slice(at + 1);
        expect(await conditionOf(() => codec.verify(changed))).toBe('token_invalid');
      }),
      cases(30),
    );
  });

  test('are invalid if they have another issuer', async () => {
    const token = codecAt(clock, ring(entries[alg]), 'somebody-else').sign(grant, 900);
    expect(await conditionOf(() => codec.verify(token))).toBe('token_invalid');
  });

  test('are invalid, not expired, if they are both forged and expired', async () => {
    const token = codec.sign(grant, 60);
    clock.now_ms += 120_000;
    const forged = `${token.slice(0, token.lastIndexOf('.'))}.${Buffer.alloc(64).toString('base64url')}`;
    expect(await conditionOf(() => codec.verify(forged))).toBe('token_invalid');
  });
});

describe('invalid tokens', () => {
  const codec = codecAt(clock, ring(entries.HS256, entries.RS256, entries.EdDSA));
  const hs = { alg: 'HS256', typ: 'JWT', kid: 'hs' };
  const expectInvalid = async (token: string): Promise<void> =>
    expect(await conditionOf(() => codec.verify(token))).toBe('token_invalid');

  test.each(['', 'x', 'a.b', 'a.b.c', '..', 'a.b.c.d', '💥.💥.💥', `${encode({ alg: 'HS256' })}.e30.`])(
    '%p is invalid',
    (token) => expectInvalid(token),
  );

  test('any text fails with token_invalid and no other error', () =>
    fc.assert(
      fc.asyncProperty(fc.uint16Array(), async (codes) => expectInvalid(String.fromCharCode(...codes))),
      cases(50),
    ));

  test('algorithm none is rejected, with or without a signature', async () => {
    for (const alg of ['none', 'None', 'NONE', '']) {
      await expectInvalid(`${encode({ alg, typ: 'JWT', kid: 'hs' })}.${encode(claimsOf())}.`);
      await expectInvalid(`${encode({ alg, typ: 'JWT', kid: 'hs' })}.${encode(claimsOf())}.AAAA`);
    }
  });

  test('an RSA or Ed25519 public key used as an HMAC secret is rejected', async () => {
    for (const { kid, public_key } of [entries.RS256, entries.EdDSA]) {
      await expectInvalid(signHs({ ...hs, kid }, claimsOf(), public_key));
      await expectInvalid(signHs(hs, claimsOf(), public_key));
    }
  });

  test('a key used with another algorithm than its own is rejected', async () => {
    await expectInvalid(jwt.sign(claimsOf(), entries.HS256.secret, { algorithm: 'HS512', keyid: 'hs' }));
    await expectInvalid(jwt.sign(claimsOf(), entries.RS256.private_key, { algorithm: 'PS256', keyid: 'rs' }));
    await expectInvalid(jwt.sign(claimsOf(), entries.RS256.private_key, { algorithm: 'RS256', keyid: 'ed' }));
  });

  test('a missing or unknown kid is rejected', async () => {
    await expectInvalid(signHs({ alg: 'HS256', typ: 'JWT' }, claimsOf(), entries.HS256.secret));
    await expectInvalid(signHs({ ...hs, kid: 'other' }, claimsOf(), entries.HS256.secret));
    await expectInvalid(signHs({ ...hs, kid: { toString: 1 } }, claimsOf(), entries.HS256.secret));
  });

  test.each([
    ['env', undefined],
    ['env', 'prod'],
    ['api_key_id', 'not-an-id'],
    ['key_type', 'admin'],
    ['stores', 'all'],
    ['permissions', ['write:everything']],
    ['exp', undefined],
    ['exp', '1800000000'],
    ['iat', null],
    ['iss', undefined],
    ['jti', undefined],
  ])('a signed token whose %s is %p is rejected', async (claim, value) => {
    await expectInvalid(signHs(hs, claimsOf({ [claim]: value }), entries.HS256.secret));
  });

  test('the same token with all claims is accepted', () => {
    expect(codec.verify(signHs(hs, claimsOf(), entries.HS256.secret))).toEqual(claimsOf());
  });
});

describe('key rotation', () => {
  test('the new key signs, and tokens of the old key are valid until that key is removed', async () => {
    const before = codecAt(clock, ring(entries.HS256)).sign(grant, 900);
    const both = codecAt(clock, ring(entries.EdDSA, entries.HS256));
    expect(both.verify(before).api_key_id).toBe(grant.api_key_id);
    const after = both.sign(grant, 900);
    expect(decode(after.split('.')[0]).kid).toBe('ed');
    const new_only = codecAt(clock, ring(entries.EdDSA));
    expect(new_only.verify(after)).toBeDefined();
    expect(await conditionOf(() => new_only.verify(before))).toBe('token_invalid');
  });

  test('a public key verifies tokens that another process signed with its private key', () => {
    const { private_key: _private, ...public_only } = entries.RS256;
    const token = codecAt(clock, ring(entries.RS256)).sign(grant, 900);
    expect(codecAt(clock, ring(entries.HS256, public_only)).verify(token)).toBeDefined();
  });
});

describe('the cache of verified tokens', () => {
  test('returns the same claims for a cached token, and evicts the oldest of more than 10,000 tokens', () => {
    const codec = codecAt(clock, ring(entries.HS256));
    const token = codec.sign(grant, 900);
    expect(codec.verify(token)).toBe(codec.verify(token));
    const first = codec.verify(token);
    for (let i = 0; i < 10_000; i++)
      codec.verify(signHs({ alg: 'HS256', kid: 'hs' }, claimsOf({ jti: `${i}` }), entries.HS256.secret));
    expect(codec.verify(token)).toEqual(first);
    expect(codec.verify(token)).not.toBe(first);
  });
});

describe('a token of an unknown key', () => {
  const reported: string[] = [];
  const options = { ring: ring(entries.HS256), issuer: ISSUER };
  const system = { ...realSystem, now: () => clock.now_ms };
  const codec = new TokenCodec({ ...options, system, onUnknownKey: (kid) => reported.push(kid) });
  const { secret } = entries.HS256;
  const refuse = async (header: object, claims: object): Promise<string[]> => {
    reported.length = 0;
    const token = signHs({ alg: 'HS256', typ: 'JWT', ...header }, claims, secret);
    expect(await conditionOf(() => codec.verify(token))).toBe('token_invalid');
    return [...reported];
  };

  test('is reported if it could be one of another process', async () => {
    const jti = '01890a5d-ac96-774b-bcce-b302099a8051';
    expect(await refuse({ kid: 'other' }, claimsOf({ jti }))).toEqual(['other']);
  });

  test.each([
    ['it has expired', { kid: 'other' }, claimsOf({ exp: NOW_MS / 1000 - 1 })],
    ['another issuer made it', { kid: 'other' }, claimsOf({ iss: 'another' })],
    ['its claims are not those of a token', { kid: 'other' }, { iss: ISSUER }],
    ['its key has no name', {}, claimsOf()],
    ['the name of its key is too long', { kid: 'x'.repeat(129) }, claimsOf()],
    ['its key is known, with another algorithm', { kid: 'hs', alg: 'RS256' }, claimsOf()],
  ])('is not reported if %s', async (_what, header, claims) => {
    expect(await refuse(header, claims)).toEqual([]);
  });
});
