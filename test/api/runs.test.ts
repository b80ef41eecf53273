import { generateId } from '../../shared/kernel/ids';
import { realSystem } from '../../shared/kernel/system';
import type { Reply } from '../support/harness';
import { waitFor } from '../support/wait-for';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_000 };

const here = ownShop();
const { send } = here;
let run: string;

beforeEach(() => {
  run = `assistant-${generateId(Date.now(), realSystem.random)}`;
});

/** Sends a write of the run. */
const write = (method: string, path: string, body?: object): Promise<Reply> =>
  send(method, path, { ...(body && { body }), headers: { 'x-catalog-run': run } });
const created = async (path: string, body: object): Promise<string> => {
  const reply = await send('POST', path, { body });
  expect(reply.status).toBe(201);
  return reply.body.data.id;
};
const undo = (body: object = {}, name = run): Promise<Reply> =>
  send('POST', `/api/runs/${name}/undo`, { body });
const get = async (path: string) => (await send('GET', `${path}?visibility=all`)).body.data;
const changesOf = async (name: string): Promise<string[]> =>
  (await send('GET', `/api/history?run=${name}&limit=50`)).body.data.map(
    ({ type, run }: { type: string; run: string }) => `${type} ${run}`,
  );

test('an assistant changes 40 prices, a person corrects two, and the run is undone for the other 38', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 40; n++) ids.push(await created('/api/publication', { ...TEA, title: `Tea ${n}` }));
  const items = ids.map((id) => ({ action: 'update', id, body: { price_amount: 900 } }));
  const planned = await write('POST', '/api/publications/batch?dry_run=true', { items });
  expect(planned.body.data).toMatchObject({ dry_run: true, updated: 40 });
  expectError(await undo(), 404, 'RUN_NOT_FOUND');

  expect((await write('POST', '/api/publications/batch', { items })).body.data.updated).toBe(40);
  expect(await changesOf(run)).toEqual(ids.map(() => `publication.updated ${run}`));
  for (const id of ids.slice(0, 2))
    await send('PATCH', `/api/publication/${id}`, { body: { price_amount: 950 } });

  const kept = ['Tea 1', 'Tea 0'].map((title) => ({ kind: 'publication', title, reason: 'changed since' }));
  const report = { run, deleted: 0, reverted: 38, restored: 0, complete: true };
  const keptOf = ({ body }: Reply) =>
    body.data.kept.toSorted((a: Titled, b: Titled) => (a.title < b.title ? 1 : -1));
  const would = await undo({ dry_run: true });
  expect([would.body.data, keptOf(would)]).toMatchObject([{ ...report, dry_run: true }, kept]);
  expect((await get(`/api/publication/${ids[5]}`)).price_amount).toBe(900);

  const undone = await undo();
  expect([undone.body.data, keptOf(undone)]).toMatchObject([{ ...report, dry_run: false }, kept]);
  const prices = await Promise.all(ids.map(async (id) => (await get(`/api/publication/${id}`)).price_amount));
  expect(prices).toEqual([950, 950, ...ids.slice(2).map(() => 1_000)]);
  expect(await changesOf(`undo-${run}`)).toHaveLength(38);

  const again = await undo();
  expect(again.body.data).toMatchObject({ reverted: 0, deleted: 0, restored: 0, complete: true });
  expect(await changesOf(`undo-${run}`)).toHaveLength(38);
});

interface Titled {
  readonly title: string;
}

