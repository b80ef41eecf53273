import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ImportJobs } from '../../services/import/jobs';
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
  expect(preview).toMatch(/publications<\/td><td class="number">2<\/td>/);
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
  const undone = await take(path, 'undo');
  expect(undone).toContain('1 products deleted');
  expect(undone).toMatch(/Yerba mate<\/td><td>changed since/);
  expect(await titles()).toEqual(['Yerba mate']);
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

test.each([
  ['no file', () => new FormData(), 'Choose a file.'],
  ['an empty file', () => upload(''), 'expected a file that is not empty'],
  ['an unknown currency', () => upload(PRODUCTS, { currency: 'XYZ' }), 'There is no currency XYZ.'],
])('%s is refused with the reason', async (_name, form, reason) => {
  const { status, html } = await merchant.open('/imports', { form: form() });
  expect([status, html]).toEqual([422, expect.stringContaining(reason)]);
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

  const reader = await harness.newKey('secret', [shop.store_id], ['read:stores', 'write:listings']);
  await merchant.signIn(reader.key);
  const refused = await merchant.open('/imports', { form: upload(PRODUCTS) });
  expect([refused.status, refused.html]).toEqual([422, expect.stringContaining('write:publications')]);
  await merchant.open(path, { form: { step: 'import' } });
  expect(await titles()).toEqual([]);
});

test('an import that was stopped or killed goes on when it is started again', async () => {
  const rows = Array.from({ length: 3_000 }, (_, n) => `p${n},Product ${n},1.00`);
  const bytes = Readable.from([Buffer.from(`Handle,Title,Variant Price\n${rows.join('\n')}\n`)]);
  const { runtime } = harness.service;
  const folder = join(harness.data_dir, 'imports-of-a-test');
  const { store_id, secret } = shop;
  const principal: Principal = {
    ...{ api_key_id: secret.id as ApiKeyId, account_id: harness.account_id, key_type: 'secret' },
    ...{ environment: 'live', stores: [store_id], permissions: permissionsOf('secret') },
  };
  const before = new ImportJobs(runtime, folder);
  const run = await before.keep(store_id, bytes);
  await before.preview(principal, run, { file: 'large.csv', overwrite: false, images: 'skip' });
  const untilDone = (jobs: ImportJobs) =>
    waitFor(async () => (await jobs.get(store_id, run))?.status === 'done', { what: 'the end of the step' });
  await untilDone(before);
  await before.continue(principal, run, 'import');
  await before.close();
  const stopped = (await before.get(store_id, run))!;
  expect(stopped).toMatchObject({ step: 'import', status: 'stopped' });

  // A process that is killed leaves a state that says it runs, and that nobody writes any more.
  const state = join(folder, store_id, `${run}.json`);
  await replaceJsonFile(state, { ...stopped, status: 'running' });
  const after = new ImportJobs(runtime, folder);
  expect((await after.get(store_id, run))?.status).toBe('running');
  utimesSync(state, 0, 0);
  expect((await after.get(store_id, run))?.status).toBe('stopped');
  await after.continue(principal, run, 'import');
  await untilDone(after);
  await after.close();
  expect((await after.get(store_id, run))?.report).toMatchObject({
    complete: true,
    publications: { failed: 0 },
  });
  await harness.settled();
  const { meta } = await client().publications.list({ visibility: 'all', limit: 1 }).page();
  expect(meta.pagination.total_items).toBe(3_000);
});
