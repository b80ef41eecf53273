import { randomUUID } from 'node:crypto';
import { runPool } from '../../services/command/pool';
import { streamName } from '../../shared/catalog/events/envelope';
import { runs, SEED } from '../support/long';
import { Dice } from '../support/raw-requests';
import { waitFor } from '../support/wait-for';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };
const UNKNOWN = '01890000-0000-7000-8000-000000000000';

const here = ownShop();
const { send } = here;
const create = async (path: string, body: object): Promise<string> =>
  (await send('POST', path, { body })).body.data.id;
const patch = (id: string, body: object) => send('PATCH', `/api/publication/${id}`, { body });
const historyOf = async (path: string, query = '') => {
  const { status, body } = await send('GET', `/api/${path}/history${query}`);
  expect(status).toBe(200);
  return body;
};
const revert = (id: string, revision: unknown, headers: Record<string, string> = {}) =>
  send('POST', `/api/publication/${id}/revert`, { body: { revision }, headers });

describe('a history', () => {
  test('has the newest change first, with values, times and keys, page by page', async () => {
    const id = await create('/api/publication', TEA);
    for (const price_amount of [1_000, 900, 800]) await patch(id, { price_amount });
    const { data, meta } = await historyOf(`publication/${id}`, '?limit=3');
    expect(data.map((change: { revision: number }) => change.revision)).toEqual([4, 3, 2]);
    expect(data[0]).toMatchObject({
      type: 'publication.updated',
      actor: { type: 'key', id: here.shop.secret.id },
      changed: { price_amount: { before: 900, after: 800 } },
    });
    expect(meta).toMatchObject({ item_count: 4, page: 1 });
    const second = await historyOf(`publication/${id}`, '?limit=3&page=2');
    expect(second.data).toMatchObject([{ type: 'publication.created', revision: 1 }]);
    expect((await historyOf(`publication/${id}`, '?before=3')).data).toHaveLength(2);
    expect((await historyOf(`publication/${id}`, `?since=${data[0].occurred_at}`)).data).toMatchObject([
      { revision: 4 },
    ]);
    expect((await historyOf(`publication/${id}`, `?actor=${UNKNOWN}`)).data).toEqual([]);
  });

  test('has only whole writes', async () => {
    const id = await create('/api/publication', TEA);
    await patch(id, { title: 'Mate', price_amount: 900 });
    const revisionsOf = async (path: string, query: string) =>
      (await historyOf(path, query)).data.map((change: { revision: number }) => change.revision);
    // The write of two events has the revisions 2 and 3.
    const before = async (revision: number) => revisionsOf(`publication/${id}`, `?before=${revision}`);
    expect([await before(4), await before(3), await before(2), await before(1)]).toEqual([
      [3, 1],
      [1],
      [1],
      [],
    ]);

    const listing_id = await create('/api/listing', { name: 'Drinks' });
    const { live } = here.harness.deps.events;
    const stream = streamName('live', 'listing', listing_id as never);
    const [created] = await live.readStream(stream);
    const later = Array.from({ length: 1_001 }, (_, n) => ({
      ...{ id: randomUUID(), schema_version: 1 },
      ...(n % 2 === 0
        ? { type: 'ListingDescribed', data: { name: `Drinks ${n}`, description: null } }
        : { type: 'ListingVisibilityChanged', data: { visibility: n % 4 === 1 ? 'private' : 'public' } }),
      metadata: { ...created!.metadata, request_id: `write-${Math.floor(n / 2)}` },
    }));
    await live.append(stream, 0, later);
    // The newest 1,000 revisions begin with 3, the second half of a write.
    expect((await revisionsOf(`listing/${listing_id}`, '?limit=50&page=10')).slice(-2)).toEqual([7, 5]);
    expect(await revisionsOf(`listing/${listing_id}`, '?before=5')).toEqual([3, 1]);
  });

  test('has the whole resource after each change', async () => {
    const id = await create('/api/publication', { ...TEA, description: 'Green' });
    await patch(id, { price_amount: 900 });
    await patch(id, { visibility: 'private', title: 'Mate' });
    await send('DELETE', `/api/publication/${id}`);
    const path = `/api/publication/${id}/history`;
    const first = await send('GET', `${path}/1`);
    expect([first.status, first.body.data]).toMatchObject([
      200,
      { id, ...TEA, description: 'Green', visibility: 'public' },
    ]);
    expect(first.body.data).not.toHaveProperty('stats');
    const [created] = (await historyOf(`publication/${id}`)).data.slice(-1);
    const at = new Date(first.headers.get('memento-datetime')!).getTime();
    expect(at).toBe(Math.floor(Date.parse(created.occurred_at) / 1_000) * 1_000);
    const client = here.harness.client(here.shop.secret);
    expect(await client.publications.revision(id, 2)).toMatchObject({ title: 'Tea', price_amount: 900 });
    const listing_id = await create('/api/listing', { name: 'Drinks' });
    await send('PATCH', `/api/listing/${listing_id}`, { body: { name: 'Teas' } });
    expect(await client.listings.revision(listing_id, 1)).toMatchObject({ name: 'Drinks' });
    expectError(await send('GET', `${path}/5`), 404, 'PUBLICATION_NOT_FOUND');
    expectError(await send('GET', `${path}/99`), 404, 'PUBLICATION_NOT_FOUND');
    for (const wrong of ['0', '-1', 'last', '1.5'])
      expectError(await send('GET', `${path}/${wrong}`), 400, 'VALIDATION_ERROR', 'revision');
  });

  test('remains after a deletion', async () => {
    const listing_id = await create('/api/listing', { name: 'Drinks' });
    await send('PATCH', `/api/listing/${listing_id}`, { body: { name: 'Teas' } });
    await send('DELETE', `/api/listing/${listing_id}`);
    const { data } = await historyOf(`listing/${listing_id}`);
    expect(data).toMatchObject([
      { type: 'listing.deleted' },
      { type: 'listing.updated', changed: { name: { before: 'Drinks', after: 'Teas' } } },
      { type: 'listing.created' },
    ]);
    const path = `/api/listing/${listing_id}/history`;
    expectError(await send('GET', path, { token: here.shop.public.token }), 403, 'INSUFFICIENT_PERMISSIONS');
    expectError(await send('GET', `${path}?since=yesterday`), 400, 'VALIDATION_ERROR', 'since');
  });
});

