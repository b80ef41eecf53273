import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type ImportJob, ImportJobs } from '../../services/import/jobs';
import { permissionsOf } from '../../shared/catalog/vocabulary';
import type { Principal } from '../../shared/http/request';
import type { ApiKeyId } from '../../shared/kernel/ids';
import { replaceJsonFile } from '../../shared/kernel/json-file';
import { ConsoleVisitor } from '../support/console';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';

const PRODUCTS = `Handle,Title,Variant SKU,Variant Price
tea,Green tea,T-1,12.50
mate,Mate,M-1,9.00
broken,,,
`;

let harness: Harness;
let shop: Shop;
let merchant: ConsoleVisitor;

beforeAll(async () => {
  harness = await startHarness({ environment: { CONSOLE: 'on' } });
});
afterAll(() => harness?.close());
beforeEach(async () => {
  shop = await harness.newShop();
  merchant = new ConsoleVisitor(harness);
  await merchant.signIn(shop.secret.key);
});

function upload(content: string | Uint8Array<ArrayBuffer>, fields: Record<string, string> = {}): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries({ format: '', currency: '', ...fields })) form.set(name, value);
  form.set('file', new Blob([content], { type: 'text/csv' }), 'catalog.csv');
  return form;
}

/** Uploads a file, and returns the path of its import. */
async function uploaded(form: FormData): Promise<string> {
  const { status, location } = await merchant.open('/imports', { form });
  expect(status).toBe(303);
  return location.replace('/console', '');
}

/** Reloads the page of an import, as its header `Refresh` tells a browser, until the step has ended. */
const ended = (path: string): Promise<string> =>
  waitFor(async () => {
    const { status, headers, html } = await merchant.open(path);
    expect(status).toBe(200);
    return headers.get('refresh') === null && html;
  });

async function take(path: string, step: 'import' | 'undo'): Promise<string> {
  await merchant.open(path, { form: { step } });
  return ended(path);
}

const client = () => harness.client(shop.secret);
async function titles(): Promise<string[]> {
  await harness.settled();
  const { data } = await client().publications.list({ visibility: 'all', sort: 'name', order: 'asc' }).page();
  return data.map(({ title }) => title);
}

test('a file is previewed, imported and undone, except what was changed since', async () => {
  const path = await uploaded(upload(PRODUCTS, { currency: 'pen' }));
  const preview = await ended(path);
  expect(preview).toContain('Preview: done');
  expect(preview).toMatch(/Products<\/td><td class="number">2<\/td>/);
  expect(preview).toMatch(/<td>2<\/td><td>Green tea<\/td><td>PEN\W12.50<\/td><td>Will be created<\/td>/);
  expect(preview).toMatch(/Rows that fail.*<td>4<\/td><td>broken<\/td>/);
  expect(await titles()).toEqual([]);

  const imported = await take(path, 'import');
  expect(imported).toContain('Import: done');
  expect(await titles()).toEqual(['Green tea', 'Mate']);
  const { data } = await client().publications.list({ visibility: 'all', sort: 'name', order: 'asc' }).page();
  expect(data).toMatchObject([{ price_amount: 1_250, price_currency: 'PEN' }, {}]);
  const { data: history } = await client().publications.history(data[0]!.id, {}).page();
  expect(history[0]!.actor).toMatchObject({ type: 'import' });
  expect((await merchant.open('/imports')).html).toMatch(/catalog\.csv<\/a>.*Import: done/);

  await client().publications.update(data[1]!.id, { title: 'Yerba mate' });
  const again = await ended(await uploaded(upload(PRODUCTS.replace('12.50', '13'), { currency: 'pen' })));
  expect(again).toMatch(/<td>Green tea<\/td><td>PEN\W13.00<\/td><td>Will change: Price, Variants<\/td>/);
  expect(again).toMatch(/<td>3<\/td><td>mate<\/td><td>Title<\/td>/);
  const undone = await take(path, 'undo');
  expect(undone).toContain('1 products deleted');
  expect(undone).toMatch(/Yerba mate<\/td><td>changed since/);
  expect(await titles()).toEqual(['Yerba mate']);
});

test('an import without a currency takes that of the store, and the preview says so', async () => {
  const { html } = await merchant.open('/imports');
  expect(html).toContain('new products: USD');
  expect(await ended(await uploaded(upload(PRODUCTS)))).toContain('New products without a currency get USD');
  await client().store.update({ currency: 'PEN' });
  const path = await uploaded(upload(PRODUCTS));
  expect(await ended(path)).toMatch(/PEN\W12\.50.*New products without a currency get PEN\./);
  await take(path, 'import');
  const { data } = await client().publications.list({ visibility: 'all' }, { consistent: true }).page();
  expect(data.map(({ price_currency }) => price_currency)).toEqual(['PEN', 'PEN']);
});

