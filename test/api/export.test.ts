import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { startMediaWork } from '../../services/media/work';
import { exportLines } from '../../services/query/export-lines';
import { cases } from '../support/long';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';
import { type Cli, InProcessCli } from './cli-run';
import { MediaShop } from './media-shop';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const rowsOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

/** Exports a store. */
async function exported(cli: Cli, store: string, ...options: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli.run('export', '--format', 'jsonl', '--store', store, ...options);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

/** Imports lines into a store and returns the report. */
async function imported(cli: Cli, store: string, text: string, ...options: string[]) {
  return withTempDir(async (folder) => {
    const file = join(folder, 'in.jsonl');
    writeFileSync(file, text);
    const report = await cli.json('import', file, '--format', 'jsonl', '--store', store, ...options);
    expect(report.failed).toEqual([]);
    return report;
  });
}

describe('the command', () => {
  const text = fc.stringMatching(/^[a-zA-Z0-9ñ茶𝒳_]{1,12}$/u);
  const amount = fc.integer({ min: 0, max: 100_000 });
  const quantity = fc.option(fc.integer({ min: 0, max: 50 }));
  const some = <Value>(value: fc.Arbitrary<Value>) => fc.option(value);
  const listing = fc.constantFrom('Tea', 'té', 'Cups', '𝒳');
  const visibility = fc.constantFrom('public', 'private');
  const seo = some(fc.record({ title: text }));
  const variants = fc.uniqueArray(fc.constantFrom('S', 'M', 'L'), { maxLength: 3 }).chain((sizes) =>
    fc.record({
      options: fc.constant(sizes.length > 0 ? [{ name: 'Size', values: sizes }] : []),
      variants: fc.tuple(
        ...sizes.map((Size) =>
          fc.record({
            option_values: fc.constant({ Size }),
            sku: fc.constant(`sku-${Size}`),
            price_amount: amount,
            quantity_available: quantity,
            attributes: some(fc.dictionary(text, amount, { minKeys: 1, maxKeys: 2 })),
          }),
        ),
      ),
    }),
  );
  const publication = fc
    .record({
      title: text,
      description: fc.string({ maxLength: 20 }).map((line) => line.replace(/[^ -~\n]/g, '')),
      price_amount: amount,
      price_currency: fc.constantFrom('PEN', 'USD'),
      price_active: fc.boolean(),
      visibility,
      free_shipping: some(fc.boolean()),
      quantity_available: quantity,
      listing: some(listing),
      other_listings: fc.uniqueArray(
        fc.record({ listing, featured_position: some(fc.integer({ min: 1, max: 9 })) }),
        { selector: (other) => other.listing, maxLength: 3 },
      ),
      vendor: some(text),
      tags: some(fc.uniqueArray(text, { minLength: 1, maxLength: 3 })),
      attributes: some(fc.dictionary(text, fc.oneof(text, amount, fc.boolean()), { minKeys: 1, maxKeys: 3 })),
      seo,
    })
    .chain((fields) => variants.map((more) => ({ ...fields, ...more })));
  const catalog = fc.record({
    listings: fc.uniqueArray(
      fc.record({
        name: listing,
        visibility,
        parent: fc.constantFrom(null, 'All'),
        description: some(text),
        seo,
      }),
      { selector: ({ name }) => name },
    ),
    publications: fc.dictionary(text, publication, { maxKeys: 8 }),
  });

  test('writes what an import into an empty store makes the same, and changes nothing in the same store', () =>
    withTempDir(async (folder) => {
      const cli = new InProcessCli(join(folder, 'data'));
      const account = await cli.account();
      const story = fc.asyncProperty(catalog, async ({ listings, publications }) => {
        const rows = [
          ...listings.map((listing) => ({ listing })),
          ...Object.entries(publications).map(([external_id, { variants, ...fields }]) => ({
            ...{ external_id, ...fields },
            variants: variants.map((variant) => ({ ...variant, sku: `${external_id} ${variant.sku}` })),
          })),
        ];
        fc.pre(rows.length > 0);
        const [first, second] = [await cli.store(account), await cli.store(account)];
        await imported(cli, first, rows.map((row) => JSON.stringify(row)).join('\n'));
        const lines = await exported(cli, first);
        const found = rowsOf(lines).flatMap(({ external_id }) => external_id ?? []);
        expect(found.sort()).toEqual(Object.keys(publications).sort());
        await imported(cli, second, lines);
        expect(await exported(cli, second)).toBe(lines);
        for (const store of [first, second]) {
          const again = await imported(cli, store, lines);
          for (const kind of ['listings', 'publications'])
            expect(again[kind]).toMatchObject({ created: 0, updated: 0 });
        }
      });
      await fc.assert(story, cases(2, 20));
      expect(await cli.json('projections', 'verify')).toMatchObject({ clean: true });
    }));

  test('has every listing of a store that has more than one read returns', () =>
    withTempDir(async (folder) => {
      const cli = new InProcessCli(join(folder, 'data'));
      const store = await cli.store(await cli.account());
      const names = Array.from({ length: 101 }, (_, n) => `Listing ${n}`);
      await imported(cli, store, names.map((name) => JSON.stringify({ listing: { name } })).join('\n'));
      const lines = (await exported(cli, store)).trim().split('\n');
      expect(lines.map((line) => JSON.parse(line).listing.name).sort()).toEqual(names.sort());
    }));

  test("writes Shopify's product file, which an import into an empty store makes the same", () =>
    withTempDir(async (folder) => {
      const cli = new InProcessCli(join(folder, 'data'));
      const account = await cli.account();
      const [first, second] = [await cli.store(account), await cli.store(account)];
      const colours = ['Red', 'Blue'].map((Colour, index) => ({
        option_values: { Size: 'M', Colour, Fit: 'Slim', Collar: 'Round' },
        ...{ sku: `SHIRT-${index}`, barcode: '7750182003834', price_amount: 2_050 + index },
        ...{ compare_at_amount: 3_000, quantity_available: index, allow_backorder: true, weight_grams: 180 },
      }));
      const rows = [
        { listing: { name: 'Shirts', parent: 'Clothes' } },
        {
          ...{ external_id: 'shirt', title: 'Shirt, "fine"', description_html: '<p>Two\nlines</p>' },
          ...{ vendor: 'Acme', product_type: 'Shirts', tags: ['new', 'cotton'], listing: 'Shirts' },
          ...{ price_amount: 2_050, price_currency: 'PEN', handle: 'shirt-fine' },
          options: ['Size', 'Colour', 'Fit', 'Collar'].map((name) => ({ name })),
          ...{ variants: colours, seo: { title: 'A shirt' }, visibility: 'private' },
        },
        { external_id: 'cup', title: 'Cup', price_amount: 5, price_currency: 'PEN', quantity_available: 3 },
      ];
      await imported(cli, first, rows.map((row) => JSON.stringify(row)).join('\n'));
      const shopify = ['--format', 'shopify', '--store'];
      const csvOf = async (store: string) => (await cli.run('export', ...shopify, store)).stdout;
      const csv = await csvOf(first);
      const [header, ...lines] = csv.trimEnd().split('\n');
      expect(header).toMatch(/^Handle,Title,Body \(HTML\),Vendor,Type,Tags,Published,Option1 Name,/);
      expect(lines.filter((line) => line.startsWith('shirt-fine,'))).toHaveLength(2);
      expect(csv).toContain(
        'M,Colour,Red,Fit / Collar,Slim / Round,SHIRT-0,180,shopify,0,continue,20.50,30.00',
      );
      expect(csv).toMatch(/^cup,Cup,,,,,true,Title,Default Title,,,,,,0,shopify,3,deny,0.05,/m);

      const file = join(folder, 'shopify.csv');
      writeFileSync(file, csv);
      for (const [store, counts] of [
        [second, { created: 2 }],
        [second, { unchanged: 2 }],
      ] as const) {
        const report = await cli.json('import', file, ...shopify, store, '--currency', 'PEN');
        expect(report).toMatchObject({ publications: counts, failed: [], warnings: [], unused_columns: {} });
      }
      const sorted = (text: string) => text.split('\n').sort();
      expect(sorted(await csvOf(second))).toEqual(sorted(csv));
    }));

  test('listings of one name stay apart, in the tree and for their publications', () =>
    withTempDir(async (folder) => {
      const cli = new InProcessCli(join(folder, 'data'));
      const account = await cli.account();
      const [first, second] = [await cli.store(account), await cli.store(account)];
      const listing = (name: string, key: string, more: object = {}) => ({
        listing: { name, key, handle: key, ...more },
      });
      const rows = [
        { external_id: 'cup', title: 'Cup', price: '1', listing: { name: 'tea', key: 'tea-shop' } },
        listing('Tea', 'tea-shop', { parent: { name: 'Tea', key: 'tea-top' } }),
        listing('Tea', 'tea-top', { external_id: 'erp-1' }),
        listing('Tea', 'tea-third', { parent: 'Shop' }),
        { external_id: 'pot', title: 'Pot', price: '2', listing: { name: 'Tea', key: 'tea-third' } },
      ];
      const report = await imported(cli, first, rows.map((row) => JSON.stringify(row)).join('\n'));
      expect(report.listings).toMatchObject({ created: 4, failed: 0 });
      const lines = await exported(cli, first);
      const [, , tea, ...publications] = rowsOf(lines);
      expect(tea.listing).toMatchObject({ name: 'Tea', key: 'tea-third', parent: 'Shop' });
      expect(publications.at(-1)).toMatchObject({ title: 'Pot', listing: { name: 'Tea', key: 'tea-third' } });
      await imported(cli, second, lines);
      expect(await exported(cli, second)).toBe(lines);
      for (const store of [first, second])
        expect((await imported(cli, store, lines)).listings).toMatchObject({ created: 0, updated: 0 });
    }));

  test('refuses an unknown store and an address that is no web address', () =>
    withTempDir(async (folder) => {
      const cli = new InProcessCli(join(folder, 'data'));
      const store = await cli.store(await cli.account());
      expect(await exported(cli, store)).toBe('');
      const run = (...args: string[]) => cli.run('export', '--format', 'jsonl', ...args);
      expect(await run('--store', crypto.randomUUID())).toMatchObject({ code: 1 });
      const wrong = await run('--store', store, '--base-url', 'ftp://x');
      expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('Invalid --base-url')]);
    }));
});

