import { CatalogApiError, type CatalogClient, CatalogConnectionError } from '../../shared/client';
import { fetch } from '../support/fetch';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { flatPicture } from '../support/pictures';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };
const UNKNOWN = '01890000-0000-7000-8000-000000000000';

let harness: Harness;
let shop: Shop;
let client: CatalogClient;

beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());
beforeEach(async () => {
  shop = await harness.newShop();
  client = harness.client(shop.secret);
});

/**
 * Returns a `fetch` that records each request and lets `intercept` send it. `count` is the number of requests so far.
 */
function recordingFetch(
  intercept: (send: () => Promise<Response>, count: number) => Promise<Response> = (send) => send(),
) {
  const requests: Request[] = [];
  const spy: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    requests.push(request);
    return intercept(() => fetch(input, init), requests.length);
  };
  return { requests, fetch: spy };
}

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error) => error,
  );

describe('a client', () => {
  test('creates, reads, updates and deletes with an API key alone', async () => {
    const listing = await client.listings.create({ name: 'Teas' });
    const tea = await client.publications.create({ ...TEA, listing_id: listing.id });
    expect(await client.publications.get(tea.id)).toEqual(tea);
    const changed = await client.publications.update(tea.id, { price_amount: 900, free_shipping: true });
    expect(changed).toMatchObject({ ...TEA, price_amount: 900, free_shipping: true });
    expect(await client.store.search('te').all()).toEqual([changed]);
    expect(await client.publications.delete(tea.id)).toEqual({
      ...{ id: tea.id, object: 'publication', deleted: true },
    });
    expect(await client.listings.update(listing.id, { name: 'No teas' })).toMatchObject({ name: 'No teas' });
    expect(await client.listings.delete(listing.id)).toMatchObject({ deleted: true });
    expect(await client.store.listings().all()).toEqual([]);
  });

  test('describes its token, and issues and refreshes other tokens', async () => {
    const description = await client.tokens.validate();
    expect(description).toMatchObject({ key_type: 'secret', stores: [shop.store_id] });
    const { token, expires_in } = await client.tokens.issue({ ttl_minutes: 2 });
    expect(expires_in).toBe(120);
    const refreshed = await client.tokens.refresh(token);
    expect(refreshed).toMatchObject({ token_type: 'Bearer', expires_in: 120 });
    expect(await client.tokens.validate(refreshed.token)).toMatchObject({ valid: true });
  });

  test('returns expanded resources', async () => {
    const { id } = await client.listings.create({ name: 'Teas' });
    const tea = await client.publications.create({ ...TEA, listing_id: id });
    const listing = await client.listings.get(id, { expand: ['publication', 'media'] });
    expect(listing.publications.data.map((one) => one.id)).toEqual([tea.id]);
    expect(listing.media.total_count).toBe(0);
    expect((await client.publications.get(tea.id, { expand: ['listing'] })).listing?.name).toBe('Teas');
    expect((await client.store.get({ expand: ['listing'] })).listings.total_count).toBe(1);
  });

  test('reads the store of its `storeId` unless a call names another', async () => {
    const other = await harness.newStore('live', 'Other');
    const key = await harness.newKey('secret', [shop.store_id, other]);
    expect((await harness.client(key, { storeId: other }).store.get()).name).toBe('Other');
    const named = await harness.client(key, { storeId: other }).store.get({ store_id: shop.store_id });
    expect(named.id).toBe(shop.store_id);
  });
});

