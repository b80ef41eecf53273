import { changeStoreStatus } from '../../services/command/store';
import type { Field } from '../../shared/catalog/fields';
import { publicationFields } from '../../shared/catalog/publication/fields';
import { type Harness, type Reply, type Shop, startHarness } from '../support/harness';
import { merchantRequests } from './merchant-requests';
import { expectError } from './replies';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };
const UNKNOWN = '01890000-0000-7000-8000-000000000000';
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('writing publications', () => {
  let harness: Harness;
  let shop: Shop;

  beforeAll(async () => {
    harness = await startHarness();
    shop = await harness.newShop();
  });

  afterAll(() => harness.close());

  const { send, post, patch, get } = merchantRequests(() => ({ harness, shop }), '/api/publication');
  const make = async (body: object = {}): Promise<string> => (await post({ ...TEA, ...body })).body.data.id;
  const makeListing = async (): Promise<string> =>
    (await send('POST', '/api/listing', { body: { name: 'Teas' } })).body.data.id;

  describe('POST', () => {
    test('returns 201 with the resource, Location, ETag and position', async () => {
      const reply = await post(TEA);
      const { id } = reply.body.data;
      expect(reply.body).toEqual({
        code: 201,
        status: 'OK',
        data: {
          ...TEA,
          id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/),
          object: 'publication',
          description: '',
          visibility: 'public',
          price_active: true,
          created_at: expect.stringMatching(ISO),
          updated_at: reply.body.data.created_at,
          stats: { media_count: 0, view_count: 0 },
          media_ids: [],
        },
      });
      expect(reply.status).toBe(201);
      expect(reply.headers.get('location')).toBe(`/api/publication/${id}`);
      expect(reply.headers.get('etag')).toMatch(/^"1-/);
      expect(reply.headers.get('x-catalog-position')).toMatch(/^[1-9]\d*$/);
    });

    test('creates a publication that a public key can read immediately, as it was returned', async () => {
      const body = {
        ...TEA,
        title: '  Green   tea ',
        description: 'two\nlines',
        description_html: '<p onclick="x()">Hot</p><script>x</script>',
        price_active: false,
        free_shipping: false,
        quantity_available: 0,
        featured_position: 3,
        listing_id: await makeListing(),
      };
      const written = (await post(body)).body.data;
      expect(written).toMatchObject({
        title: 'Green   tea',
        description_html: '<p>Hot</p>',
        free_shipping: false,
      });
      const read = await harness.request('GET', `/api/publication/${written.id}`, {
        token: shop.public.token,
      });
      expect(read.status).toBe(200);
      expect(read.body.data).toEqual(written);
    });

    test('with visibility private creates a publication that is only found with another visibility', async () => {
      const id = await make({ visibility: 'private' });
      expectError(await get(id, ''), 404, 'PUBLICATION_NOT_FOUND');
      expect((await get(id, '?visibility=private')).body.data.visibility).toBe('private');
    });

    test.each([
      ['title', undefined, 'FIELD_REQUIRED'],
      ['title', '', 'FIELD_TOO_SHORT'],
      ['title', 'x'.repeat(201), 'FIELD_TOO_LONG'],
      ['price_amount', -1, 'FIELD_INVALID'],
      ['listing_id', UNKNOWN, 'FIELD_INVALID'],
      ['store_id', 'x', 'FIELD_INVALID'],
      ['prize', 1, 'FIELD_INVALID'],
    ])('rejects %s %j with %s', async (field, value, code) => {
      const reply = await post({ ...TEA, [field]: value });
      expectError(reply, 400, code, field);
      expect(reply.body.message).toEqual(expect.any(String));
      expect(reply.body.error.details.constraint).toEqual(expect.any(String));
    });

    test('reports every fault, the first one in `field`', async () => {
      const reply = await post({ title: '', price_amount: 'x' });
      expect(reply.body.error.details).toMatchObject({
        field: 'title',
        errors: [
          { field: 'title', code: 'FIELD_TOO_SHORT' },
          { field: 'price_currency', code: 'FIELD_REQUIRED' },
          { field: 'price_amount', code: 'FIELD_INVALID' },
        ],
      });
    });

    test('rejects media that do not exist and a listing of another store', async () => {
      expectError(await post({ ...TEA, media_ids: [UNKNOWN] }), 400, 'FIELD_INVALID', 'media_ids.0');
      expectError(
        await post({ ...TEA, media_ids: Array(51).fill(UNKNOWN) }),
        400,
        'FIELD_TOO_LONG',
        'media_ids',
      );
      const other = await harness.newShop();
      const listing = await harness.request('POST', '/api/listing', {
        token: other.secret.token,
        body: { name: 'Theirs' },
      });
      expectError(
        await post({ ...TEA, listing_id: listing.body.data.id }),
        400,
        'FIELD_INVALID',
        'listing_id',
      );
    });

    test('requires a JSON object', async () => {
      expectError(await post('{"title":'), 400, 'INVALID_REQUEST');
      expectError(await post('[]'), 400, 'INVALID_REQUEST');
      expectError(await post(undefined), 400, 'FIELD_REQUIRED', 'title');
      const headers = { 'content-type': 'text/plain' };
      expectError(await send('POST', '/api/publication', { body: 'Tea', headers }), 415, 'INVALID_REQUEST');
      expectError(await post({ ...TEA, description: 'x'.repeat(2_000_000) }), 413, 'LIMIT_EXCEEDED');
    });
  });

  describe('PATCH', () => {
    test('returns the updated resource, and keeps fields that are not sent', async () => {
      const id = await make({ description: 'Hot', featured_position: 2 });
      const before = await get(id);
      const reply = await patch(id, { price_amount: 900, featured_position: null });
      const { featured_position: _, ...kept } = before.body.data;
      expect(reply.status).toBe(200);
      expect(reply.body.data).toEqual({ ...kept, price_amount: 900, updated_at: expect.stringMatching(ISO) });
      expect((await get(id)).body.data).toEqual(reply.body.data);
      expect(reply.headers.get('etag')).not.toBe(before.headers.get('etag'));
    });

    test('clears every optional field with null', async () => {
      const values: Record<string, unknown> = {
        description: 'Hot',
        description_html: '<b>Hot</b>',
        free_shipping: true,
        quantity_available: 1,
        featured_position: 1,
        listing_id: await makeListing(),
        media_ids: [],
      };
      // A field that is not listed here is set to its example.
      const clearable = Object.entries<Field>(publicationFields).filter(
        ([, { input }]) => input.safeParse(null).success,
      );
      const set = Object.fromEntries(clearable.map(([name, { example }]) => [name, values[name] ?? example]));
      expect(Object.keys(set)).toEqual(expect.arrayContaining(Object.keys(values)));
      expect(Object.values(set)).not.toContain(undefined);
      const id = await make(set);
      const reply = await patch(id, Object.fromEntries(Object.keys(set).map((field) => [field, null])));
      expect(reply.status).toBe(200);
      expect(reply.body.data).toMatchObject({ ...TEA, description: '', media_ids: [] });
      for (const field of Object.keys(set))
        if (!['description', 'media_ids'].includes(field)) expect(reply.body.data).not.toHaveProperty(field);
    });

    test('that changes nothing appends no event', async () => {
      const created = await post({ ...TEA, description: 'Hot' });
      const { id, created_at: _, updated_at, object: __, stats: ___, ...same } = created.body.data;
      for (const body of [{}, same]) {
        const reply = await patch(id, body);
        expect(reply.body.data.updated_at).toBe(updated_at);
        expect(reply.headers.get('etag')).toMatch(/^"1-/);
        expect(reply.headers.get('x-catalog-position')).toBe(created.headers.get('x-catalog-position'));
      }
    });

    test('moves a publication to another listing and out of its listing', async () => {
      const { listings, publications } = harness.client(shop.secret);
      const [first, second] = [await makeListing(), await makeListing()];
      const { id } = await publications.create({ ...TEA, listing_id: first });
      const listed = async (listing: string): Promise<string[]> =>
        (await listings.publications(listing).all()).map((publication) => publication.id);
      expect([await listed(first), await listed(second)]).toEqual([[id], []]);
      await publications.update(id, { listing_id: second });
      expect([await listed(first), await listed(second)]).toEqual([[], [id]]);
      await publications.update(id, { listing_id: null });
      expect([await listed(first), await listed(second)]).toEqual([[], []]);
    });

    test('cannot change the store', async () => {
      const id = await make();
      expect((await patch(id, { store_id: shop.store_id })).status).toBe(200);
      expectError(await patch(id, { store_id: await harness.newStore() }), 400, 'FIELD_INVALID', 'store_id');
      expectError(await patch(id, { store_id: null }), 400, 'FIELD_REQUIRED', 'store_id');
    });

    test('applies all concurrent patches, in one order', async () => {
      const id = await make();
      const titles = Array.from({ length: 20 }, (_, i) => `Tea ${i}`);
      const replies = await Promise.all(titles.map((title) => patch(id, { title })));
      expect(replies.map((reply) => reply.status)).toEqual(titles.map(() => 200));
      expect(replies.map((reply) => reply.body.data.title)).toEqual(titles);
      const positions = replies.map((reply) => BigInt(reply.headers.get('x-catalog-position')!));
      const newest = positions.toSorted((a, b) => Number(a - b)).at(-1)!;
      expect(new Set(positions).size).toBe(titles.length);
      expect((await get(id)).body.data.title).toBe(titles[positions.indexOf(newest)]);
      expect((await get(id)).headers.get('etag')).toMatch(/^"21-/);
    });
  });

  describe('If-Match', () => {
    test('accepts one of two concurrent writes', async () => {
      const id = await make();
      const etag = (await get(id)).headers.get('etag')!;
      const replies = await Promise.all(
        ['A', 'B'].map((title) => patch(id, { title }, { 'if-match': etag })),
      );
      expect(replies.map((reply) => reply.status).sort()).toEqual([200, 412]);
      expectError(replies.find((reply) => reply.status === 412)!, 412, 'CONFLICT');
    });

    test('accepts the ETag of a write, a weak ETag and *', async () => {
      const created = await post(TEA);
      const { id } = created.body.data;
      const first = await patch(id, { title: 'A' }, { 'if-match': created.headers.get('etag')! });
      const second = await patch(id, { title: 'B' }, { 'if-match': `W/${first.headers.get('etag')}` });
      const third = await patch(id, { title: 'C' }, { 'if-match': '*' });
      expect([first.status, second.status, third.status]).toEqual([200, 200, 200]);
    });

    test('applies to DELETE', async () => {
      const id = await make();
      const stale = { headers: { 'if-match': '"7-x"' } };
      expectError(await send('DELETE', `/api/publication/${id}`, stale), 412, 'CONFLICT');
      expect((await get(id)).status).toBe(200);
    });
  });

  describe('DELETE', () => {
    test('returns the id, and every later request returns 404', async () => {
      const id = await make();
      const reply = await send('DELETE', `/api/publication/${id}`);
      expect([reply.status, reply.body]).toEqual([
        200,
        { code: 200, status: 'OK', data: { id, object: 'publication', deleted: true } },
      ]);
      expect(reply.headers.get('x-catalog-position')).toMatch(/^\d+$/);
      expectError(await get(id), 404, 'PUBLICATION_NOT_FOUND');
      expectError(await patch(id, { title: 'X' }), 404, 'PUBLICATION_NOT_FOUND');
      expectError(await send('DELETE', `/api/publication/${id}`), 404, 'PUBLICATION_NOT_FOUND');
    });
  });

  describe('permissions and stores', () => {
    test.each([
      ['POST', ''],
      ['PATCH', `/${UNKNOWN}`],
      ['DELETE', `/${UNKNOWN}`],
    ])('%s requires a secret key with the permission', async (method, rest) => {
      const path = `/api/publication${rest}`;
      const body = method === 'POST' ? TEA : undefined;
      const asked = { token: shop.public.token, body };
      expectError(await harness.request(method, path, asked), 403, 'INSUFFICIENT_PERMISSIONS');
      const { token } = await harness.newKey(
        'secret',
        [shop.store_id],
        ['write:listings', 'read:publications'],
      );
      expectError(await harness.request(method, path, { token, body }), 403, 'INSUFFICIENT_PERMISSIONS');
      expectError(await harness.request(method, path, { body }), 401, 'UNAUTHORIZED');
    });

    test('an id that is not a UUID is rejected, and an unknown one is not found', async () => {
      expectError(await patch('tea', { title: 'X' }), 400, 'INVALID_UUID', 'id');
      expectError(await send('DELETE', '/api/publication/tea'), 400, 'INVALID_UUID', 'id');
      expectError(await patch(UNKNOWN, { title: 'X' }), 404, 'PUBLICATION_NOT_FOUND');
      expectError(await send('DELETE', `/api/publication/${UNKNOWN}`), 404, 'PUBLICATION_NOT_FOUND');
    });

    test('a publication of another store or environment is not found', async () => {
      const id = await make();
      for (const other of [await harness.newShop(), await harness.newShop('test')]) {
        const { token } = other.secret;
        const path = `/api/publication/${id}`;
        expectError(
          await harness.request('PATCH', path, { token, body: { title: 'X' } }),
          404,
          'PUBLICATION_NOT_FOUND',
        );
        expectError(await harness.request('DELETE', path, { token }), 404, 'PUBLICATION_NOT_FOUND');
      }
    });

    test("the store is the token's first, the one in the query, or the one in the body", async () => {
      const [first, second] = [await harness.newStore(), await harness.newStore()];
      const { token } = await harness.newKey('secret', [first, second]);
      const create = (query: string, body: object = {}): Promise<Reply> =>
        harness.request('POST', `/api/publication${query}`, { token, body: { ...TEA, ...body } });
      const foundIn = async (reply: Reply, store_id: string): Promise<number> => {
        const path = `/api/publication/${reply.body.data.id}?store_id=${store_id}`;
        return (await harness.request('GET', path, { token })).status;
      };
      expect(await foundIn(await create(''), first)).toBe(200);
      expect(await foundIn(await create(`?store_id=${second}`), second)).toBe(200);
      const made = await create('', { store_id: second });
      expect([await foundIn(made, first), await foundIn(made, second)]).toEqual([404, 200]);

      expectError(await create(`?store_id=${first}`, { store_id: second }), 400, 'FIELD_INVALID', 'store_id');
      expectError(await create(`?store_id=${shop.store_id}`), 403, 'STORE_ACCESS_DENIED');
      expectError(await create('', { store_id: shop.store_id }), 403, 'STORE_ACCESS_DENIED');
      expectError(await create(`?store_id=${UNKNOWN}`), 403, 'STORE_ACCESS_DENIED');
      expectError(await create('?store_id=x'), 400, 'INVALID_UUID', 'store_id');
      const path = `/api/publication/${made.body.data.id}?store_id=${first}`;
      expectError(await harness.request('DELETE', path, { token }), 404, 'PUBLICATION_NOT_FOUND');
    });

    test('a store that is not active rejects writes', async () => {
      const closed = await harness.newShop();
      const { token } = closed.secret;
      const target = { environment: 'live', id: closed.store_id } as const;
      const context = { source: 'cli', request_id: 'closing' } as const;
      await changeStoreStatus(harness.deps, context, target, 'inactive');
      expectError(
        await harness.request('POST', '/api/publication', { token, body: TEA }),
        404,
        'STORE_NOT_FOUND',
      );
    });
  });

  describe('reading a written publication', () => {
    test('immediately after respond-async works with the position', async () => {
      const reply = await send('POST', '/api/publication', {
        body: TEA,
        headers: { prefer: 'respond-async' },
      });
      expect([reply.status, reply.headers.get('preference-applied')]).toEqual([201, 'respond-async']);
      const position = reply.headers.get('x-catalog-position')!;
      const path = `/api/publication/${reply.body.data.id}`;
      const read = await send('GET', path, { headers: { 'x-catalog-min-position': position } });
      expect([read.status, read.body.data]).toEqual([200, reply.body.data]);
    });

    test('returns the version of the ETag that the write returned', async () => {
      const reply = await post(TEA);
      const read = await get(reply.body.data.id, '');
      const versionOf = (etag: string | null): string | undefined => etag?.split('-')[0];
      expect(versionOf(read.headers.get('etag'))).toBe(versionOf(reply.headers.get('etag')));
    });
  });
});
