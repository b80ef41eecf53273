import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { openEventStore } from '../../services/boot/open-adapters';
import { openRuntime, type Runtime } from '../../services/boot/runtime';
import {
  findPublication,
  type PublicationPatch,
  updatePublication,
} from '../../services/command/publication';
import { findStore } from '../../services/command/store';
import { publicationIdOf } from '../../services/import/identity';
import { parseConfig } from '../../shared/kernel/config';
import type { PublicationId, StoreId } from '../../shared/kernel/ids';
import { realSystem } from '../../shared/kernel/system';
import { flatPicture } from '../support/pictures';
import { Cli, copiedCatalog, expectFailure } from './cli-run';

interface Shop {
  readonly cli: Cli;
  readonly store: string;
  /** Writes a file next to the data folder and returns its path. */
  file(name: string, content: string): string;
}

const withCatalog = copiedCatalog([]);

async function withShop(story: (shop: Shop) => Promise<void>): Promise<void> {
  await withCatalog(async ({ cli, store, folder }) => {
    const file: Shop['file'] = (name, content) => {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    };
    await story({ cli, store, file });
  });
}

const SHOPIFY = [
  'Handle,Title,Body (HTML),Type,Tags,Published,Variant Inventory Qty,Variant Price,Image Src,Option1 Value',
  'mug,Mug,"<p>Blue\nmug</p>",Cups,,true,3,12.00,https://x/mug.jpg,S',
  'mug,,,,,,4,9.50,,M',
  'bowl,Bowl,,,"kitchen, clay",false,,20,',
  'lost,,,Cups,,true,1,5,',
  'free,Free,,Cups,,true,1,gratis,',
  '',
].join('\n');

test('imports standard input like a file', () =>
  withShop(async ({ cli, store, file }) => {
    const options = ['--format', 'shopify', '--store', store, '--images', 'skip', '--json'];
    const { code, stdout } = await cli.runWithFile(SHOPIFY, 'import', '-', ...options);
    expect([code, JSON.parse(stdout).publications]).toEqual([0, expect.objectContaining({ created: 2 })]);
    // The format is recognised.
    const others = options.slice(2, -1);
    const again = await cli.json('import', file('export.csv', SHOPIFY), ...others);
    expect(again.publications).toMatchObject({ created: 0, updated: 0, unchanged: 2 });
    const woocommerce = await cli.json('import', 'test/fixtures/imports/woocommerce.csv', ...others);
    expect(woocommerce).toMatchObject({
      publications: { created: 6, failed: 2 },
      unused_columns: { 'Tax status': 11 },
    });
    const empty = await cli.runWithFile('', 'import', '-', ...others);
    expectFailure(empty, 1, /empty|no rows/);
  }));

test('imports a Shopify export after a dry run; a repeated import changes nothing', () =>
  withShop(async ({ cli, store, file }) => {
    const path = file('export.csv', SHOPIFY);
    const run = ['import', path, '--format', 'shopify', '--store', store, '--images', 'skip'];
    const would = await cli.json(...run, '--dry-run');
    expect(would).toMatchObject({
      ...{ dry_run: true, wrote: false, run: null, publications: { created: 2, failed: 2 } },
      preview: [
        { line: 2, title: 'Mug', price: { amount: 950, currency: 'USD' }, outcome: 'created', fields: [] },
        { line: 5, title: 'Bowl', price: { amount: 2_000, currency: 'USD' }, outcome: 'created', fields: [] },
      ],
    });
    expect((await cli.json('projections', 'status', '--realm', 'live')).realms[0].head).toBe('1');

    const report = await cli.json(...run, '--currency', 'eur');
    expect(report).toMatchObject({
      store_id: store,
      dry_run: false,
      complete: true,
      listings: { created: 2 },
      publications: { created: 2, updated: 0, unchanged: 0, failed: 2 },
      failed: [
        { line: 6, external_id: 'lost', reason: 'missing title in the first row of the handle' },
        { line: 7, external_id: 'free', reason: 'price "gratis": must be a decimal number such as 12.50' },
      ],
      images: [{ external_id: 'mug', images: [{ url: 'https://x/mug.jpg', alt: null, media_id: null }] }],
    });

    const again = await cli.run(...run, '--currency', 'EUR');
    expect(again).toMatchObject({ code: 0, stderr: '' });
    // Nothing was written, so that there is nothing to undo.
    expect(again.stdout).not.toContain('undo');
    expect((await cli.json(...run, '--currency', 'EUR')).run).toBeNull();
    expect(again.stdout).toMatch(/publications +0 +0 +2 +2\n/);
    expect(again.stdout).toMatch(/ 6 +lost +missing title/);
    expect(again.stdout).toContain('Images: 1 in the file, 0 attached to publications.');
    expect(await cli.json('projections', 'verify')).toMatchObject({ clean: true });
  }));

