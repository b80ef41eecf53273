import { createPublication, findPublication, updatePublication } from '../../../services/command/publication';
import { publicationIdOf } from '../../../services/import/identity';
import type { CatalogWriter } from '../../../services/import/writer';
import { CatalogError } from '../../../shared/kernel/errors';
import { latch } from '../../support/latch';
import { byHand, publicationIn, type Shop, withShop } from './some-catalog';

test('a variant whose row is invalid stays as it is, and so does a weight with a comma', () =>
  withShop(async (shop) => {
    const header = 'Handle,Title,Option1 Name,Option1 Value,Variant SKU,Variant Price,Variant Grams';
    await shop.runShopify([header, 'tee,Tee,Size,S,T-S,10,120', 'tee,,,M,T-M,11,150', 'tee,,,L,T-L,12,180']);
    const before = (await publicationIn(shop, 'tee')).variants;
    const report = await shop.runShopify([
      header,
      'tee,Tee,Size,S,T-S,9,"1,200"',
      'tee,,,M,T-M,eleven,150',
      'tee,,,L,T-L,13,180',
    ]);
    expect(report.failed).toEqual([
      { line: 2, external_id: 'tee', reason: 'weight "1,200": must be a number of grams, without a comma' },
      { line: 3, external_id: 'tee', reason: 'price "eleven": must be a decimal number such as 12.50' },
    ]);
    expect((await publicationIn(shop, 'tee')).variants).toEqual([
      { ...before[0], price_amount: 900 },
      before[1],
      { ...before[2], price_amount: 1_300 },
    ]);
  }));

test('a product without a price is created without one, and a file without prices keeps those that it has', () =>
  withShop(async (shop) => {
    const report = await shop.runShopify(['Title', 'Tea', 'Mug']);
    expect(report).toMatchObject({
      publications: { created: 2 },
      warnings: [2, 3].map((line) => ({
        line,
        reason: 'the file has no price: the product was created without one',
      })),
    });
    expect(await publicationIn(shop, 'tea')).toMatchObject({ handle: 'tea', price_active: false });
    expect(await shop.runShopify(['Title,Price', 'Tea,0.00'])).toMatchObject({
      publications: { unchanged: 1 },
    });
    await shop.runShopify(['Title,Option1 Value,Price', 'Tea,S,5', ',M,6']);
    await shop.runShopify(['Title,Option1 Value,Variant SKU', 'Tea,S,T-S', ',M,T-M']);
    expect(await publicationIn(shop, 'tea')).toMatchObject({
      price_amount: 500,
      price_active: true,
      variants: [
        { sku: 'T-S', price_amount: 500 },
        { sku: 'T-M', price_amount: 600 },
      ],
    });
    expect(await shop.runShopify(['Title', 'Tea'])).toMatchObject({
      publications: { unchanged: 1 },
      warnings: [],
    });
  }));

test('two spellings of a handle are one product, and find the one that has the handle', () =>
  withShop(async (shop) => {
    const { runtime, store } = shop;
    const made = { title: 'Mug', price_currency: 'USD', price_amount: 1, handle: 'mug' } as const;
    const target = { environment: 'live', store_id: store.id } as const;
    const { value } = await createPublication(runtime, byHand, target, made);
    const file = ['Handle,Title,Price', 'Mug,Mug,5', 'mug,Mug,6'];
    const report = await shop.runShopify(file, { overwrite: true });
    expect(report).toMatchObject({ publications: { created: 0, updated: 1 }, failed: [{ line: 3 }] });
    expect(await findPublication(runtime, 'live', value.id)).toMatchObject({ price_amount: 500 });
  }));

test('a SKU that another product of the store has is left out with a warning', () =>
  withShop(async (shop) => {
    const header = 'Handle,Title,Option1 Value,Variant SKU,Variant Price';
    await shop.runShopify([header, 'bundle-a,Bundle A,S,SHARED,5', 'bundle-a,,M,ONLY-A,6']);
    const file = [header, 'bundle-b,Bundle B,S,SHARED,7', 'bundle-b,,M,ONLY-B,8'];
    const warnings = [
      { line: 2, external_id: 'bundle-b', reason: 'SKU SHARED was left out: the product "Bundle A" has it' },
    ];
    expect(await shop.runShopify(file)).toMatchObject({ publications: { created: 1 }, failed: [], warnings });
    const { variants } = await publicationIn(shop, 'bundle-b');
    expect(variants.map(({ sku }) => sku)).toEqual([null, 'ONLY-B']);
    expect(await shop.runShopify(file)).toMatchObject({ publications: { unchanged: 1 }, warnings });
  }));

