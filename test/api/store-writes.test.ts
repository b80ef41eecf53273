import { changeStoreStatus } from '../../services/command/store';
import type { Reply, RequestOptions } from '../support/harness';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const here = ownShop();

const patch = (body: unknown, options: RequestOptions = {}): Promise<Reply> =>
  here.harness.request('PATCH', '/api/store', { token: here.shop.secret.token, body, ...options });
const read = (): Promise<Reply> =>
  here.harness.request('GET', '/api/store', { token: here.shop.public.token });

test('a patch changes the fields that are sent, and a public key reads the answer', async () => {
  const contact = { phone: '+51 1 555 0199', email: 'hello@example.com' };
  const first = await patch({ contact, ruc: '20123456789', currency: 'PEN' });
  expect([first.status, first.body.data]).toMatchObject([
    200,
    {
      object: 'store',
      name: 'Shop',
      status: 'active',
      contact,
      currency: 'PEN',
      stats: { listing_count: 0 },
    },
  ]);
  const businessHours = [{ day: 'Monday', hours: '9:00–18:00' }];
  const second = await patch({
    name: 'Teas',
    contact: { phone: '+51 1 555 0200' },
    ruc: null,
    businessHours,
  });
  // `contact` is replaced as a whole.
  const expected = { name: 'Teas', contact: { phone: '+51 1 555 0200' }, businessHours, currency: 'PEN' };
  expect(second.body.data).toMatchObject(expected);
  expect(second.body.data.contact).toEqual(expected.contact);
  expect(second.body.data).not.toHaveProperty('ruc');
  const shown = await read();
  expect([shown.body.data, shown.headers.get('etag')]).toEqual([
    second.body.data,
    second.headers.get('etag'),
  ]);
  expect(await here.harness.client(here.shop.secret).store.update({ name: 'Shop' })).toMatchObject({
    name: 'Shop',
  });
});

test('the version in the ETag is compared with If-Match, and a patch without a change keeps it', async () => {
  const etag = (await read()).headers.get('etag')!;
  expect(etag).toMatch(/^"1-/);
  expect((await patch({ name: 'Shop' })).headers.get('etag')).toBe(etag);
  const headers = { 'if-match': etag };
  const both = await Promise.all(['A', 'B'].map((description) => patch({ description }, { headers })));
  expect(both.map(({ status }) => status).sort()).toEqual([200, 412]);
  expect((await read()).headers.get('etag')).toMatch(/^"2-/);
});

test.each([
  ['name', null, 'FIELD_REQUIRED'],
  ['name', 'x'.repeat(121), 'FIELD_TOO_LONG'],
  ['status', 'inactive', 'FIELD_INVALID'],
  ['currency', 'pen', 'FIELD_INVALID'],
  ['contact', { email: 'hello' }, 'INVALID_EMAIL', 'contact.email'],
  ['businessHours', [{ day: 'Monday' }], 'FIELD_REQUIRED', 'businessHours.0.hours'],
])('rejects %s %j with %s', async (field, value, code, at = field) => {
  expectError(await patch({ [field]: value }), 400, code, at);
});

test('requires the store and an active store', async () => {
  const other = await here.harness.newStore();
  const at = `/api/store?store_id=${other}`;
  const { token: own } = here.shop.secret;
  expectError(
    await here.harness.request('PATCH', at, { token: own, body: { name: 'X' } }),
    403,
    'STORE_ACCESS_DENIED',
  );
  const both = await here.harness.newKey('secret', [here.shop.store_id, other]);
  const renamed = await here.harness.request('PATCH', at, { token: both.token, body: { name: 'X' } });
  expect(renamed.body.data).toMatchObject({ id: other, name: 'X' });
  const target = { environment: 'live', id: here.shop.store_id } as const;
  await changeStoreStatus(here.harness.deps, { source: 'cli', request_id: 'closing' }, target, 'suspended');
  expectError(await patch({ name: 'X' }), 404, 'STORE_NOT_FOUND');
});