describe('as_of', () => {
  test('answers with a resource as it was, also if it is deleted or private now', async () => {
    const options = [{ name: 'Size', values: [] }];
    const variants = [{ option_values: { Size: 'S' }, price_amount: 500 }];
    const id = await create('/api/publication', { ...TEA, options, variants });
    const listing_id = await create('/api/listing', { name: 'Drinks' });
    const [created] = (await historyOf(`publication/${id}`)).data;
    const { occurred_at } = (await historyOf(`listing/${listing_id}`)).data[0];
    await waitFor(() => Date.now() > Date.parse(occurred_at) + 1);
    await patch(id, { title: 'Mate', visibility: 'private' });
    await send('PATCH', `/api/listing/${listing_id}`, { body: { name: 'Teas' } });
    await send('DELETE', `/api/publication/${id}`);
    const then = (path: string, as_of = occurred_at, query = '') =>
      send('GET', `/api/${path}?as_of=${as_of}${query}`);
    const tea = await then(`publication/${id}`, occurred_at, '&expand=variants');
    expect(tea.body.data).toMatchObject({
      ...{ id, title: 'Tea', visibility: 'public', variant_count: 1 },
      variants: { data: [{ price_amount: 500 }] },
    });
    const since = new Date(created.occurred_at).toUTCString();
    expect(tea.headers.get('memento-datetime')).toBe(since);
    expect((await then(`listing/${listing_id}`)).body.data.name).toBe('Drinks');
    expect((await then(`listing/${listing_id}`, new Date().toISOString())).body.data.name).toBe('Teas');
    const before = new Date(Date.parse(created.occurred_at) - 1).toISOString();
    expectError(await then(`publication/${id}`, before), 404, 'PUBLICATION_NOT_FOUND');
    expectError(await then(`publication/${id}`, new Date().toISOString()), 404, 'PUBLICATION_NOT_FOUND');
    expectError(await then(`publication/${id}`, 'yesterday'), 400, 'VALIDATION_ERROR', 'as_of');
    const path = `/api/listing/${listing_id}?as_of=${occurred_at}`;
    expectError(await send('GET', path, { token: here.shop.public.token }), 403, 'INSUFFICIENT_PERMISSIONS');
  });

  test('leaves out listings that were deleted then', async () => {
    const [drinks, cups, gifts] = [
      await create('/api/listing', { name: 'Drinks' }),
      await create('/api/listing', { name: 'Cups' }),
      await create('/api/listing', { name: 'Gifts' }),
    ];
    const featured_positions = { [cups]: 1, [gifts]: 2 };
    const placed = { listing_id: drinks, listing_ids: [cups, gifts], featured_positions };
    const id = await create('/api/publication', { ...TEA, ...placed });
    const moment = async (): Promise<string> => {
      const now = Date.now();
      await waitFor(() => Date.now() > now + 1);
      return new Date(now + 1).toISOString();
    };
    const before = await moment();
    for (const listing_id of [drinks, cups]) await send('DELETE', `/api/listing/${listing_id}`);
    const after = await moment();
    const then = async (at: string) => (await send('GET', `/api/publication/${id}?as_of=${at}`)).body.data;
    expect(await then(before)).toMatchObject(placed);
    const left = { listing_ids: [gifts], featured_positions: { [gifts]: 2 } };
    const shown = await then(after);
    expect(shown).toMatchObject(left);
    expect(shown).not.toHaveProperty('listing_id');
    const listed = await send('GET', `/api/listing/${gifts}/publications?as_of=${after}`);
    expect(listed.body.data.featured[0]).toEqual(shown);
    const created = await send('GET', `/api/publication/${id}/history/1`);
    expect(created.body.data).toMatchObject(placed);
  });
});