test('columns with other names are mapped by a file', () =>
  withShop(async ({ cli, store, file }) => {
    const path = file('precios.csv', 'Nombre;Precio\nTaza;9,50\n');
    const run = ['import', path, '--format', 'shopify', '--store', store, '--columns'];
    const columns = file('columns.json', '{"Nombre":"Title","Precio":"Variant Price"}');
    expect((await cli.json(...run, columns, '--dry-run')).preview).toMatchObject([
      { title: 'Taza', price: { amount: 950 } },
    ]);
    expect(await cli.run(...run, path)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--columns'),
    });
  }));

test('a product of Shopify is the publication of its handle, and a handle of another one is left out', () =>
  withShop(async ({ cli, store, file }) => {
    const run = (name: string, format: string, ...lines: string[]) =>
      cli.json('import', file(name, lines.join('\n')), '--format', format, '--store', store);
    await run(
      'a.jsonl',
      'jsonl',
      JSON.stringify({ external_id: 'erp-1', title: 'Mug', price: 1, handle: 'mug' }),
    );
    const csv = ['Handle,Title,Variant Price', 'mug,Blue mug,12', 'Tëa,Tea,3'];
    const report = await run('a.csv', 'shopify', ...csv);
    expect(report).toMatchObject({
      publications: { created: 1, updated: 1 },
      warnings: [{ line: 3, external_id: 'Tëa', reason: 'handle Tëa was imported as tëa' }],
    });
    expect((await run('b.csv', 'shopify', ...csv)).publications).toMatchObject({ unchanged: 2 });

    const pot = JSON.stringify({ external_id: 'erp-2', title: 'Pot', price: 1, handle: 'mug' });
    const warnings = [
      { line: 1, external_id: 'erp-2', reason: 'handle mug was left out: another publication has it' },
    ];
    for (const counts of [{ created: 1 }, { unchanged: 1 }])
      expect(await run('b.jsonl', 'jsonl', pot)).toMatchObject({
        publications: counts,
        warnings,
        failed: [],
      });
    const { stdout } = await cli.run('export', '--format', 'jsonl', '--store', store);
    const handles = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).handle);
    expect(handles.sort()).toEqual(['mug', 'tëa', undefined]);
  }));

test('an import is undone for what nobody has changed since, and may be repeated afterwards', () =>
  withShop(async ({ cli, store, file }) => {
    const run = async (...rows: object[]) => {
      const path = file('rows.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));
      return cli.json('import', path, '--format', 'jsonl', '--store', store);
    };
    const mug = { external_id: 'mug', title: 'Mug', price: 4, tags: ['new'] };
    const pot = { external_id: 'pot', title: 'Pot', price: 9 };
    await run(mug, pot);
    const before = (await cli.run('export', '--format', 'jsonl', '--store', store)).stdout;
    const second = [
      { ...mug, title: 'Big mug', tags: null },
      { ...pot, price: 10 },
      { ...pot, external_id: 'pan' },
    ];
    const { run: id } = await run(...second);
    const undo = (...options: string[]) => cli.run('undo', id, '--store', store, '--json', ...options);
    const would = JSON.parse((await undo('--dry-run')).stdout);
    expect(would).toMatchObject({ dry_run: true, deleted: 1, reverted: 2, kept: [] });
    const undone = await undo();
    expect([undone.code, JSON.parse(undone.stdout)]).toMatchObject([
      0,
      { deleted: 1, reverted: 2, kept: [] },
    ]);
    expect((await cli.run('export', '--format', 'jsonl', '--store', store)).stdout).toBe(before);
    // A second time, nothing is left.
    const repeated = await undo();
    const nothing = { deleted: 0, reverted: 0, kept: [] };
    expect([repeated.code, JSON.parse(repeated.stdout)]).toMatchObject([0, nothing]);

    const { run: third, publications } = await run(...second);
    expect(publications).toMatchObject({ created: 1, updated: 2 });
    await run({ ...mug, title: 'Blue mug', tags: null });
    const partly = await cli.run('undo', third, '--store', store);
    expect(partly).toMatchObject({ code: 1, stdout: expect.stringMatching(/Blue mug +changed since/) });
    const after = (await cli.run('export', '--format', 'jsonl', '--store', store)).stdout;
    expect(
      after
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).title),
    ).toEqual(['Blue mug', 'Pot']);
    expectFailure(await cli.run('undo', 'nothing', '--store', store), 1, /no run/);
  }));

