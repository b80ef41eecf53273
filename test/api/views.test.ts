import { openRuntime } from '../../services/boot/runtime';
import { streamName } from '../../shared/catalog/events/envelope';
import { pageViewStream, unpackCounts } from '../../shared/catalog/publication/page-views';
import { parseConfig } from '../../shared/kernel/config';
import { createLogger } from '../../shared/kernel/log';
import { realSystem } from '../../shared/kernel/system';
import { fetch } from '../support/fetch';
import { type Harness, type Reply, type Shop, startHarness } from '../support/harness';
import { endAll, startProcess } from '../support/processes';
import { verifyDocuments } from '../support/verify-documents';
import { waitFor } from '../support/wait-for';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };

describe('views', () => {
  let harness: Harness;
  let shop: Shop;

  beforeAll(async () => {
    harness = await startHarness({ is_own: true, environment: { VIEW_FLUSH_INTERVAL_S: '3600' } });
    shop = await harness.newShop();
  });
  afterAll(async () => {
    endAll();
    await harness.close();
  });

  const write = (method: string, path: string, body?: object, headers = {}): Promise<Reply> =>
    harness.request(method, path, { token: shop.secret.token, body, headers });
  const made = async (body: object = {}): Promise<string> =>
    (await write('POST', '/api/publication', { ...TEA, ...body })).body.data.id;
  const view = (id: string, headers = {}, method = 'GET', query = ''): Promise<Reply> =>
    harness.request(method, `/api/publication/${id}${query}`, { token: shop.public.token, headers });
  const manage = async (id: string) =>
    harness.request('GET', `/api/publication/${id}?visibility=all`, { token: shop.secret.token });
  /** Returns the number of events in the store's streams of views, of today and of yesterday. */
  const countViewEvents = async (): Promise<number> => {
    const days = [Date.now(), Date.now() - 86_400_000].map((ms) => pageViewStream('live', shop.store_id, ms));
    const streams = await Promise.all(days.map((day) => harness.service.runtime.events.live.readStream(day)));
    return streams.flat().length;
  };
  const viewsOf = async (id: string): Promise<number> => {
    await harness.service.page_views.flush();
    await harness.settled();
    return (await manage(id)).body.data.stats.view_count;
  };

  test('are counted for GET with a public key, also with 304, but not for HEAD, secret keys, lists and errors', async () => {
    const id = await made();
    const hidden = await made({ visibility: 'private' });
    const etag = (await view(id)).headers.get('etag')!;
    expect((await view(id, { 'if-none-match': etag })).status).toBe(304);
    await view(id, {}, 'GET', '?expand=listing');
    await view(id, {}, 'HEAD');
    await manage(id);
    await harness.request('GET', '/api/publications', { token: shop.public.token });
    expect((await view(hidden)).status).toBe(404);
    expect((await view(id, {}, 'GET', '?expand=nothing')).status).toBe(400);
    expect(await viewsOf(id)).toBe(3);
    expect(await viewsOf(hidden)).toBe(0);
  });

  test('of all publications of a store are appended as one event, which changes neither updated_at nor the version', async () => {
    const id = await made();
    const before = await manage(id);
    const events = await countViewEvents();
    const other = await made();
    await Promise.all(Array.from({ length: 100 }, () => view(id)));
    await view(other);
    expect([await viewsOf(id), await viewsOf(other)]).toEqual([100, 1]);
    expect(await countViewEvents()).toBe(events + 1);
    const stream = streamName('live', 'publication', id);
    expect(await harness.service.runtime.events.live.readStream(stream)).toHaveLength(1);
    const after = await manage(id);
    expect(after.body.data).toEqual({
      ...before.body.data,
      stats: { ...before.body.data.stats, view_count: 100 },
    });
    const patched = await write(
      'PATCH',
      `/api/publication/${id}`,
      { price_amount: 1 },
      { 'if-match': before.headers.get('etag')! },
    );
    expect([patched.status, patched.body.data.stats.view_count]).toEqual([200, 100]);
    expect(patched.headers.get('etag')).toMatch(/^"2-/);
  });

  test('of a deleted publication are discarded', async () => {
    const [id, other] = [await made(), await made()];
    await view(id);
    await view(other);
    await write('DELETE', `/api/publication/${id}`);
    expect(await viewsOf(other)).toBe(1);
    expect((await manage(id)).status).toBe(404);
    expect(harness.service.page_views.unsaved).toBe(0);
  });

  test('change no ETag of a publication, a listing and lists, and HEAD and 304 agree', async () => {
    const listing = await write('POST', '/api/listing', { name: 'Teas' });
    const listing_id = listing.body.data.id;
    const id = await made({ listing_id });
    const paths = [
      ...[`/api/publication/${id}`, `/api/publication/${id}?expand=listing`],
      ...[`/api/listing/${listing_id}?expand=publication`, `/api/listing/${listing_id}/publications`],
      ...['/api/publications', '/api/store/search?q=tea', '/api/store-listings?expand=publication'],
    ];
    const send = (path: string, method = 'GET', headers = {}): Promise<Reply> =>
      harness.request(method, path, { token: shop.secret.token, headers });
    const before = await Promise.all(paths.map((path) => send(path)));
    await view(id);
    expect(await viewsOf(id)).toBe(1);
    for (const [index, path] of paths.entries()) {
      const etag = before[index]!.headers.get('etag')!;
      const after = await send(path);
      expect([path, after.status, after.headers.get('etag')]).toEqual([path, 200, etag]);
      expect(after.text).not.toBe(before[index]!.text);
      expect((await send(path, 'HEAD')).headers.get('etag')).toBe(etag);
      expect((await send(path, 'GET', { 'if-none-match': etag })).status).toBe(304);
    }
    const patched = await write('PATCH', `/api/publication/${id}`, {});
    expect(patched.headers.get('etag')).toBe(before[0]!.headers.get('etag'));
  });

  test('are counted per environment, and verify finds no differences', async () => {
    const test_shop = await harness.newShop('test');
    const created = await harness.request('POST', '/api/publication', {
      token: test_shop.secret.token,
      body: TEA,
    });
    const path = `/api/publication/${created.body.data.id}`;
    await harness.request('GET', path, { token: test_shop.public.token });
    await harness.service.page_views.flush();
    await harness.settled();
    const reply = await harness.request('GET', path, { token: test_shop.secret.token });
    expect(reply.body.data.stats.view_count).toBe(1);
    for (const environment of ['live', 'test'] as const)
      expect((await verifyDocuments(harness, environment)).differences).toEqual([]);
  });

  test('are appended in every interval and when the process stops', async () => {
    const id = await made();
    const settings = { ...harness.settings, LOG_LEVEL: 'info', VIEW_FLUSH_INTERVAL_S: '1' };
    const query = await startProcess('services/boot/main.js query', settings);
    const readOnce = async (): Promise<void> => {
      const headers = { authorization: `Bearer ${shop.public.token}` };
      expect((await fetch(`${query.url}/api/publication/${id}`, { headers })).status).toBe(200);
    };
    await readOnce();
    await waitFor(async () => (await viewsOf(id)) === 1);
    await readOnce();
    await readOnce();
    expect(await query.end('SIGTERM')).toBe(0);
    await waitFor(async () => (await viewsOf(id)) === 3);
  });

  test('are appended when the all-in-one process stops', async () => {
    const own = await harness.newShop();
    const body = { token: own.secret.token, body: TEA };
    const { id } = (await harness.request('POST', '/api/publication', body)).body.data;
    await harness.request('GET', `/api/publication/${id}`, { token: own.public.token });
    await harness.service.close();
    const log = createLogger({ level: 'silent' });
    const runtime = await openRuntime(parseConfig(harness.settings), log, realSystem);
    const stored = await runtime.events.live.readStream(pageViewStream('live', own.store_id, Date.now()));
    expect(stored.map(({ data }) => unpackCounts(String(data.counts)))).toEqual([{ [id]: 1 }]);
    await runtime.close();
  });
});
