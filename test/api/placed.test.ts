import type { Reply } from '../support/harness';
import { ownShop } from './own-shop';
import { namesOf } from './reads-shop';
import { expectError } from './replies';

const here = ownShop();
const { send } = here;
let kitchen: string;
let sale: string;
/** By title. */
let ids: Record<'Cup' | 'Mug' | 'Pan' | 'Pot', string>;

/** Kitchen has Cup, Mug and Pan. Sale has Pot, and besides it Mug at position 1 and Cup. */
beforeEach(async () => {
  const merchant = here.harness.client(here.shop.secret);
  kitchen = (await merchant.listings.create({ name: 'Kitchen' })).id;
  sale = (await merchant.listings.create({ name: 'Sale', default_sort_mode: 'name_asc' })).id;
  const publish = async (title: string, fields: object) =>
    (await merchant.publications.create({ title, price_currency: 'EUR', price_amount: 100, ...fields })).id;
  ids = {
    Cup: await publish('Cup', { listing_id: kitchen, listing_ids: [sale], vendor: 'Acme' }),
    Mug: await publish('Mug', {
      ...{ listing_id: kitchen, featured_position: 7 },
      ...{ listing_ids: [sale], featured_positions: { [sale]: 1 } },
    }),
    Pan: await publish('Pan', { listing_id: kitchen }),
    Pot: await publish('Pot', { listing_id: sale, featured_position: 2, vendor: 'Acme' }),
  };
});

const read = async (path: string) => (await send('GET', path)).body;
const patch = (id: string, body: object): Promise<Reply> => send('PATCH', `/api/publication/${id}`, { body });
/** The titles in the listing, the featured ones first. */
async function titlesIn(id: string, query = ''): Promise<[featured: string[], others: string[]]> {
  const { data } = await read(`/api/listing/${id}/publications?${query}`);
  const { featured, others, meta } = data;
  if (!query.includes('limit')) expect(meta.pagination.total).toBe(featured.length + others.length);
  return [namesOf(featured), namesOf(others)];
}

