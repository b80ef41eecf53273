import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type ImportJob, ImportJobs, type ImportOwner } from '../../services/import/jobs';
import type { CatalogClient, Import, ImportFields, ImportRow } from '../../shared/client';
import type { ApiKeyId } from '../../shared/kernel/ids';
import { replaceJsonFile } from '../../shared/kernel/json-file';
import { type Harness, type RequestOptions, type Shop, startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';
import { workbookOf } from '../support/workbook';
import { expectError } from './replies';

const PRODUCTS = `Handle,Title,Variant SKU,Variant Price
tea,Green tea,T-1,12.50
mate,Mate,M-1,9.00
broken,,,
`;

let harness: Harness;
let shop: Shop;
let merchant: CatalogClient;

beforeAll(async () => {
  harness = await startHarness({ is_own: true });
});
afterAll(() => harness?.close());
beforeEach(async () => {
  shop = await harness.newShop();
  merchant = harness.client(shop.secret, { consistent: true });
});

const fileOf = (content: string | Uint8Array<ArrayBuffer>): File => new File([content], 'catalog.csv');

/** The files that were received and have not become an import. */
const uploads = (): string[] =>
  existsSync(join(harness.data_dir, 'imports/uploads'))
    ? readdirSync(join(harness.data_dir, 'imports/uploads'))
    : [];

/** Waits until the step of an import has ended. */
const ended = ({ id }: Pick<Import, 'id'>): Promise<Import> =>
  waitFor(async () => {
    const found = await merchant.imports.get(id);
    return found.status !== 'running' && found;
  });

/** Uploads a file, and returns its import after the preview. */
const previewed = async (content: string | Uint8Array<ArrayBuffer>, fields?: ImportFields): Promise<Import> =>
  ended(await merchant.imports.create(fileOf(content), fields));

const imported = async (found: Import): Promise<Import> => ended(await merchant.imports.start(found.id));

const rowsOf = ({ id }: Import, outcome?: ImportRow['outcome']): Promise<ImportRow[]> =>
  merchant.imports.rows(id, { outcome, limit: 1_000 }).all();

async function products() {
  await harness.settled();
  return merchant.publications.list({ visibility: 'all', sort: 'name', order: 'asc' }).all();
}
const titles = async (): Promise<string[]> => (await products()).map(({ title }) => title);

test('a file is previewed, imported and undone, except what was changed since', async () => {
  const started = await merchant.imports.create(fileOf(PRODUCTS), { currency: 'PEN' });
  expect(started).toMatchObject({ file: 'catalog.csv', step: 'preview', status: 'running' });
  const preview = await ended(started);
  expect(preview).toMatchObject({
    ...{ status: 'done', was_imported: false, progress: { done: 3, total: 3 } },
    settings: { currency: 'PEN', overwrite: false, images: 'public', columns: {} },
    report: { dry_run: true, publications: { created: 2, failed: 1 }, rows: { created: 2, failed: 1 } },
  });
  expect(await rowsOf(preview)).toMatchObject([
    {
      outcome: 'created',
      line: 2,
      external_id: 'tea',
      title: 'Green tea',
      price: { amount: 1_250, currency: 'PEN' },
    },
    { outcome: 'created', line: 3 },
    {
      outcome: 'failed',
      line: 4,
      kind: 'publication',
      external_id: 'broken',
      reason: expect.stringContaining('title'),
    },
  ]);
  expect(await titles()).toEqual([]);

  expect(await imported(preview)).toMatchObject({
    ...{ step: 'import', status: 'done', was_imported: true },
    report: { dry_run: false, wrote: true, complete: true },
  });
  expect(await rowsOf(preview, 'created')).toMatchObject([{ title: 'Green tea' }, { title: 'Mate' }]);
  const [tea, mate] = await products();
  expect([tea, mate]).toMatchObject([{ price_amount: 1_250, price_currency: 'PEN' }, { title: 'Mate' }]);
  expect((await merchant.publications.history(tea!.id).page()).data[0]!.actor).toMatchObject({
    type: 'import',
  });

  await merchant.publications.update(mate!.id, { title: 'Yerba mate' });
  const again = await previewed(PRODUCTS.replace('12.50', '13'), { currency: 'PEN' });
  expect(await rowsOf(again)).toMatchObject([
    {
      outcome: 'updated',
      title: 'Green tea',
      price: { amount: 1_300 },
      fields: ['price_amount', 'variants'],
    },
    { outcome: 'kept', line: 3, external_id: 'mate', fields: ['title'] },
    { outcome: 'failed' },
  ]);
  const undone = await ended(await merchant.imports.undo(preview.id));
  expect(undone).toMatchObject({
    ...{ step: 'undo', status: 'done' },
    undone: {
      deleted: 1,
      reverted: 0,
      kept: [{ id: mate!.id, title: 'Yerba mate', reason: 'changed since' }],
    },
  });
  expect(await titles()).toEqual(['Yerba mate']);

  expect((await merchant.imports.list().all()).map(({ id }) => id)).toEqual([again.id, preview.id]);
  expect(await merchant.imports.delete(again.id)).toMatchObject({ id: again.id, deleted: true });
  await expect(merchant.imports.get(again.id)).rejects.toMatchObject({ code: 'IMPORT_NOT_FOUND' });
  expect((await merchant.imports.list().all()).map(({ id }) => id)).toEqual([preview.id]);
});

test('an import without a currency takes that of the store, and the preview says so', async () => {
  expect((await previewed(PRODUCTS)).detected).toMatchObject({ currency: 'USD' });
  await merchant.store.update({ currency: 'PEN' });
  const preview = await previewed(PRODUCTS);
  expect(preview).toMatchObject({ detected: { currency: 'PEN' }, report: { currency: 'PEN' } });
  await imported(preview);
  expect((await products()).map(({ price_currency }) => price_currency)).toEqual(['PEN', 'PEN']);
});

test('a workbook is recognised, and its products are those of its rows', async () => {
  const rows = [
    [
      'Type',
      'Name',
      'SKU',
      'GTIN, UPC, EAN, or ISBN',
      'Regular price',
      'Categories',
      'Parent',
      'Attribute 1 name',
      'Attribute 1 value(s)',
    ],
    ['variable', 'Tee', 'tee', '', '', 'Clothing > Shirts', '', 'Size', 'S, M'],
    [
      'variation',
      '',
      'tee-s',
      { xml: '<c><v>7750182003834</v></c>' },
      { xml: '<c><v>9.9</v></c>' },
      '',
      'tee',
      'Size',
      'S',
    ],
    ['variation', '', 'tee-m', '', '12', '', 'tee', 'Size', 'M'],
  ];
  const preview = await previewed(new Uint8Array(workbookOf([rows])));
  expect(preview).toMatchObject({
    status: 'done',
    detected: { format: 'woocommerce', type: 'xlsx' },
    report: { publications: { created: 1, failed: 0 }, listings: { created: 2 } },
  });
  expect(preview.detected).not.toHaveProperty('separator');
  expect(await imported(preview)).toMatchObject({ report: { wrote: true } });
  const [tee] = await products();
  expect(tee).toMatchObject({ title: 'Tee', handle: 'tee', price_amount: 990 });
  expect((await merchant.publications.get(tee!.id, { expand: ['variants'] })).variants.data).toMatchObject([
    { sku: 'tee-s', barcode: '7750182003834', option_values: { Size: 'S' } },
    { sku: 'tee-m', price_amount: 1_200, option_values: { Size: 'M' } },
  ]);
  const protected_book = Buffer.concat([
    Buffer.from('d0cf11e0a1b11ae1', 'hex'),
    Buffer.from('EncryptedPackage', 'utf16le'),
  ]);
  expect(await previewed(new Uint8Array(protected_book))).toMatchObject({
    status: 'failed',
    error: 'The file “catalog.csv” is protected by a password. Save it without one.',
  });
});

test('the items of a feed without line breaks are a row each', async () => {
  const items = [1, 2, 3].map(
    (n) => `<item><g:id>t${n}</g:id><title>Tea ${n}</title><g:price>${n} PEN</g:price></item>`,
  );
  const text = `<rss xmlns:g="http://base.google.com/ns/1.0"><channel>${items.join('')}<item/></channel></rss>`;
  const preview = await previewed(text);
  expect(preview.report).toMatchObject({ publications: { created: 3 }, rows: { created: 3, failed: 1 } });
  expect(await rowsOf(preview)).toMatchObject([
    { line: 1, title: 'Tea 1' },
    { line: 2, title: 'Tea 2' },
    { line: 3, title: 'Tea 3' },
    { line: 4, outcome: 'failed' },
  ]);
});

test('a price list is recognised, and says which rows it cannot use', async () => {
  const tea = { title: 'Tea', price_currency: 'USD', price_amount: 100, external_id: 'tea' };
  await merchant.publications.create(tea);
  const preview = await previewed('external_id,price\ntea,2.50\nunknown,3\n');
  expect(preview.detected).toMatchObject({ format: 'prices', separator: ',' });
  expect(await rowsOf(preview)).toMatchObject([
    {
      ...{ outcome: 'updated', line: 2, title: 'Tea', price: { amount: 250 } },
      changes: [{ field: 'price_amount', before: 100, after: 250 }],
    },
    { outcome: 'failed', line: 3, external_id: 'unknown' },
  ]);
  await imported(preview);
  expect(await products()).toMatchObject([{ title: 'Tea', price_amount: 250 }]);
});

test('columns that were not recognised are mapped, and shown with examples', async () => {
  const file = 'Referencia;Nombre;Precio;Nota;SKU\nte;Té verde;12,50;x;T-1\nmate;Mate;9,00;;M-1\n';
  const first = await previewed(file, { columns: { Nota: null } });
  expect(first).toMatchObject({
    status: 'failed',
    detected: { format: 'prices', separator: ';', encoding: 'utf-8' },
  });
  expect(first.error).toContain('The header needs one of the columns');
  expect(first.detected?.columns).toEqual([
    { name: 'Referencia', used_as: null, examples: ['te', 'mate'] },
    { name: 'Nombre', used_as: null, examples: ['Té verde', 'Mate'] },
    { name: 'Precio', used_as: null, examples: ['12,50', '9,00'] },
    { name: 'Nota', used_as: null, examples: ['x'] },
    { name: 'SKU', used_as: 'sku', examples: ['T-1', 'M-1'] },
  ]);
  await expect(merchant.imports.start(first.id)).rejects.toMatchObject({ status: 409, code: 'CONFLICT' });

  const columns = { Referencia: 'Handle', Nombre: 'Title', Precio: 'Variant Price', SKU: null };
  const second = await ended(await merchant.imports.preview(first.id, { columns }));
  expect(second).toMatchObject({
    ...{ status: 'done', settings: { columns } },
    detected: {
      format: 'shopify',
      columns: [{ used_as: 'Handle' }, {}, { used_as: 'Variant Price' }, {}, { used_as: null }],
    },
    report: { publications: { created: 2 }, unused_columns: { Nota: 1, 'SKU (ignored)': 2 } },
  });
  expect(second.known_columns).toEqual(expect.arrayContaining(['Handle', 'Title', 'Variant Price']));
  await imported(second);
  expect(await products()).toMatchObject([
    { title: 'Mate' },
    { title: 'Té verde', price_amount: 1_250, handle: 'te' },
  ]);
  expect((await products()).flatMap(({ variants }) => variants?.data ?? [])).toEqual([]);

  const prices = { format: 'prices', columns: { Referencia: 'handle', Precio: 'price', SKU: null } } as const;
  const third = await ended(await merchant.imports.preview(first.id, prices));
  expect(third).toMatchObject({ status: 'done', report: { publications: { unchanged: 2 } } });
  const back = await ended(await merchant.imports.preview(first.id, { format: null, columns: null }));
  expect(back).toMatchObject({ status: 'failed', settings: { columns: {} } });
  expect(back.settings.format).toBeUndefined();
  const unknown = await ended(await merchant.imports.preview(first.id, { columns: { SKU: 'Colour' } }));
  expect(unknown.error).toBe(
    'The column “SKU” cannot be used as “Colour”: the format prices has no such column.',
  );
});

test('a mapped column replaces the one that has its name', async () => {
  const columns = { Sale: 'Variant Price' };
  const preview = await previewed('Handle,Title,Variant Price,Sale\ntea,Tea,5,4\n', { columns });
  expect(await rowsOf(preview)).toMatchObject([{ price: { amount: 400 } }]);
  expect(preview.report?.unused_columns).toEqual({ 'Variant Price (ignored)': 1 });
});

test('a file that only changes pictures can be imported', async () => {
  const tea = { title: 'Tea', price_currency: 'USD', price_amount: 100, handle: 'tea' };
  await merchant.publications.create(tea);
  const file = 'Handle,Title,Image Src\ntea,Tea,https://shop.example/tea.jpg\n';
  expect(await rowsOf(await previewed(file))).toMatchObject([{ outcome: 'updated', fields: ['images'] }]);
  expect(await rowsOf(await previewed(file, { images: 'skip' }))).toEqual([]);
});

test('a file that was not read to its end says so', async () => {
  const middle = await previewed('Title;Price\nTea;"5\nMate;6\n"Cup";7\nPot;8\n');
  expect(middle.report?.unread).toEqual([{ from_line: 2, to_line: 4 }]);
  expect(await rowsOf(middle, 'created')).toMatchObject([{ title: 'Pot' }]);
  const end = await previewed('Title;Price\nTea;5\nMate;"6\n');
  expect(end.report?.unread).toEqual([{ from_line: 3, to_line: null }]);
});

test.each([
  ['no file', {}, undefined, 'FIELD_REQUIRED', 'file'],
  ['an empty file', {}, '', 'FIELD_REQUIRED', 'file'],
  ['an unknown currency', { currency: 'XYZ' }, PRODUCTS, 'FIELD_INVALID', 'currency'],
  ['an unknown format', { format: 'xlsx' }, PRODUCTS, 'FIELD_INVALID', 'format'],
  ['columns that are no JSON', { columns: '{' }, PRODUCTS, 'FIELD_INVALID', 'columns'],
  ['two columns used as one', { columns: '{"a":"sku","b":"sku"}' }, PRODUCTS, 'FIELD_INVALID', 'columns'],
  ['an unknown field', { dry_run: 'true' }, PRODUCTS, 'FIELD_INVALID', 'dry_run'],
])('%s is refused with the reason', async (_name, fields, content, code, field) => {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  if (content !== undefined) body.set('file', fileOf(content));
  const reply = await harness.request('POST', '/api/imports', { token: shop.secret.token, body });
  expectError(reply, 400, code, field);
  expect(await merchant.imports.list().all()).toEqual([]);
  expect(uploads()).toEqual([]);
});

test('a body that is no form is refused', async () => {
  const body = new Blob(['GIF89a'], { type: 'image/gif' });
  expectError(
    await harness.request('POST', '/api/imports', { token: shop.secret.token, body }),
    415,
    'INVALID_REQUEST',
  );
});

test.each([
  ['a file that is not UTF-8', new Uint8Array([0x74, 0xe9, 0x0a]), {}, /“catalog\.csv” is not UTF-8 text/],
  ['a header without rows', PRODUCTS.split('\n')[0]!, {}, /has no rows after the header/],
  [
    'a file of another format',
    'name\nTea\n',
    { format: 'shopify' },
    /Is the file a Shopify product export\?/,
  ],
  ['a header of too many columns', `sku,price${',x'.repeat(2_000)}\nA,1\n`, {}, /has more than 1000 columns/],
  [
    'a long name of a column',
    `sku,${'x'.repeat(256)}\nA,1\n`,
    {},
    /column 2 of .* has more than 255 characters/,
  ],
] as const)('%s says so', async (_name, content, fields, error) => {
  expect(await previewed(content, fields)).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(error),
  });
});

