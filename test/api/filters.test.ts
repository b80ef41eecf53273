import type { BodyOf } from '../../shared/client';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { flatPicture } from '../support/pictures';
import { waitFor } from '../support/wait-for';
import { namesOf } from './reads-shop';
import { expectError } from './replies';

let harness: Harness;
let shop: Shop;
let teas: string;
/** Contains no publications but those of the listing `teas` below it. */
let drinks: string;

type Tea = Omit<BodyOf<'createPublication'>, 'price_currency'>;

/** In the order in which they are written. All but the last one are in a listing. */
const TEAS: readonly Tea[] = [
  {
    ...{ title: 'Sencha', price_amount: 900, vendor: 'Uji & Co.', product_type: 'Green', tags: ['new'] },
    attributes: { origin: 'Japan', grams: 100, organic: true, notes: ['grass', 'nori'] },
  },
  {
    ...{ title: 'Gyokuro', price_amount: 2_500, vendor: 'Uji & Co.', product_type: 'Green' },
    ...{ tags: ['sale', 'Mild, sweet'], featured_position: 1 },
    attributes: { origin: 'Japan', grams: 50, organic: false, notes: ['nori'] },
  },
  {
    ...{
      title: 'Darjeeling',
      price_amount: 1_200,
      vendor: 'uji & co.',
      product_type: 'Black',
      tags: ['new'],
    },
    ...{ quantity_available: 0, attributes: { origin: 'India', grams: 100 } },
  },
  { title: 'Hidden tea', price_amount: 1, vendor: 'Uji & Co.', tags: ['new'], visibility: 'private' },
  { title: 'Sencha cup', price_amount: 1_500, vendor: 'Rímac', tags: ['new'] },
];

beforeAll(async () => {
  harness = await startHarness();
  shop = await harness.newShop();
  const merchant = harness.client(shop.secret);
  drinks = (await merchant.listings.create({ name: 'Drinks' })).id;
  teas = (await merchant.listings.create({ name: 'Teas', parent_id: drinks })).id;
  for (const tea of TEAS) {
    const in_listing = tea.title === 'Sencha cup' ? {} : { listing_id: teas };
    await merchant.publications.create({ price_currency: 'EUR', ...tea, ...in_listing });
  }
  // Words and labels of another store, which no answer may contain.
  await harness
    .client((await harness.newShop()).secret)
    .publications.create({ title: 'Sencha', price_currency: 'EUR', price_amount: 1, vendor: 'Uji & Co.' });
  await harness.settled();
});
afterAll(() => harness.close());

const read = async (path: string, token = shop.secret.token) => {
  const reply = await harness.request('GET', path, { token });
  if (reply.status !== 200) throw new Error(`GET ${path}: ${reply.status} ${reply.text}`);
  return reply.body;
};

