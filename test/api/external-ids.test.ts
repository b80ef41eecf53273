import { CatalogError } from '../../shared/kernel/errors';
import { breakNextAppend } from '../support/idempotent';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };

const here = ownShop();
const { send } = here;

describe.each([
  { kind: 'publication', least: TEA, other: { title: 'Green tea' }, list: '/api/publications' },
  { kind: 'listing', least: { name: 'Teas' }, other: { name: 'Herbs' }, list: '/api/listings' },
] as const)('the external id of a $kind', ({ kind, least, other, list }) => {
  const path = `/api/${kind}`;
  const put = (external_id: string, body: object, headers: Record<string, string> = {}) =>
    send('PUT', `${path}/by-external-id/${encodeURIComponent(external_id)}`, { body, headers });
  const post = (body: object) => send('POST', path, { body: { ...least, ...body } });
  const idsWith = async (external_id: string): Promise<string[]> => {
    const { body } = await send('GET', `${list}?external_id=${encodeURIComponent(external_id)}`);
    expect(body.meta.item_count).toBe(body.data.length);
    return body.data.map(({ id }: { id: string }) => id);
  };

  test('is a field, and finds the resource in lists', async () => {
    const { body } = await post({ external_id: 'erp 1/ñ' });
    await post({ external_id: 'erp-2' });
    await post({});
    expect(body.data.external_id).toBe('erp 1/ñ');
    expect(await idsWith('erp 1/ñ')).toEqual([body.data.id]);
    expect(await idsWith('erp-3')).toEqual([]);
    const cleared = await send('PATCH', `${path}/${body.data.id}`, { body: { external_id: null } });
    expect(cleared.body.data).not.toHaveProperty('external_id');
    expect(await idsWith('erp 1/ñ')).toEqual([]);
  });

  test('is refused for a second resource until the first one gives it up or is deleted', async () => {
    const first = (await post({ external_id: 'erp-1' })).body.data.id;
    const second = (await post({ external_id: 'erp-2' })).body.data.id;
    expectError(await post({ external_id: 'erp-1' }), 409, 'CONFLICT', 'external_id');
    const take = () => send('PATCH', `${path}/${second}`, { body: { external_id: 'erp-1' } });
    expectError(await take(), 409, 'CONFLICT', 'external_id');
    expect((await send('PATCH', `${path}/${first}`, { body: { external_id: 'erp-9' } })).status).toBe(200);
    expect((await take()).body.data.external_id).toBe('erp-1');
    await send('DELETE', `${path}/${second}`);
    expect((await post({ external_id: 'erp-1' })).status).toBe(201);
  });

  test('can be taken from a resource that gave it up, which keeps its version and its time', async () => {
    const { id } = (await post({ external_id: 'erp-1' })).body.data;
    const given_up = await send('PATCH', `${path}/${id}`, { body: { external_id: 'erp-2' } });
    await post({ external_id: 'erp-1' });
    const { live } = here.harness.deps.events;
    breakNextAppend(live, 'before', new CatalogError('unavailable'), kind);
    const failed = await send('PATCH', `${path}/${id}`, { body: { external_id: 'erp-3' } });
    expectError(failed, 503, 'SERVICE_UNAVAILABLE');
    await post({ external_id: 'erp-3' });
    const shown = await send('GET', `${path}/${id}`);
    expect(shown.body.data.updated_at).toBe(given_up.body.data.updated_at);
    const headers = { 'If-Match': given_up.headers.get('etag')! };
    expect((await send('PATCH', `${path}/${id}`, { body: other, headers })).status).toBe(200);
  });

  test('is free in another store and for the other kind', async () => {
    await post({ external_id: 'erp-1' });
    const other_kind = kind === 'listing' ? '/api/publication' : '/api/listing';
    const body = { ...TEA, name: 'Teas', external_id: 'erp-1' };
    const { name, ...publication } = body;
    const sent = kind === 'listing' ? publication : { name, external_id: 'erp-1' };
    expect((await send('POST', other_kind, { body: sent })).status).toBe(201);
    const second_shop = await here.harness.newShop();
    const own = { token: second_shop.secret.token, body: { ...least, external_id: 'erp-1' } };
    expect((await here.harness.request('POST', path, own)).status).toBe(201);
  });

  test('of ten at once goes to one', async () => {
    const replies = await Promise.all(Array.from({ length: 10 }, () => post({ external_id: 'erp-1' })));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
    expect(await idsWith('erp-1')).toHaveLength(1);
  });

  test('in a PUT creates the resource, then changes it, then changes nothing', async () => {
    const { id: posted } = (await post({ external_id: 'erp-0' })).body.data;
    expect((await put('erp-0', other)).body.data).toMatchObject({ id: posted, result: 'updated' });
    const created = await put('erp-1', least);
    expect([created.status, created.body.code, created.body.data.result]).toEqual([201, 201, 'created']);
    const { id } = created.body.data;
    const updated = await put('erp-1', { ...other, external_id: 'erp-1' });
    expect([updated.status, updated.body.data]).toMatchObject([200, { ...other, id, result: 'updated' }]);
    const unchanged = await put('erp-1', other);
    expect([unchanged.status, unchanged.body.data]).toMatchObject([200, { id, result: 'unchanged' }]);
    expect(unchanged.headers.get('etag')).toMatch(/^"2-/);
    const read = await send('GET', `${path}/${id}`);
    const { result, ...resource } = unchanged.body.data;
    expect(read.body.data).toEqual(resource);
  });

  test('in ten PUTs at once creates one resource', async () => {
    const replies = await Promise.all(Array.from({ length: 10 }, () => put('erp-1', least)));
    const results = replies.map(({ body }) => body.data.result).sort();
    expect(results).toEqual(['created', ...Array(9).fill('unchanged')]);
    expect(new Set(replies.map(({ body }) => body.data.id)).size).toBe(1);
  });

  test('in a PUT creates another resource after the deletion of the first', async () => {
    const { id } = (await put('erp-1', least)).body.data;
    await send('DELETE', `${path}/${id}`);
    const again = await put('erp-1', least);
    expect([again.status, again.body.data.id === id]).toEqual([201, false]);
    expect(await idsWith('erp-1')).toEqual([again.body.data.id]);
  });

  test('in a PUT does not touch a resource that got another one', async () => {
    const { id } = (await put('erp-1', least)).body.data;
    await send('PATCH', `${path}/${id}`, { body: { external_id: 'erp-2' } });
    const again = await put('erp-1', least);
    expect([again.status, again.body.data.id === id]).toEqual([201, false]);
    expect((await put('erp-2', least)).body.data).toMatchObject({ id, result: 'unchanged' });
  });

  test('in a PUT does not touch a resource that gave it up', async () => {
    const clear = (id: string) => send('PATCH', `${path}/${id}`, { body: { external_id: null } });
    const ids: string[] = [];
    for (const _ of [1, 2, 3]) {
      const { status, body } = await put('erp-1', least);
      expect(status).toBe(201);
      ids.push(body.data.id);
      await clear(body.data.id);
    }
    expect(new Set(ids).size).toBe(3);
    expect((await put('erp-1', { ...least, ...other })).status).toBe(201);
    for (const id of ids) expect((await send('GET', `${path}/${id}`)).body.data).toMatchObject(least);
  });

  test('in a DELETE deletes the resource with it, and no other', async () => {
    const remove = (external_id: string, query = '', headers: Record<string, string> = {}) =>
      send('DELETE', `${path}/by-external-id/${encodeURIComponent(external_id)}${query}`, { headers });
    const { id } = (await put('erp 1/ñ', least)).body.data;
    const renamed = (await put('erp-2', least)).body.data.id;
    await send('PATCH', `${path}/${renamed}`, { body: { external_id: 'erp-3' } });
    const not_found = `${kind.toUpperCase()}_NOT_FOUND`;
    expectError(await remove('erp-2'), 404, not_found);
    expectError(await remove('erp 1/ñ', '', { 'If-Match': '"9"' }), 412, 'CONFLICT');
    const other_shop = await here.harness.newShop();
    const denied = await remove('erp 1/ñ', `?store_id=${other_shop.store_id}`);
    expectError(denied, 403, 'STORE_ACCESS_DENIED');
    const deleted = await remove('erp 1/ñ', `?store_id=${here.shop.store_id}`);
    expect(deleted.body.data).toMatchObject({ id, object: kind, deleted: true });
    expectError(await remove('erp 1/ñ'), 404, not_found);
    expectError(await remove('x'.repeat(256)), 400, 'FIELD_TOO_LONG', 'external_id');
    expect(await idsWith('erp-3')).toEqual([renamed]);
  });

  test('in a PUT with If-Match changes only that version', async () => {
    expectError(await put('erp-1', least, { 'If-Match': '*' }), 412, 'CONFLICT');
    const etag = (await put('erp-1', least)).headers.get('etag')!;
    expect((await put('erp-1', other, { 'If-Match': etag })).body.data.result).toBe('updated');
    expectError(await put('erp-1', least, { 'If-Match': etag }), 412, 'CONFLICT');
  });

  test('in a PUT is checked like a field, and so is the body', async () => {
    expectError(await put('x'.repeat(256), least), 400, 'FIELD_TOO_LONG', 'external_id');
    expectError(await put('erp-1', { ...least, external_id: 'erp-2' }), 400, 'FIELD_INVALID', 'external_id');
    expectError(await put('erp-1', {}), 400, 'FIELD_REQUIRED', kind === 'listing' ? 'name' : 'title');
    expectError(await put('erp-1', { ...least, color: 'red' }), 400, 'FIELD_INVALID', 'color');
    expect(await idsWith('erp-1')).toEqual([]);
  });
});