const CHANGES = runs(30, 60);

test('as_of answers at random moments as reads did then', async () => {
  const dice = new Dice(SEED);
  const paths = [
    `publication/${await create('/api/publication', TEA)}`,
    `publication/${await create('/api/publication', { ...TEA, title: 'Mate' })}`,
    `listing/${await create('/api/listing', { name: 'Drinks' })}`,
  ];
  /** What reads answered, by resource, and since when. */
  const seen = new Map(paths.map((path) => [path, [] as { since_ms: number; data: object }[]]));
  const record = async (path: string): Promise<void> => {
    const { stats: _, ...data } = (await send('GET', `/api/${path}?visibility=all`)).body.data;
    seen.get(path)!.push({ since_ms: Date.parse(data.updated_at), data });
    // Two changes in one millisecond have no order in time.
    await waitFor(() => Date.now() > Date.parse(data.updated_at) + 1);
  };
  for (const path of paths) await record(path);
  for (let n = 0; n < CHANGES; n++) {
    const path = dice.of(paths);
    const visibility = dice.of(['public', 'private']);
    const name = path.startsWith('listing') ? { name: `Teas ${n}` } : { title: `Tea ${n}` };
    await send('PATCH', `/api/${path}`, { body: dice.chance(0.5) ? name : { visibility, ...name } });
    await record(path);
  }
  const [begin, end] = [seen.get(paths[2]!)![0]!.since_ms, Date.now()];
  await runPool(Array(runs(100, 1_000)).keys(), 10, async () => {
    const path = dice.of(paths);
    const at = begin + dice.below(end - begin);
    const expected = seen.get(path)!.findLast(({ since_ms }) => since_ms <= at)!;
    const { body, headers } = await send('GET', `/api/${path}?as_of=${new Date(at).toISOString()}`);
    expect(body.data).toEqual(expected.data);
    expect(headers.get('memento-datetime')).toBe(new Date(expected.since_ms).toUTCString());
  });
});

