import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Cli, copiedCatalog, expectFailure } from './cli-run';

const CATALOG = [
  {
    external_id: 'shirt',
    title: 'Shirt',
    price: '20',
    options: [{ name: 'Size', values: ['S', 'M', 'L'] }],
    variants: ['S', 'M', 'L'].map((Size) => ({
      ...{ option_values: { Size }, sku: `shirt-${Size}` },
      ...{ price_amount: 2000, compare_at_amount: 2500, quantity_available: 3 },
    })),
  },
  { external_id: 'mug', title: 'Mug', price: '4.00', quantity_available: 7 },
];

const withCatalog = copiedCatalog(CATALOG);

interface Shop {
  readonly cli: Cli;
  /** Imports a price list and returns how it ended. */
  prices(rows: readonly string[], ...options: string[]): ReturnType<Cli['run']>;
  /** Returns price, compare-at price and stock of each variant and of the mug. */
  products(): Promise<Record<string, unknown>>;
  /** The position of the newest event. */
  head(): Promise<string>;
}

function withShop(story: (shop: Shop) => Promise<void>): Promise<void> {
  return withCatalog(async ({ cli, store, folder }) => {
    const file = join(folder, 'file');
    await story({
      cli,
      prices: (rows, ...options) => {
        writeFileSync(file, rows.join('\n'));
        return cli.run('import', file, '--format', 'prices', '--store', store, ...options);
      },
      products: async () => {
        const { stdout } = await cli.run('export', '--format', 'jsonl', '--store', store);
        const rows = stdout.trimEnd().split('\n');
        const sold = rows
          .map((row) => JSON.parse(row))
          .flatMap((row) => (row.variants?.length ? row.variants : [row]));
        return Object.fromEntries(
          sold
            .filter((each) => each.sku ?? each.external_id)
            .map((each) => [
              each.sku ?? each.external_id,
              [each.price_amount, each.compare_at_amount ?? null, each.quantity_available],
            ]),
        );
      },
      head: async () => (await cli.json('projections', 'status', '--realm', 'live')).realms[0].head,
    });
  });
}

const BEFORE = {
  'shirt-S': [2000, 2500, 3],
  'shirt-M': [2000, 2500, 3],
  'shirt-L': [2000, 2500, 3],
  mug: [400, null, 7],
};

const NEW_PRICES = ['sku,Price,compare_at_price,quantity_available', 'shirt-S,18.50,,', 'shirt-L,21,none,0'];
const OLD_PRICES = ['SKU,price,compare_at_price,quantity_available', 'shirt-S,20,,', 'shirt-L,20.00,25,3'];

test('prices by SKU change the variants that are named; the same list again changes nothing; the old list undoes it', () =>
  withShop(async ({ prices, products, head }) => {
    const start = await head();
    expect(JSON.parse((await prices(NEW_PRICES, '--dry-run', '--json')).stdout)).toMatchObject({
      dry_run: true,
      publications: { updated: 1 },
    });
    expect(await head()).toBe(start);

    expect((await prices(NEW_PRICES, '--strict')).code).toBe(0);
    expect(await products()).toEqual({ ...BEFORE, 'shirt-S': [1850, 2500, 3], 'shirt-L': [2100, null, 0] });
    const changed = await head();
    expect(JSON.parse((await prices(NEW_PRICES, '--json')).stdout)).toMatchObject({
      publications: { created: 0, updated: 0, unchanged: 1 },
    });
    expect(await head()).toBe(changed);
    await prices(OLD_PRICES);
    expect(await products()).toEqual(BEFORE);
  }));

test('external ids name publications without variants', () =>
  withShop(async ({ prices, products }) => {
    const { code, stdout } = await prices(
      ['external_id,price,quantity_available', 'mug,5.00,none', 'shirt,1,'],
      '--json',
    );
    expect([code, JSON.parse(stdout).failed]).toEqual([
      0,
      [{ line: 3, external_id: 'shirt', reason: 'the publication has variants: name them by their SKU' }],
    ]);
    expect(await products()).toEqual({ ...BEFORE, mug: [500, null, null] });
  }));

test('rows that cannot be written are reported, and the others are written', () =>
  withShop(async ({ prices, products }) => {
    const rows = [
      'sku,price,quantity_available,external_id,note',
      'shirt-M,9.99,,mug,new',
      'shirt-M,8.88,,,',
      'gone,1.00,,,',
      ',1.00,,,',
      'shirt-S,1.234,,,',
      'shirt-L,1.00,-2,,',
    ];
    const { code, stdout } = await prices(rows, '--strict', '--json');
    expect([code, JSON.parse(stdout)]).toEqual([
      1,
      expect.objectContaining({
        publications: { created: 0, updated: 1, unchanged: 0, failed: 0 },
        unused_columns: { external_id: 1, note: 1 },
        failed: [
          { line: 3, external_id: 'shirt-M', reason: 'duplicate of line 2' },
          { line: 4, external_id: 'gone', reason: 'the store has no sku "gone"' },
          { line: 5, external_id: '', reason: 'missing sku' },
          { line: 6, external_id: 'shirt-S', reason: 'price "1.234": must have at most two decimals' },
          { line: 7, external_id: 'shirt-L', reason: 'quantity_available "-2": must be a whole number' },
        ],
      }),
    ]);
    expect(await products()).toEqual({ ...BEFORE, 'shirt-M': [999, 2500, 3] });
  }));

test('a file without the columns is refused', () =>
  withShop(async ({ prices }) => {
    expectFailure(await prices(['sku,amount', 'a,1']), 1, 'The header needs a column "sku" or "external_id"');
    expectFailure(await prices(['name,price', 'a,1']), 1, 'The header needs a column "sku" or "external_id"');
    expectFailure(await prices(['sku,price']), 1, 'has no rows after the header');
  }));