test('a description of many elements inside each other is refused at once', async () => {
  const deep = `Handle,Title,Variant Price,Body (HTML)\na,Tea,1,"${'<div>'.repeat(300_000)}"\n`;
  const [row] = await rowsOf(await previewed(deep), 'failed');
  expect(row).toMatchObject({ external_id: 'a', reason: expect.stringContaining('description_html') });
});

test('an import belongs to its store, and needs a secret key with the permissions of what it writes', async () => {
  const preview = await previewed(PRODUCTS);
  const uploads = readdirSync(join(harness.data_dir, 'imports', 'uploads'));
  const other = await harness.newShop();
  const limited = await harness.newKey('secret', [shop.store_id], ['write:publications', 'write:listings']);
  const paths = ['', '/rows', '/preview', '/start', '/undo'].map((end) => `/api/import/${preview.id}${end}`);
  const requests: [string, string, RequestOptions['body']?][] = [
    ...paths.map((path, index): [string, string] => [index < 2 ? 'GET' : 'POST', path]),
    ['DELETE', paths[0]!],
  ];
  for (const [method, path] of requests)
    expectError(await harness.request(method, path, { token: other.secret.token }), 404, 'IMPORT_NOT_FOUND');
  const form = new FormData();
  form.set('file', fileOf(PRODUCTS));
  for (const token of [shop.public.token, limited.token])
    for (const [method, path, body] of [
      ...requests,
      ['GET', '/api/imports'],
      ['POST', '/api/imports', form],
    ] as const)
      expectError(await harness.request(method, path, { token, body }), 403, 'INSUFFICIENT_PERMISSIONS');
  expect(await merchant.imports.list().all()).toMatchObject([{ id: preview.id, step: 'preview' }]);
  expect(readdirSync(join(harness.data_dir, 'imports', 'uploads'))).toEqual(uploads);

  const both = await harness.newKey('secret', [other.store_id, shop.store_id]);
  const owner = harness.client(both);
  expect((await owner.imports.get(preview.id)).id).toBe(preview.id);
  expect(await owner.imports.list().all()).toEqual([]);
  const second = await owner.imports.create(fileOf(PRODUCTS), {}, { store_id: shop.store_id });
  expect(await merchant.imports.list().all()).toMatchObject([{ id: second.id }, { id: preview.id }]);
  await ended(second);
});