test('as_of answers with the publications of a listing at random moments as it did then', async () => {
  const dice = new Dice(SEED);
  const listings: string[] = [];
  for (const name of ['Drinks', 'Cups']) listings.push(await create('/api/listing', { name }));
  const ids: string[] = [];
  const [drinks, cups] = listings as [string, string];
  const path = `/api/listing/${drinks}/publications`;
  interface List {
    readonly featured: readonly object[];
    readonly others: readonly object[];
    readonly meta: { readonly pagination: object };
  }
  const withoutStats = ({ featured, others, meta: { pagination } }: List) => {
    const bare = (items: readonly object[]) => items.map((item) => ({ ...item, stats: undefined }));
    return { featured: bare(featured), others: bare(others), pagination };
  };
  const listed = async (query: string) => withoutStats((await send('GET', `${path}?${query}`)).body.data);
  const QUERY = 'visibility=all&limit=3';
  const seen: { readonly since_ms: number; readonly list: object }[] = [];
  /** Waits until the clock has left the millisecond of the last write, and notes what the list is until the next one. */
  const note = async (): Promise<void> => {
    const written_ms = Date.now();
    await waitFor(() => Date.now() > written_ms + 1);
    seen.push({ since_ms: written_ms, list: await listed(QUERY) });
    const read_ms = Date.now();
    await waitFor(() => Date.now() > read_ms + 1);
  };
  const write = async (n: number): Promise<void> => {
    const id = dice.of(ids);
    if (id === undefined || dice.chance(0.25)) {
      const featured_position = ids.length === 0 || dice.chance(0.4) ? 1 + dice.below(3) : null;
      const body = { ...TEA, title: `Tea ${n}`, listing_id: drinks, featured_position };
      ids.push(await create('/api/publication', body));
      return;
    }
    const body = dice.of<object>([
      { listing_id: cups },
      { listing_id: drinks },
      { listing_id: cups, listing_ids: [drinks] },
      { listing_ids: [] },
      { title: `Tea ${n}`, visibility: dice.of(['public', 'private']) },
    ]);
    if (dice.chance(0.15)) await send('DELETE', `/api/publication/${id}`);
    else if (dice.chance(0.1)) await send('POST', `/api/publication/${id}/restore`);
    else await patch(id, body);
  };
  for (let n = 0; n < CHANGES; n++) {
    await write(n);
    await note();
  }
  for (const { since_ms, list } of seen) {
    const at = new Date(since_ms + 1).toISOString();
    expect(await listed(`${QUERY}&as_of=${at}`)).toEqual({ ...list, pagination: expect.any(Object) });
  }
  expect(seen.some(({ list }) => (list as List).featured.length > 0)).toBe(true);
  // Pages by cursor have every item once.
  const whole = await listed(`visibility=all&limit=50&as_of=${new Date().toISOString()}`);
  const now = new Date().toISOString();
  const walked: object[] = [];
  for (let cursor = ''; ; ) {
    const page = await listed(`${QUERY}&as_of=${now}${cursor && `&cursor=${cursor}`}`);
    walked.push(...page.featured, ...page.others);
    const { next_cursor } = page.pagination as { next_cursor?: string };
    if (next_cursor === undefined) break;
    cursor = next_cursor;
  }
  expect(walked).toEqual([...whole.featured, ...whole.others]);
  for (const filter of ['vendor', 'option.size', 'attributes.colour'])
    expectError(await send('GET', `${path}?as_of=${now}&${filter}=1`), 400, 'VALIDATION_ERROR', filter);
  const { token } = here.shop.public;
  expectError(await send('GET', `${path}?as_of=${now}`, { token }), 403, 'INSUFFICIENT_PERMISSIONS');
});

test('the history of a store has the changes of its own fields', async () => {
  await create('/api/publication', TEA);
  const { name } = (await send('GET', '/api/store')).body.data;
  expect((await send('PATCH', '/api/store', { body: { name: 'Tea house' } })).status).toBe(200);
  const { data } = await historyOf('store');
  expect(data[0]).toMatchObject({
    type: 'store.updated',
    actor: { id: here.shop.secret.id },
    changed: { name: { before: name, after: 'Tea house' } },
  });
  expect(data.at(-1)).toMatchObject({ type: 'store.created', revision: 1 });
  expectError(
    await send('GET', '/api/store/history', { token: here.shop.public.token }),
    403,
    'INSUFFICIENT_PERMISSIONS',
  );
});

