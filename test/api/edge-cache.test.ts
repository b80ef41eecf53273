import { reinstateAccount, suspendAccount } from '../../services/command/account';
import { revokeApiKey, setApiKeyLimits } from '../../services/command/api-key';
import { changeStoreStatus } from '../../services/command/store';
import { PARTITION_COUNT, partitionOf } from '../../shared/catalog/events/partitions';
import type { ApiKeyId } from '../../shared/kernel/ids';
import { type Harness, type Reply, type RequestOptions, type Shop, startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';

const context = (request_id: string) => ({ source: 'cli', request_id: `edge-${request_id}` }) as const;

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };

describe('the edge cache', () => {
  let harness: Harness;
  let shop: Shop;
  let tea: string;
  let shelf: string;

  beforeAll(async () => {
    harness = await startHarness({ environment: { VIEW_FLUSH_INTERVAL_S: '3600' } });
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    shop = await harness.newShop();
    shelf = (await write('POST', '/api/listing', { name: 'Shelf' })).body.data.id;
    tea = await created({ listing_id: shelf });
  });

  const write = (method: string, path: string, body?: object): Promise<Reply> =>
    harness.request(method, path, { token: shop.secret.token, body });
  const created = async (body: object = {}): Promise<string> =>
    (await write('POST', '/api/publication', { ...TEA, ...body })).body.data.id;
  const get = (path: string, options: RequestOptions = {}): Promise<Reply> =>
    harness.request('GET', path, { token: shop.public.token, ...options });
  const teaPath = (): string => `/api/publication/${tea}`;

  /** Returns how often the cache has answered, by `catalog_cache_lookups_total`. */
  const hits = async (): Promise<number> => {
    const { text } = await harness.request('GET', '/metrics');
    return Number(/^catalog_cache_lookups_total\{cache="edge",result="hit"\} (\d+)/m.exec(text)?.[1] ?? 0);
  };
  /** Reads until the cache answers: a read that meets the projection of something else is not stored. */
  const warm = async (read: () => Promise<Reply>): Promise<Reply> =>
    (await waitFor(async () => {
      const before = await hits();
      const reply = await read();
      return (await hits()) > before ? reply : undefined;
    }))!;
  const comparable = ({ status, headers, text }: Reply) => {
    const of_request =
      /^(date|x-request-id|x-ratelimit-(remaining|reset)|x-catalog-(position|lag-ms)|keep-alive|connection)$/;
    return { status, text, headers: [...headers].filter(([name]) => !of_request.test(name)).sort() };
  };

  test.each([
    ['an expanded publication', () => `${teaPath()}?expand=listing,media`],
    ['a list', () => '/api/publications?limit=20'],
    ['a search', () => '/api/store/search?q=tea'],
    ['related publications', () => `${teaPath()}/related`],
    ['an expanded store', () => '/api/store?expand=listing,media'],
    ['a listing', () => `/api/listing/${shelf}`],
    ['the publications of a listing', () => `/api/listing/${shelf}/publications`],
    ['filtered publications', () => '/api/publications?min_price=1&sort=price&expand=listing'],
  ])('sends %s again with the same status, headers and bytes', async (_, path) => {
    const first = await get(path());
    expect(first.status).toBe(200);
    const again = await warm(() => get(path()));
    expect(comparable(again)).toEqual(comparable(first));
    for (const headers of [{ 'accept-encoding': 'gzip' }, { 'accept-encoding': 'br;q=0.5, gzip' }]) {
      const packed = await get(path(), { headers });
      expect(comparable(await warm(() => get(path(), { headers })))).toEqual(comparable(packed));
    }
  });

  test('keeps one answer, whatever parameter is ignored and however an encoding is named', async () => {
    const path = '/api/publications?limit=20';
    const headers = { 'accept-encoding': 'gzip' };
    const first = await warm(() => get(path, { headers }));
    for (let n = 0; n < 3; n++) {
      const before = await hits();
      const headers = { 'accept-encoding': `gzip, x-${n}` };
      const reply = await get(`${path}&x${n}=${n}&%FF=1`, { headers });
      expect([reply.text, await hits()]).toEqual([first.text, before + 1]);
      expect(reply.headers.get('x-catalog-ignored')).toBe(`x${n}, %EF%BF%BD`);
    }
    const replaced = '/api/store/search?q=%EF%BF%BD';
    await warm(() => get(replaced, { headers }));
    expect((await get('/api/store/search?q=%FF', { headers })).status).toBe(400);
  });

  test('answers HEAD with the headers of GET', async () => {
    const path = `/api/publication/${await created({ description: 'Green tea. '.repeat(500) })}`;
    for (const encoding of ['gzip', 'br', 'identity']) {
      const asked = { token: shop.public.token, headers: { 'accept-encoding': encoding } };
      const head = await harness.request('HEAD', path, asked);
      const sent = await get(path, asked);
      expect(head.headers.get('etag')).toBe(sent.headers.get('etag'));
      for (const name of ['content-encoding', 'content-length'])
        expect([name, head.headers.get(name)]).toEqual([name, sent.headers.get(name)]);
    }
  });

  test('sends 304 for the current ETag, whether or not the complete answer was stored', async () => {
    const etag = (await get(teaPath())).headers.get('etag') ?? '';
    await created({ title: 'Another one' });
    const conditional = () => get(teaPath(), { headers: { 'if-none-match': `"other", W/${etag}` } });
    const cold = await conditional();
    expect([cold.status, cold.text]).toEqual([304, '']);
    expect(comparable(await warm(conditional))).toEqual(comparable(cold));
    // The reply to a client that has the answer is stored, too, and then complete for the others.
    const headers = { 'accept-encoding': 'gzip;q=0.1' };
    await warm(() => get(teaPath(), { headers: { ...headers, 'if-none-match': etag } }));
    const complete = await warm(() => get(teaPath(), { headers }));
    expect([complete.status, complete.body.data.id]).toEqual([200, tea]);
    const other = await get(teaPath(), { headers: { 'if-none-match': '"other"' } });
    expect([other.status, other.body.data.id]).toEqual([200, tea]);
    await write('PATCH', teaPath(), { title: 'Green tea' });
    expect((await conditional()).status).toBe(200);
  });

  test('does not store answers that would take much of its memory', async () => {
    const description_html = '🐉'.repeat(50_000);
    for (let n = 0; n < 11; n++) await created({ description_html });
    await harness.settled();
    await warm(() => get('/api/publications?limit=1'));
    const before = await hits();
    const headers = { 'accept-encoding': 'identity' };
    for (let n = 0; n < 3; n++)
      expect((await get('/api/publications?limit=20', { headers })).status).toBe(200);
    expect(await hits()).toBe(before);
  });

  test('authenticates, limits, identifies and counts each request like any other', async () => {
    const first = await warm(() => get(teaPath(), { headers: { 'x-request-id': 'mine' } }));
    expect(first.headers.get('x-request-id')).toBe('mine');
    const second = await warm(() => get(teaPath()));
    expect(second.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(second.headers.get('x-ratelimit-tier')).toBe('public_key');
    expect(Number(second.headers.get('x-ratelimit-remaining'))).toBeLessThanOrEqual(1_000_000);
    expect((await get(teaPath(), { token: 'forged' })).status).toBe(401);

    const id = await created();
    for (let views = 0; views < 3; views++) await get(`/api/publication/${id}`);
    await harness.request('HEAD', `/api/publication/${id}`, { token: shop.public.token });
    await harness.service.page_views.flush();
    await harness.settled();
    // A list shows the new count, too, although no version has changed.
    expect((await get(`/api/publication/${id}`)).body.data.stats.view_count).toBe(3);
    const [newest] = (await get('/api/publications?limit=1')).body.data;
    expect([newest.id, newest.stats.view_count]).toEqual([id, 3]);
  });

  test('answers a key until its limit, and no further', async () => {
    const limited = await harness.newKey('public', [shop.store_id]);
    await setApiKeyLimits(harness.deps, context('limit'), limited.id as ApiKeyId, {
      per_minute: 1,
      per_day: 100,
      burst: 4,
    });
    const replies: Reply[] = [];
    for (let n = 0; n < 6; n++) replies.push(await get(teaPath(), { token: limited.token }));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429, 429]);
    expect(replies[4]!.headers.get('retry-after')).toMatch(/^\d+$/);
  });

  test('never shows one principal what another one may see', async () => {
    const hidden = await created({ visibility: 'private', title: 'Tea for staff' });
    const all = '/api/publications?visibility=all';
    const merchant = await warm(() => get(all, { token: shop.secret.token }));
    expect(merchant.body.data.map(({ id }: { id: string }) => id)).toContain(hidden);
    expect((await get(all)).status).toBe(403);
    const managed = `/api/publication/${hidden}?visibility=all`;
    await warm(() => get(managed, { token: shop.secret.token }));
    expect((await get(managed)).status).toBe(403);

    const neighbour = await harness.newShop();
    await warm(() => get(teaPath()));
    expect((await get(teaPath(), { token: neighbour.public.token })).status).toBe(404);
    const narrow = await harness.newKey('public', [shop.store_id], ['read:listings']);
    expect((await get(teaPath(), { token: narrow.token })).status).toBe(403);
    expect((await get('/api/publications', { token: neighbour.public.token })).body.data).toEqual([]);
  });

  test('shows each write as soon as it is acknowledged', async () => {
    const shown = async () => {
      const [by_id, list, search] = [
        await get(teaPath()),
        await get('/api/publications?limit=50&sort=name&order=asc'),
        await get('/api/store/search?q=tea'),
      ];
      const titles = (reply: Reply) => reply.body.data.map(({ title }: { title: string }) => title);
      return { by_id: by_id.body.data.title, list: titles(list), search: titles(search) };
    };
    for (let n = 0; n < 10; n++) {
      const title = `Tea ${n}`;
      await write('PATCH', teaPath(), { title });
      expect(await shown()).toEqual({ by_id: title, list: [title], search: [title] });
    }
    await write('DELETE', teaPath());
    expect((await get(teaPath())).status).toBe(404);
    expect((await get('/api/publications')).body.data).toEqual([]);
  });

  test('keeps a publication when another one of the store changes', async () => {
    await warm(() => get(teaPath()));
    await created({ title: 'Coffee' });
    const before = await hits();
    expect((await get(teaPath())).status).toBe(200);
    expect(await hits()).toBe(before + 1);
  });

  test('keeps the lists of a shop when another shop is viewed and changed', async () => {
    const partition = (store_id: string): number => partitionOf(store_id, PARTITION_COUNT);
    let neighbour = await harness.newShop();
    while (partition(neighbour.store_id) !== partition(shop.store_id)) neighbour = await harness.newShop();
    const theirs = { token: neighbour.secret.token };
    const { body } = await harness.request('POST', '/api/publication', { ...theirs, body: TEA });
    const list = '/api/publications?limit=20';
    // Views of the own shop that are appended meanwhile would remove its lists.
    await harness.service.page_views.flush();
    await harness.settled();
    await warm(() => get(list));
    const before = await hits();
    const viewed = await get(`/api/publication/${body.data.id}`, { token: neighbour.public.token });
    expect(viewed.status).toBe(200);
    await harness.service.page_views.flush();
    await harness.request('PATCH', `/api/publication/${body.data.id}`, {
      ...theirs,
      body: { title: 'Coffee' },
    });
    await harness.settled();
    expect((await get(list)).body.data).toHaveLength(1);
    expect(await hits()).toBe(before + 1);
  });

  test('stops with the suspension of the store and of the account, and with the revocation of the key', async () => {
    const { deps, account_id } = harness;
    const target = { environment: 'live', id: shop.store_id } as const;
    const reads = [teaPath(), '/api/publications', `${teaPath()}/related`];
    const statuses = async () => {
      const replies: Reply[] = [];
      for (const path of reads) replies.push(await get(path));
      return new Set(replies.map(({ status }) => status));
    };
    const becomes = (status: number) =>
      waitFor(async () => {
        const seen = await statuses();
        return seen.size === 1 && seen.has(status);
      });
    for (const path of reads) await warm(() => get(path));
    await changeStoreStatus(deps, context('suspend'), target, 'suspended');
    await becomes(404);
    await changeStoreStatus(deps, context('activate'), target, 'active');
    await becomes(200);
    for (const path of reads) await warm(() => get(path));
    await suspendAccount(deps, context('stop'), account_id);
    await becomes(403);
    await reinstateAccount(deps, context('go'), account_id);
    await becomes(200);
    for (const path of reads) await warm(() => get(path));
    await revokeApiKey(deps, context('revoke'), shop.public.id as ApiKeyId);
    await becomes(401);
  });
});

test('without memory for the edge cache, the app answers every read', async () => {
  const harness = await startHarness({ environment: { EDGE_CACHE_MB: '0' } });
  try {
    const shop = await harness.newShop();
    for (let n = 0; n < 3; n++)
      expect((await harness.request('GET', '/api/store', { token: shop.public.token })).status).toBe(200);
    expect((await harness.request('GET', '/metrics')).text).not.toContain('cache="edge"');
  } finally {
    await harness.close();
  }
});
