import { streamName } from '../../shared/catalog/events/envelope';
import { fetch } from '../support/fetch';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const TEA = { title: 'Té verde', price_currency: 'USD', price_amount: 1_250 };

const here = ownShop();
const { send } = here;

describe.each([
  { kind: 'publication', least: TEA, title: 'title', missing: 'PUBLICATION_NOT_FOUND' },
  { kind: 'listing', least: { name: 'Té verde' }, title: 'name', missing: 'LISTING_NOT_FOUND' },
] as const)('the handle of a $kind', ({ kind, least, title, missing }) => {
  const path = `/api/${kind}`;
  const post = (body: object = {}) => send('POST', path, { body: { ...least, ...body } });
  const patch = (id: string, body: object) => send('PATCH', `${path}/${id}`, { body });
  const get = (handle: string, query = '') => send('GET', `${path}/by-handle/${handle}${query}`);
  const handleAfter = async (body: object): Promise<string> => (await post(body)).body.data.handle;

  test('is made from the title, in lower case, without accents and apostrophes, of at most 100 characters', async () => {
    for (const [text, handle] of [
      ['Té  VERDE!', 'te-verde'],
      ['100 % Coffee (250 g)', '100-coffee-250-g'],
      ["Mama's tea", 'mamas-tea'],
      [`${'x'.repeat(99)} yz`, 'x'.repeat(99)],
      // Letters of other scripts stay as they are, with the accents that make other letters of them.
      ['お茶 ガラス', 'お茶-ガラス'],
      ['Чай «Ёлка»', 'чай-ёлка'],
      ['हिन्दी चाय', 'हिन्दी-चाय'],
      ['شاي أخضر', 'شاي-أخضر'],
      ['Ｔｅａ ½', 'tea-1-2'],
      [`${'y'.repeat(99)}𠮷`, 'y'.repeat(99)],
    ])
      expect(await handleAfter({ [title]: text })).toBe(handle);
  });

  test('is the id if the title has no letters of a handle', async () => {
    const { id, handle } = (await post({ [title]: '☕ !' })).body.data;
    expect(handle).toBe(id);
  });

  test('gets a number if the handle is in use, and if another resource had it', async () => {
    const first = (await post()).body.data;
    expect([first.handle, await handleAfter({}), await handleAfter({})]).toEqual([
      'te-verde',
      'te-verde-2',
      'te-verde-3',
    ]);
    await patch(first.id, { handle: 'first' });
    expect(await handleAfter({})).toBe('te-verde-4');
    await send('DELETE', `${path}/${first.id}`);
    expect(await handleAfter({ [title]: 'First' })).toBe('first-2');
    expect(await handleAfter({ handle: 'first' })).toBe('first');
  });

  test('is not used up by a creation that is refused', async () => {
    await post({ handle: 'green', external_id: `${kind}-1` });
    expectError(await post({ external_id: `${kind}-1` }), 409, 'CONFLICT', 'external_id');
    if (kind === 'publication') {
      const variants = [{ sku: 'S' }, { sku: 'M' }];
      expectError(await post({ variants }), 400, 'FIELD_INVALID', 'variants.1.option_values');
    }
    expect(await handleAfter({})).toBe('te-verde');
  });

  test('of twenty-five resources that are created at once is another one for each', async () => {
    const replies = await Promise.all(Array.from({ length: 25 }, () => post()));
    expect(replies.map(({ status }) => status)).toEqual(Array(25).fill(201));
    const handles: string[] = replies.map(({ body }) => body.data.handle);
    expect(new Set(handles).size).toBe(25);
    expect(handles).toEqual(expect.arrayContaining(['te-verde', 'te-verde-2', 'te-verde-5']));
  });

  test('does not change with the title', async () => {
    const { id } = (await post()).body.data;
    expect((await patch(id, { [title]: 'Other' })).body.data.handle).toBe('te-verde');
  });

  test('can be chosen and changed, and is made again from the title by null', async () => {
    const { id, handle } = (await post({ handle: 'green' })).body.data;
    expect(handle).toBe('green');
    expect((await patch(id, { handle: 'verde' })).body.data.handle).toBe('verde');
    const again = await patch(id, { handle: null });
    expect(again.body.data.handle).toBe('te-verde');
    expect((await patch(id, { handle: null })).headers.get('etag')).toBe(again.headers.get('etag'));
  });

  test('of another resource is refused, unless that one has another handle now', async () => {
    const first = (await post({ handle: 'green' })).body.data;
    expectError(await post({ handle: 'green' }), 409, 'CONFLICT', 'handle');
    const second = (await post()).body.data;
    expectError(await patch(second.id, { handle: 'green' }), 409, 'CONFLICT', 'handle');
    await patch(first.id, { handle: 'first' });
    expect((await patch(second.id, { handle: 'green' })).body.data.handle).toBe('green');
    expect((await get('green')).body.data.id).toBe(second.id);
  });

  test('has only letters in lower case and digits, with hyphens or underscores between them', async () => {
    const refused = [
      '',
      'Green',
      'É',
      '-a',
      'a-',
      '_',
      'a b',
      'a/b',
      'a.b',
      '..',
      'a\u200bb',
      '\u3164',
      '\u0301a',
    ];
    for (const handle of [...refused, 'x'.repeat(201)])
      expect([handle, (await post({ handle })).status]).toEqual([handle, 400]);
  });

  test('may be in any script, and is found in any spelling of its letters', async () => {
    for (const handle of ['ラーメン-鉢', 'café', 'foo--bar', 'my_product', 'чай', 'שלום']) {
      const { id, ...made } = (await post({ handle: handle.normalize('NFD') })).body.data;
      expect(made.handle).toBe(handle);
      for (const form of ['NFC', 'NFD'])
        expect((await get(encodeURIComponent(handle.normalize(form)))).body.data?.id).toBe(id);
      await patch(id, { handle: `${handle}2` });
      const moved = await fetch(`${here.harness.url}${path}/by-handle/${encodeURIComponent(handle)}`, {
        headers: { authorization: `Bearer ${here.shop.secret.token}` },
        redirect: 'manual',
      });
      const location = `/api/${kind}/by-handle/${encodeURIComponent(`${handle}2`)}`;
      expect([moved.status, moved.headers.get('location')]).toEqual([301, location]);
    }
  });

  test('finds the resource as its id does', async () => {
    const { id, handle } = (await post()).body.data;
    const [by_handle, by_id] = [await get(handle), await send('GET', `${path}/${id}`)];
    expect([by_handle.status, by_handle.text]).toEqual([200, by_id.text]);
    expect(by_handle.headers.get('etag')).toBe(by_id.headers.get('etag'));
    const known = { 'If-None-Match': by_id.headers.get('etag')! };
    expect((await send('GET', `${path}/by-handle/${handle}`, { headers: known })).status).toBe(304);
    expectError(await get('unknown'), 404, missing);
  });

  test('can be a word of a path', async () => {
    for (const handle of ['reviews', 'related', 'publications', 'by-handle']) {
      const { id } = (await post({ handle })).body.data;
      expect((await get(handle)).body.data.id).toBe(id);
    }
  });

  test('of a private resource is only found with visibility', async () => {
    const { handle } = (await post({ visibility: 'private' })).body.data;
    expectError(await get(handle), 404, missing);
    expect((await get(handle, '?visibility=all')).status).toBe(200);
  });

  test('that was changed is redirected to the new one with the same query, until the resource is deleted', async () => {
    const { id } = (await post()).body.data;
    await patch(id, { handle: 'new' });
    const read = () =>
      fetch(`${here.harness.url}${path}/by-handle/te-verde?expand=media&visibility=all`, {
        headers: { authorization: `Bearer ${here.shop.secret.token}` },
        redirect: 'manual',
      });
    const reply = await read();
    expect([reply.status, await reply.json()]).toEqual([
      301,
      { code: 301, status: 'OK', data: { id, object: kind, handle: 'new' } },
    ]);
    expect(reply.headers.get('location')).toBe(`${path}/by-handle/new?expand=media&visibility=all`);
    // The client of the tests follows the redirection.
    expect((await get('te-verde')).body.data.id).toBe(id);
    await send('DELETE', `${path}/${id}`);
    expectError(await get('te-verde'), 404, missing);
    expectError(await get('new'), 404, missing);
  });

  test('of another store or another kind is not found', async () => {
    await post();
    const other = await here.harness.newShop();
    expectError(
      await here.harness.request('GET', `${path}/by-handle/te-verde`, { token: other.secret.token }),
      404,
      missing,
    );
    const own = { token: other.secret.token, body: least };
    expect((await here.harness.request('POST', path, own)).body.data.handle).toBe('te-verde');
  });

  test('is missing in a resource of an earlier release until a patch sends it', async () => {
    const { id, handle } = (await post()).body.data;
    // Its event as an earlier release has written it.
    const stream = streamName('live', kind, id);
    const [created] = await here.harness.deps.events.live.readStream(stream);
    const { handle: _, external_id: __, ...data } = created!.data;
    const old_id = `${id.slice(0, -4)}0000`;
    const { type, schema_version, metadata } = created!;
    const old = { id: old_id, type, schema_version, metadata, data };
    await here.harness.deps.events.live.append(streamName('live', kind, old_id), -1, [old]);
    await here.harness.settled();
    expect((await send('GET', `${path}/${old_id}`)).body.data).not.toHaveProperty('handle');
    expect((await patch(old_id, { description: 'Old' })).body.data).not.toHaveProperty('handle');
    expect((await patch(old_id, { handle: null })).body.data.handle).toBe(`${handle}-2`);
  });
});

test('a publication that is read by its handle with a public key is viewed, by an earlier handle only after the redirection', async () => {
  const { id } = (await send('POST', '/api/publication', { body: TEA })).body.data;
  await send('PATCH', `/api/publication/${id}`, { body: { handle: 'green' } });
  const headers = { authorization: `Bearer ${here.shop.public.token}` };
  const read = (handle: string, redirect: 'follow' | 'manual') =>
    fetch(`${here.harness.url}/api/publication/by-handle/${handle}`, { headers, redirect });
  expect((await read('green', 'manual')).status).toBe(200);
  expect((await read('te-verde', 'manual')).status).toBe(301);
  expect((await read('te-verde', 'follow')).status).toBe(200);
  await here.harness.service.page_views.flush();
  await here.harness.settled();
  const { stats } = (await send('GET', `/api/publication/${id}`)).body.data;
  expect(stats.view_count).toBe(2);
});