describe('has_discount', () => {
  const in_ms = (ms: number): string => new Date(Date.now() + ms).toISOString();
  const DAY = 86_400_000;

  test('tells what costs less now, in every list, also after a sale has ended', async () => {
    const own = await harness.newShop();
    const merchant = harness.client(own.secret);
    const { id: listing_id } = await merchant.listings.create({ name: 'Offers' });
    const make = async (title: string, fields: object) =>
      merchant.publications.create({
        ...{ title, price_currency: 'EUR', price_amount: 1_000, listing_id, tags: ['offer'], ...fields },
      });
    const [start, end] = [{ sale_from: in_ms(-DAY) }, { sale_to: in_ms(DAY) }];
    await make('Offer, compared', { compare_at_amount: 1_500 });
    await make('Offer, dearer', { compare_at_amount: 900, sale_price_amount: 1_000 });
    await make('Offer, later', { sale_price_amount: 500, sale_from: in_ms(DAY) });
    await make('Offer, past', { sale_price_amount: 500, sale_to: in_ms(-DAY) });
    await make('Offer, running', { sale_price_amount: 500, ...start, ...end });
    const short = await make('Offer, short', { sale_price_amount: 500, sale_to: in_ms(DAY) });

    const namesOfAll = async (query: string): Promise<string[]> => {
      const { data, meta } = await read(`/api/publications?${query}`, own.secret.token);
      const names = namesOf(data).toSorted();
      expect(meta.item_count).toBe(names.length);
      for (const path of [
        `listing/${listing_id}/publications?`,
        'publications?tag=offer&',
        'store/search?q=offer&',
      ]) {
        const { data: found } = await read(`/api/${path}${query}`, own.secret.token);
        expect(namesOf(Array.isArray(found) ? found : found.others).toSorted()).toEqual(names);
      }
      return names;
    };
    const discounted = ['Offer, compared', 'Offer, running', 'Offer, short'];
    const others = ['Offer, dearer', 'Offer, later', 'Offer, past'];
    expect(await namesOfAll('has_discount=true')).toEqual(discounted);
    expect(await namesOfAll('has_discount=false')).toEqual(others);
    expect(await namesOfAll('has_discount=true&min_price=1001')).toEqual([]);
    await merchant.publications.update(short.id, { sale_to: in_ms(300) });
    const count = async () =>
      (await read('/api/publications?has_discount=true', own.secret.token)).meta.item_count;
    await waitFor(async () => (await count()) === 2);
    expect(await namesOfAll('has_discount=false')).toEqual([...others, 'Offer, short']);
  });
});