describe('POST /api/publication/:id/revert', () => {
  test('gives the fields and variants the values of a revision, and changes nothing the second time', async () => {
    const options = [{ name: 'Size', values: [] }];
    const variants = ['S', 'M'].map((Size) => ({
      option_values: { Size },
      price_amount: 500,
      sku: `T-${Size}`,
    }));
    const id = await create('/api/publication', {
      ...TEA,
      options,
      variants,
      tags: ['new'],
      handle: 'tea-one',
    });
    const before = (await send('GET', `/api/publication/${id}?expand=variants`)).body.data;
    await patch(id, {
      title: 'Mate',
      tags: null,
      handle: 'mate',
      variants: [{ option_values: { Size: 'L' } }],
    });
    const reply = await revert(id, 1);
    expect(reply.body).toMatchObject({ data: { not_restored: [] } });
    const { data } = (await send('GET', `/api/publication/${id}?expand=variants`)).body;
    // A name stays.
    const contentOf = ({ handle: _, updated_at: __, variants: list, ...fields }: typeof data) => ({
      ...fields,
      variants: list.data.map(({ id: _id, ...variant }: { id: string }) => variant),
    });
    expect(data.handle).toBe('mate');
    expect(contentOf(data)).toEqual(contentOf(before));
    const events = (await historyOf(`publication/${id}`)).meta.item_count;
    expect((await revert(id, 1)).status).toBe(200);
    expect((await historyOf(`publication/${id}`)).meta.item_count).toBe(events);
  });

  test('gives a publication without variants its own price and stock', async () => {
    const id = await create('/api/publication', { ...TEA, quantity_available: 4 });
    await patch(id, { variants: [{ sku: 'T-1', price_amount: 900, quantity_available: 1 }] });
    const { data } = (await revert(id, 1)).body;
    expect(data).toMatchObject({ price_amount: 1_250, quantity_available: 4, not_restored: [] });
    expect(data.variant_count).toBeUndefined();
    // As a patch with both does.
    await patch(id, { variants: [{ sku: 'T-2', price_amount: 900 }] });
    const patched = (await patch(id, { variants: [], price_amount: 700, quantity_available: 2 })).body.data;
    expect(patched).toMatchObject({ price_amount: 700, quantity_available: 2 });
  });

  test('leaves out what was deleted meanwhile, and says so', async () => {
    const listing_id = await create('/api/listing', { name: 'Drinks' });
    const id = await create('/api/publication', { ...TEA, listing_id });
    const pots = await create('/api/listing', { name: 'Pots' });
    await patch(id, { listing_id: pots, title: 'Pot' });
    await send('DELETE', `/api/listing/${listing_id}`);
    const { data } = (await revert(id, 1)).body;
    expect(data).toMatchObject({ title: 'Tea', listing_id: pots, not_restored: ['listing_id'] });
  });

  test('keeps If-Match, and refuses what is no revision', async () => {
    const id = await create('/api/publication', TEA);
    const stale = (await send('GET', `/api/publication/${id}`)).headers.get('etag')!;
    await patch(id, { title: 'Mate' });
    expectError(await revert(id, 1, { 'if-match': stale }), 412, 'CONFLICT');
    expectError(await revert(id, 3), 400, 'FIELD_INVALID', 'revision');
    expectError(await revert(id, 0), 400, 'FIELD_INVALID', 'revision');
    expectError(await revert(id, undefined), 400, 'FIELD_REQUIRED', 'revision');
    await send('DELETE', `/api/publication/${id}`);
    expectError(await revert(id, 1), 404, 'PUBLICATION_NOT_FOUND');
  });
});

