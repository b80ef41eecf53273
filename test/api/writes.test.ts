import { changeStoreStatus } from '../../services/command/store';
import { type Category, streamName } from '../../shared/catalog/events/envelope';
import type { Field } from '../../shared/catalog/fields';
import { publicationFields } from '../../shared/catalog/publication/fields';
import { CatalogError } from '../../shared/kernel/errors';
import { type Harness, type Reply, type RequestOptions, type Shop, startHarness } from '../support/harness';
import { MediaShop } from './media-shop';
import { expectError } from './replies';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };
const UNKNOWN = '01890000-0000-7000-8000-000000000000';
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

let harness: Harness;
let shop: Shop;

beforeAll(async () => {
  harness = await startHarness();
  shop = await harness.newShop();
});
afterAll(() => harness.close());

const send = (method: string, path: string, options: RequestOptions = {}): Promise<Reply> =>
  harness.request(method, path, { token: shop.secret.token, ...options });
const idOf = (reply: Reply): string => reply.body.data.id;

/** Returns functions that send requests about one resource with the shop's secret key. */
const requestsOf = (path: string, least: object) => ({
  post: (body: unknown) => send('POST', path, { body }),
  patch: (id: string, body: unknown, headers: Record<string, string> = {}) =>
    send('PATCH', `${path}/${id}`, { body, headers }),
  get: (id: string, query = '?visibility=all') => send('GET', `${path}/${id}${query}`),
  remove: (id: string, headers: Record<string, string> = {}) => send('DELETE', `${path}/${id}`, { headers }),
  make: async (body: object = {}): Promise<string> =>
    idOf(await send('POST', path, { body: { ...least, ...body } })),
});
const publications = requestsOf('/api/publication', TEA);
const listings = requestsOf('/api/listing', { name: 'Teas' });

