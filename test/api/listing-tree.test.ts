import { type Category, streamName } from '../../shared/catalog/events/envelope';
import type { Reply } from '../support/harness';
import { ownShop } from './own-shop';
import { namesOf } from './reads-shop';
import { expectError } from './replies';

const UNKNOWN = '01890000-0000-7000-8000-000000000000';

const here = ownShop();
const { send } = here;
const read = async (path: string) => (await send('GET', path)).body;
const create = (name: string, fields: object = {}): Promise<Reply> =>
  send('POST', '/api/listing', { body: { name, ...fields } });
const move = (id: string, parent_id: string | null): Promise<Reply> =>
  send('PATCH', `/api/listing/${id}`, { body: { parent_id } });

/** Creates a listing below the previous one for each name. Returns their ids. */
async function createChain(...names: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const name of names) ids.push((await create(name, { parent_id: ids.at(-1) ?? null })).body.data.id);
  return ids;
}

async function publish(title: string, listing_id: string, fields: object = {}): Promise<string> {
  const body = { title, price_currency: 'EUR', price_amount: 100, listing_id, ...fields };
  return (await send('POST', '/api/publication', { body })).body.data.id;
}

describe('a listing below another one', () => {
  test('shows its parent and its path, and is counted by its parent', async () => {
    const [home, kitchen] = (await createChain('Home', 'Kitchen')) as [string, string];
    const created = await create('Cups', { parent_id: kitchen });
    const place = {
      parent_id: kitchen,
      path: [
        { id: home, name: 'Home' },
        { id: kitchen, name: 'Kitchen' },
      ],
    };
    expect([created.status, created.body.data]).toMatchObject([201, place]);
    const { id } = created.body.data;
    expect((await read(`/api/listing/${id}`)).data).toEqual(created.body.data);
    expect((await read(`/api/listing/${kitchen}`)).data).toMatchObject({
      children_count: 1,
      parent_id: home,
    });
    const { data } = await read('/api/listings?sort=name');
    expect(data[0]).toEqual(created.body.data);
    expect(data[1]).not.toHaveProperty('parent_id');
    expect(data[1]).toMatchObject({ name: 'Home', children_count: 1 });
  });

  test('shows the new name of a listing above it', async () => {
    const [home, , cups] = (await createChain('Home', 'Kitchen', 'Cups')) as [string, string, string];
    const before = await send('GET', `/api/listing/${cups}`);
    await send('PATCH', `/api/listing/${home}`, { body: { name: 'House' } });
    const after = await send('GET', `/api/listing/${cups}`);
    expect(namesOf(after.body.data.path)).toEqual(['House', 'Kitchen']);
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
  });

  test('moves with all that is below it, also to the top', async () => {
    const [home, kitchen, cups] = (await createChain('Home', 'Kitchen', 'Cups')) as [string, string, string];
    const moved = await move(kitchen, null);
    expect(moved.body.data).toMatchObject({ children_count: 1 });
    expect(moved.body.data).not.toHaveProperty('path');
    expect(namesOf((await read(`/api/listing/${cups}`)).data.path)).toEqual(['Kitchen']);
    expect((await read(`/api/listing/${home}`)).data).not.toHaveProperty('children_count');
  });

  test('is at the top for storefronts if its parent is hidden', async () => {
    const [home, kitchen, cups] = (await createChain('Home', 'Kitchen', 'Cups')) as [string, string, string];
    await send('PATCH', `/api/listing/${kitchen}`, { body: { visibility: 'private' } });
    expect((await read(`/api/listing/${cups}`)).data).not.toHaveProperty('parent_id');
    const all = (await read(`/api/listing/${cups}?visibility=all`)).data;
    expect([all.parent_id, namesOf(all.path)]).toEqual([kitchen, ['Home', 'Kitchen']]);
    expect((await read(`/api/listing/${home}`)).data).not.toHaveProperty('children_count');
    expect((await read(`/api/listing/${home}?visibility=all`)).data).toMatchObject({ children_count: 1 });
    expect((await read(`/api/listings?parent_id=${kitchen}`)).data).toEqual([]);
    const kitchens = (await read(`/api/listings?visibility=private`)).data;
    expect(kitchens.find(({ id }: { id: string }) => id === kitchen)).not.toHaveProperty('children_count');
  });

  test('can be changed by everything that an answer has', async () => {
    const [, kitchen] = (await createChain('Home', 'Kitchen')) as [string, string];
    const { parent_id, media_ids, name } = (await read(`/api/listing/${kitchen}`)).data;
    const reply = await send('PATCH', `/api/listing/${kitchen}`, { body: { parent_id, media_ids, name } });
    expect(reply.headers.get('etag')).toMatch(/^"1-/);
  });
});

describe('a parent_id is refused', () => {
  test.each([
    ['that is unknown', async () => UNKNOWN],
    ['that is no id', async () => 'kitchen'],
    ['of another store', async () => (await inOtherShop()).body.data.id],
    [
      'of a deleted listing',
      async () => {
        const { id } = (await create('Gone')).body.data;
        await send('DELETE', `/api/listing/${id}`);
        return id;
      },
    ],
    ['on the seventh level', async () => (await createChain('1', '2', '3', '4', '5', '6')).at(-1)],
  ])('%s', async (_, parentOf) => {
    const parent_id = await parentOf();
    expectError(await create('Cups', { parent_id }), 400, 'FIELD_INVALID', 'parent_id');
    const [id] = await createChain('Plates');
    expectError(await move(id!, parent_id), 400, 'FIELD_INVALID', 'parent_id');
  });

  const inOtherShop = async (): Promise<Reply> => {
    const { secret } = await here.harness.newShop();
    return send('POST', '/api/listing', { token: secret.token, body: { name: 'Theirs' } });
  };

  test('that is the listing itself or below it', async () => {
    const [home, kitchen, cups] = (await createChain('Home', 'Kitchen', 'Cups')) as [string, string, string];
    for (const parent of [home, kitchen, cups])
      expectError(await move(home, parent), 400, 'FIELD_INVALID', 'parent_id');
  });

  test('which leaves its version as it is, also after the next move of another one', async () => {
    const [home, kitchen] = (await createChain('Home', 'Kitchen')) as [string, string];
    const { headers } = await send('GET', `/api/listing/${home}`);
    expectError(await move(home, kitchen), 400, 'FIELD_INVALID', 'parent_id');
    const other = (await create('Cups')).body.data.id;
    expect((await move(other, kitchen)).status).toBe(200);
    const renamed = await send('PATCH', `/api/listing/${home}`, {
      body: { name: 'House' },
      headers: { 'If-Match': headers.get('etag')! },
    });
    expect([renamed.status, renamed.headers.get('etag')]).toEqual([200, expect.stringMatching(/^"2-/)]);
  });

  test('if the listings below would be on a seventh level', async () => {
    const upper = await createChain('1', '2', '3', '4');
    const lower = await createChain('a', 'b', 'c');
    expectError(await move(lower[0]!, upper[3]!), 400, 'FIELD_INVALID', 'parent_id');
    expect((await move(lower[0]!, upper[2]!)).status).toBe(200);
    expect((await read(`/api/listing/${lower[2]}`)).data.path).toHaveLength(5);
  });
});

test('of moves that would make a circle together, one is refused', async () => {
  for (let round = 0; round < 3; round++) {
    const ids = await Promise.all(['A', 'B', 'C'].map(async (name) => (await create(name)).body.data.id));
    const replies = await Promise.all(ids.map((id, index) => move(id, ids[(index + 1) % ids.length])));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 200, 400]);
  }
});

test('a circle that an earlier release has made ends in every read, and is broken by one more move', async () => {
  const [home, kitchen] = [await create('Home'), await create('Kitchen')].map(({ body }) => body.data.id);
  const title = await publish('Pot', kitchen);
  // Each of two moves at the same time had read the tree before the other one was stored.
  await append('listing', home, 'ListingMoved', { parent_id: kitchen });
  await append('listing', kitchen, 'ListingMoved', { parent_id: home });
  await here.harness.settled();
  for (const [id, other] of [[home, 'Kitchen'] as const, [kitchen, 'Home'] as const]) {
    const { data } = await read(`/api/listing/${id}`);
    expect([namesOf(data.path), data.children_count]).toEqual([[other], 1]);
    const below = await read(`/api/listing/${id}/publications?include_descendants=true`);
    expect(below.data).toMatchObject({ others: [{ id: title }], meta: { pagination: { total: 1 } } });
  }
  const name = await send('PATCH', `/api/listing/${home}`, { body: { name: 'House' } });
  expect(name.status).toBe(200);
  await move(home, null);
  expect(namesOf((await read(`/api/listing/${kitchen}`)).data.path)).toEqual(['House']);
});

/** Appends an event of a listing that a check would have refused. */
async function append(category: Category, id: string, type: string, data: object): Promise<void> {
  const { live } = here.harness.service.runtime.events;
  const stream = streamName('live', category, id);
  const [created] = await live.readStream(stream, 0, 1);
  const event = { id: crypto.randomUUID(), type, schema_version: 1, data, metadata: created!.metadata };
  await live.append(stream, 0, [event as never]);
}

describe('GET /api/listings with parent_id', () => {
  test('returns and counts the listings directly below one, or at the top', async () => {
    const [home, kitchen] = (await createChain('Home', 'Kitchen', 'Cups')) as [string, string];
    await create('Garden');
    await create('Hidden', { parent_id: home, visibility: 'private' });
    const found = async (query: string) => {
      const { data, meta } = await read(`/api/listings?sort=name&${query}`);
      return [namesOf(data), meta.item_count];
    };
    expect(await found('parent_id=none')).toEqual([['Garden', 'Home'], 2]);
    expect(await found(`parent_id=${home}`)).toEqual([['Kitchen'], 1]);
    expect(await found(`parent_id=${home}&visibility=all`)).toEqual([['Hidden', 'Kitchen'], 2]);
    expect(await found(`parent_id=${kitchen}&limit=1&page=2`)).toEqual([[], 1]);
    expect(await found(`parent_id=${UNKNOWN}`)).toEqual([[], 0]);
    expectError(await send('GET', '/api/listings?parent_id=top'), 400, 'INVALID_UUID', 'parent_id');
  });
});

describe('GET /api/listing/:id/publications with include_descendants', () => {
  test('returns one sequence of all publications below, with their exact number', async () => {
    const [home, kitchen, cups] = (await createChain('Home', 'Kitchen', 'Cups')) as [string, string, string];
    await publish('Sofa', home);
    await publish('Pan', kitchen, { featured_position: 2 });
    await publish('Cup', cups, { featured_position: 1 });
    await publish('Mug', cups);
    await publish('Hidden', cups, { visibility: 'private' });
    const pageOf = async (id: string, query: string) => {
      const { featured, others, meta } = (await read(`/api/listing/${id}/publications?${query}`)).data;
      return [namesOf(featured), namesOf(others), meta.pagination.total];
    };
    const all = 'include_descendants=true&sort=name';
    expect(await pageOf(home, 'sort=name')).toEqual([[], ['Sofa'], 1]);
    expect(await pageOf(home, all)).toEqual([['Cup', 'Pan'], ['Mug', 'Sofa'], 4]);
    expect(await pageOf(home, `${all}&limit=3&page=2`)).toEqual([[], ['Sofa'], 4]);
    expect(await pageOf(kitchen, all)).toEqual([['Cup', 'Pan'], ['Mug'], 3]);
    expect(await pageOf(cups, `${all}&visibility=all`)).toEqual([['Cup'], ['Hidden', 'Mug'], 3]);
    expect(await pageOf(home, 'include_descendants=false')).toEqual([[], ['Sofa'], 1]);
    await send('PATCH', `/api/listing/${kitchen}`, { body: { visibility: 'private' } });
    expect(await pageOf(home, all)).toEqual([[], ['Sofa'], 1]);
    expect(await pageOf(home, `${all}&visibility=all`)).toEqual([
      ['Cup', 'Pan'],
      ['Hidden', 'Mug', 'Sofa'],
      5,
    ]);
  });
});

test('include_descendants returns every page of several listings, with each sort and filter', async () => {
  const ids = await createChain('Home', 'Kitchen', 'Cups', 'Mugs');
  const items = Array.from({ length: 24 }, (_, n) => ({
    action: 'create',
    body: {
      ...{ title: `Cup ${String(n).padStart(2, '0')}`, price_currency: 'EUR', price_amount: (n * 7) % 24 },
      ...{ listing_id: ids[n % 3], free_shipping: n % 2 === 0, visibility: n % 8 ? 'public' : 'private' },
      featured_position: n % 5 === 1 ? n : null,
    },
  }));
  await send('POST', '/api/publications/batch', { body: { items } });
  const all = `/api/listing/${ids[0]}/publications?include_descendants=true`;
  for (const query of [
    ...['', '&sort=name', '&sort=price&order=desc', '&visibility=all', '&free_shipping=true&sort=name'],
    ...['&min_price=4&sort=price', '&featured=true', '&min_price=30', '&has_discount=false'],
  ]) {
    const { featured, others, meta } = (await read(`${all}${query}&limit=50`)).data;
    const expected = namesOf([...featured, ...others]);
    expect(expected).toHaveLength(meta.pagination.total);
    for (const page of [1, 2, 4, 9_000]) {
      const { data } = await read(`${all}${query}&limit=4&page=${page}`);
      expect(data.meta.pagination.total).toBe(expected.length);
      const found = namesOf([...data.featured, ...data.others]);
      expect([query, page, found]).toEqual([query, page, expected.slice(4 * page - 4, 4 * page)]);
    }
  }
});

test('a listing is deleted after the listings below it', async () => {
  const [home, kitchen] = (await createChain('Home', 'Kitchen')) as [string, string];
  await send('PATCH', `/api/listing/${kitchen}`, { body: { visibility: 'private' } });
  const refused = await send('DELETE', `/api/listing/${home}`);
  expectError(refused, 409, 'DEPENDENCY_EXISTS');
  expect(refused.body.error.message).toBe('The listing has 1 listing. Move or delete them first.');
  expect((await send('DELETE', `/api/listing/${kitchen}`)).status).toBe(200);
  expect((await send('DELETE', `/api/listing/${home}`)).status).toBe(200);
});
