import { streamName } from '../../shared/catalog/events/envelope';
import { realSystem } from '../../shared/kernel/system';
import type { Reply } from '../support/harness';
import { waitFor } from '../support/wait-for';
import { ownShop } from './own-shop';
import { namesOf } from './reads-shop';

const MINUTE = 60_000;
/** By how much the clock of the service is ahead of the machine's. */
let ahead_ms = 0;
const system = { ...realSystem, now: () => Date.now() + ahead_ms };
const inMinutes = (minutes: number): string => new Date(system.now() + minutes * MINUTE).toISOString();
const own = ownShop({ system });

/** The lists with these filters that have the same publications. `listing_id`: of the one listing that all are in. */
const pathsOf = (query: string, listing_id: string): string[] => [
  `publications?${query}`,
  `publications?listing_id=${listing_id}&${query}`,
  `listing/${listing_id}/publications?${query}`,
  `store/search?q=product&${query}`,
];
const found = ({ status, text, body }: Reply) => {
  if (status !== 200) throw new Error(`${status} ${text}`);
  const { data, meta = data.meta } = body;
  const total: number = meta.item_count ?? meta.pagination.total;
  return { titles: namesOf(Array.isArray(data) ? data : data.others), total, facets: meta.facets };
};

async function listing(): Promise<string> {
  return (await own.send('POST', '/api/listing', { body: { name: 'Products' } })).body.data.id;
}
async function make(listing_id: string, title: string, fields: object): Promise<string> {
  const body = { title: `Product ${title}`, price_currency: 'EUR', price_amount: 1, listing_id, ...fields };
  const reply = await own.send('POST', '/api/publication', { body });
  expect(reply.status).toBe(201);
  return reply.body.data.id;
}
const variant = (Size: string, Color: string, price_amount: number, more: object = {}) => ({
  option_values: { Size, Color },
  price_amount,
  sku: `${Size}-${Color}`,
  ...more,
});

/** S/Red at 1000, M/Blue at 3000, and L/Blue at 5000, which is sold out. */
const SHIRT = {
  options: [{ name: 'Size' }, { name: 'Color' }],
  variants: [
    variant('S', 'Red', 1_000),
    variant('M', 'Blue', 3_000, { quantity_available: 2 }),
    variant('L', 'Blue', 5_000, { quantity_available: 0, barcode: '978-3-16-148410-0' }),
  ],
};

/** Returns the titles that all lists with the filters have, after `Product `. Checks their totals. */
async function titles(query: string, listing_id: string): Promise<string[]> {
  const replies = await Promise.all(
    pathsOf(query, listing_id).map((path) => own.send('GET', `/api/${path}`)),
  );
  const lists = replies.map(found);
  for (const list of lists)
    expect([query, list]).toEqual([query, { ...lists[0], total: list.titles.length }]);
  return lists[0]!.titles.map((title) => title.replace('Product ', ''));
}

/**
 * Waits until a list with the filters begins with the publication. All lists change together, but `titles` reads them one by
 * one, so it cannot wait.
 */
const untilFirst = (query: string, title: string) =>
  waitFor(
    async () => found(await own.send('GET', `/api/publications?${query}`)).titles[0] === `Product ${title}`,
  );

/** Returns the counts by value of the facet, which are the same in all lists. Checks that each value finds what it counts. */
async function facet(name: string, query: string, listing_id: string): Promise<Record<string, number>> {
  const paths = pathsOf(`facets=${name}&${query}`, listing_id);
  const lists = (await Promise.all(paths.map((path) => own.send('GET', `/api/${path}`)))).map(found);
  for (const { facets } of lists) expect(facets).toEqual(lists[0]!.facets);
  const [{ values }] = lists[0]!.facets as [{ values: { value: string; count: number; query: string }[] }];
  const kept = query.split('&').filter((one) => !one.startsWith(`${name}=`));
  for (const value of values) {
    const selected = [...kept, value.query].filter((one) => one !== '').join('&');
    expect([selected, (await titles(selected, listing_id)).length]).toEqual([selected, value.count]);
  }
  return Object.fromEntries(values.map(({ value, count }) => [value, count]));
}

test('filters of price, stock, options and codes hold together for one variant', async () => {
  const id = await listing();
  await make(id, 'shirt', SHIRT);
  await make(id, 'cup', { price_amount: 2_500 });
  for (const [query, expected] of [
    ['option.Size=L&option.Color=Red', []],
    ['option.Size=L&option.Color=Red&option.Color=Blue', ['shirt']],
    ['option.Size=S&option.Size=L&option.Color=Red', ['shirt']],
    ['option.Size=L', ['shirt']],
    ['option.Size=L&in_stock=true', []],
    ['option.Size=M&in_stock=true', ['shirt']],
    ['option.Size=L&max_price=2000', []],
    ['option.Size=L&min_price=4000', ['shirt']],
    ['sku=M-Blue&option.Size=L', []],
    ['barcode=9783161484100&option.Size=L', ['shirt']],
    ['barcode=978-3-16-148410-0&in_stock=true', []],
    ['min_price=1100&max_price=2400', []],
    ['min_price=1100&max_price=2900', ['cup']],
    ['min_price=2000&max_price=3000', ['cup', 'shirt']],
    ['min_price=4000&max_price=6000', ['shirt']],
    ['min_price=4000&max_price=6000&in_stock=true', []],
    ['min_price=4000&in_stock=true', []],
    ['min_price=4000&in_stock=false', []],
    ['max_price=1000&in_stock=true', ['shirt']],
    ['max_price=999', []],
    ['min_price=5000', ['shirt']],
    ['min_price=5001', []],
  ] as const)
    for (const sort of query.includes('_price') ? ['name', 'price', 'price&order=desc'] : ['name'])
      expect([query, (await titles(`${query}&sort=${sort}`, id)).toSorted()]).toEqual([query, expected]);
});