test('names every column that is not stored, with the number of rows that have it', () =>
  withShop(async ({ cli, store, file }) => {
    const header =
      'Handle,Title,Vendor,Type,Tags,Option1 Value,Variant SKU,Variant Price,Variant Compare At Price,Gift Card';
    const rows = [
      'mug,Mug,Acme,Cups,"blue, new",S,M-1,12,15,false',
      'mug,,,,,L,M-2,14,16,',
      'pot,Pot,Acme,,Pots,,,9,,,x',
    ];
    const run = [
      'import',
      file('x.csv', [header, ...rows].join('\n')),
      '--format',
      'shopify',
      '--store',
      store,
    ];
    const expected = {
      'Gift Card': 1,
      'column 11': 1,
    };
    expect((await cli.json(...run, '--dry-run')).unused_columns).toEqual(expected);
    const { stdout } = await cli.run(...run);
    expect(stdout).toMatch(/Columns that are not stored\nCOLUMN +ROWS WITH A VALUE\nGift Card +1\n/);
  }));

test('keeps and lists what was changed by hand since the last import, unless --overwrite is given', () =>
  withShop(async ({ cli, store, file }) => {
    const rows = (price: string) =>
      `Handle,Title,Published,Variant Price\nmug,Mug,true,${price}\npot,Pot,true,${price}\n`;
    const run = (price: string, ...options: string[]) =>
      cli.run(
        ...['import', file('x.csv', rows(price)), '--format', 'shopify', '--store', store],
        ...['--currency', 'PEN', ...options],
      );
    await run('12');
    await writeByHand(cli, store, 'mug', { title: 'Blue mug', visibility: 'private' });

    const dry = await run('13', '--dry-run');
    expect(dry.stdout).toMatch(/FIELD +WOULD OVERWRITE +KEPT\n/);
    expect(dry.stdout).toMatch(
      /LINE +TITLE +PRICE +WHAT\n +2 +Blue mug +13.00 PEN +would change: price_amount\n/,
    );
    const kept = await run('13');
    expect(kept.stdout).toMatch(/price_amount +2 +0\n/);
    expect(kept.stdout).toMatch(/title +0 +1\n/);
    expect(kept.stdout).toMatch(
      /--overwrite to take the file\)\nLINE +ITEM +FIELDS\n +2 +mug +title, visibility\n/,
    );

    expect((await run('13', '--overwrite')).stdout).toMatch(/title +1 +0\n/);
    expect(await cli.json('projections', 'verify')).toMatchObject({ clean: true });
  }));

/** Returns an imported publication from the log. */
async function stored(cli: Cli, store_id: string, external_id: string) {
  return withImported(cli, store_id, external_id, (runtime, id) => findPublication(runtime, 'live', id));
}

/** Updates an imported publication as the API does. */
async function writeByHand(
  cli: Cli,
  store_id: string,
  external_id: string,
  changes: PublicationPatch,
): Promise<void> {
  const context = { source: 'api', request_id: 'by hand' } as const;
  await withImported(cli, store_id, external_id, (runtime, id) =>
    updatePublication(runtime, context, { environment: 'live', id }, changes),
  );
}