test('what a run has created is deleted, what it has deleted is restored, and listings follow', async () => {
  const old = await created('/api/listing', { name: 'Old' });
  const gone = await created('/api/publication', { ...TEA, title: 'Gone', listing_id: old });
  const review = await created(`/api/publication/${gone}/reviews`, { rating: 5, author_name: 'Diego' });
  const sub = await created('/api/listing', { name: 'Sub' });

  const parent = (await write('POST', '/api/listing', { name: 'Parent' })).body.data.id;
  const child = (await write('POST', '/api/listing', { name: 'Child', parent_id: parent })).body.data.id;
  await write('PATCH', `/api/listing/${sub}`, { parent_id: parent, name: 'Moved' });
  const fresh = (await write('POST', '/api/publication', { ...TEA, title: 'New', listing_id: child })).body
    .data.id;
  await write('PATCH', `/api/publication/${gone}`, { title: 'Renamed' });
  await write('DELETE', `/api/publication/${gone}`);
  await write('DELETE', `/api/listing/${old}`);
  await write('PATCH', '/api/store', { description: 'By a robot' });
  await write('PATCH', `/api/review/${review}`, { status: 'rejected' });

  const report = { deleted: 3, reverted: 3, restored: 2, kept: [], complete: true };
  expect((await undo({ dry_run: true })).body.data).toMatchObject(report);
  expect((await undo()).body.data).toMatchObject(report);
  for (const path of [`/api/listing/${parent}`, `/api/listing/${child}`, `/api/publication/${fresh}`])
    expect((await send('GET', path)).status).toBe(404);
  expect(await get(`/api/publication/${gone}`)).toMatchObject({ title: 'Gone', listing_id: old });
  const found = await get(`/api/listing/${sub}`);
  expect([found.name, found.parent_id]).toEqual(['Sub', undefined]);
  expect((await get('/api/store')).description).toBeUndefined();

  // An undo is a run, too.
  expect((await undo({}, `undo-${run}`)).body.data).toMatchObject({ kept: [], complete: true });
  expect(await get(`/api/publication/${fresh}`)).toMatchObject({ title: 'New' });
  expect((await undo()).body.data).toMatchObject(report);
  expect(await get(`/api/publication/${gone}`)).toMatchObject({ title: 'Gone' });
  expect((await undo()).body.data).toMatchObject({ deleted: 0, reverted: 0, restored: 0, kept: [] });
  expect((await undo({}, `undo-${run}`)).body.data).toMatchObject({ kept: [], complete: true });
  expect(await get(`/api/publication/${fresh}`)).toMatchObject({ title: 'New' });
});

test('translations that a run has added, changed or removed are as they were before it', async () => {
  await send('PATCH', '/api/store', {
    body: { locales: ['es', 'de', 'fr'], translations: { de: { name: 'Laden' } } },
  });
  const [german, french] = [{ de: { name: 'Tee' } }, { de: null, fr: { name: 'Thé' } }];
  const listing = await created('/api/listing', { name: 'Té', translations: german });
  const plain = await created('/api/listing', { name: 'Café' });
  const tea = await created('/api/publication', { ...TEA, translations: { de: { title: 'Tee' } } });
  for (const path of ['/api/store', `/api/listing/${listing}`, `/api/listing/${plain}`])
    expect((await write('PATCH', path, { translations: french })).status).toBe(200);
  expect((await undo()).body.data).toMatchObject({ reverted: 3, kept: [] });
  expect((await get('/api/store')).translations).toEqual({ de: { name: 'Laden' } });
  expect((await get(`/api/listing/${listing}`)).translations).toEqual(german);
  expect((await get(`/api/listing/${plain}`)).translations).toBeUndefined();

  // With the locales themselves.
  run = `${run}-2`;
  const paths = ['/api/store', `/api/listing/${listing}`, `/api/publication/${tea}`];
  const before = await Promise.all(paths.map(get));
  for (const path of paths) await write('PATCH', path, { translations: { de: null } });
  await write('PATCH', '/api/store', { locales: ['es', 'fr', 'pt'] });
  for (const path of paths) {
    const translations = { pt: path.includes('publication') ? { title: 'Chá' } : { name: 'Chá' } };
    expect((await write('PATCH', path, { translations })).status).toBe(200);
  }
  expect((await undo()).body.data).toMatchObject({ reverted: 3, kept: [] });
  for (const [n, path] of paths.entries()) {
    const { locales, translations } = await get(path);
    expect([locales, translations]).toEqual([before[n].locales, before[n].translations]);
  }
});

