import { realSystem } from '../../shared/kernel/system';
import { type Harness, type Reply, type Shop, startHarness } from '../support/harness';
import { ownNames } from '../support/own-servers';

const LIMITS = {
  RATE_LIMIT_PUBLIC: '60/1000/5',
  RATE_LIMIT_SECRET: '600/20/10',
  RATE_LIMIT_AUTH: '10/20',
};

const limitOf = (reply: Reply) => ({
  status: reply.status,
  limit: Number(reply.headers.get('x-ratelimit-limit')),
  remaining: Number(reply.headers.get('x-ratelimit-remaining')),
  tier: reply.headers.get('x-ratelimit-tier'),
});

describe('rate limits of the running service', () => {
  // The clock moves only when a test moves it, so that buckets are not refilled in between.
  const clock = { now_ms: Date.UTC(2026, 0, 31, 12) };
  const system = { ...realSystem, now: () => clock.now_ms };
  let harness: Harness;
  let shop: Shop;

  beforeAll(async () => {
    // On the embedded stores, because a test cannot move the clock of Redis.
    harness = await startHarness({ environment: LIMITS, system, servers: ownNames({}) });
    shop = await harness.newShop();
  });

  afterAll(() => harness.close());

  beforeEach(() => {
    clock.now_ms += 600_000;
  });

  const newToken = async (key: string): Promise<string> => harness.token(key);
  const read = (token?: string, path = '/api/store'): Promise<Reply> =>
    harness.request('GET', path, token === undefined ? {} : { token });

  test('a key can use its burst, and then one request per refill', async () => {
    const token = await newToken(shop.public.key);
    for (let left = 4; left >= 0; left--)
      expect(limitOf(await read(token))).toEqual({
        status: 200,
        limit: 60,
        remaining: left,
        tier: 'public_key',
      });
    const refused = await read(token);
    expect(limitOf(refused)).toEqual({ status: 429, limit: 60, remaining: 0, tier: 'public_key' });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(Number(refused.headers.get('x-ratelimit-reset'))).toBeGreaterThan(clock.now_ms / 1000);
    expect(refused.body).toEqual({
      code: 429,
      status: 'error',
      error: { code: 'RATE_LIMIT_EXCEEDED', message: 'Rate limit exceeded', tier: 'public_key' },
    });
    clock.now_ms += 1000;
    expect((await read(token)).status).toBe(200);
    expect((await read(token)).status).toBe(429);
  });

  test('all tokens of a key share one bucket; other keys and the IP address have their own', async () => {
    const [first, second] = [await newToken(shop.public.key), await newToken(shop.public.key)];
    const other = await newToken((await harness.newKey('public', [shop.store_id])).key);
    for (let i = 0; i < 5; i++) expect((await read(i % 2 ? first : second)).status).toBe(200);
    expect((await read(second)).status).toBe(429);
    for (let i = 0; i < 5; i++) expect((await read()).status).toBe(401);
    expect(limitOf(await read('forged'))).toEqual({
      status: 429,
      limit: 60,
      remaining: 0,
      tier: 'public_key',
    });
    expect((await read(other)).status).toBe(200);
  });

  test('a secret key has its own limits, and its daily limit ends at midnight UTC', async () => {
    const token = await newToken(shop.secret.key);
    expect(limitOf(await read(token))).toMatchObject({ status: 200, limit: 600, tier: 'secret_key' });
    let allowed = 1;
    for (; allowed < 40; allowed++) {
      clock.now_ms += 1000;
      const reply = await read(token);
      if (reply.status !== 429) continue;
      expect(reply.body.error.tier).toBe('secret_key');
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(3600);
      const midnight_s = Date.UTC(2026, 1, 1) / 1000;
      expect(Number(reply.headers.get('x-ratelimit-reset'))).toBe(midnight_s);
      break;
    }
    expect(allowed).toBe(20);
  });
});