async function withImported<Result>(
  cli: Cli,
  store_id: string,
  external_id: string,
  use: (runtime: Runtime, id: PublicationId) => Promise<Result>,
): Promise<Result> {
  const config = parseConfig({ DATA_DIR: cli.folder, DEMO: 'off' });
  const runtime = await openRuntime(config, pino({ level: 'silent' }), realSystem);
  try {
    const store = await findStore(runtime, { environment: 'live', id: store_id as StoreId });
    return await use(runtime, publicationIdOf(store!, external_id, 1));
  } finally {
    await runtime.close();
  }
}

test('fetches images of products and variants, only from public addresses unless --allow-private-images is given', () =>
  withShop(async ({ cli, store, file }) => {
    const picture = await flatPicture('jpeg', { width: 64, height: 48 });
    const server = createServer((request, response) =>
      request.url === '/mug.jpg' ? response.end(picture) : response.writeHead(404).end(),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const image = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mug.jpg`;
    const rows = [
      'Handle,Title,Option1 Name,Option1 Value,Variant SKU,Variant Price,Image Src,Variant Image',
      `mug,Mug,Size,S,M-1,12,${image},${image}`,
      'mug,,,L,M-2,14,,',
    ];
    try {
      const run = ['import', file('export.csv', rows.join('\n')), '--format', 'shopify', '--store', store];
      const refused = await cli.json(...run);
      expect(refused).toMatchObject({ publications: { created: 1 }, media: { created: 0, failed: 1 } });
      expect(refused.failed[0].reason).toMatch(
        /mug\.jpg: the address is not public; use --allow-private-images to fetch it$/,
      );

      const fetched = await cli.json(...run, '--allow-private-images');
      expect(fetched).toMatchObject({ media: { created: 1, failed: 0 } });
      const mug = await stored(cli, store, 'mug');
      expect(mug!.variants).toMatchObject([{ media_id: mug!.media_ids[0] }, { media_id: null }]);
      const again = await cli.run(...run, '--allow-private-images');
      expect(again.stdout).toMatch(/media +0 +0 +1 +0\n/);
      expect(again.stdout).toContain('Images: 1 in the file, 1 attached to publications.');
      const skipped = await cli.run(...run, '--images', 'skip');
      expect(skipped.stdout).toContain('Images: 1 in the file, 1 attached to publications.');
      expect(await cli.json('projections', 'verify')).toMatchObject({ clean: true });
    } finally {
      server.close();
    }
  }));

test('imports JSON Lines with reviews, and a file of reviews', () =>
  withShop(async ({ cli, store, file }) => {
    const row = { external_id: 'tea', title: 'Tea', price: '4.20', listing: 'Drinks' };
    const rows = [row, { ...row, external_id: 'bad', price: '4.205' }].map((each) => JSON.stringify(each));
    const path = file('catalog.jsonl', rows.join('\n'));
    const report = await cli.json('import', path, '--format', 'jsonl', '--store', store);
    expect(report).toMatchObject({ publications: { created: 1, failed: 1 }, failed: [{ line: 2 }] });

    const review = { publication: 'tea', rating: 4, author_name: 'Ana', body: 'Good' };
    const reviews = file('reviews.jsonl', `${JSON.stringify(review)}\n{"publication":"x","rating":1}\n`);
    const first = await cli.json('review', 'import', reviews, '--store', store);
    expect(first).toMatchObject({
      reviews: { created: 1, failed: 1 },
      failed: [{ line: 2, external_id: 'x' }],
    });
    expect(await cli.json('review', 'import', reviews, '--store', store)).toMatchObject({
      reviews: { created: 0, unchanged: 1 },
    });
  }));

test('prices without a currency are in that of the store, which the preview names', () =>
  withShop(async ({ cli, store, file }) => {
    const tea = { external_id: 'tea', title: 'Tea', price: '500' };
    const path = file('tea.jsonl', JSON.stringify(tea));
    const run = ['import', path, '--format', 'jsonl', '--store', store];
    expect(await cli.json(...run, '--dry-run')).toMatchObject({ currency: 'USD' });
    await cli.json('store', 'update', store, '--currency', 'JPY');
    const price = { amount: 50_000, currency: 'JPY' };
    expect(await cli.json(...run, '--dry-run')).toMatchObject({ currency: 'JPY', preview: [{ price }] });
    const { stdout } = await cli.run(...run, '--dry-run');
    expect(stdout).toMatch(/ 500 JPY .*\nNew products without a currency get JPY\.\n/s);
    expect(await cli.json(...run, '--dry-run', '--currency', 'EUR')).toMatchObject({
      currency: 'EUR',
      preview: [{ price: { currency: 'EUR' } }],
    });
    await cli.json(...run);
    await cli.json('store', 'update', store, '--currency', 'PEN');
    const rows = [
      { ...tea, price: '600' },
      { ...tea, external_id: 'mate' },
    ];
    const next = file('next.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));
    expect(await cli.json('import', next, ...run.slice(2), '--dry-run')).toMatchObject({
      preview: [
        { price: { amount: 60_000, currency: 'JPY' } },
        { price: { amount: 50_000, currency: 'PEN' } },
      ],
    });
  }));

test('checks the levels of the tree with listings of earlier imports', () =>
  withShop(async ({ cli, store, file }) => {
    const run = (...pairs: string[]) => {
      const lines = pairs.map((pair) => JSON.stringify({ listing: { name: pair[0], parent: pair[1] } }));
      const path = file('tree.jsonl', lines.join('\n'));
      return cli.run('import', path, '--format', 'jsonl', '--store', store);
    };
    expect((await run('FE', 'ED', 'DC', 'CB', 'BA')).stdout).not.toContain('Failed rows');
    const { stdout } = await run('AZ');
    expect(stdout).toContain('listing.parent: must be a listing under which the tree has at most 6 levels');
  }));

test('an unreadable file is an error on one line; a file whose rows all fail exits with 1 and a report', () =>
  withShop(async ({ cli, store, file }) => {
    const shopify = (path: string) => cli.run('import', path, '--format', 'shopify', '--store', store);
    expectFailure(await shopify('/nowhere.csv'), 1, 'the file does not exist');
    const csv = file('export.csv', SHOPIFY);
    expectFailure(
      await cli.run('import', csv, '--format', 'xml', '--store', store),
      2,
      "argument 'xml' is invalid. Allowed choices are shopify, ",
    );
    expectFailure(
      await cli.run('import', csv, '--format', 'shopify', '--store', store, '--currency', 'xx'),
      2,
      'ISO 4217',
    );
    const other = '01890a5d-ac96-774b-bcce-b302099a8057';
    expectFailure(
      await cli.run('import', csv, '--format', 'shopify', '--store', other),
      1,
      `Store ${other} does not exist.`,
    );

    const open = await shopify(
      file('open.csv', 'Handle,Title,Variant Price\na,A,1\nb,"12"" board,2\nc,C,3\n'),
    );
    expect(open.code).toBe(1);
    expect(open.stdout).toMatch(
      /publications +1 .*\n[\s\S]* 3 +- +a quote .*nothing was read from this line on/,
    );

    const nothing = await shopify(file('bad.csv', 'Handle,Title,Variant Price\na,A,x\n'));
    expect(nothing.code).toBe(1);
    expect(nothing.stdout).toContain('price "x"');
  }));

/** More than twice as many rows as are written concurrently (256). */
const LARGE = 650;

function largeFile({ file }: Shop): string {
  const rows = Array.from({ length: LARGE }, (_, index) => ({
    external_id: `p${index}`,
    title: `Product ${index}`,
    price: '1.00',
    listing: `Listing ${index % 7}`,
  }));
  return file('large.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));
}

/** Returns a command line that kills or interrupts itself after 600 appends: some rows are written then, and some have not begun. */
const dying = ({ cli }: Shop, signal: 'SIGKILL' | 'SIGINT'): Cli =>
  new Cli(cli.folder, {
    NODE_OPTIONS: `--require ${join(__dirname, '..', 'support', 'die-after-append.js')}`,
    DIE_AFTER_APPENDS: '600',
    DIE_BY: signal,
  });

test('a repeated import completes one that was killed', () =>
  withShop(async (shop) => {
    const { cli, store } = shop;
    const run = ['import', largeFile(shop), '--format', 'jsonl', '--store', store];
    expect((await dying(shop, 'SIGKILL').run(...run)).code).toBeNull();
    expect(await headOf(cli)).toBeLessThan(1 + 7 + 2 * LARGE);

    const report = await cli.json(...run);
    expect(report).toMatchObject({ complete: true, publications: { updated: 0, failed: 0 } });
    expect(report.publications.created + report.publications.unchanged).toBe(LARGE);
    expect(report.publications.unchanged).toBeGreaterThan(0);
    // The store, seven listings and every publication: one event each. And the names of publications, some of them twice.
    const head = await headOf(cli);
    expect(head).toBeGreaterThanOrEqual(1 + 7 + 2 * LARGE);
    expect(head).toBeLessThan(1 + 7 + 3 * LARGE);
  }));

test('Ctrl-C finishes the running rows, prints the report and exits with 130', () =>
  withShop(async (shop) => {
    const { cli, store } = shop;
    const run = ['import', largeFile(shop), '--format', 'jsonl', '--store', store, '--json'];
    const { code, stdout, stderr } = await dying(shop, 'SIGINT').run(...run);
    expect(stderr).toContain('A running server projects the rest.');
    const report = JSON.parse(stdout);
    expect([code, report.complete]).toEqual([130, false]);
    expect(await headOf(cli)).toBe(1 + report.listings.created + 2 * report.publications.created);
  }));

/** Returns the head of the live log, without starting a process. */
async function headOf(cli: Cli): Promise<number> {
  const store = await openEventStore(parseConfig({ DATA_DIR: cli.folder }), 'live');
  try {
    return Number(await store.head());
  } finally {
    await store.close();
  }
}

test('imports every row of the documented example', () =>
  withShop(async ({ cli, store, file }) => {
    const guide = readFileSync(join(process.cwd(), 'docs', 'import.md'), 'utf8');
    const example = /```jsonl\n([\s\S]*?)```/.exec(guide)![1]!;
    const run = ['import', file('x.jsonl', example), '--format', 'jsonl', '--store', store];
    const report = await cli.json(...run, '--images', 'skip');
    expect(report.failed).toEqual([]);
    expect(report.publications.created).toBeGreaterThan(0);
    expect(report.reviews.created).toBeGreaterThan(0);
  }));

describe('a price list', () => {
  const CATALOG = [
    {
      external_id: 'shirt',
      title: 'Shirt',
      price: '20',
      options: [{ name: 'Size', values: ['S', 'M', 'L'] }],
      variants: ['S', 'M', 'L'].map((Size) => ({
        ...{ option_values: { Size }, sku: `shirt-${Size}`, external_id: `erp-${Size}` },
        ...(Size === 'L' ? {} : { barcode: '4006381333931' }),
        ...{ price_amount: 2000, compare_at_amount: 2500, quantity_available: 3 },
      })),
    },
    { external_id: 'mug', title: 'Mug', price: '4.00', quantity_available: 7 },
    ...['cup', 'pot'].map((name, index) => ({
      ...{ external_id: name, handle: `the-${name}`, title: name, price: '4.00' },
      variants: [{ sku: name.toUpperCase(), barcode: ['4006381333948', '4006381333955'][index] }],
    })),
  ];

  const withPriced = copiedCatalog(CATALOG);

  interface PriceShop {
    readonly cli: Cli;
    /** Imports a price list and returns how it ended. */
    prices(rows: readonly string[], ...options: string[]): ReturnType<Cli['run']>;
    /** Returns price, compare-at price and stock of each variant and of the mug. */
    products(): Promise<Record<string, unknown>>;
    /** The position of the newest event. */
    head(): Promise<string>;
  }

  function withProducts(story: (shop: PriceShop) => Promise<void>): Promise<void> {
    return withPriced(async ({ cli, store, folder }) => {
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
    CUP: [400, null, null],
    POT: [400, null, null],
  };

  const NEW_PRICES = [
    'sku,Price,compare_at_price,quantity_available',
    'shirt-S,18.50,,',
    'shirt-L,21,none,0',
  ];
  const OLD_PRICES = ['SKU,price,compare_at_price,quantity_available', 'shirt-S,20,,', 'shirt-L,20.00,25,3'];

  test('prices by SKU change the variants that are named; the same list again changes nothing; the old list undoes it', () =>
    withProducts(async ({ prices, products, head }) => {
      const start = await head();
      expect(JSON.parse((await prices(NEW_PRICES, '--dry-run', '--json')).stdout)).toMatchObject({
        dry_run: true,
        publications: { updated: 1 },
        preview: [
          {
            ...{
              line: 2,
              external_id: 'shirt-S',
              title: 'Shirt',
              outcome: 'updated',
              price: { amount: 1850 },
            },
            fields: ['price_amount'],
            changes: [{ field: 'price_amount', before: 2000, after: 1850 }],
          },
          {
            ...{ line: 3, external_id: 'shirt-L', price: { amount: 2100 } },
            changes: [
              { field: 'price_amount', before: 2000, after: 2100 },
              { field: 'compare_at_amount', before: 2500, after: null },
              { field: 'quantity_available', before: 3, after: 0 },
            ],
          },
        ],
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
    withProducts(async ({ prices, products }) => {
      const { code, stdout } = await prices(
        ['external_id,price,quantity_available', 'mug,5.00,none', 'shirt,1,'],
        '--json',
      );
      expect([code, JSON.parse(stdout).failed]).toEqual([
        0,
        [
          {
            line: 3,
            external_id: 'shirt',
            reason: 'the publication has several variants: name them by SKU, barcode or external id',
          },
        ],
      ]);
      expect(await products()).toEqual({ ...BEFORE, mug: [500, null, null] });
    }));

  test('each row names what it changes by SKU, external id, barcode or handle', () =>
    withProducts(async ({ prices, products }) => {
      const rows = [
        'Handle;Variant SKU;Barcode;external_id;Variant Price;Inventory quantity',
        'the-cup;;;;5,50;1',
        ';;="4006381333955";;6.00;2',
        ';shirt-S;;;7;',
        ';;;erp-M;8;',
        ';;;mug;9;',
        ';;4006381333931;;1;',
        ';CUP;;;2;',
        'the-hat;;;;3;',
        ';;;;4;',
      ];
      const { stdout } = await prices(rows, '--json');
      expect(JSON.parse(stdout).failed).toEqual([
        {
          line: 7,
          external_id: '4006381333931',
          reason: 'several variants have the barcode "4006381333931"',
        },
        { line: 8, external_id: 'CUP', reason: 'the same as line 2' },
        { line: 9, external_id: 'the-hat', reason: 'the store has no handle "the-hat"' },
        { line: 10, external_id: '', reason: 'missing sku, external_id, barcode, handle' },
      ]);
      expect(await products()).toEqual({
        ...{ 'shirt-S': [700, 2500, 3], 'shirt-M': [800, 2500, 3], 'shirt-L': [2000, 2500, 3] },
        ...{ CUP: [550, null, 1], POT: [600, null, 2], mug: [900, null, 7] },
      });
    }));

  test('rows that cannot be written are reported, and the others are written', () =>
    withProducts(async ({ prices, products }) => {
      const rows = [
        'sku,price,quantity_available,external_id,note',
        'shirt-M,9.99,,mug,new',
        'shirt-M,8.88,,,',
        'gone,1.00,,,',
        ',1.00,,,',
        'shirt-S,1.2345,,,',
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
            { line: 5, external_id: '', reason: 'missing sku, external_id' },
            { line: 6, external_id: 'shirt-S', reason: 'price "1.2345": must have at most two decimals' },
            { line: 7, external_id: 'shirt-L', reason: 'quantity_available "-2": must be a whole number' },
          ],
        }),
      ]);
      expect(await products()).toEqual({ ...BEFORE, 'shirt-M': [999, 2500, 3] });
    }));

  test('a file without the columns is refused', () =>
    withProducts(async ({ prices }) => {
      expectFailure(
        await prices(['sku,amount', 'a,1']),
        1,
        'The header needs one of the columns "sku", "external_id", "barcode", "handle"',
      );
      expectFailure(
        await prices(['name,price', 'a,1']),
        1,
        'The header needs one of the columns "sku", "external_id", "barcode", "handle"',
      );
      expectFailure(await prices(['sku,price']), 1, 'has no rows after the header');
    }));
});