describe('the history of a store', () => {
  const changesOf = async (query: string) => {
    const { status, body } = await send('GET', `/api/history?${query}`);
    expect(status).toBe(200);
    return body;
  };
  type Shown = { type: string; title?: string; resource_id: string; revision: number };
  const shown = ({ type, title }: Shown) => [type, title];

  test('has the changes of all its resources, the newest first, with the title of each', async () => {
    const tea = await create('/api/publication', TEA);
    const listing = await create('/api/listing', { name: 'Drinks' });
    await patch(tea, { title: 'Green tea', listing_id: listing });
    await send('POST', `/api/publication/${tea}/variants`, { body: { option_values: {} } });
    await send('POST', `/api/publication/${tea}/reviews`, { body: { rating: 5, author_name: 'Ana' } });
    await send('DELETE', `/api/publication/${tea}`);
    const other = await here.harness.newShop();
    await here.harness.request('POST', '/api/publication', { token: other.secret.token, body: TEA });

    const { data, meta } = await changesOf('limit=50');
    expect(data.map(shown)).toEqual([
      ['publication.deleted', 'Green tea'],
      ['review.created', undefined],
      ['variant.created', 'Green tea'],
      ['publication.updated', 'Green tea'],
      ['listing.created', 'Drinks'],
      ['publication.created', 'Tea'],
      ['store.created', undefined],
    ]);
    expect(meta).toEqual({ limit: 50 });
    expect(data[3]).toMatchObject({
      actor: { type: 'key', id: here.shop.secret.id, name: expect.any(String) },
    });
    const feed = JSON.parse((await send('GET', '/api/changes')).text);
    expect(data.toReversed()).toMatchObject(feed.map(({ actor: _, ...change }: { actor: object }) => change));
    expect((await changesOf('resource=listing,review')).data.map(shown)).toEqual([
      ['review.created', undefined],
      ['listing.created', 'Drinks'],
    ]);
    const { occurred_at } = data[4];
    const since = (await changesOf(`since=${occurred_at}`)).data;
    expect(since).toEqual(data.slice(0, 5));
    expect((await changesOf(`until=${occurred_at}`)).data).toEqual(data.slice(4));
    expect((await changesOf(`actor=${UNKNOWN}`)).data).toEqual([]);
    const { data: of_key } = await changesOf(`actor=${here.shop.secret.id}`);
    expect(of_key.map(shown)).toEqual(data.slice(0, 6).map(shown));
  });

  test('goes on after a cursor, with whole writes, also past many events of others', async () => {
    const id = await create('/api/publication', {
      ...TEA,
      options: [{ name: 'Size', values: ['S', 'M', 'L'] }],
    });
    const variants = ['S', 'M', 'L'].map((Size) => ({ option_values: { Size } }));
    await patch(id, { variants });
    const { live } = here.harness.deps.events;
    const [created] = await live.readStream(streamName('live', 'publication', id as never), 0, 1);
    for (let n = 0; n < 6; n++) {
      const views = Array.from({ length: 2_000 }, () => ({
        ...{ id: randomUUID(), schema_version: 1, type: 'ListingDescribed' },
        data: { name: 'Drinks', description: null },
        metadata: { ...created!.metadata, partition_key: UNKNOWN, store_id: UNKNOWN },
      }));
      await live.append(streamName('live', 'listing', randomUUID() as never), -1, views);
    }
    const first = await changesOf('limit=1');
    expect([first.data, typeof first.meta.next_cursor]).toEqual([[], 'string']);
    const pages: Shown[][] = [];
    for (let cursor = first.meta.next_cursor; cursor; ) {
      const { data, meta } = await changesOf(`limit=1&cursor=${cursor}`);
      pages.push(data);
      cursor = meta.next_cursor;
    }
    expect(pages.filter((page) => page.length > 0).map((page) => page.length)).toEqual([3, 1, 1]);
    expect(new Set(pages.flat().map(({ type }) => type))).toEqual(
      new Set(['variant.created', 'publication.created', 'store.created']),
    );
    const all = await here.harness.client(here.shop.secret).store.fullHistory({ limit: 1 }).all();
    expect(all).toHaveLength(5);
  });

  test('is for a secret key, and refuses a cursor of another log', async () => {
    const { harness, shop } = here;
    const denied = await harness.request('GET', '/api/history', { token: shop.public.token });
    expectError(denied, 403, 'INSUFFICIENT_PERMISSIONS');
    const foreign = await send('GET', '/api/history?cursor=00000000000000000002-00000000');
    expectError(foreign, 409, 'CONFLICT');
    expectError(await send('GET', '/api/history?cursor=x'), 400, 'VALIDATION_ERROR', 'cursor');
  });
});
