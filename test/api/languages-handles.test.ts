import { waitFor } from '../support/wait-for';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const here = ownShop();
const { send } = here;

beforeEach(async () => {
  await send('PATCH', '/api/store', { body: { locales: ['es', 'de', 'de-AT', 'en'] } });
});

describe.each([
  ['publication', { title: 'Té', price_currency: 'EUR', price_amount: 1_250 }],
  ['listing', { name: 'Té' }],
] as const)('a %s has a handle in each language', (kind, body) => {
  const path = `/api/${kind}`;
  const handles = (by_locale: Record<string, string | null>) => ({
    translations: Object.fromEntries(
      Object.entries(by_locale).map(([locale, handle]) => [locale, { handle }]),
    ),
  });
  const create = async (more: object) => (await send('POST', path, { body: { ...body, ...more } })).body.data;
  const patch = (id: string, changes: object) => send('PATCH', `${path}/${id}`, { body: changes });
  /** Returns the handle that the answer shows, or the address of the redirection. */
  const read = async (handle: string, query = '', headers: Record<string, string> = {}) => {
    const reply = await fetch(`${here.harness.url}${path}/by-handle/${handle}${query}`, {
      headers: { authorization: `Bearer ${here.shop.public.token}`, ...headers },
      redirect: 'manual',
    });
    const { data } = (await reply.json()) as { data: { handle: string } };
    expect(reply.headers.get('vary')).toContain('Accept-Language');
    return reply.status === 301 ? reply.headers.get('location') : data.handle;
  };

  test('which finds it, and redirects to the handle in the language of the answer', async () => {
    const { id } = await create(handles({ de: 'tee', en: 'tea' }));
    await waitFor(async () => {
      const token = here.shop.public.token;
      const { headers } = await here.harness.request('GET', `${path}/${id}?locale=de`, { token });
      return headers.get('content-language') === 'de';
    });
    const address = (handle: string, query = '') => `${path}/by-handle/${handle}${query}`;
    expect([await read('tee', '?locale=de'), await read('tee', '?locale=de-AT')]).toEqual(['tee', 'tee']);
    expect([await read('te'), await read('te', '?locale=fr')]).toEqual(['te', 'te']);
    expect(await read('tea', '', { 'accept-language': 'en-GB' })).toBe('tea');
    expect(await read('tee', '?locale=es')).toBe(address('te', '?locale=es'));
    expect(await read('te', '?locale=en')).toBe(address('tea', '?locale=en'));
    expect(await read('tee', '', { 'accept-language': 'en' })).toBe(address('tea'));
    const { body } = await send('GET', `${path}/${id}?locale=en`);
    expect([body.data.handle, body.data.untranslated]).toEqual([
      'tea',
      [kind === 'publication' ? 'title' : 'name'],
    ]);
    // A former handle, and one that nobody else has taken.
    await patch(id, handles({ de: 'gruener-tee', en: null }));
    expect(await read('tee', '?locale=de')).toBe(address('gruener-tee', '?locale=de'));
    expect(await read('tea', '?locale=en')).toBe(address('te', '?locale=en'));
    const other = await create(handles({ 'de-AT': 'tee' }));
    expect(await read('tee', '?locale=de-AT')).toBe('tee');
    expect(await read('tee', '?locale=de')).toBe(address(other.handle, '?locale=de'));
    expect(await read('gruener-tee', '?locale=de')).toBe('gruener-tee');
  });

  test('which an answer lists if they differ', async () => {
    const { id } = await create(handles({ de: 'tee' }));
    const listed = async () => {
      const { body: answer } = await send('GET', `${path}/${id}?locale=de`);
      return answer.data.handles;
    };
    expect(await listed()).toEqual({ es: 'te', de: 'tee', 'de-AT': 'tee', en: 'te' });
    await patch(id, handles({ de: null, en: 'te' }));
    expect(await listed()).toBeUndefined();
    await patch(id, handles({ en: 'tea' }));
    await send('PATCH', '/api/store', { body: { locales: ['es', 'de'] } });
    await waitFor(async () => (await listed()) === undefined);
  });

  test('which no other resource can have in any language', async () => {
    await create(handles({ de: 'tee', 'de-AT': 'tee' }));
    const other = await create({});
    expect(other.handle).toBe('te-2');
    expectError(await patch(other.id, handles({ de: 'tee' })), 409, 'CONFLICT', 'translations.de.handle');
    expectError(await patch(other.id, handles({ en: 'te' })), 409, 'CONFLICT', 'translations.en.handle');
    expectError(await patch(other.id, { handle: 'tee' }), 409, 'CONFLICT', 'handle');
    expectError(
      await patch(other.id, handles({ de: 'T e' })),
      400,
      'FIELD_INVALID',
      'translations.de.handle',
    );
    // Its own handle may move to another language.
    expect((await patch(other.id, { handle: 'mate', ...handles({ en: 'te-2' }) })).status).toBe(200);
    const made = await create({ ...body, [kind === 'publication' ? 'title' : 'name']: 'Tee' });
    expect(made.handle).toBe('tee-2');
  });

  test('which stays with a revert, and returns with a restoration unless another resource has it', async () => {
    const { id } = await create({ ...handles({ de: 'tee' }), external_id: 'a' });
    await patch(id, { description: 'Verde', ...handles({ de: 'gruener-tee', en: 'tea' }) });
    if (kind === 'publication') {
      const reverted = await send('POST', `${path}/${id}/revert`, { body: { revision: 1 } });
      expect(reverted.body.data).toMatchObject({
        description: '',
        ...handles({ de: 'gruener-tee', en: 'tea' }),
      });
    }
    await send('DELETE', `${path}/${id}`);
    expect((await send('POST', `${path}/${id}/restore`)).body.data.translations.en.handle).toBe('tea');
    await send('DELETE', `${path}/${id}`);
    await create(handles({ en: 'gruener-tee' }));
    expectError(await send('POST', `${path}/${id}/restore`), 409, 'CONFLICT', 'translations.de.handle');
  });
});