test('a price list is recognised, and says which rows it cannot use', async () => {
  await client().publications.create({
    title: 'Tea',
    price_currency: 'USD',
    price_amount: 100,
    external_id: 'tea',
  });
  await harness.settled();
  const path = await uploaded(upload('external_id,price\ntea,2.50\nunknown,3\n'));
  expect(await ended(path)).toMatch(/Rows that fail.*unknown/);
  await take(path, 'import');
  await harness.settled();
  const { data } = await client().publications.list().page();
  expect(data).toMatchObject([{ title: 'Tea', price_amount: 250 }]);
});

test('a file that only changes pictures can be imported', async () => {
  const tea = { title: 'Tea', price_currency: 'USD', price_amount: 100, handle: 'tea' };
  await client().publications.create(tea);
  const file = 'Handle,Title,Image Src\ntea,Tea,https://shop.example/tea.jpg\n';
  const html = await ended(await uploaded(upload(file, { images: 'on' })));
  expect(html).toMatch(/<td>Tea<\/td><td>\$1.00<\/td><td>Will change: Pictures<\/td>/);
  expect(html).toContain('value="import"');
  const skipped = await ended(await uploaded(upload(file)));
  expect(skipped).not.toContain('Will change');
  expect(skipped).not.toContain('value="import"');
});

test('a file that was not read to its end says so', async () => {
  const html = await ended(await uploaded(upload('Title;Price\nTea;"5\nMate;6\n"Cup";7\nPot;8\n')));
  expect(html).toContain('Lines 2 to 4 were not read.');
  expect(html).toMatch(/<td>Pot<\/td>/);
  expect(await ended(await uploaded(upload('Title;Price\nTea;5\nMate;"6\n')))).toContain(
    'Nothing was read from line 3 on.',
  );
});

test.each([
  ['no file', () => new FormData(), 'Choose a file.'],
  ['an empty file', () => upload(''), 'expected a file that is not empty'],
  ['an unknown currency', () => upload(PRODUCTS, { currency: 'XYZ' }), 'There is no currency XYZ.'],
])('%s is refused with the reason', async (_name, form, reason) => {
  const { status, html } = await merchant.open('/imports', { form: form() });
  expect([status, html]).toEqual([422, expect.stringContaining(reason)]);
});

test('a description of many elements inside each other is refused at once, and a header of too many columns', async () => {
  const deep = `Handle,Title,Variant Price,Body (HTML)\na,Tea,1,"${'<div>'.repeat(300_000)}"\n`;
  expect(await ended(await uploaded(upload(deep)))).toMatch(/Rows that fail.*<td>a<\/td>.*description_html/);
  const wide = `sku,price${',x'.repeat(2_000)}\nA,1\n`;
  expect(await ended(await uploaded(upload(wide)))).toContain('has more than 1000 columns');
});

test('a file that cannot be read, or has no products, says so and can be replaced', async () => {
  const latin1 = new Uint8Array([0x74, 0xe9, 0x0a]);
  expect(await ended(await uploaded(upload(latin1)))).toMatch(/“catalog\.csv” is not UTF-8 text/);
  expect(await ended(await uploaded(upload(PRODUCTS.split('\n')[0]!)))).toContain(
    'has no rows after the header',
  );
  expect(await ended(await uploaded(upload('name\nTea\n', { format: 'shopify' })))).toContain(
    'Is the file a Shopify product export?',
  );
});

test('an import is shown to its store only, and needs the permissions of what it writes', async () => {
  const path = await uploaded(upload(PRODUCTS));
  await ended(path);
  const other = await harness.newShop();
  const stranger = new ConsoleVisitor(harness);
  await stranger.signIn(other.secret.key);
  expect((await stranger.open(path)).status).toBe(404);
  expect((await stranger.open('/imports')).html).not.toContain('catalog.csv');
  for (const run of ['..', '%2e%2e%2f', `..%2f${shop.store_id}%2f${path.split('/').at(-1)}`])
    expect((await stranger.open(`/import/${run}`)).status).toBe(404);
  await stranger.open(path, { form: { step: 'import' } });
  expect(await titles()).toEqual([]);

  const limited = await harness.newKey('secret', [shop.store_id], ['read:stores', 'write:listings']);
  await merchant.signIn(limited.key);
  // A public key is in every browser that shows the shop.
  const anybody = new ConsoleVisitor(harness);
  anybody.cookie = `catalog_console=${shop.public.token}`;
  expect((await anybody.open('/imports')).html).toContain('Sign in');
  for (const form of [undefined, upload(PRODUCTS)])
    expect((await merchant.open('/imports', form && { form })).status).toBe(403);
  for (const form of [undefined, { step: 'import' }])
    expect((await merchant.open(path, form && { form })).status).toBe(403);
  expect(await titles()).toEqual([]);
});