describe('filters by labels', () => {
  test.each([
    ['vendor=Uji+%26+Co.', ['Gyokuro', 'Sencha']],
    ['vendor=Uji+%26+Co.&vendor=R%C3%ADmac', ['Gyokuro', 'Sencha', 'Sencha cup']],
    ['vendor=Rimac', []],
    ['product_type=Green&product_type=Black', ['Darjeeling', 'Gyokuro', 'Sencha']],
    ['tag=new', ['Darjeeling', 'Sencha', 'Sencha cup']],
    ['tag=Mild,+sweet', ['Gyokuro']],
    ['tag=Mild&tag=sweet', []],
    ['tag=new&product_type=Green', ['Sencha']],
    ['attributes.origin=Japan&attributes.origin=India&attributes.grams=100', ['Darjeeling', 'Sencha']],
    ['attributes.organic=false', ['Gyokuro']],
    ['attributes.notes=nori', ['Gyokuro', 'Sencha']],
    ['attributes.notes=grass&attributes.notes=unknown', ['Sencha']],
    ['attributes.tag=new', []],
    ['vendor=Uji+%26+Co.&max_price=1000', ['Sencha']],
    ['tag=new&in_stock=false', ['Darjeeling']],
    ['vendor=Uji+%26+Co.&featured=false', ['Sencha']],
    ['vendor=Uji+%26+Co.&visibility=all', ['Gyokuro', 'Hidden tea', 'Sencha']],
    ['tag=new&visibility=private', ['Hidden tea']],
  ])('%s finds and counts the matching publications', async (query, expected) => {
    const { data, meta } = await read(`/api/publications?${query}&sort=name`);
    expect([namesOf(data), meta.item_count]).toEqual([expected, expected.length]);
    const in_listing = expected.filter((title) => title !== 'Sencha cup');
    const listed = await read(`/api/publications?${query}&sort=name&listing_id=${teas}`);
    expect([namesOf(listed.data), listed.meta.item_count]).toEqual([in_listing, in_listing.length]);
    const featured_first = in_listing.toSorted((a, b) => Number(b === 'Gyokuro') - Number(a === 'Gyokuro'));
    for (const path of [`${teas}/publications?`, `${drinks}/publications?include_descendants=true&`]) {
      const listing = (await read(`/api/listing/${path}${query}&sort=name`)).data;
      expect(namesOf([...listing.featured, ...listing.others])).toEqual(featured_first);
      expect(listing.meta.pagination.total).toBe(in_listing.length);
    }
    const found = await read(`/api/store/search?q=sencha&${query}&sort=name`);
    expect(namesOf(found.data)).toEqual(expected.filter((title) => title.startsWith('Sencha')));
    expect(found.meta.item_count).toBe(found.data.length);
  });

  test('find options and the codes of variants', async () => {
    const own = await harness.newShop();
    const merchant = harness.client(own.secret);
    const shirt = (title: string, sku: string, values: string[]) =>
      merchant.publications.create({
        ...{ title, price_currency: 'EUR', price_amount: 1_000 },
        options: [{ name: 'Color', values }],
        variants: values.map((Color, n) => ({
          option_values: { Color },
          sku: `${sku}-${n}`,
          ...(n === 0 && sku === 'A' ? { barcode: '978-3-16-148410-0' } : {}),
        })),
      });
    const { id } = await shirt('Shirt A', 'A', ['Azul', 'Rojo, claro']);
    await shirt('Shirt B', 'B', ['Azul']);
    const names = async (query: string): Promise<string[]> => {
      const { data, meta } = await read(`/api/publications?${query}&sort=name`, own.secret.token);
      expect(meta.item_count).toBe(data.length);
      return namesOf(data);
    };
    expect(await names('option.Color=Azul')).toEqual(['Shirt A', 'Shirt B']);
    expect(await names('option.Color=Rojo,+claro')).toEqual(['Shirt A']);
    expect(await names('option.Talla=Azul')).toEqual([]);
    expect(await names('sku=A-1&sku=B-0')).toEqual(['Shirt A', 'Shirt B']);
    expect(await names('sku=B-1')).toEqual([]);
    for (const code of ['9783161484100', '978-3-16-148410-0'])
      expect(await names(`barcode=${code}`)).toEqual(['Shirt A']);
    const { meta } = await read('/api/publications?facets=option.Color', own.secret.token);
    expect(meta.facets[0].values).toMatchObject([
      { value: 'Azul', count: 2, query: 'option.Color=Azul' },
      { value: 'Rojo, claro', count: 1 },
    ]);
    const variant = (await merchant.publications.get(id, { expand: ['variants'] })).variants.data[0]!;
    const path = `/api/variant/${variant.id}`;
    await harness.request('PATCH', path, { token: own.secret.token, body: { sku: 'C' } });
    expect([await names('sku=A-0'), await names('sku=C')]).toEqual([[], ['Shirt A']]);
  });

  test('follow every change, also of a visibility', async () => {
    const merchant = harness.client(shop.secret);
    const names = async (query: string) => namesOf((await read(`/api/publications?${query}`)).data);
    const jar = { title: 'Jar', price_currency: 'EUR', price_amount: 1, tags: ['glass'] };
    const { id } = await merchant.publications.create(jar);
    expect(await names('tag=glass')).toEqual(['Jar']);
    await merchant.publications.update(id, { tags: ['clay'], vendor: 'Rímac' });
    expect([await names('tag=glass'), await names('tag=clay&vendor=R%C3%ADmac')]).toEqual([[], ['Jar']]);
    await merchant.publications.update(id, { visibility: 'private' });
    expect([await names('tag=clay'), await names('tag=clay&visibility=all')]).toEqual([[], ['Jar']]);
    await merchant.publications.delete(id);
    expect(await names('tag=clay&visibility=all')).toEqual([]);
  });

  test('are found by a search for their words, and not for their names', async () => {
    const find = async (q: string) => namesOf((await read(`/api/store/search?q=${q}`)).data);
    expect(await find('japan%20nori')).toEqual(['Gyokuro', 'Sencha']);
    for (const q of ['41', '==vendor', 'vendor', 'origin']) expect([q, await find(q)]).toEqual([q, []]);
  });

  test.each([
    ['tag=', 'tag'],
    [`vendor=${'x'.repeat(256)}`, 'vendor'],
    [Array.from({ length: 51 }, (_, n) => `tag=${n}`).join('&'), 'tag'],
    ['attributes.size=', 'attributes.size'],
    ['attributes.size=%ff', 'attributes.size'],
    ['option.__proto__=x', 'option.__proto__'],
    [Array.from({ length: 21 }, (_, n) => `attributes.${n}=1`).join('&'), 'attributes.<name>'],
  ])('%s is refused', async (query, field) => {
    const { status, body } = await harness.request('GET', `/api/publications?${query}`, shop.public);
    expect([status, body.error?.code, body.error?.details.field]).toEqual([400, 'VALIDATION_ERROR', field]);
  });

  test('are sent by the client, and named in no header', async () => {
    const client = harness.client(shop.public);
    const query = { tag: ['new', 'sale'], 'attributes.origin': ['Japan'] };
    expect(namesOf(await client.publications.list(query).all())).toEqual(['Gyokuro', 'Sencha']);
    const path = '/api/publications?attributes.origin=Japan&attributes=1&attributes.=1';
    const reply = await harness.request('GET', path, shop.public);
    expect(reply.headers.get('x-catalog-ignored')).toBe('attributes, attributes.');
  });
});