test('products of a file exchange their SKUs, and pass them on', () =>
  withShop(async (shop) => {
    const header = 'Handle,Title,Variant SKU,Price';
    const products = (...skus: string[]) => skus.map((sku, index) => `p${index},P${index},${sku},5`);
    const skus = async () => {
      const all = await Promise.all(['p0', 'p1', 'p2', 'p3'].map((handle) => publicationIn(shop, handle)));
      return all.map(({ variants }) => variants[0]!.sku);
    };
    await shop.runShopify([header, ...products('A', 'B', 'C', 'D')]);
    for (const order of [
      ['B', 'A', 'C', 'D'],
      ['A', 'C', 'B', 'D'],
      ['C', 'B', 'D', 'A'],
    ]) {
      const file = [header, ...products(...order)];
      const would = await shop.runShopify(file, { dry_run: true, writer: shop.dryWriter() });
      const report = await shop.runShopify(file);
      expect(report).toMatchObject({ warnings: [], failed: [], publications: { failed: 0 } });
      expect(would.publications).toEqual(report.publications);
      expect(await skus()).toEqual(order);
      expect((await shop.runShopify(file)).publications).toMatchObject({ unchanged: 4 });
    }
  }));

test('SKUs move between the variants of a product, and between products at the same time', () =>
  withShop(async (shop) => {
    const columns = 'Handle,Title,Option1 Value,Variant SKU,Price';
    const products = ([a, b, c, d]: readonly string[]) => [
      ...[columns, `p0,P0,S,${a},5`, `p0,,M,${b},5`],
      ...[`p1,P1,S,${c},5`, `p1,,M,${d},5`],
    ];
    for (const order of ['ABCD', 'CABE', 'FECB', 'CFBA', 'AEFD', 'FECD', 'AEFD', 'BECF', 'DFCE', 'CEDB']) {
      const report = await shop.runShopify(products([...order]));
      expect(report).toMatchObject({ failed: [], warnings: [] });
      const found = await Promise.all(['p0', 'p1'].map((handle) => publicationIn(shop, handle)));
      expect(found.flatMap(({ variants }) => variants.map(({ sku }) => sku)).join('')).toBe(order);
    }
  }));

type Put = CatalogWriter['putPublication'];

/** Returns a writer that calls `before` before each put of a publication, and `after` after each one that succeeds. */
function interrupted(
  { writer }: Shop,
  before: (...put: Parameters<Put>) => unknown,
  after: (id: string) => unknown = () => {},
) {
  const real = writer();
  const putPublication: Put = async (...put) => {
    await before(...put);
    const written = await real.putPublication(...put);
    after(put[0]);
    return written;
  };
  return { ...real, putPublication };
}

const SKU_COLUMNS = 'Handle,Title,Variant SKU,Price';
const FOUR = ['p0,P0,A,5', 'p1,P1,B,5', 'p2,P2,C,5', 'p3,P3,D,5'];
const EXCHANGED = ['p0,P0,B,5', 'p1,P1,A,5', 'p2,P2,D,5', 'p3,P3,C,5'];

/** Returns the SKUs of the products p0 to p3. */
const skusIn = (shop: Shop) =>
  Promise.all(
    ['p0', 'p1', 'p2', 'p3'].map(async (handle) => (await publicationIn(shop, handle)).variants[0]!.sku),
  );

test('an import that is stopped while products exchange their SKUs leaves the other products as they are', () =>
  withShop(async (shop) => {
    await shop.runShopify([SKU_COLUMNS, ...FOUR]);
    const stop = new AbortController();
    const writer = interrupted(shop, (_id, { variants }) => {
      if (variants?.[0]?.sku === null) stop.abort();
    });
    const report = await shop.runShopify([SKU_COLUMNS, ...EXCHANGED], { writer, signal: stop.signal });
    // The products are put at the same time, so either pair may be the first.
    const skus = await skusIn(shop);
    expect([
      ['B', 'A', 'C', 'D'],
      ['A', 'B', 'D', 'C'],
    ]).toContainEqual(skus);
    const is_left_out = { reason: expect.stringMatching(/^SKU \w was left out: the product "P\d" has it$/) };
    expect(report).toMatchObject({
      complete: false,
      publications: { updated: 2, unchanged: 2, failed: 0 },
      warnings: [is_left_out, is_left_out],
    });
  }));