test('an option has a value that no variant has', async () => {
  const id = await listing();
  const options = [{ name: 'Size', values: ['S', 'M'] }];
  await make(id, 'mug', { options, variants: [{ option_values: { Size: 'S' }, price_amount: 1_000 }] });
  expect(await titles('option.Size=M', id)).toEqual(['mug']);
  expect(await titles('option.Size=M&max_price=2000', id)).toEqual([]);
  expect(await facet('option.Size', 'max_price=2000', id)).toEqual({ S: 1 });
});

test('facets count what their values find together with the other filters', async () => {
  const id = await listing();
  await make(id, 'shirt', SHIRT);
  await make(id, 'scarf', {
    options: [{ name: 'Color' }],
    variants: [
      { option_values: { Color: 'Red' }, price_amount: 2_000, quantity_available: 0 },
      { option_values: { Color: 'Blue' }, price_amount: 2_000 },
    ],
  });
  await make(id, 'cup', { price_amount: 2_500, vendor: 'Acme' });
  expect(await facet('option.Size', '', id)).toEqual({ S: 1, M: 1, L: 1 });
  expect(await facet('option.Size', 'in_stock=true', id)).toEqual({ S: 1, M: 1 });
  expect(await facet('option.Size', 'option.Color=Blue', id)).toEqual({ M: 1, L: 1 });
  expect(await facet('option.Size', 'max_price=3000', id)).toEqual({ S: 1, M: 1 });
  expect(await facet('option.Color', 'in_stock=true', id)).toEqual({ Blue: 2, Red: 1 });
  expect(await facet('option.Color', 'in_stock=true&option.Color=Red', id)).toEqual({ Blue: 2, Red: 1 });
  expect(await facet('option.Color', 'option.Color=Red&option.Size=L', id)).toEqual({ Blue: 1 });
  expect(await facet('vendor', 'min_price=2400&max_price=2600', id)).toEqual({ Acme: 1 });
  expect(await facet('price', '', id)).toEqual({
    '1000-1999': 1,
    '2000-2999': 2,
    '3000-3999': 1,
    '5000-5999': 1,
  });
  expect(await facet('price', 'in_stock=true', id)).toEqual({
    '1000-1999': 1,
    '2000-2999': 2,
    '3000-3999': 1,
  });
  expect(await facet('price', 'option.Color=Red', id)).toEqual({ '1000-1999': 1, '2000-2999': 1 });
});

test('a running sale counts for the order by price, the filters by price and the facet of prices', async () => {
  const id = await listing();
  const reduced = { price_amount: 2_500, sale_price_amount: 1_500 };
  await make(id, 'plain', { price_amount: 2_000 });
  const span = { sale_from: inMinutes(1), sale_to: inMinutes(2) };
  const sale = await make(id, 'in sale', { ...reduced, ...span });
  const read = async () => (await own.send('GET', `/api/publication/${sale}`)).body.data;
  const history = async () => (await own.send('GET', `/api/publication/${sale}/history`)).body.data.length;
  const scheduled = async () => {
    const stream = streamName('live', 'publication', sale);
    const events = await own.harness.deps.events.live.readStream(stream, 0, 100);
    return events.filter(({ metadata }) => metadata.source === 'schedule').length;
  };
  const before = [await read(), await history()];
  expect(await titles('sort=price', id)).toEqual(['plain', 'in sale']);
  expect(await facet('price', '', id)).toEqual({ '2000-2099': 1, '2500-2599': 1 });

  ahead_ms += MINUTE;
  await untilFirst('sort=price', 'in sale');
  expect(await titles('sort=price', id)).toEqual(['in sale', 'plain']);
  expect(await titles('sort=price&order=desc', id)).toEqual(['plain', 'in sale']);
  expect(await titles('max_price=1500', id)).toEqual(['in sale']);
  expect(await titles('min_price=2001', id)).toEqual([]);
  expect(await facet('price', '', id)).toEqual({ '1500-1599': 1, '2000-2099': 1 });

  ahead_ms += MINUTE;
  await untilFirst('sort=price', 'plain');
  expect(await titles('sort=price', id)).toEqual(['plain', 'in sale']);
  expect(await titles('min_price=2001', id)).toEqual(['in sale']);
  // Nothing that the merchant sees has changed, and each change of the price is one event.
  expect([await read(), await history()]).toEqual(before);
  expect(await scheduled()).toBe(2);
});

test('the sale of a publication is one of its variants, too, and a variant may have its own', async () => {
  const id = await listing();
  const variants = [
    variant('S', 'Red', 1_000, { sale_price_amount: 900 }),
    variant('M', 'Blue', 3_000),
    variant('L', 'Blue', 5_000, { sale_price_amount: 4_000 }),
  ];
  const sale = { sale_price_amount: 800, sale_to: inMinutes(5) };
  await make(id, 'shirt', { ...SHIRT, variants, ...sale });
  const prices = async (price: number) => titles(`min_price=${price}&max_price=${price}`, id);
  for (const price of [900, 800, 4_000]) expect([price, await prices(price)]).toEqual([price, ['shirt']]);
  for (const price of [1_000, 3_000, 5_000]) expect([price, await prices(price)]).toEqual([price, []]);
  ahead_ms += 5 * MINUTE;
  await untilFirst('min_price=5000&max_price=5000', 'shirt');
  expect(await prices(5_000)).toEqual(['shirt']);
  for (const price of [900, 800, 4_000]) expect([price, await prices(price)]).toEqual([price, []]);
});
