import { type Harness, type Reply, type RequestOptions, type Shop, startHarness } from '../support/harness';

const UNKNOWN = '01890000-0000-7000-8000-000000000000';
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('writing listings', () => {
  let harness: Harness;
  let shop: Shop;

  beforeAll(async () => {
    harness = await startHarness();
    shop = await harness.newShop();
  });

  afterAll(() => harness.close());

  const send = (method: string, path: string, options: RequestOptions = {}): Promise<Reply> =>
    harness.request(method, path, { token: shop.secret.token, ...options });
  const post = (body: unknown): Promise<Reply> => send('POST', '/api/listing', { body });
  const patch = (id: string, body: unknown, headers: Record<string, string> = {}): Promise<Reply> =>
    send('PATCH', `/api/listing/${id}`, { body, headers });
  const get = (id: string, query = '?visibility=all'): Promise<Reply> =>
    send('GET', `/api/listing/${id}${query}`);
  const make = async (body: object = {}): Promise<string> =>
    (await post({ name: 'Teas', ...body })).body.data.id;

  const refused = (reply: Reply, status: number, code: string, field?: string): void => {
    expect([reply.status, reply.body.error?.code, reply.body.error?.details?.field]).toEqual([
      status,
      code,
      field,
    ]);
    expect(reply.body).toMatchObject({ code: status, status: 'error' });
  };

  describe('POST', () => {
    test('answers 201 with the whole resource and its stats, where it is, and its ETag and position', async () => {
      const reply = await post({ name: ' Teas ' });
      expect(reply.status).toBe(201);
      expect(reply.body).toEqual({
        code: 201,
        status: 'OK',
        data: {
          id: expect.any(String),
          object: 'listing',
          name: 'Teas',
          visibility: 'public',
          default_sort_mode: 'created_at_desc',
          created_at: expect.stringMatching(ISO),
          updated_at: reply.body.data.created_at,
          stats: { media_count: 0, publication_count: 0 },
        },
      });
      expect(reply.headers.get('location')).toBe(`/api/listing/${reply.body.data.id}`);
      expect(reply.headers.get('etag')).toMatch(/^"1-/);
      expect(reply.headers.get('x-catalog-position')).toMatch(/^[1-9]\d*$/);
      expect((await get(reply.body.data.id, '')).body.data).toEqual(reply.body.data);
    });

    test('that is private is found by the key that asks for it alone', async () => {
      const id = await make({ visibility: 'private' });
      refused(await get(id, ''), 404, 'LISTING_NOT_FOUND');
      expect((await get(id)).status).toBe(200);
    });

    test.each([
      ['name', undefined, 'FIELD_REQUIRED'],
      ['name', null, 'FIELD_REQUIRED'],
      ['name', '   ', 'FIELD_TOO_SHORT'],
      ['name', 'x'.repeat(121), 'FIELD_TOO_LONG'],
      ['name', 'a\nb', 'FIELD_INVALID'],
      ['description', 'x'.repeat(5_001), 'FIELD_TOO_LONG'],
      ['visibility', 'hidden', 'FIELD_INVALID'],
      ['default_sort_mode', 'newest', 'FIELD_INVALID'],
      ['media_ids', {}, 'FIELD_INVALID'],
      ['title', 'Teas', 'FIELD_INVALID'],
    ])('refuses %s %j: %s', async (field, value, code) => {
      refused(await post({ name: 'Teas', [field]: value }), 400, code, field);
    });

    test('takes every field at its limit, and no media that are not there', async () => {
      expect((await post({ name: '😀'.repeat(120), description: 'x'.repeat(5_000) })).status).toBe(201);
      refused(await post({ name: 'Teas', media_ids: [UNKNOWN] }), 400, 'FIELD_INVALID', 'media_ids.0');
      refused(
        await post({ name: 'Teas', media_ids: Array(21).fill(UNKNOWN) }),
        400,
        'FIELD_TOO_LONG',
        'media_ids',
      );
    });
  });

  describe('PATCH', () => {
    test('answers with the whole resource, newer, and keeps what is not named', async () => {
      const id = await make({ description: 'All teas' });
      const reply = await patch(id, { default_sort_mode: 'price_asc', description: null });
      expect(reply.status).toBe(200);
      expect(reply.body.data).toMatchObject({ id, name: 'Teas', default_sort_mode: 'price_asc' });
      expect(reply.body.data).not.toHaveProperty('description');
      expect((await get(id)).body.data).toMatchObject(reply.body.data);
      expect(reply.headers.get('etag')).toMatch(/^"3-/);
    });

    test('that changes nothing writes nothing', async () => {
      const created = await post({ name: 'Teas' });
      const reply = await patch(created.body.data.id, {
        name: 'Teas',
        visibility: 'public',
        media_ids: null,
      });
      expect(reply.body.data.updated_at).toBe(created.body.data.updated_at);
      expect(reply.headers.get('x-catalog-position')).toBe(created.headers.get('x-catalog-position'));
    });

    test.each(['name', 'visibility', 'default_sort_mode'])('refuses null for %s', async (field) => {
      refused(await patch(await make(), { [field]: null }), 400, 'FIELD_REQUIRED', field);
    });

    test('refuses an unknown field and another store', async () => {
      const id = await make();
      refused(await patch(id, { colour: 'green' }), 400, 'FIELD_INVALID', 'colour');
      refused(await patch(id, { store_id: await harness.newStore() }), 400, 'FIELD_INVALID', 'store_id');
      expect((await patch(id, { store_id: shop.store_id.toUpperCase() })).status).toBe(200);
    });

    test('holds to If-Match', async () => {
      const id = await make();
      const etag = (await get(id)).headers.get('etag')!;
      expect((await patch(id, { name: 'A' }, { 'if-match': etag })).status).toBe(200);
      refused(await patch(id, { name: 'B' }, { 'if-match': etag }), 412, 'CONFLICT');
    });
  });

  describe('DELETE', () => {
    test('leaves its publications, without a listing', async () => {
      const { listings, publications } = harness.client(shop.secret);
      const { id } = await listings.create({ name: 'Teas' });
      const tea = { title: 'Tea', price_currency: 'USD', price_amount: 1, listing_id: id };
      const publication = await publications.create(tea);
      const read = () => publications.get(publication.id, { expand: ['listing'] });
      expect((await read()).listing?.id).toBe(id);

      expect(await listings.delete(id)).toEqual({ id, object: 'listing', deleted: true });
      await harness.settled();
      expect(await read()).not.toHaveProperty('listing');
      await expect(listings.publications(id).page()).rejects.toMatchObject({ code: 'LISTING_NOT_FOUND' });
      const late = { code: 'FIELD_INVALID', details: { field: 'listing_id' } };
      await expect(publications.create(tea)).rejects.toMatchObject(late);
    });

    test('is done once', async () => {
      const id = await make();
      await send('DELETE', `/api/listing/${id}`);
      refused(await send('DELETE', `/api/listing/${id}`), 404, 'LISTING_NOT_FOUND');
      refused(await patch(id, { name: 'X' }), 404, 'LISTING_NOT_FOUND');
      refused(await get(id), 404, 'LISTING_NOT_FOUND');
    });
  });

  describe('who may write where', () => {
    test.each([
      ['POST', '/api/listing'],
      ['PATCH', `/api/listing/${UNKNOWN}`],
      ['DELETE', `/api/listing/${UNKNOWN}`],
    ])('%s %s is for secret keys with the permission', async (method, path) => {
      const body = method === 'POST' ? { name: 'Teas' } : undefined;
      const asked = { token: shop.public.token, body };
      refused(await harness.request(method, path, asked), 403, 'INSUFFICIENT_PERMISSIONS');
      const { token } = await harness.newKey('secret', [shop.store_id], ['write:publications']);
      refused(await harness.request(method, path, { token, body }), 403, 'INSUFFICIENT_PERMISSIONS');
    });

    test("another store's is not found, an id that is no UUID is refused", async () => {
      const id = await make();
      const { token } = (await harness.newShop()).secret;
      const path = `/api/listing/${id}`;
      refused(await harness.request('PATCH', path, { token, body: { name: 'X' } }), 404, 'LISTING_NOT_FOUND');
      refused(await harness.request('DELETE', path, { token }), 404, 'LISTING_NOT_FOUND');
      refused(await patch(UNKNOWN, {}), 404, 'LISTING_NOT_FOUND');
      refused(await patch('teas', {}), 400, 'INVALID_UUID', 'id');
    });

    test("the query and the body name one of the token's stores", async () => {
      const other = await harness.newStore();
      const named = (query: string, body: object = {}): Promise<Reply> =>
        send('POST', `/api/listing${query}`, { body: { name: 'Teas', ...body } });
      expect((await named(`?store_id=${shop.store_id}`, { store_id: shop.store_id })).status).toBe(201);
      refused(
        await named(`?store_id=${shop.store_id}`, { store_id: other }),
        400,
        'FIELD_INVALID',
        'store_id',
      );
      refused(await named(`?store_id=${other}`), 403, 'STORE_ACCESS_DENIED');
      refused(await named('', { store_id: other }), 403, 'STORE_ACCESS_DENIED');
    });
  });
});