test('an outage while products exchange their SKUs leaves at most one product without its SKU', () =>
  withShop(async (shop) => {
    await shop.runShopify([SKU_COLUMNS, ...FOUR]);
    let has_given_up = false;
    const writer = interrupted(shop, (_id, { variants }) => {
      const gives_up = variants?.[0]?.sku === null;
      if (has_given_up && !gives_up) throw new CatalogError('unavailable');
      has_given_up = gives_up;
    });
    const file = [SKU_COLUMNS, ...EXCHANGED];
    await expect(shop.runShopify(file, { writer })).rejects.toMatchObject({ condition: 'unavailable' });
    expect((await skusIn(shop)).filter((sku) => sku === null)).toHaveLength(1);
    await shop.runShopify(file);
    expect(await skusIn(shop)).toEqual(['B', 'A', 'D', 'C']);
  }));

test('a product that was created counts as created, also if it cannot get the SKU that another one has given up', () =>
  withShop(async (shop) => {
    await shop.runShopify([SKU_COLUMNS, 'old,Old,A,5']);
    const id = publicationIdOf(shop.store, 'new', 1);
    const is_created = latch();
    let puts = 0;
    const before = async (put_id: string) => {
      if (put_id !== id) await is_created.opened;
      else if (++puts === 3) throw new CatalogError('invalid_query', { message: 'refused' });
    };
    const writer = interrupted(shop, before, (put_id) => put_id === id && is_created.open());
    const report = await shop.runShopify([SKU_COLUMNS, 'new,New,A,5', 'old,Old,B,5'], { writer });
    expect(report).toMatchObject({
      wrote: true,
      publications: { created: 1, updated: 1, failed: 0 },
      failed: [{ line: 2, external_id: 'new', reason: 'refused' }],
      warnings: [{ line: 2, reason: 'SKU A was left out: the product "Old" has it' }],
    });
  }));

test('a row without variants changes the only variant, and says that it does not change one of several', () =>
  withShop(async (shop) => {
    const columns = 'Handle,Title,Variant SKU,Variant Price';
    await shop.runShopify([columns, 'anvil,Anvil,ANV,90']);
    await shop.runShopify(['Handle,Title,Option1 Value,Variant Price', ...['tee,Tee,S,10', 'tee,,M,11']]);
    const prices = ['Handle,Title,Variant Price', 'anvil,Anvil,95', 'tee,Tee,12'];
    expect(await shop.runShopify(prices)).toMatchObject({
      publications: { updated: 1, unchanged: 1 },
      kept: [],
      warnings: [
        {
          line: 3,
          external_id: 'tee',
          reason: 'price_amount stayed: the product has variants, and the row does not name one',
        },
      ],
    });
    expect(await publicationIn(shop, 'anvil')).toMatchObject({
      price_amount: 9_500,
      variants: [{ sku: 'ANV', price_amount: 9_500 }],
    });
    expect(await publicationIn(shop, 'tee')).toMatchObject({ price_amount: 1_000 });
    const { runtime, store } = shop;
    const target = { environment: 'live', id: publicationIdOf(store, 'anvil', 1) } as const;
    const [variant] = (await publicationIn(shop, 'anvil')).variants;
    await updatePublication(runtime, byHand, target, { variants: [{ ...variant!, price_amount: 8_000 }] });
    expect((await shop.runShopify(prices)).kept).toMatchObject([{ external_id: 'anvil' }]);
    expect(await publicationIn(shop, 'anvil')).toMatchObject({ price_amount: 8_000 });
  }));

test('a file of which some lines could not be read removes no variant', () =>
  withShop(async (shop) => {
    const header = 'Handle,Title,Option1 Value,Variant SKU,Variant Price';
    await shop.runShopify([header, 'tee,Tee,S,T-S,10', 'tee,,M,T-M,11', 'tee,,L,T-L,12']);
    const before = (await publicationIn(shop, 'tee')).variants;
    const report = await shop.runShopify([header, 'tee,Tee,S,T-S,9', 'tee,,"M,T-M,11', 'tee,,L,T-L,12']);
    expect(report.unread).toEqual([{ from_line: 3, to_line: null }]);
    expect((await publicationIn(shop, 'tee')).variants).toEqual([
      { ...before[0], price_amount: 900 },
      ...before.slice(1),
    ]);
  }));