test('two items of a batch do not get one handle, and may exchange theirs', async () => {
  const body = { title: 'Té', price_currency: 'EUR', price_amount: 1_250 };
  const handle = (locale: string, one: string | null) => ({ translations: { [locale]: { handle: one } } });
  const put = (external_id: string, more: object) => ({
    ...{ action: 'put', external_id, body: { ...body, ...more } },
  });
  const batch = async (dry_run: boolean, ...items: object[]) => {
    const path = `/api/publications/batch?on_error=skip_failed&dry_run=${dry_run}`;
    const { body: answer } = await send('POST', path, { body: { items } });
    return answer.data.items.map(
      ({ result, error }: { result?: string; error?: { details: { field: string } } }) =>
        result ?? error!.details.field,
    );
  };
  const twice = [put('a', handle('de', 'tee')), put('b', handle('en', 'tee'))];
  for (const dry_run of [true, false])
    expect((await batch(dry_run, ...twice)).sort()).toEqual(['created', expect.stringContaining('.handle')]);
  // Either of them may have got it.
  await batch(false, put('b', { handle: 'mate', ...handle('en', null) }));
  await batch(false, put('a', handle('de', 'tee')));
  const exchanged = [put('a', { handle: 'mate', ...handle('de', null) }), put('b', { handle: 'tee' })];
  expect(await batch(true, ...exchanged)).toEqual(['updated', 'updated']);
  expect(await batch(false, ...exchanged)).toEqual(['updated', 'updated']);
});

test('an import says which row would take a handle that another one has', async () => {
  const line = (external_id: string, translations: object) =>
    JSON.stringify({ title: 'Té', price_currency: 'EUR', price_amount: 1, external_id, translations });
  const merchant = here.harness.client(here.shop.secret, { consistent: true });
  const content = [line('a', { de: { handle: 'tee' } }), line('b', { en: { handle: 'tee' } })].join('\n');
  const { id } = await merchant.imports.create(new File([content], 'in.jsonl'));
  const ended = () =>
    waitFor(async () => {
      const found = await merchant.imports.get(id);
      return found.status !== 'running' && found;
    });
  await ended();
  // Rows are written at once, so either of them may come first.
  const failed = [{ outcome: 'failed', reason: expect.stringMatching(/translations\.(de|en)\.handle/) }];
  expect(await merchant.imports.rows(id, { outcome: 'failed' }).all()).toMatchObject(failed);
  await merchant.imports.start(id);
  await ended();
  expect(await merchant.imports.rows(id, { outcome: 'failed' }).all()).toMatchObject(failed);
});