describe('a request that the service refuses', () => {
  test('rejects with the status, code, details and request id of the response', async () => {
    const missing = (await failureOf(client.publications.get(UNKNOWN))) as CatalogApiError;
    expect(missing).toBeInstanceOf(CatalogApiError);
    expect([missing.status, missing.code]).toEqual([404, 'PUBLICATION_NOT_FOUND']);
    const faulty = (await failureOf(client.publications.create({ ...TEA, title: '' }))) as CatalogApiError;
    expect([faulty.status, faulty.code]).toEqual([400, 'FIELD_TOO_SHORT']);
    expect(faulty.details).toMatchObject({ field: 'title', errors: [{ code: 'FIELD_TOO_SHORT' }] });
    expect(faulty.message).toBe('Invalid title: expected at least 1 character');
    expect(faulty.requestId).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('rejects without a code, and is not retried, if the API key is invalid', async () => {
    const { fetch, requests } = recordingFetch();
    const stranger = harness.client({ ...shop.secret, key: 'sk_live_nobody' }, { fetch });
    const error = (await failureOf(stranger.store.get())) as CatalogApiError;
    expect([error.status, error.code, error.message]).toEqual([401, undefined, 'Invalid API key']);
    expect(requests.length).toBe(1);
  });
});

describe('a lost response', () => {
  const no_waits = { clock: { now: Date.now, wait: async () => {} } };

  test('does not make a write take effect twice', async () => {
    const { fetch, requests } = recordingFetch(async (send, count) => {
      const response = await send();
      // The first request is for the token. The second is the first attempt of the write.
      if (count === 2) throw new TypeError('the connection was closed');
      return response;
    });
    const retrying = harness.client(shop.secret, { fetch, ...no_waits });
    const tea = await retrying.publications.create(TEA);
    expect(requests.map(({ method }) => method)).toEqual(['POST', 'POST', 'POST']);
    const keys = requests.slice(1).map(({ headers }) => headers.get('idempotency-key'));
    expect(keys[0]).toBeTruthy();
    expect(keys[1]).toBe(keys[0]);
    expect(retrying.answerOf(tea)?.replayed).toBe(true);
    expect(await client.publications.list().all()).toEqual([tea]);
  });

  test('rejects with CatalogConnectionError when every retry fails', async () => {
    const { fetch, requests } = recordingFetch(() => Promise.reject(new TypeError('refused')));
    const error = await failureOf(harness.client(shop.secret, { fetch, ...no_waits }).store.get());
    expect(error).toBeInstanceOf(CatalogConnectionError);
    expect((error as CatalogConnectionError).cause).toMatchObject({ message: 'refused' });
    expect(requests.length).toBe(5);
  });
});

describe('an abort', () => {
  test('cancels a request that was sent', async () => {
    const controller = new AbortController();
    const { fetch, requests } = recordingFetch((send) => {
      if (requests.length === 2) controller.abort(new Error('aborted by the caller'));
      return send();
    });
    const reader = harness.client(shop.public, { fetch, retries: 0 });
    const error = await failureOf(reader.store.get({}, { signal: controller.signal }));
    expect(error).toMatchObject({ message: 'aborted by the caller' });
    expect(requests.length).toBe(2);
  });

  test('before the call prevents the request', async () => {
    const { fetch, requests } = recordingFetch();
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(harness.client(shop.public, { fetch }).store.get({}, { signal })).rejects.toThrow(
      'too late',
    );
    expect(requests.filter(({ url }) => url.includes('/api/'))).toEqual([]);
  });
});

describe('versions', () => {
  test('a write with ifMatch is refused if the resource has changed', async () => {
    const tea = await client.publications.create(TEA);
    await client.publications.update(tea.id, { price_amount: 1 });
    const outdated = client.publications.update(tea.id, { price_amount: 2 }, { ifMatch: tea });
    await expect(outdated).rejects.toMatchObject({ status: 412, code: 'CONFLICT' });
    const current = await client.publications.get(tea.id);
    await client.publications.delete(tea.id, { ifMatch: current });
    await expect(client.publications.get(tea.id)).rejects.toMatchObject({ code: 'PUBLICATION_NOT_FOUND' });
  });

  test('`cached` is returned until the resource changes', async () => {
    const { id } = await client.publications.create(TEA);
    const cached = await client.publications.get(id);
    expect(await client.publications.get(id, {}, { cached })).toBe(cached);
    await client.publications.update(id, { price_amount: 1 });
    expect(await client.publications.get(id, {}, { cached })).toMatchObject({ price_amount: 1 });
  });

  test('ifMatch rejects an object that the client did not return', async () => {
    const update = client.publications.update(UNKNOWN, {}, { ifMatch: { id: UNKNOWN } });
    await expect(update).rejects.toThrow(TypeError);
  });
});

describe('reading your own writes', () => {
  test('a consistent read includes a write that was answered before it was projected', async () => {
    for (let price_amount = 1; price_amount <= 5; price_amount++) {
      const { id } = await client.publications.create({ ...TEA, price_amount }, { respondAsync: true });
      expect(await client.publications.get(id, {}, { consistent: true })).toMatchObject({ price_amount });
    }
    expect(await client.publications.list({}, { consistent: true }).all()).toHaveLength(5);
  });

  test('another client sees the write if it reads with its position', async () => {
    const { requests, fetch } = recordingFetch();
    const other = harness.client(shop.public, { fetch });
    const { id } = await client.publications.create(TEA, { respondAsync: true });
    const position = client.position!;
    expect(position).toBe(client.answerOf(await client.publications.update(id, {}))?.position);
    expect((await other.publications.get(id, {}, { consistent: position })).id).toBe(id);
    expect(requests.at(-1)?.headers.get('x-catalog-min-position')).toBe(position);
    const read = await other.publications.get(id, {}, { consistent: true });
    // The position of a read is not one of a write of this client.
    expect(other.answerOf(read)).toMatchObject({
      position: expect.stringMatching(/^\d+$/),
      lagMs: expect.any(Number),
    });
    expect(other.position).toBeUndefined();
    expect(requests.at(-1)?.headers.has('x-catalog-min-position')).toBe(false);
  });

  test('`consistent` can be the default of a client, and a call can turn it off', async () => {
    const { requests, fetch } = recordingFetch();
    const merchant = harness.client(shop.secret, { fetch, consistent: true });
    await merchant.listings.create({ name: 'Teas' });
    await merchant.store.get();
    expect(requests.at(-1)?.headers.get('x-catalog-min-position')).toBe(merchant.position);
    await merchant.store.get({}, { consistent: false });
    expect(requests.at(-1)?.headers.has('x-catalog-min-position')).toBe(false);
  });
});

describe('media', () => {
  const photo = async (): Promise<Blob> =>
    new Blob([new Uint8Array(await flatPicture('jpeg', { width: 640, height: 480 }))]);

  test('a picture of a publication is uploaded, processed, served without a token, and deleted', async () => {
    const tea = await client.publications.create({ title: 'Tea', price_currency: 'USD', price_amount: 1 });
    const uploaded = await client.media.upload(await photo(), { alt: 'A cup', publication_id: tea.id });
    expect(uploaded).toMatchObject({
      status: 'processing',
      mime_type: 'image/jpeg',
      width: 640,
      alt: 'A cup',
    });
    const processed = await client.media.processed(uploaded.id);
    expect(processed).toMatchObject({
      id: uploaded.id,
      status: 'ready',
      variants: [{ name: 'thumb', width: 200 }, {}, {}, {}],
    });
    expect([processed, ...processed.variants].map(({ url }) => new URL(url!).origin)).toEqual(
      Array(5).fill(harness.url),
    );
    const shown = await fetch(processed.url!);
    expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
    const { media } = await client.publications.get(tea.id, { expand: ['media'] });
    expect(media.data).toEqual([processed]);
    expect(await client.media.list({ publication_id: tea.id }).all()).toEqual([processed]);
    expect(await client.media.list().all()).toEqual([processed]);
    expect(await client.media.delete(processed.id)).toEqual({
      id: processed.id,
      object: 'media',
      deleted: true,
    });
    await expect(client.media.get(processed.id)).rejects.toMatchObject({
      status: 404,
      code: 'MEDIA_NOT_FOUND',
    });
  });

  test('an upload that is retried after a lost response is stored once', async () => {
    const { fetch, requests } = recordingFetch(async (send, count) => {
      const response = await send();
      if (count === 2) throw new TypeError('the connection was closed');
      return response;
    });
    const retrying = harness.client(shop.secret, { fetch });
    const uploaded = await retrying.media.upload(await photo(), { alt: 'Once' });
    expect(requests.map(({ method }) => method)).toEqual(['POST', 'POST', 'POST']);
    expect(retrying.answerOf(uploaded)?.replayed).toBe(true);
  });

  test('a file that is not an image is refused', async () => {
    const text = client.media.upload(new Blob(['<html></html>'], { type: 'image/png' }));
    await expect(text).rejects.toMatchObject({ status: 415, code: 'INVALID_FORMAT' });
  });
});
