import type { Environment } from '../../shared/catalog/realm';
import { permissionsOf } from '../../shared/catalog/vocabulary';
import { type Harness, type Shop, startHarness, type TestKey } from '../support/harness';

const NEW_PUBLICATION = { title: 'Lamp', price_currency: 'USD', price_amount: 1999 };

interface Kind {
  readonly name: string;
  readonly prefix: string;
  readonly environment: Environment;
  readonly type: 'public' | 'secret';
}

const KINDS: readonly Kind[] = [
  { name: 'a live public key', prefix: 'pk_live_', environment: 'live', type: 'public' },
  { name: 'a live secret key', prefix: 'sk_live_', environment: 'live', type: 'secret' },
  { name: 'a test public key', prefix: 'pk_test_', environment: 'test', type: 'public' },
  { name: 'a test secret key', prefix: 'sk_test_', environment: 'test', type: 'secret' },
];

describe('the four kinds of key', () => {
  let harness: Harness;
  let shops: Record<Environment, Shop>;

  beforeAll(async () => {
    harness = await startHarness();
    shops = { live: await harness.newShop('live'), test: await harness.newShop('test') };
  });

  afterAll(() => harness.close());

  const keyOf = (kind: Kind): TestKey => shops[kind.environment][kind.type];

  describe.each(KINDS)('$name', (kind) => {
    test('has its prefix and 43 characters', () => {
      expect(keyOf(kind).key).toMatch(new RegExp(`^${kind.prefix}[A-Za-z0-9_-]{43}$`));
    });

    test('gets a token with its permissions', async () => {
      const { key, id } = keyOf(kind);
      const issued = await harness.request('POST', '/auth/token', {
        headers: { 'x-api-key': key },
        body: { ttl_minutes: 30 },
      });
      expect(issued.body).toEqual({
        code: 200,
        status: 'OK',
        data: { token: expect.any(String), token_type: 'Bearer', expires_in: 1800 },
      });
      const { body } = await harness.request('POST', '/auth/validate', { token: issued.body.data.token });
      expect(body.data).toEqual({
        valid: true,
        api_key_id: id,
        account_id: harness.account_id,
        key_type: kind.type,
        stores: [shops[kind.environment].store_id],
        permissions: permissionsOf(kind.type),
        expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/),
      });
    });

    test('reads its own store', async () => {
      const reply = await harness.request('GET', '/api/store', { token: keyOf(kind).token });
      expect([reply.status, reply.body.data.id]).toEqual([200, shops[kind.environment].store_id]);
      expect(reply.headers.get('x-ratelimit-tier')).toBe(`${kind.type}_key`);
    });

    test('does not reach the other environment, by store or by id', async () => {
      const other = shops[kind.environment === 'live' ? 'test' : 'live'];
      const { token } = keyOf(kind);
      const store = await harness.request('GET', `/api/store?store_id=${other.store_id}`, { token });
      expect([store.status, store.body.error.code]).toEqual([403, 'STORE_ACCESS_DENIED']);
      const made = await harness.request('POST', '/api/publication', {
        token: other.secret.token,
        body: NEW_PUBLICATION,
      });
      expect(made.status).toBe(201);
      const path = `/api/publication/${made.body.data.id}`;
      expect((await harness.request('GET', path, { token })).body.error.code).toBe('PUBLICATION_NOT_FOUND');
      expect((await harness.request('GET', path, { token: other.public.token })).status).toBe(200);
    });

    test(kind.type === 'secret' ? 'writes' : 'cannot write', async () => {
      const { token } = keyOf(kind);
      const made = await harness.request('POST', '/api/listing', {
        token,
        body: { name: `Of ${kind.name}` },
      });
      if (kind.type === 'secret') {
        expect(made.status).toBe(201);
        const path = `/api/listing/${made.body.data.id}`;
        expect((await harness.request('PATCH', path, { token, body: { name: 'Other' } })).status).toBe(200);
        expect((await harness.request('DELETE', path, { token })).status).toBe(200);
        return;
      }
      const id = shops[kind.environment].store_id;
      const refused = [
        made,
        await harness.request('POST', '/api/publication', { token, body: NEW_PUBLICATION }),
        await harness.request('PATCH', `/api/publication/${id}`, { token, body: {} }),
        await harness.request('DELETE', `/api/publication/${id}`, { token }),
        await harness.request('PATCH', `/api/listing/${id}`, { token, body: {} }),
        await harness.request('DELETE', `/api/listing/${id}`, { token }),
      ];
      for (const reply of refused)
        expect([reply.status, reply.body.error.code]).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
    });
  });
});
