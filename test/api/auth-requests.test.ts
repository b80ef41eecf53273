import { type Harness, type Shop, startHarness } from '../support/harness';

describe('requests to /auth/*', () => {
  let harness: Harness;
  let shop: Shop;

  beforeAll(async () => {
    harness = await startHarness();
    shop = await harness.newShop();
  });

  afterAll(() => harness.close());

  const ask = (body: unknown, headers: Record<string, string> = {}) =>
    harness.request('POST', '/auth/token', { headers: { 'x-api-key': shop.public.key, ...headers }, body });

  test.each([[0], [61], [-5], [1.5], ['15'], [null], [true], [[15]]])(
    'ttl_minutes %p is a 400 with a plain body',
    async (ttl_minutes) => {
      const reply = await ask({ ttl_minutes });
      expect(reply.body).toEqual({
        code: 400,
        status: 'error',
        message: 'Invalid ttl_minutes: expected an integer from 1 to 60',
      });
      expect(reply.status).toBe(400);
    },
  );

  test.each(['{', '', 'ttl_minutes=5', '[]', '"x"'])(
    'the body %p is accepted only if it is empty',
    async (body) => {
      const reply = await ask(body);
      if (body === '') expect([reply.status, reply.body.data.expires_in]).toEqual([200, 900]);
      else
        expect([reply.status, reply.body.code, reply.body.status, typeof reply.body.message]).toEqual([
          400,
          400,
          'error',
          'string',
        ]);
    },
  );

  test('a body of more than 1 kB is refused', async () => {
    expect((await ask(`{"ttl_minutes":5${' '.repeat(1_024)}}`)).status).toBe(413);
    expect((await ask(`{"ttl_minutes":5${' '.repeat(1_000)}}`)).status).toBe(200);
  });

  test('all answers have no-store, a request id and rate-limit headers', async () => {
    for (const reply of [
      await ask({}),
      await ask('{'),
      await ask({}, { 'x-api-key': 'x' }),
      await harness.request('GET', '/auth/token'),
    ]) {
      expect(reply.headers.get('cache-control')).toBe('no-store');
      expect(reply.headers.get('x-request-id')).toBeTruthy();
      expect(reply.headers.get('x-ratelimit-tier')).toBe('public_key');
    }
  });

  test.each(['token', 'refresh', 'validate'])(
    '/auth/%s accepts only POST, and answers the preflight of a browser',
    async (name) => {
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'HEAD']) {
        const reply = await harness.request(method, `/auth/${name}`);
        expect([method, reply.status, reply.headers.get('allow')]).toEqual([method, 405, 'POST, OPTIONS']);
      }
      const headers = { origin: 'https://shop.example', 'access-control-request-method': 'POST' };
      const preflight = await harness.request('OPTIONS', `/auth/${name}`, { headers });
      expect(preflight.status).toBe(204);
      expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
      expect(preflight.headers.get('access-control-allow-methods')).toContain('POST');
    },
  );

  test('an unknown path is a 404 with a plain body', async () => {
    const reply = await harness.request('POST', '/auth/login', { body: {} });
    expect([reply.status, reply.body]).toEqual([
      404,
      { code: 404, status: 'error', message: expect.any(String) },
    ]);
  });
});
