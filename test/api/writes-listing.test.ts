import { type Harness, type Shop, startHarness } from '../support/harness';
import { merchantRequests } from './merchant-requests';
import { expectError } from './replies';

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

  const { send, post, patch, get } = merchantRequests(() => ({ harness, shop }), '/api/listing');
  const make = async (body: object = {}): Promise<string> =>
    (await post({ name: 'Teas', ...body })).body.data.id;

  describe('POST', () => {
    test('returns 201 with the resource and its stats, Location, ETag and position', async () => {
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
          media_ids: [],
        },
      });
      expect(reply.headers.get('location')).toBe(`/api/listing/${reply.body.data.id}`);
      expect(reply.headers.get('etag')).toMatch(/^"1-/);
      expect(reply.headers.get('x-catalog-position')).toMatch(/^[1-9]\d*$/);
      expect((await get(reply.body.data.id, '')).body.data).toEqual(reply.body.data);
    });

    test('with visibility private creates a listing that is only found with another visibility', async () => {
      const id = await make({ visibility: 'private' });
      expectError(await get(id, ''), 404, 'LISTING_NOT_FOUND');
      expect((await get(id)).status).toBe(200);
    });

    test.each([
      ['name', undefined, 'FIELD_REQUIRED'],
      ['description', 'x'.repeat(5_001), 'FIELD_TOO_LONG'],
      ['default_sort_mode', 'newest', 'FIELD_INVALID'],
      ['title', 'Teas', 'FIELD_INVALID'],
    ])('rejects %s %j with %s', async (field, value, code) => {
      expectError(await post({ name: 'Teas', [field]: value }), 400, code, field);
    });

    test('accepts fields of the maximum length, and rejects media that do not exist', async () => {
      expect((await post({ name: '😀'.repeat(120), description: 'x'.repeat(5_000) })).status).toBe(201);
      expectError(await post({ name: 'Teas', media_ids: [UNKNOWN] }), 400, 'FIELD_INVALID', 'media_ids.0');
      expectError(
        await post({ name: 'Teas', media_ids: Array(21).fill(UNKNOWN) }),
        400,
        'FIELD_TOO_LONG',
        'media_ids',
      );
    });
  });

  describe('PATCH', () => {
    test('returns the updated resource, and keeps fields that are not sent', async () => {
      const id = await make({ description: 'All teas' });
      const reply = await patch(id, { default_sort_mode: 'price_asc', description: null });
      expect(reply.status).toBe(200);
      expect(reply.body.data).toMatchObject({ id, name: 'Teas', default_sort_mode: 'price_asc' });
      expect(reply.body.data).not.toHaveProperty('description');
      expect((await get(id)).body.data).toMatchObject(reply.body.data);
      expect(reply.headers.get('etag')).toMatch(/^"3-/);
    });
  });

  describe('DELETE', () => {
    test('keeps the publications of the listing, without a listing, and says how many they are', async () => {
      const { listings, publications } = harness.client(shop.secret);
      const { id } = await listings.create({ name: 'Teas' });
      const tea = { title: 'Tea', price_currency: 'USD', price_amount: 1, listing_id: id };
      const publication = await publications.create(tea);
      const read = () => publications.get(publication.id, { expand: ['listing'] });
      expect((await read()).listing?.id).toBe(id);

      await publications.create({ ...tea, visibility: 'private' });
      await harness.settled();
      expect(await listings.delete(id)).toEqual({
        ...{ id, object: 'listing', deleted: true },
        publication_count: 2,
      });
      await harness.settled();
      expect(await read()).not.toHaveProperty('listing');
      await expect(listings.publications(id).page()).rejects.toMatchObject({ code: 'LISTING_NOT_FOUND' });
      const error = { code: 'FIELD_INVALID', details: { field: 'listing_id' } };
      await expect(publications.create(tea)).rejects.toMatchObject(error);
    });

    test('with if_empty=true refuses while the listing has publications', async () => {
      const { listings, publications } = harness.client(shop.secret);
      const { id } = await listings.create({ name: 'Teas' });
      const tea = { title: 'Tea', price_currency: 'USD', price_amount: 1, visibility: 'private' } as const;
      const publication = await publications.create({ ...tea, listing_id: id });
      await harness.settled();
      const path = `/api/listing/${id}`;
      const refused = await send('DELETE', `${path}?if_empty=true`);
      expectError(refused, 409, 'DEPENDENCY_EXISTS');
      expect(refused.body.error.message).toContain('The listing has 1 publication');
      expectError(await send('DELETE', `${path}?if_empty=yes`), 400, 'VALIDATION_ERROR', 'if_empty');
      await publications.delete(publication.id);
      await harness.settled();
      expect(await listings.delete(id, { if_empty: true })).toMatchObject({ publication_count: 0 });
      expectError(await send('DELETE', `${path}?if_empty=true`), 404, 'LISTING_NOT_FOUND');
    });
  });

  describe('permissions and stores', () => {
    test.each([
      ['POST', '/api/listing'],
      ['PATCH', `/api/listing/${UNKNOWN}`],
      ['DELETE', `/api/listing/${UNKNOWN}`],
    ])('%s %s requires a secret key with the permission', async (method, path) => {
      const body = method === 'POST' ? { name: 'Teas' } : undefined;
      const asked = { token: shop.public.token, body };
      expectError(await harness.request(method, path, asked), 403, 'INSUFFICIENT_PERMISSIONS');
      const { token } = await harness.newKey('secret', [shop.store_id], ['write:publications']);
      expectError(await harness.request(method, path, { token, body }), 403, 'INSUFFICIENT_PERMISSIONS');
    });

    test('a listing of another store is not found, and an id that is not a UUID is rejected', async () => {
      const id = await make();
      const { token } = (await harness.newShop()).secret;
      const path = `/api/listing/${id}`;
      expectError(
        await harness.request('PATCH', path, { token, body: { name: 'X' } }),
        404,
        'LISTING_NOT_FOUND',
      );
      expectError(await harness.request('DELETE', path, { token }), 404, 'LISTING_NOT_FOUND');
      expectError(await patch(UNKNOWN, {}), 404, 'LISTING_NOT_FOUND');
      expectError(await patch('teas', {}), 400, 'INVALID_UUID', 'id');
    });
  });
});
