import { waitFor } from '../support/wait-for';
import { ownShop } from './own-shop';

const here = ownShop();
const { send } = here;

/** Previews and imports a file. Returns the import, and the reasons why rows failed. */
const importOf = async (content: string) => {
  const merchant = here.harness.client(here.shop.secret, { consistent: true });
  const { id } = await merchant.imports.create(new File([content], 'prices.csv'));
  const ended = () =>
    waitFor(async () => {
      const found = await merchant.imports.get(id);
      return found.status !== 'running' && found;
    });
  const { detected } = await ended();
  await merchant.imports.start(id);
  const { report } = await ended();
  const rows = await merchant.imports.rows(id).all();
  await here.harness.settled();
  return { detected, report, rows };
};
const products = async () => {
  const { data } = (await send('GET', '/api/publications?sort=name&expand=variants&visibility=all')).body;
  return data.map(({ title, prices, variants }: Record<string, { data: { prices?: object }[] }>) => ({
    ...{ title, prices, variants: variants!.data.map((variant) => variant.prices) },
  }));
};

beforeEach(async () => {
  const markets = [{ handle: 'north-america', currency: 'USD', countries: ['US'] }];
  await send('PATCH', '/api/store', { body: { currencies: ['PEN', 'USD', 'EUR'], markets } });
});

test('an import without a currency has the base currency of the store', async () => {
  await send('PATCH', '/api/store', { body: { currency: 'USD' } });
  const file = 'Handle,Title,Variant Price,Price / USD\ntea,Tea,10,3.00';
  expect((await importOf(file)).report).toMatchObject({ publications: { created: 1, failed: 0 } });
  const { data } = (await send('GET', '/api/publications')).body;
  expect(data).toMatchObject([{ price_currency: 'PEN', price_amount: 1_000 }]);
});

test("columns of Shopify's file with prices in a currency or a market of the store are read, and written", async () => {
  const header =
    'Handle,Title,Option1 Name,Option1 Value,Variant Price,Price / North America,Compare At Price / North America,Price / EUR,Price / International,Included / International';
  const { detected, report } = await importOf(
    [
      header,
      'tea,Tea,Size,S,10,3.00,4.00,2.50,9,true',
      'tea,,,L,20,6.00,,,9,true',
      'mug,Mug,Title,Default Title,5,1.50,,,,',
      'bad,Bad,Title,Default Title,5,,2.00,,,',
    ].join('\n'),
  );
  const used = detected!.columns.map(({ used_as }) => used_as);
  expect(used.slice(4)).toEqual([
    ...['Variant Price', 'Price / North America', 'Compare At Price / North America', 'Price / EUR'],
    ...[null, null],
  ]);
  expect(report).toMatchObject({
    publications: { created: 2, failed: 1 },
    unused_columns: { 'Price / International': 2, 'Included / International': 2 },
  });
  const tea = [
    { USD: { price_amount: 300, compare_at_amount: 400 }, EUR: { price_amount: 250 } },
    { USD: { price_amount: 600 } },
  ];
  const mug = { title: 'Mug', prices: { USD: { price_amount: 150 } }, variants: [] };
  expect(await products()).toMatchObject([mug, { title: 'Tea', variants: tea }]);

  const { text } = await send('GET', '/api/export?format=shopify');
  const [first, ...lines] = text.trim().split('\n');
  expect(first).toMatch(/,Price \/ USD,Compare At Price \/ USD,Price \/ EUR,Compare At Price \/ EUR$/);
  expect(lines.map((line) => line.split(',').slice(-4).join()).sort()).toEqual([
    '1.50,,,',
    '3.00,4.00,2.50,',
    '6.00,,,',
  ]);
  // An empty cell clears the price, as in the other columns.
  await importOf(text.replace('3.00,4.00,2.50,', '3.00,,,'));
  expect((await products())[1].variants[0]).toEqual({ USD: { price_amount: 300 } });
});

test('a price list changes prices in other currencies, and keeps what its cells do not have', async () => {
  const prices = { USD: { price_amount: 300, compare_at_amount: 400 }, EUR: { price_amount: 250 } };
  const tea = { title: 'Tea', price_currency: 'PEN', price_amount: 1_000, external_id: 'tea', prices };
  await send('POST', '/api/publication', { body: tea });
  const { rows } = await importOf(
    'external_id,Price / USD,price / eur,Compare At Price / EUR\ntea,3.50,none,\n',
  );
  expect(rows).toMatchObject([{ outcome: 'updated', fields: ['prices'], changes: [] }]);
  const after = [{ prices: { USD: { price_amount: 350, compare_at_amount: 400 } } }];
  expect(await products()).toMatchObject(after);
  expect((await products())[0].prices).not.toHaveProperty('EUR');
  // A price that is set replaces one that a market derives.
  const derived = { percent: 25, ending: null };
  const markets = [{ handle: 'eu', currency: 'EUR', countries: ['DE'], derived }];
  await send('PATCH', '/api/store', { body: { markets } });
  await importOf('external_id,Price / EU\ntea,4\n');
  expect((await products())[0].prices.EUR).toEqual({ price_amount: 400 });
  const refused = await importOf('external_id,Compare At Price / USD\ntea,5\n');
  expect(refused.rows).toMatchObject([{ outcome: 'failed', reason: 'missing price in USD' }]);
  const empty = await importOf('external_id,Price,Compare At Price / USD\ntea,11,\n');
  expect(empty.rows).toMatchObject([{ outcome: 'updated', fields: ['price_amount'] }]);
  expect(await products()).toMatchObject(after);
});
