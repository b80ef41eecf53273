import { createApiKey, setApiKeyLimits } from '../../services/command/api-key';
import type { WriteContext } from '../../services/command/execute';
import type { KeyLimits } from '../../shared/catalog/api-key/api-key';
import { realSystem } from '../../shared/kernel/system';
import { type Harness, type Reply, type Shop, startHarness, type TestKey } from '../support/harness';
import { ownNames } from '../support/own-servers';

const OF_TYPE = {
  RATE_LIMIT_PUBLIC: '60/20/5',
  RATE_LIMIT_SECRET: '600/10000/10',
  RATE_LIMIT_AUTH: '10/20',
};
const OWN: KeyLimits = { per_minute: 12, per_day: 15, burst: 8 };

describe('a key with limits of its own', () => {
  // The clock moves only when a test moves it, so that buckets are not refilled in between.
  const clock = { now_ms: Date.UTC(2026, 0, 31, 12) };
  let harness: Harness;
  let shop: Shop;
  let writes = 0;

  beforeAll(async () => {
    const system = { ...realSystem, now: () => clock.now_ms };
    // On the embedded stores, because a test cannot move the clock of Redis.
    harness = await startHarness({ environment: OF_TYPE, system, servers: ownNames({}) });
    shop = await harness.newShop();
  });

  afterAll(() => harness.close());

  const context = (): WriteContext => ({ source: 'cli', request_id: `key-limits-${++writes}` });

  async function newKey(
    type: 'public' | 'secret',
    limits: KeyLimits | null,
  ): Promise<TestKey & { id: never }> {
    const { account_id, deps } = harness;
    const input = { account_id, name: 'own', type, stores: [shop.store_id], limits };
    const { id, key } = await createApiKey(deps, context(), input);
    await harness.settled();
    return { id: id as never, key, token: await harness.token(key) };
  }

  async function change(key: { id: never }, limits: KeyLimits | null): Promise<void> {
    await setApiKeyLimits(harness.deps, context(), key.id, limits);
    await harness.settled();
    // A process caches the state of a key for at most a second.
    clock.now_ms += 1_000;
  }

  const headersOf = ({ status, headers }: Reply) => ({
    status,
    ...Object.fromEntries(
      ['limit', 'remaining', 'tier'].map((name) => [name, headers.get(`x-ratelimit-${name}`)]),
    ),
  });

  test('each item of a batch counts, and a batch for which too few requests are left writes nothing', async () => {
    const { token } = await newKey('secret', { per_minute: 60, per_day: 1_000, burst: 10 });
    const batch = (count: number, key?: string) => {
      const body = { title: 'Tea', price_currency: 'EUR', price_amount: 1, vendor: 'Batch' };
      const items = Array.from({ length: count }, () => ({ action: 'create', body }));
      const headers = { ...(key && { 'idempotency-key': key }) };
      return harness.request('POST', '/api/publications/batch', { token, body: { items }, headers });
    };
    const written = async () =>
      (await harness.request('GET', '/api/publications?vendor=Batch', { token })).body.meta.item_count;
    expect(headersOf(await batch(4, 'four'))).toMatchObject({ status: 200, remaining: '6' });
    const refused = await batch(7);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    expect(headersOf(await batch(4, 'four'))).toMatchObject({ status: 200, remaining: '4' });
    clock.now_ms += 60_000;
    expect(headersOf(await batch(11))).toMatchObject({ status: 200, remaining: '0' });
    clock.now_ms += 60_000;
    expect(await written()).toBe(15);
  });

  test('each page of server-sent events but the last counts, and the stream ends at the limit', async () => {
    const writer = await newKey('secret', { per_minute: 1_000, per_day: 10_000, burst: 1_000 });
    const body = { title: 'Tea', price_currency: 'EUR', price_amount: 1 };
    const items = Array.from({ length: 50 }, () => ({ action: 'create', body }));
    const { token } = writer;
    // A batch of all of them is refused by a busy machine, because it would not end in time.
    for (let batch = 0; batch < 7; batch++) {
      const { status } = await harness.request('POST', '/api/publications/batch', { token, body: { items } });
      expect(status).toBe(200);
    }
    const reader = await newKey('secret', { per_minute: 60, per_day: 1_000, burst: 3 });
    const headers = { authorization: `Bearer ${reader.token}` };
    const reply = await fetch(`${harness.url}/api/changes?live=sse&resource=publication`, { headers });
    expect((await reply.text()).match(/event: data/g)).toHaveLength(3);
    const refused = await harness.request('GET', '/api/changes', { token: reader.token });
    expect(headersOf(refused)).toMatchObject({ status: 429, remaining: '0' });
  });

  test('shows them in every answer, errors and refusals included', async () => {
    const { token } = await newKey('public', OWN);
    const requests = [
      ['GET', '/api/store', 200],
      ['HEAD', '/api/store', 200],
      ['GET', '/api/nothing', 404],
      ['PUT', '/api/store', 405],
      ['POST', '/api/listing', 403],
      ['GET', '/api/listing/no-uuid', 400],
      ['GET', '/api/publications?limit=51', 400],
      ['GET', '/api/store', 200],
      ['GET', '/api/store', 429],
    ] as const;
    for (const [index, [method, path, status]] of requests.entries())
      expect(headersOf(await harness.request(method, path, { token }))).toEqual({
        status,
        limit: '12',
        remaining: String(Math.max(0, 7 - index)),
        tier: 'public_key',
      });
    const refused = await harness.request('GET', '/api/store', { token });
    // 12 requests per minute: the next token after five seconds.
    expect(refused.headers.get('retry-after')).toBe('5');
    expect(refused.body.error).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', tier: 'public_key' });
  });

  test('has the limits of its type again when its own are removed', async () => {
    const key = await newKey('public', null);
    const limit = async () =>
      (await harness.request('GET', '/api/store', { token: key.token })).headers.get('x-ratelimit-limit');
    expect(await limit()).toBe('60');
    await change(key, OWN);
    expect(await limit()).toBe('12');
    await change(key, null);
    expect(await limit()).toBe('60');
  });
});