test('an upload that is repeated with its Idempotency-Key is one import', async () => {
  const sent = ['once', 'once', 'again'].map(
    (idempotencyKey) => () => merchant.imports.create(fileOf(PRODUCTS), {}, { idempotencyKey }),
  );
  const ids: string[] = [];
  for (const send of sent) ids.push((await ended(await send())).id);
  expect(new Set(ids).size).toBe(2);
  expect(ids[0]).toBe(ids[1]);
  expect(await merchant.imports.list().all()).toHaveLength(2);
  const other = merchant.imports.create(fileOf(`${PRODUCTS}\n`), {}, { idempotencyKey: 'once' });
  await expect(other).rejects.toMatchObject({ code: 'DUPLICATE_OPERATION' });
  expect(uploads()).toEqual([]);
});

test('of two windows, one step runs at a time, and the other window is told so', async () => {
  const [one, other] = [await previewed(PRODUCTS), await previewed('Title,Price\nCup,3\n')];
  await expect(merchant.imports.undo(one.id)).rejects.toMatchObject({ status: 409, code: 'CONFLICT' });
  const { live } = harness.service.runtime.events;
  const append = live.append.bind(live);
  let goOn = (): void => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const spy = jest.spyOn(live, 'append').mockImplementation((...args) => held.then(() => append(...args)));
  try {
    expect(await merchant.imports.start(one.id)).toMatchObject({ step: 'import', status: 'running' });
    for (const refused of [
      merchant.imports.start(one.id),
      merchant.imports.start(other.id),
      merchant.imports.preview(other.id),
      merchant.imports.delete(one.id),
      merchant.imports.delete(other.id),
    ])
      await expect(refused).rejects.toMatchObject({
        status: 409,
        code: 'CONFLICT',
        message: /import.* runs/i,
      });
    const waiting = await merchant.imports.create(fileOf(PRODUCTS));
    expect(waiting).toMatchObject({ step: 'preview', status: 'stopped' });
  } finally {
    goOn();
    spy.mockRestore();
  }
  expect(await ended(one)).toMatchObject({ step: 'import', status: 'done' });
  expect(await titles()).toEqual(['Green tea', 'Mate']);
});

