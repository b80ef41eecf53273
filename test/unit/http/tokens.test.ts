import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import jwt from 'jsonwebtoken';
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

  test('carry the claims of the interface, an issuer and an id of their own, under the key that signed', () => {
    const token = codec.sign(grant, 900);
    const [header, payload] = token.split('.');
    expect(decode(header)).toEqual({ alg, typ: 'JWT', kid: entries[alg].kid });
    expect(decode(payload)).toEqual({ ...claimsOf(), jti: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    expect(codec.verify(token)).toEqual(decode(payload));
    expect(codec.sign(grant, 900)).not.toBe(token);
  });

  test('are valid up to their last second, seen before or not', async () => {
    const token = codec.sign(grant, 60);
    clock.now_ms = NOW_MS + 59_999;
    expect(codec.verify(token)).toBeDefined();
    clock.now_ms = NOW_MS + 60_000;
    expect(await conditionOf(() => codec.verify(token))).toBe('token_expired');
    const fresh = codecAt(clock, ring(entries[alg]));
    expect(await conditionOf(() => fresh.verify(token))).toBe('token_expired');
    expect(await conditionOf(() => codec.verify(token))).toBe('token_expired');
  });

  test('changed anywhere are invalid', async () => {
    const token = codec.sign(grant, 900);
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom(...'AZaz09-_.'), async (at, letter) => {
        fc.pre(token[at] !== letter);
        const changed = token.slice(0, at) + letter + token.slice(at + 1);
        expect(await conditionOf(() => codec.verify(changed))).toBe('token_invalid');
      }),
      { numRuns: 200 },
    );
  });

  test('of another issuer are invalid', async () => {
    const token = codecAt(clock, ring(entries[alg]), 'somebody-else').sign(grant, 900);
    expect(await conditionOf(() => codec.verify(token))).toBe('token_invalid');
  });

  test('that are expired and forged are invalid, not expired', async () => {
    const token = codec.sign(grant, 60);
    clock.now_ms += 120_000;
    const forged = `${token.slice(0, token.lastIndexOf('.'))}.${Buffer.alloc(64).toString('base64url')}`;
    expect(await conditionOf(() => codec.verify(forged))).toBe('token_invalid');
  });
});

describe('what is no token', () => {
  const codec = codecAt(clock, ring(entries.HS256, entries.RS256, entries.EdDSA));
  const hs = { alg: 'HS256', typ: 'JWT', kid: 'hs' };
  const refuse = async (token: string): Promise<void> =>
    expect(await conditionOf(() => codec.verify(token))).toBe('token_invalid');

  test.each(['', 'x', 'a.b', 'a.b.c', '..', 'a.b.c.d', '💥.💥.💥', `${encode({ alg: 'HS256' })}.e30.`])(
    '%p',
    (token) => refuse(token),
  );

  test('anything: never another error than token_invalid', () =>
    fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), async (text) => refuse(text)),
      { numRuns: 200 },
    ));

  test('alg none, with or without a signature', async () => {
    for (const alg of ['none', 'None', 'NONE', '']) {
      await refuse(`${encode({ alg, typ: 'JWT', kid: 'hs' })}.${encode(claimsOf())}.`);
      await refuse(`${encode({ alg, typ: 'JWT', kid: 'hs' })}.${encode(claimsOf())}.AAAA`);
    }
  });

  test('an RSA or Ed25519 public key used as an HMAC secret', async () => {
    for (const { kid, public_key } of [entries.RS256, entries.EdDSA]) {
      await refuse(signHs({ ...hs, kid }, claimsOf(), public_key));
      await refuse(signHs(hs, claimsOf(), public_key));
    }
  });

  test('a key used with an algorithm that is not its own', async () => {
    await refuse(jwt.sign(claimsOf(), entries.HS256.secret, { algorithm: 'HS512', keyid: 'hs' }));
    await refuse(jwt.sign(claimsOf(), entries.RS256.private_key, { algorithm: 'PS256', keyid: 'rs' }));
    await refuse(jwt.sign(claimsOf(), entries.RS256.private_key, { algorithm: 'RS256', keyid: 'ed' }));
  });

  test('no kid, or one that is not in the ring', async () => {
    await refuse(signHs({ alg: 'HS256', typ: 'JWT' }, claimsOf(), entries.HS256.secret));
    await refuse(signHs({ ...hs, kid: 'other' }, claimsOf(), entries.HS256.secret));
    await refuse(signHs({ ...hs, kid: { toString: 1 } }, claimsOf(), entries.HS256.secret));
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
  ])('well signed, but %s is %p', async (claim, value) => {
    await refuse(signHs(hs, claimsOf({ [claim]: value }), entries.HS256.secret));
  });

  test('the same, whole, is one', () => {
    expect(codec.verify(signHs(hs, claimsOf(), entries.HS256.secret))).toEqual(claimsOf());
  });
});

describe('a ring that turns', () => {
  test('old tokens go on, new ones are signed by the new key, and end with their key', async () => {
    const before = codecAt(clock, ring(entries.HS256)).sign(grant, 900);
    const turned = codecAt(clock, ring(entries.EdDSA, entries.HS256));
    expect(turned.verify(before).api_key_id).toBe(grant.api_key_id);
    const after = turned.sign(grant, 900);
    expect(decode(after.split('.')[0]).kid).toBe('ed');
    const done = codecAt(clock, ring(entries.EdDSA));
    expect(done.verify(after)).toBeDefined();
    expect(await conditionOf(() => done.verify(before))).toBe('token_invalid');
  });

  test('a public half verifies what its other half signed elsewhere', () => {
    const { private_key: _kept, ...public_half } = entries.RS256;
    const token = codecAt(clock, ring(entries.RS256)).sign(grant, 900);
    expect(codecAt(clock, ring(entries.HS256, public_half)).verify(token)).toBeDefined();
  });
});

describe('the memory of verified tokens', () => {
  test('a token that was checked costs no second signature, and the memory has an end', () => {
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
