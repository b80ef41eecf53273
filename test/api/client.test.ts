import { CatalogApiError, type CatalogClient, CatalogConnectionError } from '../../shared/client';
import { type Harness, type Shop, startHarness } from '../support/harness';

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

/** A `fetch` that tells what was sent, and does with it what the test says. */
function spied(through: (send: () => Promise<Response>, sent: number) => Promise<Response>) {
  const requests: Request[] = [];
  const spy: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    requests.push(request);
    return through(() => fetch(input, init), requests.length);
  };
  return { requests, fetch: spy };
}

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error) => error,
  );

describe('a client', () => {
  test('writes, reads, changes and deletes, with a key and nothing else', async () => {
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

  test('tells what its token allows, and gets and refreshes others', async () => {
    const allowed = await client.tokens.validate();
    expect(allowed).toMatchObject({ key_type: 'secret', stores: [shop.store_id] });
    const { token, expires_in } = await client.tokens.issue({ ttl_minutes: 2 });
    expect(expires_in).toBe(120);
    const refreshed = await client.tokens.refresh(token);
    expect(refreshed).toMatchObject({ token_type: 'Bearer', expires_in: 120 });
    expect(await client.tokens.validate(refreshed.token)).toMatchObject({ valid: true });
  });

  test('adds what is expanded', async () => {
    const { id } = await client.listings.create({ name: 'Teas' });
    const tea = await client.publications.create({ ...TEA, listing_id: id });
    const listing = await client.listings.get(id, { expand: ['publication', 'media'] });
    expect(listing.publications.data.map((one) => one.id)).toEqual([tea.id]);
    expect(listing.media.total_count).toBe(0);
    expect((await client.publications.get(tea.id, { expand: ['listing'] })).listing?.name).toBe('Teas');
    expect((await client.store.get({ expand: ['listing'] })).listings.total_count).toBe(1);
  });

  test('means the store that it was made for', async () => {
    const other = await harness.newStore('live', 'Other');
    const key = await harness.newKey('secret', [shop.store_id, other]);
    expect((await harness.client(key, { storeId: other }).store.get()).name).toBe('Other');
    const named = await harness.client(key, { storeId: other }).store.get({ store_id: shop.store_id });
    expect(named.id).toBe(shop.store_id);
  });
});

describe('a refusal', () => {
  test('is an error with what the service says of it', async () => {
    const missing = (await failureOf(client.publications.get(UNKNOWN))) as CatalogApiError;
    expect(missing).toBeInstanceOf(CatalogApiError);
    expect([missing.status, missing.code]).toEqual([404, 'PUBLICATION_NOT_FOUND']);
    const faulty = (await failureOf(client.publications.create({ ...TEA, title: '' }))) as CatalogApiError;
    expect([faulty.status, faulty.code]).toEqual([400, 'FIELD_TOO_SHORT']);
    expect(faulty.details).toMatchObject({ field: 'title', errors: [{ code: 'FIELD_TOO_SHORT' }] });
    expect(faulty.message).toBe('title: at least 1 character');
    expect(faulty.requestId).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('of the key has no code, and is not tried again', async () => {
    const { fetch, requests } = spied((send) => send());
    const stranger = harness.client({ ...shop.secret, key: 'sk_live_nobody' }, { fetch });
    const error = (await failureOf(stranger.store.get())) as CatalogApiError;
    expect([error.status, error.code, error.message]).toEqual([401, undefined, 'Invalid API key']);
    expect(requests.length).toBe(1);
  });
});

describe('an answer that is lost', () => {
  const quick = { clock: { now: Date.now, wait: async () => {} } };

  test('does not make a write happen twice', async () => {
    const { fetch, requests } = spied(async (send, sent) => {
      const response = await send();
      // The token's answer and the write's first answer: the one is the first request, the other the second.
      if (sent === 2) throw new TypeError('the connection was cut');
      return response;
    });
    const unlucky = harness.client(shop.secret, { fetch, ...quick });
    const tea = await unlucky.publications.create(TEA);
    expect(requests.map(({ method }) => method)).toEqual(['POST', 'POST', 'POST']);
    const keys = requests.slice(1).map(({ headers }) => headers.get('idempotency-key'));
    expect(keys[0]).toBeTruthy();
    expect(keys[1]).toBe(keys[0]);
    expect(unlucky.answerOf(tea)?.replayed).toBe(true);
    expect(await client.publications.list().all()).toEqual([tea]);
  });

  test('is told of as such where no other comes', async () => {
    const { fetch, requests } = spied(() => Promise.reject(new TypeError('refused')));
    const error = await failureOf(harness.client(shop.secret, { fetch, ...quick }).store.get());
    expect(error).toBeInstanceOf(CatalogConnectionError);
    expect((error as CatalogConnectionError).cause).toMatchObject({ message: 'refused' });
    expect(requests.length).toBe(5);
  });
});

describe('an abort', () => {
  test('ends a request that is on its way', async () => {
    const giving_up = new AbortController();
    const { fetch, requests } = spied((send) => {
      if (requests.length === 2) giving_up.abort(new Error('the visitor left'));
      return send();
    });
    const visitor = harness.client(shop.public, { fetch, retries: 0 });
    const error = await failureOf(visitor.store.get({}, { signal: giving_up.signal }));
    expect(error).toMatchObject({ message: 'the visitor left' });
    expect(requests.length).toBe(2);
  });

  test('that came before sends nothing', async () => {
    const { fetch, requests } = spied((send) => send());
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(harness.client(shop.public, { fetch }).store.get({}, { signal })).rejects.toThrow(
      'too late',
    );
    expect(requests.filter(({ url }) => url.includes('/api/'))).toEqual([]);
  });
});

describe('versions', () => {
  test('a resource is only changed where nobody changed it before', async () => {
    const tea = await client.publications.create(TEA);
    await client.publications.update(tea.id, { price_amount: 1 });
    const late = client.publications.update(tea.id, { price_amount: 2 }, { ifMatch: tea });
    await expect(late).rejects.toMatchObject({ status: 412, code: 'CONFLICT' });
    const now = await client.publications.get(tea.id);
    await client.publications.delete(tea.id, { ifMatch: now });
    await expect(client.publications.get(tea.id)).rejects.toMatchObject({ code: 'PUBLICATION_NOT_FOUND' });
  });

  test('what is known is given back until it changes', async () => {
    const { id } = await client.publications.create(TEA);
    const known = await client.publications.get(id);
    expect(await client.publications.get(id, {}, { known })).toBe(known);
    await client.publications.update(id, { price_amount: 1 });
    expect(await client.publications.get(id, {}, { known })).toMatchObject({ price_amount: 1 });
  });

  test('a resource of somebody else’s is no version', async () => {
    const made_up = client.publications.update(UNKNOWN, {}, { ifMatch: { id: UNKNOWN } });
    await expect(made_up).rejects.toThrow(TypeError);
  });
});

describe('reading what was written', () => {
  test('a consistent read shows a write that did not wait to be shown', async () => {
    for (let price_amount = 1; price_amount <= 5; price_amount++) {
      const { id } = await client.publications.create({ ...TEA, price_amount }, { respondAsync: true });
      expect(await client.publications.get(id, {}, { consistent: true })).toMatchObject({ price_amount });
    }
    expect(await client.publications.list({}, { consistent: true }).all()).toHaveLength(5);
  });

  test('another client is told how far it must be', async () => {
    const { requests, fetch } = spied((send) => send());
    const other = harness.client(shop.public, { fetch });
    const { id } = await client.publications.create(TEA, { respondAsync: true });
    const position = client.position!;
    expect(position).toBe(client.answerOf(await client.publications.update(id, {}))?.position);
    expect((await other.publications.get(id, {}, { consistent: position })).id).toBe(id);
    expect(requests.at(-1)?.headers.get('x-catalog-min-position')).toBe(position);
    await other.publications.get(id, {}, { consistent: true });
    expect(requests.at(-1)?.headers.has('x-catalog-min-position')).toBe(false);
  });

  test('a client may ask for it always, and a call for once not', async () => {
    const { requests, fetch } = spied((send) => send());
    const merchant = harness.client(shop.secret, { fetch, consistent: true });
    await merchant.listings.create({ name: 'Teas' });
    await merchant.store.get();
    expect(requests.at(-1)?.headers.get('x-catalog-min-position')).toBe(merchant.position);
    await merchant.store.get({}, { consistent: false });
    expect(requests.at(-1)?.headers.has('x-catalog-min-position')).toBe(false);
  });
});
