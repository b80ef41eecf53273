import { type Harness, type Shop, startHarness } from '../support/harness';

/** A publication of this length is 180 kB of JSON, because each character takes three bytes. */
const fields = {
  price_currency: 'USD',
  price_amount: 100,
  description: '界'.repeat(10_000),
  description_html: `<p>${'界'.repeat(49_990)}</p>`,
};
const PUBLIC = 14;
const PRIVATE = 2;
const TOTAL = PUBLIC + PRIVATE;

describe('a listing whose publications are too large for its document', () => {
  let harness: Harness;
  let shop: Shop;
  let listing_id: string;
  const titles: string[] = [];

  const get = async (path: string) => {
    const reply = await harness.request('GET', path, { token: shop.secret.token });
    expect(reply.status).toBe(200);
    return reply.body.data;
  };

  beforeAll(async () => {
    harness = await startHarness();
    shop = await harness.newShop();
    const create = async (path: string, body: object): Promise<string> => {
      const reply = await harness.request('POST', path, { token: shop.secret.token, body });
      expect(reply.status).toBe(201);
      return reply.body.data.id;
    };
    listing_id = await create('/api/listing', { name: 'Novels' });
    for (let n = 0; n < TOTAL; n++) {
      const title = `Novel ${n}`;
      // The first and the last ones are private.
      const visibility = n === 0 || n === TOTAL - 1 ? 'private' : 'public';
      await create('/api/publication', { ...fields, title, visibility, listing_id });
      titles.unshift(title);
    }
    await harness.settled();
  });
  afterAll(() => harness?.close());

  const titlesOf = (items: readonly { title: string }[]): string[] => items.map(({ title }) => title);

  test.each([
    ['public', PUBLIC],
    ['all', TOTAL],
  ])(
    'is expanded to the first of them, with the right total, for visibility=%s',
    async (visibility, total) => {
      const { publications } = await get(
        `/api/listing/${listing_id}?expand=publication&visibility=${visibility}`,
      );
      const shown = visibility === 'all' ? titles : titles.slice(1, -1);
      expect(publications.data.length).toBeGreaterThan(5);
      expect(publications.data.length).toBeLessThan(PUBLIC);
      expect(titlesOf(publications.data)).toEqual(shown.slice(0, publications.data.length));
      expect(publications).toMatchObject({ total_count: total, has_more: true });

      const separator = publications.url.includes('?') ? '&' : '?';
      const page = await get(`${publications.url}${separator}limit=20`);
      expect(titlesOf(page.others)).toEqual(shown);
      expect(page.meta.pagination.total).toBe(total);
    },
  );

  test('has complete first pages', async () => {
    for (const limit of [3, PUBLIC - 1, 20])
      expect(titlesOf((await get(`/api/listing/${listing_id}/publications?limit=${limit}`)).others)).toEqual(
        titles.slice(1, -1).slice(0, limit),
      );
  });

  test('shows the next one if one of the first is deleted', async () => {
    const expanded = async (): Promise<string[]> =>
      titlesOf((await get(`/api/listing/${listing_id}?expand=publication`)).publications.data);
    const before = await expanded();
    const { others } = await get(`/api/listing/${listing_id}/publications?limit=1`);
    await harness.request('DELETE', `/api/publication/${others[0].id}`, { token: shop.secret.token });
    await harness.settled();
    expect(await expanded()).toEqual(titles.slice(2, 2 + before.length));
  });
});
