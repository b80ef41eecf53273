import type { WriteContext } from '../../services/command/execute';
import { changeStoreStatus } from '../../services/command/store';
import { type Harness, type Reply, type RequestOptions, type Shop, startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';

const NOBODY = '01890a5d-ac96-774b-bcce-b302099a8057';
const LAMP = { title: 'Lamp', price_currency: 'USD', price_amount: 1999 };

describe('every error code of the running service', () => {
  let harness: Harness;
  let shop: Shop;

  beforeAll(async () => {
    harness = await startHarness();
    shop = await harness.newShop();
  });

  afterAll(() => harness.close());

  const ask = (method: string, path: string, options: RequestOptions = {}): Promise<Reply> =>
    harness.request(method, path, { token: shop.secret.token, ...options });

  /** The structured shape, and nothing but it. */
  const expectError = (reply: Reply, status: number, code: string): void => {
    const { body } = reply;
    expect([reply.status, body.code, body.status, body.error?.code]).toEqual([status, status, 'error', code]);
    expect(typeof body.error.message).toBe('string');
    expect(typeof body.message).toBe(status === 400 ? 'string' : 'undefined');
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(reply.headers.get('x-request-id')).toBeTruthy();
    expect(reply.text).not.toMatch(/sqlite|stack|node_modules|\.ts|\.js/i);
  };

  test.each([
    ['GET', '/api/nothing', 404, 'NOT_FOUND'],
    ['GET', '/nothing', 404, 'NOT_FOUND'],
    ['GET', '/api/store/', 404, 'NOT_FOUND'],
    ['GET', '/API/store', 404, 'NOT_FOUND'],
    ['POST', '/api/store', 405, 'OPERATION_NOT_ALLOWED'],
    ['GET', '/api/publication', 405, 'OPERATION_NOT_ALLOWED'],
    ['PUT', `/api/listing/${NOBODY}`, 405, 'OPERATION_NOT_ALLOWED'],
    ['GET', `/api/listing/${NOBODY}`, 404, 'LISTING_NOT_FOUND'],
    ['GET', `/api/listing/${NOBODY}/publications`, 404, 'LISTING_NOT_FOUND'],
    ['GET', `/api/publication/${NOBODY}`, 404, 'PUBLICATION_NOT_FOUND'],
    ['GET', `/api/publication/${NOBODY}/reviews`, 404, 'PUBLICATION_NOT_FOUND'],
    ['DELETE', `/api/publication/${NOBODY}`, 404, 'PUBLICATION_NOT_FOUND'],
    ['DELETE', `/api/listing/${NOBODY}`, 404, 'LISTING_NOT_FOUND'],
    ['GET', '/api/publication/12', 400, 'INVALID_UUID'],
    ['GET', '/api/store?store_id=mine', 400, 'INVALID_UUID'],
    ['GET', '/api/publications?listing_id=12', 400, 'INVALID_UUID'],
    ['GET', '/api/publication/%E0%A4%A', 400, 'INVALID_REQUEST'],
    ['GET', `/api/store?store_id=${NOBODY}`, 403, 'STORE_ACCESS_DENIED'],
    ['GET', '/api/publications?limit=51', 400, 'VALIDATION_ERROR'],
    ['GET', '/api/publications?limit=0', 400, 'VALIDATION_ERROR'],
    ['GET', '/api/publications?page=0', 400, 'VALIDATION_ERROR'],
    ['GET', '/api/publications?page=1&page=2', 400, 'VALIDATION_ERROR'],
    ['GET', '/api/publications?sort=size', 400, 'VALIDATION_ERROR'],
    ['GET', '/api/publications?order=up', 400, 'VALIDATION_ERROR'],
    ['GET', '/api/publications?expand=owner', 400, 'VALIDATION_ERROR'],
    ['GET', '/api/listings?limit=many', 400, 'VALIDATION_ERROR'],
  ])('%s %s → %i %s', async (method, path, status, code) => {
    const reply = await ask(method, path);
    expectError(reply, status, code);
    if (status === 405) expect(reply.headers.get('allow')).toMatch(/OPTIONS$/);
    if (code === 'VALIDATION_ERROR') {
      const { details } = reply.body.error;
      expect(details).toEqual({
        field: expect.any(String),
        constraint: expect.any(String),
        errors: [{ field: details.field, constraint: details.constraint, code: 'VALIDATION_ERROR' }],
      });
    }
  });

  test.each([
    ['nothing', {}, 'FIELD_REQUIRED', 'title'],
    ['null for a required field', { ...LAMP, title: null }, 'FIELD_REQUIRED', 'title'],
    ['another type', { ...LAMP, price_amount: '5' }, 'FIELD_INVALID', 'price_amount'],
    ['a fraction', { ...LAMP, price_amount: 1.5 }, 'FIELD_INVALID', 'price_amount'],
    ['a negative amount', { ...LAMP, price_amount: -1 }, 'FIELD_INVALID', 'price_amount'],
    ['an unknown currency', { ...LAMP, price_currency: 'usd' }, 'FIELD_INVALID', 'price_currency'],
    ['a value that is not allowed', { ...LAMP, visibility: 'hidden' }, 'FIELD_INVALID', 'visibility'],
    ['an unknown field', { ...LAMP, colour: 'red' }, 'FIELD_INVALID', 'colour'],
    ['a listing that is not there', { ...LAMP, listing_id: NOBODY }, 'FIELD_INVALID', 'listing_id'],
    ['a title too long', { ...LAMP, title: 'x'.repeat(201) }, 'FIELD_TOO_LONG', 'title'],
    ['a title too short', { ...LAMP, title: '' }, 'FIELD_TOO_SHORT', 'title'],
  ])('a publication with %s', async (_name, body, code, field) => {
    const reply = await ask('POST', '/api/publication', { body });
    expectError(reply, 400, code);
    expect(reply.body.error.details).toMatchObject({ field, constraint: expect.any(String) });
    expect(reply.body.error.details.errors[0]).toMatchObject({ field, code });
  });

  test('all faults are told at once', async () => {
    const reply = await ask('POST', '/api/publication', { body: { title: '', price_amount: -1, colour: 1 } });
    const codes = reply.body.error.details.errors.map((fault: { field: string; code: string }) => [
      fault.field,
      fault.code,
    ]);
    expect(codes).toEqual(
      expect.arrayContaining([
        ['title', 'FIELD_TOO_SHORT'],
        ['price_currency', 'FIELD_REQUIRED'],
        ['price_amount', 'FIELD_INVALID'],
        ['colour', 'FIELD_INVALID'],
      ]),
    );
    expect(codes).toHaveLength(4);
  });

  test.each([
    ['malformed JSON', '{"title":', 'application/json', 400, 'INVALID_REQUEST'],
    ['an array', '[]', 'application/json', 400, 'INVALID_REQUEST'],
    ['a form', 'title=x', 'application/x-www-form-urlencoded', 415, 'INVALID_REQUEST'],
    [
      'more than a megabyte',
      JSON.stringify({ title: 'x'.repeat(1_100_000) }),
      'application/json',
      413,
      'LIMIT_EXCEEDED',
    ],
  ])('a body that is %s', async (_name, body, type, status, code) => {
    expectError(
      await ask('POST', '/api/publication', { body, headers: { 'content-type': type } }),
      status,
      code,
    );
  });

  test('who may not', async () => {
    expectError(await ask('GET', '/api/store', { token: 'forged' }), 401, 'TOKEN_INVALID');
    expectError(await harness.request('GET', '/api/store'), 401, 'UNAUTHORIZED');
    const hidden = await ask('GET', '/api/publications?visibility=all', { token: shop.public.token });
    expectError(hidden, 403, 'INSUFFICIENT_PERMISSIONS');
    expectError(
      await ask('POST', '/api/publication', { token: shop.public.token, body: LAMP }),
      403,
      'INSUFFICIENT_PERMISSIONS',
    );
  });

  test('a private resource is not found, never forbidden', async () => {
    const { body } = await ask('POST', '/api/publication', { body: { ...LAMP, visibility: 'private' } });
    const path = `/api/publication/${body.data.id}`;
    for (const token of [shop.public.token, shop.secret.token])
      expectError(await ask('GET', path, { token }), 404, 'PUBLICATION_NOT_FOUND');
    expect((await ask('GET', `${path}?visibility=private`)).status).toBe(200);
  });

  test('a version that is not the one read', async () => {
    const made = await ask('POST', '/api/publication', { body: LAMP });
    const path = `/api/publication/${made.body.data.id}`;
    const etag = made.headers.get('etag')!;
    expect(
      (await ask('PATCH', path, { body: { title: 'Other' }, headers: { 'if-match': etag } })).status,
    ).toBe(200);
    expectError(
      await ask('PATCH', path, { body: { title: 'Third' }, headers: { 'if-match': etag } }),
      412,
      'CONFLICT',
    );
    expectError(await ask('DELETE', path, { headers: { 'if-match': etag } }), 412, 'CONFLICT');
    expect((await ask('DELETE', path)).status).toBe(200);
    expectError(await ask('PATCH', path, { body: { title: 'Gone' } }), 404, 'PUBLICATION_NOT_FOUND');
  });

  test('a state that does not come is told as an outage, with when to ask again', async () => {
    const reply = await ask('GET', '/api/store', { headers: { 'x-catalog-min-position': '99999999999' } });
    expectError(reply, 503, 'SERVICE_UNAVAILABLE');
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('a store that is not active', async () => {
    const closed = await harness.newShop();
    const context: WriteContext = { source: 'cli', request_id: 'close-store' };
    const target = { environment: 'live', id: closed.store_id } as const;
    await changeStoreStatus(harness.deps, context, target, 'inactive');
    const read = () => ask('GET', '/api/store', { token: closed.public.token });
    await waitFor(async () => (await read()).status === 404);
    expectError(await read(), 404, 'STORE_NOT_FOUND');
  });
});
