import { type Harness, type Shop, startHarness } from '../support/harness';
import { merchantRequests } from './merchant-requests';
import { expectErrorShape } from './replies';

const UNKNOWN_ID = '01890a5d-ac96-774b-bcce-b302099a8057';
const LAMP = { title: 'Lamp', price_currency: 'USD', price_amount: 1999 };

describe('errors of the running service', () => {
  let harness: Harness;
  let shop: Shop;

  beforeAll(async () => {
    harness = await startHarness();
    shop = await harness.newShop();
  });

  afterAll(() => harness.close());

  const { send: request } = merchantRequests(() => ({ harness, shop }));

  test.each([
    ['GET', '/api/nothing', 404, 'NOT_FOUND'],
    ['GET', '/nothing', 404, 'NOT_FOUND'],
    ['GET', '/api/store/', 404, 'NOT_FOUND'],
    ['GET', '/API/store', 404, 'NOT_FOUND'],
    ['POST', '/api/store', 405, 'OPERATION_NOT_ALLOWED'],
    ['GET', '/api/publication', 405, 'OPERATION_NOT_ALLOWED'],
    ['PUT', `/api/listing/${UNKNOWN_ID}`, 405, 'OPERATION_NOT_ALLOWED'],
    ['GET', `/api/listing/${UNKNOWN_ID}`, 404, 'LISTING_NOT_FOUND'],
    ['GET', `/api/listing/${UNKNOWN_ID}/publications`, 404, 'LISTING_NOT_FOUND'],
    ['GET', `/api/publication/${UNKNOWN_ID}`, 404, 'PUBLICATION_NOT_FOUND'],
    ['GET', `/api/publication/${UNKNOWN_ID}/reviews`, 404, 'PUBLICATION_NOT_FOUND'],
    ['DELETE', `/api/publication/${UNKNOWN_ID}`, 404, 'PUBLICATION_NOT_FOUND'],
    ['DELETE', `/api/listing/${UNKNOWN_ID}`, 404, 'LISTING_NOT_FOUND'],
    ['GET', '/api/publication/12', 400, 'INVALID_UUID'],
    ['GET', '/api/store?store_id=mine', 400, 'INVALID_UUID'],
    ['GET', '/api/publications?listing_id=12', 400, 'INVALID_UUID'],
    ['GET', '/api/publication/%E0%A4%A', 400, 'INVALID_REQUEST'],
    ['GET', `/api/store?store_id=${UNKNOWN_ID}`, 403, 'STORE_ACCESS_DENIED'],
    ['GET', '/api/publications?limit=51', 400, 'VALIDATION_ERROR'],
    ['GET', '/api/publications?limit=0', 400, 'VALIDATION_ERROR'],
    ['GET', '/api/publications?page=0', 400, 'VALIDATION_ERROR'],
    ['GET', '/api/publications?page=1&page=2', 400, 'VALIDATION_ERROR'],
    ['GET', '/api/publications?sort=size', 400, 'VALIDATION_ERROR'],
    ['GET', '/api/publications?order=up', 400, 'VALIDATION_ERROR'],
    ['GET', '/api/publications?expand=owner', 400, 'VALIDATION_ERROR'],
    ['GET', '/api/listings?limit=many', 400, 'VALIDATION_ERROR'],
  ])('%s %s → %i %s', async (method, path, status, code) => {
    const reply = await request(method, path);
    expectErrorShape(reply, status, code);
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
    ['GET', '/api/publication', 405, '; use GET /api/publications'],
    ['GET', '/api/listing?limit=5', 405, '; use GET /api/listings'],
    ['POST', '/api/publications', 405, '; use POST /api/publication'],
    ['GET', `/api/publications/${UNKNOWN_ID}`, 404, '; use GET /api/publication/:id'],
    ['DELETE', `/api/listings/${UNKNOWN_ID}`, 404, '; use DELETE /api/listing/:id'],
    ['GET', `/api/listings/${UNKNOWN_ID}/publications`, 404, '; use GET /api/listing/:id/publications'],
    ['GET', '/api/stores', 404, '; use GET /api/store'],
    ['PUT', '/api/publication', 405, ''],
    ['GET', '/api/products', 404, ''],
    ['GET', '/publications', 404, ''],
  ])('%s %s is %i and names a similar path', async (method, path, status, hint) => {
    const text = status === 405 ? 'This path does not support this method' : 'This path does not exist';
    expect((await request(method, path)).body.error).toMatchObject({ message: `${text}${hint}` });
  });

  test('an API key in place of a token is refused with a message that names /auth/token', async () => {
    const { key } = shop.public;
    for (const [headers, code] of [
      [{ 'x-api-key': key }, 'UNAUTHORIZED'],
      [{ authorization: key }, 'UNAUTHORIZED'],
      [{ authorization: `Bearer ${key}` }, 'TOKEN_INVALID'],
      [{ authorization: `Bearer ${key.slice(0, -1)}` }, 'TOKEN_INVALID'],
    ] as const) {
      const reply = await harness.request('GET', '/api/store', { headers });
      expectErrorShape(reply, 401, code);
      expect(reply.body.error.message).toContain('POST /auth/token exchanges');
    }
  });

  test.each([
    ['no fields', {}, 'FIELD_REQUIRED', 'title'],
    ['null for a required field', { ...LAMP, title: null }, 'FIELD_REQUIRED', 'title'],
    ['a string as amount', { ...LAMP, price_amount: '5' }, 'FIELD_INVALID', 'price_amount'],
    ['a fractional amount', { ...LAMP, price_amount: 1.5 }, 'FIELD_INVALID', 'price_amount'],
    ['a negative amount', { ...LAMP, price_amount: -1 }, 'FIELD_INVALID', 'price_amount'],
    ['an unknown currency', { ...LAMP, price_currency: 'usd' }, 'FIELD_INVALID', 'price_currency'],
    ['a value that is not allowed', { ...LAMP, visibility: 'hidden' }, 'FIELD_INVALID', 'visibility'],
    ['an unknown field', { ...LAMP, colour: 'red' }, 'FIELD_INVALID', 'colour'],
    ['a listing that does not exist', { ...LAMP, listing_id: UNKNOWN_ID }, 'FIELD_INVALID', 'listing_id'],
    ['a title that is too long', { ...LAMP, title: 'x'.repeat(201) }, 'FIELD_TOO_LONG', 'title'],
    ['an empty title', { ...LAMP, title: '' }, 'FIELD_TOO_SHORT', 'title'],
  ])('a publication with %s is 400 with the name of the field', async (_name, body, code, field) => {
    const reply = await request('POST', '/api/publication', { body });
    expectErrorShape(reply, 400, code);
    expect(reply.body.error.details).toMatchObject({ field, constraint: expect.any(String) });
    expect(reply.body.error.details.errors[0]).toMatchObject({ field, code });
  });
});