/** More rows than are written concurrently (256). */
const ROWS = 400;

test('an import that was stopped or killed goes on when it is started again, or is undone', async () => {
  const rows = Array.from({ length: ROWS }, (_, n) => `p${n},Product ${n},1.00`);
  const bytes = Readable.from([Buffer.from(`Handle,Title,Variant Price\n${rows.join('\n')}\n`)]);
  const { runtime } = harness.service;
  const folder = join(harness.data_dir, 'imports-of-a-test');
  const { store_id, secret } = shop;
  const principal: Principal = {
    ...{ api_key_id: secret.id as ApiKeyId, account_id: harness.account_id, key_type: 'secret' },
    ...{ environment: 'live', stores: [store_id], permissions: permissionsOf('secret') },
  };
  const count = async (): Promise<number> => {
    await harness.settled();
    const { meta } = await client().publications.list({ visibility: 'all', limit: 1 }).page();
    return meta.pagination.total_items;
  };
  let jobs = new ImportJobs(runtime, folder);
  const run = await jobs.create(principal, async (storeFile) => {
    await storeFile(bytes);
    return { file: 'large.csv', overwrite: false, images: 'skip' };
  });
  const until = (is_so: (job: ImportJob) => boolean, what: string) =>
    waitFor(async () => is_so((await jobs.get(store_id, run))!), { what });
  expect(await jobs.startStep(principal, run, 'undo')).toBe(false);
  await until(({ status }) => status === 'done', 'the end of the preview');

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
  const started = await Promise.all([jobs, other].map((each) => each.startStep(principal, run, 'import')));
  expect(started.filter(Boolean)).toHaveLength(1);
  await waitFor(() => stopping, { what: 'the first rows' });
  await stopping;
  spy.mockRestore();
  const stopped = (await jobs.get(store_id, run))!;
  expect(stopped).toMatchObject({ step: 'import', status: 'stopped' });
  expect(await count()).toBeGreaterThan(0);

  // A process that is killed leaves a state that says it runs, and that nobody writes any more.
  const state = join(folder, store_id, `${run}.json`);
  await replaceJsonFile(state, { ...stopped, status: 'running' });
  utimesSync(state, 0, 0);
  jobs = new ImportJobs(runtime, folder);
  expect((await jobs.get(store_id, run))?.status).toBe('stopped');
  expect(await jobs.startStep(principal, run, 'import')).toBe(true);
  await until(({ status }) => status === 'done', 'the end of the import');
  expect((await jobs.get(store_id, run))?.report).toMatchObject({
    complete: true,
    publications: { failed: 0 },
  });
  expect(await count()).toBe(ROWS);

  expect(await jobs.startStep(principal, run, 'undo')).toBe(true);
  await until(({ status }) => status === 'done', 'the end of the undo');
  expect((await jobs.get(store_id, run))?.undone).toMatchObject({ deleted: ROWS, kept: [] });
  expect(await count()).toBe(0);
  await jobs.close();
});

test('of many files that are uploaded at once, the last 20 are kept', async () => {
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => merchant.open('/imports', { form: upload(PRODUCTS) })),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([303]));
  // The preview of an earlier file may still run.
  await waitFor(async () => !(await merchant.open('/imports')).html.includes('Preview: running'));
  const files = readdirSync(join(harness.data_dir, 'imports', shop.store_id));
  const kept = files.filter((name) => name.endsWith('.data')).length;
  expect([20, 21]).toContain(kept);
  expect(files).toHaveLength(2 * kept);
});

test('the state of an import that cannot be read is not shown, and files that are old or many are removed', async () => {
  for (let n = 0; n < 3; n++) await ended(await uploaded(upload(PRODUCTS)));
  const folder = join(harness.data_dir, 'imports', shop.store_id);
  const [damaged, old] = readdirSync(folder).filter((name) => name.endsWith('.json'));
  writeFileSync(join(folder, damaged!), '{"run":');
  const state = JSON.parse(readFileSync(join(folder, old!), 'utf8'));
  writeFileSync(join(folder, old!), JSON.stringify({ ...state, created_at: '2020-01-01T00:00:00.000Z' }));
  expect((await merchant.open('/imports')).html.match(/catalog\.csv/g)).toHaveLength(2);
  await ended(await uploaded(upload(PRODUCTS)));
  expect((await merchant.open('/imports')).html.match(/catalog\.csv/g)).toHaveLength(2);
  expect(readdirSync(folder).filter((name) => name.startsWith(old!.slice(0, 36)))).toEqual([]);
});