/** More rows than are written concurrently (256). */
const ROWS = 400;

test('an import that was stopped or killed goes on when it is started again, or is undone', async () => {
  const rows = Array.from({ length: ROWS }, (_, n) => `p${n},Product ${n},1.00`);
  const bytes = Readable.from([Buffer.from(`Handle,Title,Variant Price\n${rows.join('\n')}\n`)]);
  const { runtime } = harness.service;
  const folder = join(harness.data_dir, 'imports-of-a-test');
  const { store_id, secret } = shop;
  const owner: ImportOwner = {
    ...{ api_key_id: secret.id as ApiKeyId, account_id: harness.account_id },
    ...{ environment: 'live', store_id },
  };
  const count = async (): Promise<number> => {
    await harness.settled();
    const { meta } = await merchant.publications.list({ visibility: 'all', limit: 1 }).page();
    return meta.pagination.total_items;
  };
  let jobs = new ImportJobs(runtime, folder);
  const settings = { overwrite: false, images: 'skip' } as const;
  const { run } = await jobs.create(owner, await jobs.receive(bytes, 'large.csv'), settings);
  const until = (is_so: (job: ImportJob) => boolean, what: string) =>
    waitFor(async () => is_so((await jobs.get(store_id, run))!), { what });
  await until(({ status }) => status === 'done', 'the end of the preview');
  const repeated = await jobs.receive(Readable.from([Buffer.from('x')]), 'large.csv');
  expect((await jobs.create(owner, repeated, settings, run)).status).toBe('done');

  const state = join(folder, store_id, `${run}.json`);
  const previewed = (await jobs.get(store_id, run))!;
  const half = { ...previewed, status: 'stopped', report: { ...previewed.report, complete: false } };
  await replaceJsonFile(state, half);
  await expect(jobs.startStep(owner, run, 'import')).rejects.toThrow('no complete preview');
  await replaceJsonFile(state, previewed);

  const other = new ImportJobs(runtime, folder);
  // The service stops in the middle of the import.
  const { live } = runtime.events;
  const append = live.append.bind(live);
  let stopping: Promise<unknown> | undefined;
  let appends = 0;
  const spy = jest.spyOn(live, 'append').mockImplementation((...args) => {
    if (++appends === ROWS / 4) stopping = Promise.all([jobs.close(), other.close()]);
    return append(...args);
  });
  const started = await Promise.allSettled([jobs, other].map((each) => each.startStep(owner, run, 'import')));
  expect(started.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  await waitFor(() => stopping, { what: 'the first rows' });
  await stopping;
  spy.mockRestore();
  const stopped = (await jobs.get(store_id, run))!;
  expect(stopped).toMatchObject({ step: 'import', status: 'stopped' });
  expect(await count()).toBeGreaterThan(0);

  // A process that is killed leaves a state that says it runs, and that nobody writes any more.
  await replaceJsonFile(state, { ...stopped, status: 'running' });
  utimesSync(state, 0, 0);
  jobs = new ImportJobs(runtime, folder);
  expect((await jobs.get(store_id, run))?.status).toBe('stopped');
  await jobs.startStep(owner, run, 'import');
  await until(({ status }) => status === 'done', 'the end of the import');
  expect((await jobs.get(store_id, run))?.report).toMatchObject({
    complete: true,
    publications: { failed: 0 },
  });
  expect(await count()).toBe(ROWS);

  await jobs.startStep(owner, run, 'undo');
  await until(({ status }) => status === 'done', 'the end of the undo');
  expect((await jobs.get(store_id, run))?.undone).toMatchObject({ deleted: ROWS, kept: [] });
  expect(await count()).toBe(0);
  await jobs.close();
});

test('of many files that an assistant uploads at once, the last 20 are kept, and those of the merchant', async () => {
  const options = { name: 'Assistant', type: 'secret', needs_confirmation: true } as const;
  const { id, secret } = await merchant.keys.create(options);
  const assistant = harness.client({ id, key: secret!, token: '' });
  const of_merchant = await previewed(PRODUCTS);
  await Promise.all(Array.from({ length: 30 }, () => assistant.imports.create(fileOf(PRODUCTS))));
  // The preview of an earlier file may still run.
  const all = await waitFor(async () => {
    const listed = await merchant.imports.list({ limit: 50 }).all();
    return listed.every(({ status }) => status !== 'running') && listed;
  });
  expect([21, 22]).toContain(all.length);
  expect(all.some((one) => one.id === of_merchant.id)).toBe(true);
  const files = readdirSync(join(harness.data_dir, 'imports', shop.store_id));
  for (const end of ['.data', '.json'])
    expect(files.filter((name) => name.endsWith(end))).toHaveLength(all.length);
});

test('the state of an import that cannot be read is not shown, and files that are old or were left are removed', async () => {
  for (let n = 0; n < 3; n++) await previewed(PRODUCTS);
  const folder = join(harness.data_dir, 'imports', shop.store_id);
  const [damaged, old] = readdirSync(folder).filter((name) => name.endsWith('.json'));
  writeFileSync(join(folder, damaged!), '{"run":');
  const state = JSON.parse(readFileSync(join(folder, old!), 'utf8'));
  writeFileSync(join(folder, old!), JSON.stringify({ ...state, created_at: '2020-01-01T00:00:00.000Z' }));
  const left = join(harness.data_dir, 'imports', 'uploads', 'left');
  writeFileSync(left, 'x');
  utimesSync(left, 0, 0);
  expect(await merchant.imports.list().all()).toHaveLength(2);
  await previewed(PRODUCTS);
  expect(await merchant.imports.list().all()).toHaveLength(2);
  expect(readdirSync(folder).filter((name) => name.startsWith(old!.slice(0, 36)))).toEqual([]);
  expect(readdirSync(join(harness.data_dir, 'imports', 'uploads'))).not.toContain('left');
});