describe.each([
  {
    ...{ kind: 'publication', least: TEA, renamed: { title: 'Other' }, requests: publications },
    missing: 'PUBLICATION_NOT_FOUND',
    shown: {
      ...{ description: '', price_active: true, stats: { media_count: 0, view_count: 0 } },
    },
  },
  {
    ...{ kind: 'listing', least: { name: 'Teas' }, renamed: { name: 'Other' }, requests: listings },
    missing: 'LISTING_NOT_FOUND',
    shown: {
      ...{ default_sort_mode: 'created_at_desc', stats: { media_count: 0, publication_count: 0 } },
    },
  },
] as const)('a $kind', ({ kind, least, renamed, requests, missing, shown }) => {
  const { post, patch, get, remove, make } = requests;
  const path = `/api/${kind}`;

  test('is created with 201, Location, ETag and position, and read as it was returned', async () => {
    const reply = await post(least);
    const { id, created_at } = reply.body.data;
    expect([reply.status, reply.body]).toEqual([
      201,
      {
        ...{ code: 201, status: 'OK' },
        data: {
          ...{ ...least, ...shown, object: kind, visibility: 'public', media_ids: [] },
          handle: expect.stringMatching(/^teas?(-\d+)?$/),
          id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/),
          created_at: expect.stringMatching(ISO),
          updated_at: created_at,
        },
      },
    ]);
    expect(reply.headers.get('location')).toBe(`${path}/${id}`);
    expect(reply.headers.get('etag')).toMatch(/^"1-/);
    expect(reply.headers.get('x-catalog-position')).toMatch(/^[1-9]\d*$/);
    const read = await get(id, '');
    expect([read.body.data, read.headers.get('etag')]).toEqual([reply.body.data, reply.headers.get('etag')]);
  });

  test('that is private is only found with another visibility, and at its Location with the secret key', async () => {
    const created = await post({ ...least, visibility: 'private' });
    expectError(await get(idOf(created), ''), 404, missing);
    expect((await get(idOf(created), '?visibility=private')).body.data.visibility).toBe('private');
    expect(idOf(await send('GET', created.headers.get('location')!))).toBe(idOf(created));
  });

  test('rejects media that do not exist', async () => {
    expectError(await post({ ...least, media_ids: [UNKNOWN] }), 400, 'FIELD_INVALID', 'media_ids.0');
    const media_ids = Array(51).fill(UNKNOWN);
    expectError(await post({ ...least, media_ids }), 400, 'FIELD_TOO_LONG', 'media_ids');
  });

  test('is changed by PATCH, which keeps fields that are not sent', async () => {
    const id = await make({ description: 'Hot' });
    const before = await get(id);
    const reply = await patch(id, renamed);
    expect([reply.status, reply.body.data]).toEqual([
      200,
      { ...before.body.data, ...renamed, updated_at: expect.stringMatching(ISO) },
    ]);
    const read = await get(id);
    expect([read.body.data, read.headers.get('etag')]).toEqual([reply.body.data, reply.headers.get('etag')]);
    expect(reply.headers.get('etag')).toMatch(/^"2-/);
  });

  test('gets no event from a PATCH that changes nothing', async () => {
    const created = await post({ ...least, description: 'Hot' });
    const { id, created_at: _, updated_at, object: __, stats: ___, ...same } = created.body.data;
    for (const body of [{}, same]) {
      const reply = await patch(id, body);
      expect(reply.body.data.updated_at).toBe(updated_at);
      expect(reply.headers.get('etag')).toMatch(/^"1-/);
      expect(reply.headers.get('x-catalog-position')).toBe(created.headers.get('x-catalog-position'));
    }
  });

  test('gets no event from a PATCH without its deleted media', async () => {
    const media = await MediaShop.of(harness, shop);
    const [kept, deleted] = (await media.recordMany(2)) as [string, string];
    const id = await make({ media_ids: [kept, deleted] });
    const countEvents = async (): Promise<number> =>
      (await harness.service.runtime.events.live.readStream(streamName('live', kind as Category, id))).length;
    const before = await countEvents();
    await send('DELETE', `/api/media/${deleted}`);
    expect((await patch(id, { media_ids: [kept] })).status).toBe(200);
    await send('DELETE', `/api/media/${kept}`);
    await patch(id, { media_ids: null });
    expect(await countEvents()).toBe(before);
  });

  test('is deleted once: every later request is 404', async () => {
    const id = await make();
    const reply = await remove(id);
    expect([reply.status, reply.body]).toMatchObject([
      200,
      { code: 200, status: 'OK', data: { id, object: kind, deleted: true } },
    ]);
    expect(reply.headers.get('x-catalog-position')).toMatch(/^\d+$/);
    for (const later of [await get(id), await patch(id, renamed), await remove(id)])
      expectError(later, 404, missing);
  });

  test('is written only if If-Match has its version', async () => {
    const created = await post(least);
    const id = idOf(created);
    for (const stale of ['"7-x"', 'W/*']) {
      expectError(await patch(id, renamed, { 'if-match': stale }), 412, 'CONFLICT');
      expectError(await remove(id, { 'if-match': stale }), 412, 'CONFLICT');
    }
    const first = await patch(id, renamed, { 'if-match': created.headers.get('etag')! });
    const etag = first.headers.get('etag')!;
    const both = await Promise.all(
      ['A', 'B'].map((description) => patch(id, { description }, { 'if-match': `W/${etag}` })),
    );
    expect([first.status, ...both.map(({ status }) => status).sort()]).toEqual([200, 200, 412]);
    expect((await remove(id, { 'if-match': '*' })).status).toBe(200);
  });

  test('is read with the position of a write that does not wait', async () => {
    const reply = await send('POST', path, { body: least, headers: { prefer: 'respond-async' } });
    expect([reply.status, reply.headers.get('preference-applied')]).toEqual([201, 'respond-async']);
    const position = reply.headers.get('x-catalog-position')!;
    const read = await send('GET', `${path}/${idOf(reply)}`, {
      headers: { 'x-catalog-min-position': position },
    });
    expect([read.status, read.body.data]).toEqual([200, reply.body.data]);
  });
});

describe('fields', () => {
  test('of a publication: rejects a price below its sale price, unless the sale is cleared', async () => {
    const { id } = (await publications.post({ ...TEA, sale_price_amount: TEA.price_amount })).body.data;
    const lower = { price_amount: TEA.price_amount - 1 };
    expectError(await publications.patch(id, lower), 400, 'FIELD_INVALID', 'price_amount');
    const { data } = (await publications.patch(id, { ...lower, sale_price_amount: null })).body;
    expect(data).toMatchObject(lower);
  });

  test.each([
    ['title', '', 'FIELD_TOO_SHORT'],
    // `&` becomes `&amp;`.
    ['description_html', '&'.repeat(20_000), 'FIELD_TOO_LONG'],
    ['listing_id', UNKNOWN, 'FIELD_INVALID'],
    ['vendor', 'x'.repeat(256), 'FIELD_TOO_LONG'],
    ['product_type', '', 'FIELD_TOO_SHORT'],
    ['compare_at_amount', -1, 'FIELD_INVALID'],
    ['sale_price_amount', '900', 'FIELD_INVALID'],
    ['sale_price_amount', TEA.price_amount + 1, 'FIELD_INVALID'],
    ['sale_from', 'tomorrow', 'FIELD_INVALID'],
    ['publish_at', '2026-13-01', 'FIELD_INVALID'],
    ['tags', Array.from({ length: 251 }, (_, n) => `tag ${n}`), 'FIELD_TOO_LONG'],
    ['attributes', Object.fromEntries(Array.from({ length: 51 }, (_, n) => [n, n])), 'FIELD_INVALID'],
  ])('of a publication: rejects %s %j with %s', async (field, value, code) => {
    const reply = await publications.post({ ...TEA, [field]: value });
    expectError(reply, 400, code, field);
    expect(reply.body.error.details).toMatchObject({
      constraint: expect.any(String),
      errors: [{ field, code }],
    });
  });

  test.each([
    [{ tags: ['new', 'green', 'new'] }, 'tags.2', 'no text more than once'],
    [{ tags: ['two\nlines'] }, 'tags.0', 'no control characters'],
    [{ attributes: { size: null } }, 'attributes.size', 'a line of at most 255 characters'],
    [{ attributes: { size: { eu: 42 } } }, 'attributes.size', 'a line of at most 255 characters'],
    [{ attributes: { ' size': 42 } }, 'attributes. size', 'a name of 1 to 60 characters'],
    [{ seo: { headline: 'Tea' } }, 'seo.headline', 'a known field'],
    [{ sale_from: '2026-12-02T00:00:00Z', sale_to: '2026-12-01T12:00:00Z' }, 'sale_to', 'after sale_from'],
    [
      { publish_at: '2099-12-02T00:00:00Z', unpublish_at: '2099-12-02T01:00:00+01:00' },
      'unpublish_at',
      'after publish_at',
    ],
  ])('of a publication: says what is wrong in %j', async (body, field, constraint) => {
    const reply = await publications.post({ ...TEA, ...body });
    expectError(reply, 400, reply.body.error.code, field);
    expect(reply.body.error.details.constraint).toContain(constraint);
  });

  test('of a publication: a sale ends after it begins, also when a patch moves one of both', async () => {
    const id = await publications.make({ sale_from: '2026-11-27T00:00:00Z' });
    const early = await publications.patch(id, { sale_to: '2026-11-26T23:00:00Z' });
    expectError(early, 400, 'FIELD_INVALID', 'sale_to');
    const moved = await publications.patch(id, { sale_to: '2026-11-27T01:00:00+02:00', sale_from: null });
    expect(moved.body.data).toMatchObject({ sale_to: '2026-11-26T23:00:00.000Z' });
    expect(moved.body.data).not.toHaveProperty('sale_from');
  });

  test('of a publication that are empty are left out', async () => {
    const id = await publications.make({ tags: ['new'], attributes: { size: 'M' }, seo: { title: 'Tea' } });
    const { data } = (await publications.patch(id, { tags: [], attributes: {}, seo: {} })).body;
    for (const field of ['tags', 'attributes', 'seo']) expect(data).not.toHaveProperty(field);
  });

  test('accepts fields of the maximum length, and a currency that belongs to no country', async () => {
    const texts = { description: 'x'.repeat(10_000), description_html: 'x'.repeat(50_000) };
    const label = '😀'.repeat(255);
    const tags = Array.from({ length: 250 }, (_, n) => `${n} ${'x'.repeat(250)}`);
    const attributes = { ['😀'.repeat(60)]: label, notes: tags.slice(0, 50), grams: 0.5, vegan: false };
    const labels = { vendor: label, product_type: label, tags, attributes };
    const longest = { ...TEA, ...texts, ...labels, title: '😀'.repeat(200), price_currency: 'XAU' };
    const reply = await publications.post(longest);
    expect([reply.status, reply.body.data]).toMatchObject([201, labels]);
    const listing = { name: '😀'.repeat(120), description: 'x'.repeat(5_000) };
    expect((await listings.post(listing)).status).toBe(201);
  });

  test('are trimmed and sanitised, and a public key reads all of them immediately', async () => {
    const body = {
      ...TEA,
      title: '  Green   tea ',
      description: 'two\nlines',
      description_html: '<p onclick="x()">Hot</p><script>x</script>',
      ...{ price_active: false, free_shipping: false, quantity_available: 0, featured_position: 3 },
      listing_id: await listings.make({ name: ' Teas ' }),
    };
    const written = (await publications.post(body)).body.data;
    const description_html = '<p>Hot</p>';
    expect(written).toMatchObject({ title: 'Green   tea', description_html, free_shipping: false });
    const { token } = shop.public;
    const read = await harness.request('GET', `/api/publication/${written.id}`, { token });
    expect([read.status, read.body.data]).toEqual([200, written]);
    expect((await listings.get(body.listing_id)).body.data.name).toBe('Teas');
  });

  test('that are optional are cleared with null', async () => {
    const values: Record<string, unknown> = {
      ...{ description: 'Hot', description_html: '<b>Hot</b>', free_shipping: true, quantity_available: 1 },
      sale_price_amount: TEA.price_amount,
      ...{ featured_position: 1, listing_id: await listings.make(), media_ids: [] },
      ...{ listing_ids: [await listings.make()], featured_positions: {} },
      // Without prices, so that the publication keeps its own.
      variants: [{ option_values: { Talla: 'S' } }],
      prices: { EUR: { price_amount: 1_100 } },
    };
    // A field that is not listed here is set to its example.
    const clearable = Object.entries<Field>(publicationFields).filter(
      ([, { input }]) => input.safeParse(null).success,
    );
    const set = Object.fromEntries(clearable.map(([name, { example }]) => [name, values[name] ?? example]));
    expect(Object.keys(set)).toEqual(expect.arrayContaining(Object.keys(values)));
    expect(Object.values(set)).not.toContain(undefined);
    await send('PATCH', '/api/store', { body: { locales: ['es', 'de'], currencies: ['USD', 'EUR'] } });
    const id = await publications.make(set);
    const nothing = Object.fromEntries(Object.keys(set).map((field) => [field, null]));
    const reply = await publications.patch(id, nothing);
    expect([reply.status, reply.body.data]).toMatchObject([200, { ...TEA, description: '', media_ids: [] }]);
    for (const field of Object.keys(set))
      if (!['description', 'media_ids', 'handle'].includes(field))
        expect(reply.body.data).not.toHaveProperty(field);
  });
});

test('concurrent patches are all applied, in one order', async () => {
  const { make, patch, get } = publications;
  const id = await make();
  const titles = Array.from({ length: 20 }, (_, i) => `Tea ${i}`);
  const replies = await Promise.all(titles.map((title) => patch(id, { title })));
  expect(replies.map(({ status, body }) => [status, body.data.title])).toEqual(
    titles.map((title) => [200, title]),
  );
  const positions = replies.map((reply) => BigInt(reply.headers.get('x-catalog-position')!));
  const newest = positions.toSorted((a, b) => Number(a - b)).at(-1)!;
  expect(new Set(positions).size).toBe(titles.length);
  expect((await get(id)).body.data.title).toBe(titles[positions.indexOf(newest)]);
  expect((await get(id)).headers.get('etag')).toMatch(/^"21-/);
});

describe('the listing of a publication', () => {
  test('changes and ends with its listing_id, and is one of the same store', async () => {
    const client = harness.client(shop.secret);
    const [first, second] = [await listings.make(), await listings.make()];
    const id = await publications.make({ listing_id: first });
    const listed = async (listing: string): Promise<string[]> =>
      (await client.listings.publications(listing).all()).map((publication) => publication.id);
    expect([await listed(first), await listed(second)]).toEqual([[id], []]);
    await publications.patch(id, { listing_id: second });
    expect([await listed(first), await listed(second)]).toEqual([[], [id]]);
    await publications.patch(id, { listing_id: null });
    expect([await listed(first), await listed(second)]).toEqual([[], []]);
    const { token } = (await harness.newShop()).secret;
    const theirs = idOf(await send('POST', '/api/listing', { token, body: { name: 'Theirs' } }));
    expectError(await publications.patch(id, { listing_id: theirs }), 400, 'FIELD_INVALID', 'listing_id');
  });

  test('is gone after its deletion, which says how many publications it had', async () => {
    const client = harness.client(shop.secret);
    const listing = await listings.make();
    const id = await publications.make({ listing_id: listing });
    await publications.make({ listing_id: listing, visibility: 'private' });
    await harness.settled();
    expect(await client.listings.delete(listing)).toMatchObject({ deleted: true, publication_count: 2 });
    await harness.settled();
    const read = await publications.get(id, '?expand=listing');
    expect([read.status, read.body.data.listing, read.body.data.listing_id]).toEqual([
      200,
      undefined,
      undefined,
    ]);
    expectError(await send('GET', `/api/listing/${listing}/publications`), 404, 'LISTING_NOT_FOUND');
    expectError(await publications.post({ ...TEA, listing_id: listing }), 400, 'FIELD_INVALID', 'listing_id');
    // What a read shows is no change.
    const { headers } = await publications.patch(id, { listing_id: null });
    expect(headers.get('etag')).toMatch(/^"1-/);
  });

  test('is not deleted with if_empty=true while it has publications', async () => {
    const listing = await listings.make();
    const id = await publications.make({ listing_id: listing, visibility: 'private' });
    await harness.settled();
    const removeIf = (text: string) => send('DELETE', `/api/listing/${listing}?if_empty=${text}`);
    const refused = await removeIf('true');
    expectError(refused, 409, 'DEPENDENCY_EXISTS');
    expect(refused.body.error.message).toContain('The listing has 1 publication');
    expectError(await removeIf('yes'), 400, 'VALIDATION_ERROR', 'if_empty');
    await publications.remove(id);
    await harness.settled();
    expect((await removeIf('true')).body.data).toMatchObject({ publication_count: 0 });
    expectError(await removeIf('true'), 404, 'LISTING_NOT_FOUND');
  });
});

describe('the answer to a PATCH of a listing', () => {
  test('has the stats that a read returns, and its ETag', async () => {
    const id = await listings.make();
    for (const visibility of ['public', 'private']) await publications.make({ listing_id: id, visibility });
    const patched = await listings.patch(id, { name: 'Black teas' });
    expect(patched.body.data.stats).toEqual({ media_count: 0, publication_count: 1 });
    const headers = { 'if-none-match': patched.headers.get('etag')! };
    expect((await send('GET', `/api/listing/${id}`, { headers })).status).toBe(304);
  });

  test('has no stats if the documents cannot be read', async () => {
    const id = await listings.make();
    const { live } = harness.service.runtime.views;
    const current = jest.spyOn(live, 'current').mockRejectedValue(new CatalogError('unavailable'));
    const patched = await listings.patch(id, { name: 'Black teas' });
    current.mockRestore();
    const { name, stats } = patched.body.data;
    expect([patched.status, name, stats]).toEqual([200, 'Black teas', undefined]);
    // The PATCH could not wait for its own projection.
    await harness.settled();
    expect((await listings.get(id)).body.data.name).toBe('Black teas');
  });
});

describe('the store of a write', () => {
  test("is the token's first, the one in the query, or the one in the body", async () => {
    const [first, second] = [await harness.newStore(), await harness.newStore()];
    const { token } = await harness.newKey('secret', [first, second]);
    const create = (query: string, body: object = {}): Promise<Reply> =>
      send('POST', `/api/publication${query}`, { token, body: { ...TEA, ...body } });
    const foundIn = async (reply: Reply, store_id: string): Promise<number> =>
      (await send('GET', `/api/publication/${idOf(reply)}?store_id=${store_id}`, { token })).status;
    expect(await foundIn(await create(''), first)).toBe(200);
    expect(await foundIn(await create(`?store_id=${second}`), second)).toBe(200);
    const made = await create('', { store_id: second });
    expect([await foundIn(made, first), await foundIn(made, second)]).toEqual([404, 200]);

    expectError(await create(`?store_id=${first}`, { store_id: second }), 400, 'FIELD_INVALID', 'store_id');
    expectError(await create(`?store_id=${shop.store_id}`), 403, 'STORE_ACCESS_DENIED');
    expectError(await create('', { store_id: shop.store_id }), 403, 'STORE_ACCESS_DENIED');
    expectError(await create(`?store_id=${UNKNOWN}`), 403, 'STORE_ACCESS_DENIED');
    expectError(await create('?store_id=x'), 400, 'INVALID_UUID', 'store_id');
    const path = `/api/publication/${idOf(made)}?store_id=${first}`;
    expectError(await send('DELETE', path, { token }), 404, 'PUBLICATION_NOT_FOUND');
  });

  test('cannot be changed', async () => {
    const id = await publications.make();
    const move = (store_id: string | null) => publications.patch(id, { store_id });
    expect((await move(shop.store_id)).status).toBe(200);
    expectError(await move(await harness.newStore()), 400, 'FIELD_INVALID', 'store_id');
    expectError(await move(null), 400, 'FIELD_REQUIRED', 'store_id');
  });

  test('must be active', async () => {
    const { secret, store_id } = await harness.newShop();
    const target = { environment: 'live', id: store_id } as const;
    await changeStoreStatus(harness.deps, { source: 'cli', request_id: 'closing' }, target, 'inactive');
    const reply = await send('POST', '/api/publication', { token: secret.token, body: TEA });
    expectError(reply, 404, 'STORE_NOT_FOUND');
  });
});

describe('a deleted listing', () => {
  const restore = (id: string, options: RequestOptions = {}) =>
    send('POST', `/api/listing/${id}/restore`, options);
  const shownIn = async (id: string) =>
    (await send('GET', `/api/publications?listing_id=${id}`, { token: shop.public.token })).body.data.map(
      (one: { id: string }) => one.id,
    );

  test('is restored with its publications, except those that were moved meanwhile', async () => {
    const parent_id = await listings.make();
    const listing_id = await listings.make({ parent_id, handle: 'back-again' });
    const other = await listings.make();
    const [kept, moved] = [await publications.make({ listing_id }), await publications.make({ listing_id })];
    const before = (await listings.get(listing_id)).body.data;
    expect(before.stats.publication_count).toBe(2);
    await listings.remove(listing_id);
    for (const query of ['', '?visibility=all'])
      expect((await send('GET', `/api/publication/${kept}${query}`)).body.data).not.toHaveProperty(
        'listing_id',
      );
    expect(await shownIn(listing_id)).toEqual([]);
    const all = (await send('GET', '/api/publications?visibility=all&expand=media')).body.data;
    expect(all.find(({ id }: { id: string }) => id === kept)).not.toHaveProperty('listing_id');
    expectError(await send('GET', `/api/listing/${listing_id}/publications`), 404, 'LISTING_NOT_FOUND');
    const deleted = '/api/listings?visibility=deleted&limit=1';
    expectError(await send('GET', deleted, { token: shop.public.token }), 403, 'INSUFFICIENT_PERMISSIONS');
    const { data, meta } = (await send('GET', deleted)).body;
    expect(data).toMatchObject([{ id: listing_id, handle: 'back-again', deleted_at: expect.any(String) }]);
    expect(meta.item_count).toBeGreaterThan(0);
    await publications.patch(moved, { listing_id: other });
    const late = await publications.make();

    const restored = await restore(listing_id);
    expect([restored.status, restored.body.data]).toMatchObject([200, { parent_id, handle: 'back-again' }]);
    const after = (await listings.get(listing_id)).body.data;
    expect(after).toEqual({
      ...before,
      updated_at: after.updated_at,
      stats: { media_count: 0, publication_count: 1 },
    });
    expect(await shownIn(listing_id)).toEqual([kept]);
    expect((await publications.get(kept)).body.data.listing_id).toBe(listing_id);
    expect((await publications.get(late)).body.data).not.toHaveProperty('listing_id');
    expect((await listings.get(parent_id)).body.data.children_count).toBe(1);
    expect((await restore(listing_id)).status).toBe(200);
  });

  test('needs its parent and its names', async () => {
    const parent_id = await listings.make();
    const id = await listings.make({ parent_id, external_id: 'taken-later' });
    await listings.remove(id);
    await listings.remove(parent_id);
    expectError(await restore(id), 400, 'FIELD_INVALID', 'parent_id');
    await restore(parent_id);
    const taker = await listings.make({ external_id: 'taken-later' });
    expect((await restore(id)).status).toBe(409);
    await listings.remove(taker);
    expect((await restore(id)).body.data).toMatchObject({ parent_id, external_id: 'taken-later' });
    expectError(await restore(UNKNOWN), 404, 'LISTING_NOT_FOUND');
  });
});

describe('a deleted publication', () => {
  const restore = (id: string, options: RequestOptions = {}) =>
    send('POST', `/api/publication/${id}/restore`, options);

  test('is in the list of deleted publications of its store until it is restored', async () => {
    const client = harness.client(shop.secret);
    const own = await harness.newShop();
    const merchant = harness.client(own.secret);
    const deletedOf = async (query: object = {}) =>
      (await merchant.publications
        .list({ visibility: 'deleted', ...query }, { consistent: true })
        .page()) as {
        data: { id: string; title: string; deleted_at?: string }[];
        meta: { item_count: number };
      };
    const ids: string[] = [];
    for (const title of ['First', 'Second', 'Kept'])
      ids.push((await merchant.publications.create({ ...TEA, title, tags: ['old'] })).id);
    for (const id of ids.slice(0, 2)) await merchant.publications.delete(id);
    const { data, meta } = await deletedOf();
    expect(data).toMatchObject([
      { id: ids[1], title: 'Second', tags: ['old'], deleted_at: expect.stringMatching(/Z$/) },
      { id: ids[0], title: 'First' },
    ]);
    expect([meta.item_count, (await deletedOf({ page: 2, limit: 1 })).data]).toMatchObject([
      2,
      [{ id: ids[0] }],
    ]);
    expect((await client.publications.list({ visibility: 'deleted' }).page()).data).not.toEqual(
      expect.arrayContaining([expect.objectContaining({ id: ids[0] })]),
    );
    await merchant.publications.restore(ids[1]!);
    expect((await deletedOf()).data.map(({ id }) => id)).toEqual([ids[0]]);
    const reply = await harness.request('GET', '/api/publications?visibility=deleted', {
      token: own.public.token,
    });
    expectError(reply, 403, 'INSUFFICIENT_PERMISSIONS');
    expectError(
      await send('GET', '/api/store-listings?visibility=deleted'),
      400,
      'VALIDATION_ERROR',
      'visibility',
    );
  });

  test('is restored as it was, with its listing and its reviews, and is found again', async () => {
    const client = harness.client(shop.secret);
    const listing_id = await listings.make();
    const title = 'Restorable sencha';
    const created = await publications.post({ ...TEA, title, listing_id, featured_position: 2 });
    const id = idOf(created);
    await client.reviews.create(id, { rating: 4, author_name: 'Ann' });
    await publications.remove(id);
    expectError(await publications.get(id), 404, 'PUBLICATION_NOT_FOUND');
    expect((await client.store.search('restorable').page()).data).toEqual([]);

    const restored = await restore(id);
    const { updated_at } = restored.body.data;
    const stats = { ...created.body.data.stats, rating: { average: 4, count: 1 } };
    expect([restored.status, restored.body.data]).toEqual([200, { ...created.body.data, updated_at, stats }]);
    expect(restored.headers.get('etag')).toMatch(/^"3-/);
    const read = await publications.get(id);
    expect([read.body.data, read.headers.get('etag')]).toEqual([
      restored.body.data,
      restored.headers.get('etag'),
    ]);
    expect((await client.store.search('restorable').page()).data).toMatchObject([{ id }]);
    expect((await client.listings.publications(listing_id).page()).featured).toMatchObject([{ id }]);
    expect((await client.listings.get(listing_id)).stats).toMatchObject({ publication_count: 1 });
    expect((await client.publications.reviews(id).page()).meta.summary).toMatchObject({
      count: 1,
      average: 4,
    });

    const again = await restore(id);
    expect([again.status, again.headers.get('etag')]).toEqual([200, restored.headers.get('etag')]);
    expect((await publications.patch(id, { title: 'Tea' })).body.data.title).toBe('Tea');
  });

  test('is restored without its listing if that was deleted meanwhile', async () => {
    const listing_id = await listings.make();
    const id = await publications.make({ listing_id });
    await publications.remove(id);
    await listings.remove(listing_id);
    expect((await restore(id)).body.data).not.toHaveProperty('listing_id');
    expect((await publications.get(id)).body.data).not.toHaveProperty('listing_id');
  });

  test('keeps its external id, unless another one has it now', async () => {
    const external_id = 'restored-1';
    const id = await publications.make({ external_id });
    await publications.remove(id);
    const other = await publications.make({ external_id });
    const refused = await restore(id);
    expect([refused.status, refused.body.error.details.field]).toEqual([409, 'external_id']);
    await publications.remove(other);
    expect((await restore(id)).body.data.external_id).toBe(external_id);
    expect((await restore(other)).status).toBe(409);
  });

  test('is restored in a store of the token', async () => {
    const id = await publications.make();
    await publications.remove(id);
    const { secret } = await harness.newShop();
    expectError(await restore(id, { token: secret.token }), 404, 'PUBLICATION_NOT_FOUND');
    expectError(await restore(UNKNOWN), 404, 'PUBLICATION_NOT_FOUND');
    expectError(await restore('tea'), 400, 'INVALID_UUID', 'id');
    expect((await restore(id)).status).toBe(200);
  });
});
