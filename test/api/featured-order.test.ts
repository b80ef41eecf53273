import { CatalogError } from '../../shared/kernel/errors';
import type { Reply } from '../support/harness';
import { ownShop } from './own-shop';
import { namesOf } from './reads-shop';
import { expectError } from './replies';

const here = ownShop();
let listing_id: string;
/** By title. */
let ids: Record<'Cup' | 'Mug' | 'Pan' | 'Pot' | 'Elsewhere', string>;

beforeEach(async () => {
  const merchant = here.harness.client(here.shop.secret);
  listing_id = (await merchant.listings.create({ name: 'Kitchen' })).id;
  const publish = async (title: string, fields: object) =>
    (await merchant.publications.create({ title, price_currency: 'EUR', price_amount: 100, ...fields })).id;
  ids = {
    Cup: await publish('Cup', { listing_id, featured_position: 3 }),
    Mug: await publish('Mug', { listing_id, featured_position: 3 }),
    Pan: await publish('Pan', { listing_id }),
    Pot: await publish('Pot', { listing_id, visibility: 'private', featured_position: 1 }),
    Elsewhere: await publish('Elsewhere', { featured_position: 2 }),
  };
});

const { send } = here;
const arrange = (publication_ids: unknown, headers: Record<string, string> = {}): Promise<Reply> =>
  send('POST', `/api/listing/${listing_id}/featured`, { body: { publication_ids }, headers });
const featured = async (): Promise<string[]> =>
  namesOf((await send('GET', `/api/listing/${listing_id}/publications?visibility=all`)).body.data.featured);

describe('POST /api/listing/:id/featured', () => {
  test('sets the whole order, hidden publications included', async () => {
    const publication_ids = [ids.Pan, ids.Pot, ids.Cup];
    const reply = await arrange(publication_ids);
    const data = { object: 'featured_order', listing_id, publication_ids, changed_count: 3 };
    // Cup is at position 3 already. Mug is no longer featured.
    expect([reply.status, reply.body]).toEqual([200, { code: 200, status: 'OK', data }]);
    expect(await featured()).toEqual(['Pan', 'Pot', 'Cup']);
    const again = await arrange(publication_ids);
    expect(again.body.data.changed_count).toBe(0);
    expect(Number(again.headers.get('x-catalog-position'))).toBeGreaterThan(0);
    expect((await send('GET', `/api/publication/${ids.Elsewhere}`)).body.data.featured_position).toBe(2);
  });

  test('with no publications, features none', async () => {
    expect((await arrange([])).body.data.changed_count).toBe(3);
    expect(await featured()).toEqual([]);
    expect((await arrange([])).body.data.changed_count).toBe(0);
  });

  test('that failed on the way is completed by the same request', async () => {
    const { live } = here.harness.service.runtime.events;
    const append = live.append.bind(live);
    let appends = 0;
    const failing = jest.spyOn(live, 'append').mockImplementation(async (...args) => {
      appends += 1;
      if (appends > 1) throw new CatalogError('unavailable');
      return append(...args);
    });
    const headers = { 'Idempotency-Key': 'order-2' };
    const first = await arrange([ids.Pan, ids.Cup], headers);
    failing.mockRestore();
    expectError(first, 503, 'SERVICE_UNAVAILABLE');
    expect((await arrange([ids.Pan, ids.Cup], headers)).status).toBe(200);
    expect(await featured()).toEqual(['Pan', 'Cup']);
    expect((await arrange([ids.Pan, ids.Cup])).body.data.changed_count).toBe(0);
  });

  test.each([
    ['a publication of no listing', () => [ids.Cup, ids.Elsewhere], 'FIELD_INVALID', 'publication_ids.1'],
    ['an unknown publication', () => [here.shop.store_id], 'FIELD_INVALID', 'publication_ids.0'],
    ['a publication twice', () => [ids.Cup, ids.Cup], 'FIELD_INVALID', 'publication_ids.1'],
    ['no list', () => undefined, 'FIELD_REQUIRED', 'publication_ids'],
    [
      'too many',
      () =>
        Array(201)
          .fill(0)
          .map(() => crypto.randomUUID()),
      'FIELD_TOO_LONG',
      'publication_ids',
    ],
  ])('refuses %s, and changes nothing', async (_, publications, code, field) => {
    expectError(await arrange(publications()), 400, code, field);
    expect(await featured()).toEqual(['Pot', 'Mug', 'Cup']);
  });

  test('needs the listing in the version of If-Match', async () => {
    expectError(await arrange([], { 'If-Match': '"9"' }), 412, 'CONFLICT');
  });
});

describe('GET /api/publications?featured=true', () => {
  const titles = async (query: string) =>
    namesOf((await send('GET', `/api/publications?featured=true&visibility=all${query}`)).body.data);

  test('is sorted by position, and equal positions by age, the newest first', async () => {
    expect(await titles('')).toEqual(['Pot', 'Elsewhere', 'Mug', 'Cup']);
    expect(await titles('&limit=1&page=3')).toEqual(['Mug']);
    expect(await titles(`&listing_id=${listing_id}`)).toEqual(['Pot', 'Mug', 'Cup']);
  });

  test('is sorted as requested with sort or order', async () => {
    expect(await titles('&sort=name')).toEqual(['Cup', 'Elsewhere', 'Mug', 'Pot']);
    expect(await titles('&order=asc')).toEqual(['Cup', 'Mug', 'Pot', 'Elsewhere']);
  });
});