describe('GET /api/export', () => {
  const here = ownShop({ is_own: true });
  const { send } = here;
  const create = async (path: string, body: object): Promise<string> =>
    (await send('POST', path, { body })).body.data.id;
  const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };

  test('streams listings and publications, private ones too, but nothing deleted and nothing of another store', async () => {
    const top = await create('/api/listing', { name: 'Drinks', visibility: 'private' });
    const listing_id = await create('/api/listing', { name: 'Coffee', parent_id: top, external_id: 'c' });
    const unnamed = await create('/api/publication', { ...TEA, listing_id });
    await create('/api/publication', { ...TEA, title: 'Maté', external_id: 'mate', visibility: 'private' });
    await send('DELETE', `/api/publication/${await create('/api/publication', TEA)}`);
    const other = await here.harness.newShop();
    await send('POST', '/api/publication', { token: other.secret.token, body: TEA });
    const { status, headers, text } = await send('GET', '/api/export');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    expect(rowsOf(text)).toMatchObject([
      { listing: { name: 'Coffee', parent: 'Drinks', external_id: 'c' } },
      { listing: { name: 'Drinks', parent: null, visibility: 'private' } },
      { external_id: unnamed, title: 'Tea', listing: 'Coffee', price_amount: 1_250, images: [] },
      { external_id: 'mate', title: 'Maté', listing: null, visibility: 'private' },
    ]);
  });

  test('has pages that follow each other, in the order of bytes, and are not read when nobody takes the lines', async () => {
    const names = Array.from(
      { length: 230 },
      (_, index) => `n${index}${index % 3 ? '' : '𝒳'}${index % 5 ? '' : '～'}`,
    );
    await here.writeAll(
      names.map((external_id) => ({ action: 'put', external_id, body: { ...TEA, title: external_id } })),
    );
    await here.harness.settled();
    const { text } = await send('GET', '/api/export');
    const sorted = names
      .map((name) => Buffer.from(name))
      .sort(Buffer.compare)
      .map(String);
    expect(rowsOf(text).map(({ external_id }) => external_id)).toEqual(sorted);

    const view = here.harness.service.runtime.views.live;
    const current = jest.spyOn(view, 'current');
    const lines = exportLines({ view, store_id: here.shop.store_id, base_url: here.harness.url });
    const pages: number[] = [];
    for await (const _line of lines) pages.push(current.mock.calls.length);
    current.mockRestore();
    expect(pages).toHaveLength(names.length);
    expect(pages[0]).toBeLessThan(pages.at(-1)!);
  });

  test('names pictures by addresses that an import can fetch, and by ids for the same store, where it changes nothing', async () => {
    const sales = [
      await create('/api/listing', { name: 'Sale' }),
      await create('/api/listing', { name: 'Sale' }),
    ];
    const media = await MediaShop.of(here.harness, here.shop);
    const { id } = (await media.send(media.png, { query: { alt: 'A cup' } })).body.data;
    const { url } = await here.harness.client(here.shop.secret).media.processed(id);
    const options = [{ name: 'Size', values: [] }];
    const variants = [{ option_values: { Size: 'S' }, media_id: id }, { option_values: { Size: 'M' } }];
    const placed = { listing_id: sales[0], listing_ids: [sales[1]] };
    const made = await create('/api/publication', { ...TEA, ...placed, media_ids: [id], options, variants });
    await here.harness.settled();
    const { text } = await send('GET', '/api/export');
    const image = `${here.harness.url}${new URL(url!).pathname}`;
    expect(rowsOf(text)[2]).toMatchObject({
      external_id: made,
      images: [{ url: image, alt: 'A cup', media_id: id }],
      variants: [{ option_values: { Size: 'S' }, image }, { option_values: { Size: 'M' } }],
    });
    const elsewhere = await send('GET', '/api/export?base_url=https://shop.example');
    expect(rowsOf(elsewhere.text)[2].images[0].url).toMatch(/^https:\/\/shop\.example\/media\/live\//);
    expectError(await send('GET', '/api/export?base_url=shop'), 400, 'VALIDATION_ERROR', 'base_url');

    const cli = new InProcessCli(here.harness.data_dir, { ...here.harness.settings });
    const fetch = ['--images', 'fetch', '--allow-private-images'];
    const same = await imported(cli, here.shop.store_id, text, ...fetch);
    expect(same).toMatchObject({
      listings: { created: 0, updated: 0, unchanged: 2 },
      publications: { unchanged: 1 },
      media: { created: 0, unchanged: 1 },
    });
    expect((await send('GET', '/api/export')).text).toBe(text);
    const second = await here.harness.newShop();
    expect(await imported(cli, second.store_id, text, ...fetch)).toMatchObject({ media: { created: 1 } });
    // Searches at once for pictures that another process has stored, as a start of the service does.
    const work = startMediaWork(here.harness.service.runtime);
    const [row] = await waitFor(
      async () => {
        const again = await send('GET', '/api/export', { token: second.secret.token });
        const rows = rowsOf(again.text).slice(2);
        return rows[0].images.length > 0 && rows;
      },
      { what: 'the picture of the second store' },
    );
    await work.stop();
    expect(row).toMatchObject({
      ...{ external_id: made, images: [{ alt: 'A cup' }] },
      variants: [{ image: row.images[0].url }, {}],
    });
  });

  test('requires a secret key with the permissions for all that it has, and an active store', async () => {
    expectError(
      await send('GET', '/api/export', { token: here.shop.public.token }),
      403,
      'INSUFFICIENT_PERMISSIONS',
    );
    for (const missing of ['read:publications', 'read:listings', 'read:media'] as const) {
      const all = ['read:publications', 'read:listings', 'read:media'] as const;
      const key = await here.harness.newKey(
        'secret',
        [here.shop.store_id],
        all.filter((name) => name !== missing),
      );
      const { body } = await send('GET', '/api/export', { token: await here.harness.token(key.key) });
      expect([body.error?.code, body.error?.message]).toEqual([
        'INSUFFICIENT_PERMISSIONS',
        expect.stringContaining(missing),
      ]);
    }
    const other = await here.harness.newShop();
    expect((await send('GET', `/api/export?store_id=${other.store_id}`)).status).toBe(403);
  });

  test("gives Shopify's product file on request", async () => {
    await create('/api/publication', { ...TEA, title: 'Tea, green' });
    const { status, text, headers } = await send('GET', '/api/export?format=shopify');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(text).toContain('\ntea-green,"Tea, green",');
    expectError(await send('GET', '/api/export?format=xml'), 400, 'VALIDATION_ERROR', 'format');
    expectError(await send('GET', '/api/export?bom=true'), 400, 'VALIDATION_ERROR', 'bom');
  });

  test('names the file, and makes one that a spreadsheet reads as UTF-8 and does not run', async () => {
    await create('/api/publication', { ...TEA, title: '=1+1', tags: ['+a', '@b'] });
    const variants = [{ sku: "'90s-TEE", quantity_available: -3, allow_backorder: true }];
    await create('/api/publication', { ...TEA, title: "'-Tis", description: '-', variants });
    const { headers } = await send('GET', '/api/export');
    expect(headers.get('content-disposition')).toBe('attachment; filename="catalog.jsonl"');
    const plain = await send('GET', '/api/export?format=shopify');
    expect(plain.headers.get('content-disposition')).toBe('attachment; filename="products.csv"');
    expect(plain.text).toMatch(/\n1-1,=1\+1,/);
    const { bytes } = await send('GET', '/api/export?format=shopify&bom=true&escape_formulas=true');
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    expect(text).toMatch(/^\uFEFFHandle,/);
    expect(text).toMatch(/\n1-1,'=1\+1,.*"'\+a, @b"/);
    expect(text).toMatch(/\ntis,''-Tis,'-,.*,'90s-TEE,.*,-3,/);
    const cli = new InProcessCli(here.harness.data_dir, { ...here.harness.settings });
    const second = await here.harness.newShop();
    await withTempDir(async (folder) => {
      const file = join(folder, 'in.csv');
      writeFileSync(file, text);
      await cli.json('import', file, '--format', 'shopify', '--store', second.store_id);
    });
    const { token } = second.secret;
    const again = await waitFor(async () => {
      const found = (await send('GET', '/api/export?format=shopify', { token })).text;
      return found.split('\n').length > 3 && found;
    });
    const sorted = (lines: string) => lines.split('\n').sort();
    expect(sorted(again)).toEqual(sorted(plain.text));
  });
});