test('translations in a language that the store no longer has are kept and reported', async () => {
  const setLocales = (...locales: string[]) => send('PATCH', '/api/store', { body: { locales } });
  await setLocales('es', 'de');
  const add = (title: string) =>
    created('/api/publication', { ...TEA, title, translations: { de: { title } } });
  const [both, only, other] = [await add('Both'), await add('Only'), await add('Other')];
  const translations = { de: { title: 'Tee' } };
  await write('PATCH', `/api/publication/${both}`, { title: 'Té', translations });
  await write('PATCH', `/api/publication/${only}`, { translations });
  await write('PATCH', `/api/publication/${other}`, { title: 'Té' });
  await setLocales('es');
  const reason = 'translations in a language that the store no longer has stay as they are';
  const kept = [both, only].map((id) => ({ kind: 'publication', id, reason }));
  for (const dry_run of [true, false]) {
    const { data } = (await undo({ dry_run })).body;
    expect(data).toMatchObject({ reverted: 2, kept: expect.any(Array), complete: true });
    expect(data.kept).toHaveLength(2);
    expect(data.kept).toEqual(expect.arrayContaining(kept.map((each) => expect.objectContaining(each))));
  }
  expect(await get(`/api/publication/${both}`)).toMatchObject({ title: 'Both', translations });
  await setLocales('es', 'de');
  expect((await undo()).body.data).toMatchObject({ reverted: 1, kept: [] });
  expect((await get(`/api/publication/${only}`)).translations).toEqual({ de: { title: 'Only' } });
});

test('a new listing stays if somebody else uses it, and so does a new review', async () => {
  const listing = (await write('POST', '/api/listing', { name: 'New' })).body.data.id;
  const tea = await created('/api/publication', { ...TEA, listing_id: listing });
  const review = (await write('POST', `/api/publication/${tea}/reviews`, { rating: 1, author_name: 'Bot' }))
    .body;
  const { deleted, kept } = (await undo()).body.data;
  expect(deleted).toBe(0);
  expect(kept).toMatchObject([
    { kind: 'review', id: review.data.id },
    { kind: 'listing', id: listing, title: 'New', reason: 'it contains what the run has not created' },
  ]);
});

test('an import in a run is undone with it, and a review that the run has written is kept and reported', async () => {
  const tea = await created('/api/publication', TEA);
  const review = await write('POST', `/api/publication/${tea}/reviews`, { rating: 1, author_name: 'Bot' });
  const form = new FormData();
  form.set('file', new File(['Handle,Title,Variant Price\nmate,Mate,9\n'], 'catalog.csv'));
  const { id } = (await send('POST', '/api/imports', { body: form })).body.data;
  const ended = (step: string) =>
    waitFor(async () => {
      const job = (await send('GET', `/api/import/${id}`)).body.data;
      return job.step === step && job.status === 'done';
    });
  await ended('preview');
  await write('POST', `/api/import/${id}/start`);
  await ended('import');
  expect((await undo()).body.data).toMatchObject({
    deleted: 1,
    kept: [{ kind: 'review', id: review.body.data.id }],
  });
});

test('a run has a name that is safe to show, and belongs to one store', async () => {
  for (const name of ['', '-x', 'a b', 'x'.repeat(101), 'undo-x'])
    expectError(
      await send('POST', '/api/publication', { body: TEA, headers: { 'x-catalog-run': name } }),
      400,
      'INVALID_REQUEST',
    );
  await write('POST', '/api/publication', TEA);
  const other = await here.harness.newShop();
  const { token } = other.secret;
  expectError(await send('POST', `/api/runs/${run}/undo`, { token }), 404, 'RUN_NOT_FOUND');
  expect((await send('GET', `/api/history?run=${run}`, { token })).body.data).toEqual([]);
  expectError(await undo({}, 'never-was'), 404, 'RUN_NOT_FOUND');
});

test('an undo needs the permissions of all that the run has changed', async () => {
  await write('POST', '/api/listing', { name: 'New' });
  const key = await here.harness.newKey('secret', [here.shop.store_id], ['write:publications']);
  expectError(
    await send('POST', `/api/runs/${run}/undo`, { token: key.token }),
    403,
    'INSUFFICIENT_PERMISSIONS',
  );
  expectError(
    await send('POST', `/api/runs/${run}/undo`, { token: here.shop.public.token }),
    403,
    'INSUFFICIENT_PERMISSIONS',
  );
});