interface Facet {
  readonly name: string;
  readonly values: readonly { readonly value: string; readonly count: number; readonly query: string }[];
  readonly has_more: boolean;
}

describe('facets', () => {
  const NAMED =
    'a comma-separated list of: vendor, product_type, tag, price, visibility, in_stock, free_shipping, has_discount, has_media, has_price, scheduled, option.<name>, attributes.<name>';
  const LISTS = () => ['publications?', `listing/${teas}/publications?`, 'store/search?q=sencha&'];
  const NAMES = [
    'price',
    'vendor',
    'product_type',
    'tag',
    'attributes.origin',
    'attributes.notes',
    'attributes.grams',
    ...['in_stock', 'has_price', 'visibility'],
  ];

  /** Returns the facets of a list and its total. */
  const facetsIn = async (path: string): Promise<{ facets: Facet[]; total: number }> => {
    const { data, meta } = await read(`/api/${path}`);
    const found = meta ?? data.meta;
    return { facets: found.facets, total: found.item_count ?? found.pagination.total };
  };
  const countsOf = ({ values }: Facet) => values.map(({ value, count }) => [value, count]);

  test('count the publications by value, the most frequent first', async () => {
    const { facets } = await facetsIn(
      'publications?facets=vendor,tag,attributes.notes&facets=attributes.organic',
    );
    expect(facets).toEqual([
      {
        name: 'vendor',
        values: [
          { value: 'Uji & Co.', count: 2, query: 'vendor=Uji+%26+Co.' },
          { value: 'Rímac', count: 1, query: 'vendor=R%C3%ADmac' },
          { value: 'uji & co.', count: 1, query: 'vendor=uji+%26+co.' },
        ],
        has_more: false,
      },
      {
        name: 'tag',
        values: [
          { value: 'new', count: 3, query: 'tag=new' },
          { value: 'Mild, sweet', count: 1, query: 'tag=Mild%2C+sweet' },
          { value: 'sale', count: 1, query: 'tag=sale' },
        ],
        has_more: false,
      },
      {
        name: 'attributes.notes',
        values: [
          { value: 'nori', count: 2, query: 'attributes.notes=nori' },
          { value: 'grass', count: 1, query: 'attributes.notes=grass' },
        ],
        has_more: false,
      },
      expect.objectContaining({ name: 'attributes.organic' }),
    ]);
    expect(countsOf(facets[3]!)).toEqual([
      ['false', 1],
      ['true', 1],
    ]);
  });

  test('ignore their own filter and respect all others, and each query selects what was counted', async () => {
    const filters = [
      [],
      ['tag=new', 'attributes.grams=100'],
      ['tag=new', 'tag=sale', 'vendor=Uji+%26+Co.', 'max_price=1000'],
      ['in_stock=false', 'visibility=all'],
    ];
    let counted = 0;
    for (const list of LISTS())
      for (const all of filters) {
        const { facets } = await facetsIn(`${list}${[...all, `facets=${NAMES.join()}`].join('&')}`);
        expect(facets.map(({ name }) => name)).toEqual(NAMES);
        for (const { name, values } of facets)
          for (const { count, query } of values) {
            const own = name === 'price' ? /^(min|max)_price=/ : new RegExp(`^${name}=`);
            const others = all.filter((filter) => !own.test(filter));
            const { total } = await facetsIn(`${list}${[...others, query].join('&')}`);
            expect([list, all, query, total]).toEqual([list, all, query, count]);
            counted++;
          }
      }
    expect(counted).toBeGreaterThan(60);
  });

  test('say in one answer what needs attention', async () => {
    const own = await harness.newShop();
    const merchant = harness.client(own.secret);
    const make = async (title: string, fields: object = {}) =>
      merchant.publications.create({ ...{ title, price_currency: 'EUR', price_amount: 1_000 }, ...fields });
    const { id: shown } = await make('Pot, shown', { compare_at_amount: 1_500 });
    await make('Pot, without a price', { price_active: false, quantity_available: 0 });
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    const { id: planned } = await make('Pot, planned', { publish_at: tomorrow });
    await make('Pot, hidden', { visibility: 'private', free_shipping: true });
    const bytes = new Uint8Array(await flatPicture('png', { width: 9, height: 9 }));
    const picture = await merchant.media.upload(new Blob([bytes]), { publication_id: shown });
    const NAMES = 'visibility,in_stock,free_shipping,has_discount,has_media,has_price,scheduled';
    const countsIn = async (path: string) => {
      const { data, meta } = await read(`/api/${path}facets=${NAMES}&limit=1`, own.secret.token);
      const facets = (meta ?? data.meta).facets as Facet[];
      return Object.fromEntries(facets.map((facet) => [facet.name, Object.fromEntries(countsOf(facet))]));
    };
    const expected = {
      visibility: { public: 2, private: 2 },
      in_stock: { true: 3, false: 1 },
      free_shipping: { true: 1, false: 3 },
      has_discount: { true: 1, false: 3 },
      has_media: { true: 1, false: 3 },
      has_price: { true: 3, false: 1 },
      scheduled: { true: 1, false: 3 },
    };
    expect(await countsIn('publications?visibility=all&')).toEqual(expected);
    expect(await countsIn('store/search?q=pot&visibility=all&')).toEqual(expected);
    expect(await countsIn('publications?has_price=false&')).toMatchObject({
      visibility: { public: 1 },
      has_price: { true: 1, false: 1 },
      has_media: { false: 1 },
    });
    const namesIn = async (query: string) => {
      const { data, meta } = await read(`/api/publications?visibility=all&${query}`, own.secret.token);
      expect(meta.item_count).toBe(data.length);
      return namesOf(data);
    };
    expect(await namesIn('has_media=true')).toEqual(['Pot, shown']);
    expect(await namesIn('scheduled=true')).toEqual(['Pot, planned']);
    expect(await namesIn('has_price=false&sort=price')).toEqual(['Pot, without a price']);
    expect(await namesIn('has_price=false&min_price=1')).toEqual([]);
    expect(await namesIn('has_price=true&max_price=1000&sort=price&order=desc')).toHaveLength(3);
    await merchant.media.delete(picture.id);
    await merchant.publications.update(planned, { publish_at: null });
    await harness.settled();
    expect(await namesIn('has_media=true')).toEqual([]);
    expect(await namesIn('scheduled=true')).toEqual([]);
    const of_public = await harness.request('GET', '/api/publications?facets=visibility', own.public);
    expectError(of_public, 403, 'INSUFFICIENT_PERMISSIONS');
  });

  test('are empty where nothing can be found, and absent if nobody asks', async () => {
    const empty = [{ name: 'tag', values: [], has_more: false }];
    for (const query of [`publications?listing_id=${shop.store_id}`, 'store/search?q=!'])
      expect((await facetsIn(`${query}&facets=tag`)).facets).toEqual(empty);
    for (const list of LISTS()) expect((await facetsIn(list)).facets).toBeUndefined();
  });

  test('of prices are intervals with round bounds that cover all active prices', async () => {
    const own = await harness.newShop();
    const merchant = harness.client(own.secret);
    const countedPrices = async (query = '') => {
      const { body } = await harness.request('GET', `/api/publications?facets=price${query}`, own.public);
      return body.meta.facets[0].values.map(({ value, count }: Facet['values'][0]) => [value, count]);
    };
    expect(await countedPrices()).toEqual([]);
    const priced = async (price_amount: number, more: object = {}) =>
      merchant.publications.create({ title: 'Pot', price_currency: 'EUR', price_amount, ...more });
    await priced(0);
    expect(await countedPrices()).toEqual([['0-99', 1]]);
    for (const amount of [1_999, 2_000, 2_001, 11_000]) await priced(amount);
    await priced(99_999, { price_active: false });
    await priced(77_777, { visibility: 'private' });
    expect(await countedPrices()).toEqual([
      ['0-1999', 2],
      ['2000-3999', 2],
      ['10000-11999', 1],
    ]);
    expect(await countedPrices('&min_price=11000')).toEqual(await countedPrices());
    await priced(99_999_999_999);
    expect(await countedPrices()).toEqual([
      ['0-19999999999', 5],
      ['80000000000-99999999999', 1],
    ]);
  });

  test('count values that are different in each publication, and show the 100 most frequent ones', async () => {
    const own = await harness.newShop();
    const merchant = harness.client(own.secret);
    const { id } = await merchant.listings.create({ name: 'Jars' });
    const serials = Array.from({ length: 205 }, (_, n) => `No. ${String(n).padStart(3, '0')}`);
    const items = serials.map((serial, n) => ({
      action: 'create',
      body: {
        ...{
          title: `Jar ${n % 2 ? 'large' : 'small'}`,
          price_currency: 'EUR',
          price_amount: n,
          vendor: 'V1',
        },
        ...{ listing_id: id, attributes: { serial: n < 3 ? [serial, 'none'] : serial } },
      },
    }));
    const token = own.secret.token;
    // A busy machine may refuse to check all of them at once.
    for (let start = 0; start < items.length; start += 41) {
      const body = { items: items.slice(start, start + 41) };
      const batch = await harness.request('POST', '/api/publications/batch', { token, body });
      expect(batch.body.data).toMatchObject({ created: 41 });
    }
    await harness.settled();
    const query = 'facets=attributes.serial&vendor=V1&max_price=203';
    for (const [list, shown] of [
      ['publications?', ['none', ...serials.slice(0, 99)]],
      [`listing/${id}/publications?`, ['none', ...serials.slice(0, 99)]],
      ['store/search?q=large&', ['No. 001', 'No. 003', 'No. 005', 'No. 007']],
    ] as const) {
      const { data, meta } = await read(`/api/${list}${query}`, own.secret.token);
      const [facet] = (meta ?? data.meta).facets as [Facet];
      expect(facet).not.toHaveProperty('is_complete');
      expect([facet.values.length, facet.has_more]).toEqual([100, true]);
      expect(facet.values[0]).toMatchObject({ value: shown[0], count: shown[0] === 'none' ? 3 : 1 });
      expect(facet.values.map(({ value }) => value).slice(0, shown.length)).toEqual(shown);
    }
  });

  test.each([
    ['sku', NAMED],
    ['attributes', NAMED],
    [Array.from({ length: 11 }, (_, n) => `attributes.${n}`).join(), 'at most 10 names'],
  ])('of %s are refused', async (facets, constraint) => {
    const { status, body } = await harness.request('GET', `/api/publications?facets=${facets}`, shop.public);
    expect([status, body.error?.details]).toMatchObject([400, { field: 'facets', constraint }]);
  });
});
