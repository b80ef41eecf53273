import { type Harness, startHarness } from '../support/harness';

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

/** More publications than a listing's document contains. */
const COUNT = 27;

test('the first page of a listing, from its document, equals the page from the publications after any change', async () => {
  const shop = await harness.newShop();
  const merchant = harness.client(shop.secret);
  const listing = await merchant.listings.create({ name: 'Shelf', default_sort_mode: 'price_asc' });
  const ids: string[] = [];
  for (let n = 0; n < COUNT; n++) {
    const visibility = n % 9 === 8 ? 'private' : 'public';
    const target = { listing_id: listing.id, visibility } as const;
    const item = { title: `Item ${n}`, price_currency: 'EUR', price_amount: 1_000 + 7 * ((n * 11) % COUNT) };
    ids.push((await merchant.publications.create({ ...item, ...target })).id);
  }

  /** Compares with the page that has an explicit sort, which is read from the publications. */
  const expectSame = async (sort: string): Promise<void> => {
    await harness.settled();
    for (const visibility of ['public', 'private', 'all'])
      for (const limit of [1, 7, 20]) {
        const path = `/api/listing/${listing.id}/publications?limit=${limit}&visibility=${visibility}`;
        const precomputed = await harness.request('GET', path, { token: shop.secret.token });
        const found = await harness.request('GET', `${path}&${sort}`, { token: shop.secret.token });
        expect(precomputed.status).toBe(200);
        expect(precomputed.text).toBe(found.text);
        expect(precomputed.headers.get('etag')).toBe(found.headers.get('etag'));
      }
  };

  await expectSame('sort=price&order=asc');
  await merchant.publications.update(ids[5]!, { featured_position: 3 });
  await merchant.publications.update(ids[9]!, { featured_position: 3 });
  await merchant.publications.update(ids[3]!, { visibility: 'private' });
  await merchant.publications.update(ids[8]!, { visibility: 'public', price_active: false });
  await expectSame('sort=price&order=asc');
  for (const id of [ids[0]!, ids[5]!, ids[12]!]) await merchant.publications.delete(id);
  await merchant.publications.update(ids[20]!, { listing_id: null });
  await expectSame('sort=price&order=asc');
  await merchant.listings.update(listing.id, { default_sort_mode: 'name_desc' });
  await merchant.publications.update(ids[11]!, { title: 'Zebra' });
  await expectSame('sort=name&order=desc');
});
