import { createApiKey } from '../../services/command/api-key';
import { realSystem } from '../../shared/kernel/system';
import { type Harness, type Reply, type RequestOptions, startHarness } from '../support/harness';
import { MediaShop } from './media-shop';
import { expectError } from './replies';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };
/** A publication whose answer has about 90 KB, close to the largest that the interface accepts. */
const LONG_TEA = {
  ...TEA,
  description: 'ж'.repeat(10_000),
  description_html: `<p>${'щ'.repeat(35_000)}</p>`,
};

let media: MediaShop;
let harness: Harness;
let key_count = 0;

beforeAll(async () => {
  media = await MediaShop.open();
  harness = media.harness;
});
afterAll(() => harness.close());

const newKey = (): string => `00000000-0000-4000-8000-${String(++key_count).padStart(12, '0')}`;
const send = (method: string, path: string, key: string, options: RequestOptions = {}): Promise<Reply> => {
  const headers = { ...options.headers, 'idempotency-key': key };
  return harness.request(method, path, { token: media.token, ...options, headers });
};

describe('with IDEMPOTENCY_RECORDS_MAX', () => {
  const DAY_S = 86_400;
  let limited: Harness;
  let token: string;
  let ahead_ms = 0;

  beforeAll(async () => {
    const now = (): number => Date.now() + ahead_ms;
    limited = await startHarness({
      environment: { IDEMPOTENCY_RECORDS_MAX: '3' },
      system: { ...realSystem, now },
    });
  });
  afterAll(() => limited.close());

  const post = (key?: string): Promise<Reply> =>
    limited.request('POST', '/api/publication', {
      token,
      body: TEA,
      ...(key !== undefined && { headers: { 'idempotency-key': key } }),
    });

  test('a further key of the same API key is 429 for 24 hours, and nothing is written', async () => {
    const { secret, store_id } = await limited.newShop();
    token = secret.token;
    const first = await post('one');
    expect([first.status, (await post('two')).status, (await post('three')).status]).toEqual([201, 201, 201]);
    const refused = await post('four');
    expectError(refused, 429, 'LIMIT_EXCEEDED');
    expect(refused.body.error).toMatchObject({
      message: expect.stringContaining('Idempotency-Key') as string,
      tier: 'secret_key',
    });
    const retry_after_s = Number(refused.headers.get('retry-after'));
    expect(retry_after_s).toBeGreaterThan(DAY_S - 60);
    expect(retry_after_s).toBeLessThanOrEqual(DAY_S);
    const { headers, text } = await post('one');
    expect([text, headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    const list = await limited.request('GET', '/api/publications', { token });
    expect(list.body.meta.item_count).toBe(3);
    // Writes without a key, and other API keys, are not limited.
    expect((await post()).status).toBe(201);
    const other = await limited.newKey('secret', [store_id]);
    token = other.token;
    expect((await post('four')).status).toBe(201);
    ahead_ms = DAY_S * 1_000;
    try {
      token = await limited.token(secret.key);
      expect((await post('four')).status).toBe(201);
    } finally {
      ahead_ms = 0;
    }
    const metrics = await limited.request('GET', '/metrics');
    expect(metrics.text).toContain('catalog_idempotent_requests_total{outcome="quota_reached"} 1\n');
  });
});

describe('with IDEMPOTENCY_RECORDS_MAX below the limits of a key', () => {
  test('a key with limits of its own is not refused within them', async () => {
    const limited = await startHarness({ environment: { IDEMPOTENCY_RECORDS_MAX: '1' } });
    try {
      const { deps, account_id } = limited;
      const input = {
        ...({ account_id, name: 'own', type: 'secret' } as const),
        stores: [await limited.newStore()],
        limits: { per_minute: 3, per_day: 3, burst: 3 },
      };
      const { key } = await createApiKey(deps, { source: 'cli', request_id: 'own' }, input);
      await limited.settled();
      const token = await limited.token(key);
      for (let n = 0; n < 3; n++) {
        const headers = { 'idempotency-key': newKey() };
        const reply = await limited.request('POST', '/api/publication', { token, body: TEA, headers });
        expect(reply.status).toBe(201);
      }
    } finally {
      await limited.close();
    }
  });
});

describe('a repeated answer is the first one to the byte', () => {
  interface Write {
    readonly method: string;
    readonly path: string;
    readonly body?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
  }
  const HEADERS = ['location', 'etag', 'x-catalog-position', 'preference-applied', 'content-type'];
  const sent: { readonly key: string; readonly write: Write; readonly first: Reply }[] = [];

  const write = async (write: Write): Promise<Reply> => {
    const key = newKey();
    const { method, path, ...options } = write;
    const first = await send(method, path, key, options);
    expect([first.status < 300, first.headers.get('idempotent-replayed')]).toEqual([true, null]);
    sent.push({ key, write, first });
    return first;
  };
  const idOf = (reply: Reply): string => reply.body.data.id;

  /** Repeats all writes so far. */
  const expectReplays = async (): Promise<void> => {
    for (const { key, write, first } of sent) {
      const { method, path, ...options } = write;
      const again = await send(method, path, key, options);
      const what = `${method} ${path}`;
      expect([what, again.status, again.text]).toEqual([what, first.status, first.text]);
      for (const name of HEADERS)
        expect([what, name, again.headers.get(name)]).toEqual([what, name, first.headers.get(name)]);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
    }
  };

  const view = async (path: string): Promise<void> => {
    await harness.request('GET', path, { token: media.shop.public.token });
    await harness.service.page_views.flush();
    await harness.settled();
  };

  test('after everything that it shows was changed, rendered, viewed and deleted', async () => {
    const picture = idOf(
      await write({
        method: 'POST',
        path: '/api/media?alt=A%20cup',
        body: new Blob([new Uint8Array(media.png)]),
        headers: { 'content-type': 'image/png' },
      }),
    );
    const listing = idOf(await write({ method: 'POST', path: '/api/listing', body: { name: 'Teas' } }));
    const created = await write({
      method: 'POST',
      path: '/api/publication',
      body: { ...LONG_TEA, listing_id: listing, media_ids: [picture], visibility: 'private' },
    });
    const path = `/api/publication/${idOf(created)}`;
    expect(created.body.data.stats).toEqual({ media_count: 1, view_count: 0 });
    await write({ method: 'PATCH', path, body: { visibility: 'public', title: 'Viewed' } });
    await view(path);
    const viewed = await write({ method: 'PATCH', path, body: {} });
    expect(viewed.body.data.stats).toEqual({ media_count: 1, view_count: 1 });
    await write({ method: 'PATCH', path, body: { price_amount: 1 }, headers: { prefer: 'respond-async' } });
    await harness.settled();
    const counted = await write({
      method: 'PATCH',
      path: `/api/listing/${listing}`,
      body: { media_ids: [picture] },
    });
    expect(counted.body.data.stats).toEqual({ media_count: 1, publication_count: 1 });
    await expectReplays();

    await media.ready(picture);
    await write({ method: 'DELETE', path: `/api/media/${picture}` });
    await view(path);
    const without_media = await write({ method: 'PATCH', path, body: { description_html: null } });
    expect(without_media.body.data.stats).toEqual({ media_count: 0, view_count: 2 });
    await expectReplays();

    await write({ method: 'DELETE', path });
    await write({ method: 'DELETE', path: `/api/listing/${listing}` });
    await expectReplays();
  });
});