describe('a publication in several listings', () => {
  test('names them, and its position in each', async () => {
    const { data } = await read(`/api/publication/${ids.Mug}`);
    const place = { listing_ids: [sale], featured_positions: { [sale]: 1 }, featured_position: 7 };
    expect(data).toMatchObject({ listing_id: kitchen, ...place });
    expect((await read(`/api/publication/${ids.Pan}`)).data).not.toHaveProperty('listing_ids');
  });

  test('is listed in each, at its position there', async () => {
    expect(await titlesIn(kitchen)).toEqual([['Mug'], ['Pan', 'Cup']]);
    expect(await titlesIn(sale)).toEqual([['Mug', 'Pot'], ['Cup']]);
    // Not the first page that the listing's document contains.
    expect(await titlesIn(sale, 'sort=created_at&order=asc')).toEqual([['Mug', 'Pot'], ['Cup']]);
    expect(await titlesIn(sale, 'page=2&limit=2')).toEqual([[], ['Cup']]);
    expect(await titlesIn(sale, 'page=2&limit=1')).toEqual([['Pot'], []]);
    let start = 'page=1';
    for (const page of [
      [['Mug'], []],
      [['Pot'], []],
      [[], ['Cup']],
    ]) {
      expect(await titlesIn(sale, `limit=1&${start}`)).toEqual(page);
      const { data } = await read(`/api/listing/${sale}/publications?limit=1&${start}`);
      start = `cursor=${data.meta.pagination.next_cursor}`;
    }
    expect(start).toBe('cursor=undefined');
    expect(await titlesIn(sale, 'featured=true')).toEqual([['Mug', 'Pot'], []]);
    expect(await titlesIn(sale, 'featured=false')).toEqual([[], ['Cup']]);
    expect(await titlesIn(sale, 'expand=listing')).toEqual([['Mug', 'Pot'], ['Cup']]);
  });

  test('is counted and expanded in each', async () => {
    const { data } = await read(`/api/listing/${sale}?expand=publication`);
    expect([data.stats.publication_count, namesOf(data.publications.data)]).toEqual([
      3,
      ['Mug', 'Pot', 'Cup'],
    ]);
    await patch(ids.Cup, { title: 'Beaker', visibility: 'private' });
    const shown = (await read(`/api/listing/${sale}?expand=publication`)).data;
    expect([shown.stats.publication_count, namesOf(shown.publications.data)]).toEqual([2, ['Mug', 'Pot']]);
    await patch(ids.Pot, { listing_id: null });
    const refused = await send('DELETE', `/api/listing/${sale}?if_empty=true`);
    expectError(refused, 409, 'DEPENDENCY_EXISTS');
    await patch(ids.Pot, { listing_id: sale });
    const all = (await read(`/api/listing/${sale}?expand=publication&visibility=all`)).data;
    expect([all.stats.publication_count, namesOf(all.publications.data)]).toEqual([
      3,
      ['Mug', 'Pot', 'Beaker'],
    ]);
  });

  test('is found by the filters, facets and searches of each', async () => {
    const in_sale = `listing_id=${sale}`;
    const found = await read(`/api/publications?${in_sale}&sort=name&facets=vendor,price`);
    expect([namesOf(found.data), found.meta.item_count]).toEqual([['Cup', 'Mug', 'Pot'], 3]);
    expect(found.meta.facets).toMatchObject([
      { values: [{ value: 'Acme', count: 2 }] },
      { values: [{ count: 3 }] },
    ]);
    expect(namesOf((await read(`/api/publications?${in_sale}&featured=true`)).data)).toEqual(['Mug', 'Pot']);
    expect(await titlesIn(sale, 'vendor=Acme')).toEqual([['Pot'], ['Cup']]);
    const first_page = (await read(`/api/listing/${sale}/publications?facets=vendor,price`)).data;
    expect(first_page.meta.facets).toEqual(found.meta.facets);
    const searched = await read(`/api/store/search?q=cup&${in_sale}&facets=vendor`);
    expect([namesOf(searched.data), searched.meta.facets[0].values[0].count]).toEqual([['Cup'], 1]);
    expect((await read(`/api/store/search?q=pan&${in_sale}`)).data).toEqual([]);
    expect(namesOf((await read(`/api/store/search?q=mug&${in_sale}&featured=true`)).data)).toEqual(['Mug']);
  });

  test('is once among those of a tree', async () => {
    await send('PATCH', `/api/listing/${sale}`, { body: { parent_id: kitchen } });
    const [featured, others] = await titlesIn(kitchen, 'include_descendants=true');
    // By the first of the positions in the listings of the tree.
    expect([featured, others.sort()]).toEqual([
      ['Mug', 'Pot'],
      ['Cup', 'Pan'],
    ]);
    expect(await titlesIn(kitchen, 'include_descendants=true&featured=true')).toEqual([['Mug', 'Pot'], []]);
  });

  test('leaves them', async () => {
    const reply = await patch(ids.Mug, { listing_ids: [] });
    expect(reply.body.data).not.toHaveProperty('listing_ids');
    expect(reply.body.data).not.toHaveProperty('featured_positions');
    expect(await titlesIn(sale)).toEqual([['Pot'], ['Cup']]);
    await send('DELETE', `/api/publication/${ids.Cup}`);
    expect(await titlesIn(sale)).toEqual([['Pot'], []]);
    expect((await read(`/api/listing/${sale}`)).data.stats.publication_count).toBe(1);
    await send('POST', `/api/publication/${ids.Cup}/restore`);
    expect(await titlesIn(sale)).toEqual([['Pot'], ['Cup']]);
  });

  test('moves to one of them', async () => {
    const moved = await patch(ids.Mug, { listing_id: sale });
    expect(moved.body.data).toMatchObject({ listing_id: sale, featured_position: 7 });
    expect(moved.body.data).not.toHaveProperty('listing_ids');
    expect(await titlesIn(sale)).toEqual([['Pot', 'Mug'], ['Cup']]);
    expect(await titlesIn(kitchen)).toEqual([[], ['Pan', 'Cup']]);
    const swapped = await patch(ids.Mug, { listing_id: kitchen, listing_ids: [kitchen, sale] });
    expect(swapped.body.data).toMatchObject({ listing_id: kitchen, listing_ids: [sale] });
    expect(await titlesIn(sale)).toEqual([['Pot'], ['Cup', 'Mug']]);
  });

  test('does not name those that are hidden or deleted', async () => {
    await send('PATCH', `/api/listing/${sale}`, { body: { visibility: 'private' } });
    expect((await read(`/api/publication/${ids.Mug}`)).data).not.toHaveProperty('listing_ids');
    const all = async () => {
      const one = (await read(`/api/publication/${ids.Mug}?visibility=all`)).data;
      const listed = await read(`/api/publications?visibility=all&sort=name&limit=2`);
      const inside = await read(`/api/listing/${kitchen}/publications?visibility=all`);
      const [featured] = inside.data.featured;
      for (const each of [listed.data[1], featured]) expect(each).toEqual(one);
      return one;
    };
    expect(await all()).toMatchObject({ listing_ids: [sale], featured_positions: { [sale]: 1 } });
    await send('DELETE', `/api/listing/${sale}`);
    expect(await all()).not.toHaveProperty('listing_ids');
    // What is sent back as it was read changes nothing.
    const { listing_ids = [], featured_positions = {} } = await all();
    const unchanged = await patch(ids.Mug, { listing_ids, featured_positions });
    expect(unchanged.headers.get('etag')).toMatch(/^"1-/);
    await send('POST', `/api/listing/${sale}/restore`);
    expect(await all()).toMatchObject({ listing_ids: [sale], featured_positions: { [sale]: 1 } });
    expect(await titlesIn(sale, 'visibility=all')).toEqual([['Mug', 'Pot'], ['Cup']]);
  });

  test('is arranged among the featured of each', async () => {
    const publication_ids = [ids.Pot, ids.Cup];
    const reply = await send('POST', `/api/listing/${sale}/featured`, { body: { publication_ids } });
    expect(reply.body.data.changed_count).toBe(3);
    expect(await titlesIn(sale)).toEqual([['Pot', 'Cup'], ['Mug']]);
    expect(await titlesIn(kitchen)).toEqual([['Mug'], ['Pan', 'Cup']]);
    const other = { body: { publication_ids: [ids.Pan] } };
    expectError(
      await send('POST', `/api/listing/${sale}/featured`, other),
      400,
      'FIELD_INVALID',
      'publication_ids.0',
    );
  });
});

describe('listing_ids are refused', () => {
  const UNKNOWN = '01890000-0000-7000-8000-000000000000';
  test.each<[string, () => object, string]>([
    ['with an unknown listing', () => ({ listing_ids: [sale, UNKNOWN] }), 'listing_ids.1'],
    ['with a repeated listing', () => ({ listing_ids: [sale, sale] }), 'listing_ids.1'],
    [
      'with a position in another listing',
      () => ({ featured_positions: { [UNKNOWN]: 1 } }),
      `featured_positions.${UNKNOWN}`,
    ],
    [
      'with a position below 1',
      () => ({ listing_ids: [sale], featured_positions: { [sale]: 0 } }),
      'featured_positions.SALE',
    ],
    ['that are no list', () => ({ listing_ids: sale }), 'listing_ids'],
  ])('%s', async (_, fields, field) => {
    expectError(await patch(ids.Pan, fields()), 400, 'FIELD_INVALID', field.replace('SALE', sale));
  });
});

test('an earlier revision has the places of that time', async () => {
  const before = (await send('GET', `/api/publication/${ids.Mug}`)).body.data;
  await patch(ids.Mug, { listing_ids: null });
  const { data } = await read(`/api/publication/${ids.Mug}/history`);
  expect(data[0].changed).toMatchObject({ listing_ids: { before: [sale], after: [] } });
  const reverted = await send('POST', `/api/publication/${ids.Mug}/revert`, { body: { revision: 1 } });
  expect(reverted.body.data).toMatchObject({
    listing_ids: before.listing_ids,
    featured_positions: before.featured_positions,
    not_restored: [],
  });
  await patch(ids.Mug, { listing_ids: null });
  await send('DELETE', `/api/listing/${sale}`);
  const partly = await send('POST', `/api/publication/${ids.Mug}/revert`, { body: { revision: 1 } });
  expect(partly.body.data.not_restored).toEqual(['listing_ids']);
});
