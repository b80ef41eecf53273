import { postReview } from '../../services/command/review';
import type { CatalogClient } from '../../shared/client';
import type { PublicationId } from '../../shared/kernel/ids';
import type { Reply, RequestOptions } from '../support/harness';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const GOOD = { rating: 5, author_name: 'Ann', body: 'Good' };

const here = ownShop();
let merchant: CatalogClient;
let publication_id: string;

beforeEach(async () => {
  merchant = here.harness.client(here.shop.secret);
  const tea = { title: 'Tea', price_currency: 'USD', price_amount: 1 };
  publication_id = (await merchant.publications.create(tea)).id;
});

const { send } = here;
const post = (body: object, options: RequestOptions = {}): Promise<Reply> =>
  send('POST', `/api/publication/${publication_id}/reviews`, { body, ...options });
const listed = async (query = '', token = here.shop.secret.token): Promise<Reply['body']> =>
  (await send('GET', `/api/publication/${publication_id}/reviews${query}`, { token })).body;
const idsOf = (reviews: readonly { id: string }[]): string[] => reviews.map(({ id }) => id);

describe('a review', () => {
  test('is in the rating of its publication, in every read and in answers to writes', async () => {
    const { id: listing_id } = await merchant.listings.create({ name: 'Teas' });
    await merchant.publications.update(publication_id, { listing_id });
    const path = `/api/publication/${publication_id}`;
    const ratings = async () => {
      const paths = [path, '/api/publications?limit=1', `/api/listing/${listing_id}/publications`];
      const [one, list, placed] = (await Promise.all(paths.map((each) => send('GET', each)))) as Reply[];
      const shown = [one!.body.data, list!.body.data[0], placed!.body.data.others[0]];
      return shown.map(({ stats }) => stats.rating);
    };
    expect(await ratings()).toEqual([undefined, undefined, undefined]);
    await post(GOOD);
    const last = await post({ ...GOOD, rating: 4 });
    await post({ ...GOOD, rating: 1, status: 'pending' });
    const rating = { average: 4.5, count: 2 };
    expect(await ratings()).toEqual([rating, rating, rating]);
    const renamed = await send('PATCH', path, { body: { title: 'Mate' } });
    expect(renamed.body.data.stats.rating).toEqual(rating);
    await send('DELETE', `/api/review/${last.body.data.id}`);
    expect(await ratings()).toEqual(Array(3).fill({ average: 5, count: 1 }));
  });

  test('sorts publications: best rating first, newest first among equals, without reviews last', async () => {
    const own = await here.harness.newShop();
    const client = here.harness.client(own.secret);
    const drinks = await client.listings.create({ name: 'Drinks', default_sort_mode: 'name_asc' });
    const cups = await client.listings.create({ name: 'Cups', parent_id: drinks.id });
    const reviews: string[] = [];
    const create = async (title: string, ratings: number[], fields: object = {}) => {
      const cup = { title: `Cup ${title}`, price_currency: 'USD', price_amount: 100, listing_id: cups.id };
      const { id } = await client.publications.create({ ...cup, ...fields });
      for (const rating of ratings)
        reviews.push((await client.reviews.create(id, { rating, author_name: 'Ann' })).id);
      return id;
    };
    await create('A', [5]);
    await create('B', []);
    await create('C', [4, 5]);
    await create('D', [5, 4]);
    await create('E', [], { listing_id: drinks.id, listing_ids: [cups.id] });
    const worst = await create('F', [1], { price_amount: 900 });

    /** Reads two publications at a time, by cursor, and compares with the pages by number. */
    const walk = async (path: string): Promise<string> => {
      let read = '';
      let cursor: string | undefined;
      for (let page = 1; page === 1 || cursor !== undefined; page++) {
        const ask = async (start: string) => {
          const url = `/api/${path}&limit=2&${start}`;
          const { body } = await send('GET', url, { token: own.secret.token });
          const { data, meta } =
            'featured' in body.data ? { data: body.data.others, meta: body.data.meta } : body;
          const titles = data.map(({ title }: { title: string }) => title.slice(-1)).join('');
          return { titles, next: meta.pagination.next_cursor, mode: meta.effective_sort_mode };
        };
        const numbered = await ask(`page=${page}`);
        if (cursor !== undefined) expect(await ask(`cursor=${cursor}`)).toEqual(numbered);
        read += numbered.titles;
        cursor = numbered.next;
      }
      return read;
    };
    const expectSorted = async (sorted: string): Promise<void> => {
      const without = (title: string) => sorted.replace(title, '');
      const lists = [
        ['publications?', sorted],
        [`publications?listing_id=${cups.id}&`, sorted],
        [`listing/${cups.id}/publications?`, sorted],
        [`listing/${drinks.id}/publications?include_descendants=true&`, sorted],
        ['store/search?q=cup&', sorted],
        ['publications?max_price=500&', without('F')],
        ['store/search?q=cup&max_price=500&', without('F')],
      ];
      for (const [path, titles] of lists) {
        expect([path, await walk(`${path}sort=rating`)]).toEqual([path, titles]);
        expect([path, await walk(`${path}sort=rating&order=asc`)]).toEqual([
          path,
          [...titles!].reverse().join(''),
        ]);
      }
    };
    await expectSorted('ADCFEB');
    await client.publications.update(worst, { title: 'Large cup F' });
    await client.reviews.delete(reviews[0]!);
    await expectSorted('DCFEBA');
    const { meta } = await client.listings.publications(cups.id, { sort: 'rating' }).page();
    expect(meta.effective_sort_mode).toBe('rating_desc');
    const stored = await send('PATCH', `/api/listing/${cups.id}`, {
      ...{ token: own.secret.token, body: { default_sort_mode: 'rating_desc' } },
    });
    expectError(stored, 400, 'FIELD_INVALID', 'default_sort_mode');
    const then = `/api/listing/${cups.id}/publications?sort=rating&as_of=${new Date().toISOString()}`;
    expectError(await send('GET', then, { token: own.secret.token }), 400, 'VALIDATION_ERROR', 'sort');
  });

  test('is written by a secret key, and is published unless the store or the request says otherwise', async () => {
    const created = await post({ ...GOOD, title: 'Hot', verified_purchase: true });
    const { id, created_at } = created.body.data;
    const review = {
      ...{ id, object: 'review', publication_id, ...GOOD, title: 'Hot', verified: true, created_at },
    };
    expect([created.status, created.body.data]).toEqual([201, { ...review, status: 'published' }]);
    expect(created.headers.get('etag')).toMatch(/^"1-/);
    // A storefront sees what it saw before there was a status.
    const shown = await listed('', here.shop.public.token);
    expect([shown.data, shown.meta.item_count, shown.meta.summary.average]).toEqual([[review], 1, 5]);

    await merchant.store.update({ new_review_status: 'pending' });
    const settings = async (query: string, { token } = here.shop.secret) =>
      (await send('GET', `/api/store${query}`, { token })).body.data?.new_review_status;
    for (const query of ['', '?visibility=all', '?expand=listing,media']) {
      expect([query, await settings(query)]).toEqual([query, 'pending']);
      expect([query, await settings(query, here.shop.public)]).toEqual([query, undefined]);
    }
    expect((await post({ rating: 1, author_name: 'Bob' })).body.data).toMatchObject({
      ...{ status: 'pending', body: '', verified: false },
    });
    expect((await post({ ...GOOD, status: 'published' })).body.data.status).toBe('published');
    const { data, meta } = await listed();
    expect([data.length, meta.item_count, meta.summary]).toMatchObject([2, 2, { count: 2, average: 5 }]);
  });

  test('is moderated: only published ones are listed and counted', async () => {
    const [good, bad] = [
      await merchant.reviews.create(publication_id, GOOD),
      await post({ ...GOOD, rating: 1 }),
    ];
    const { id, created_at } = bad.body.data;
    expect((await listed()).meta.summary).toMatchObject({ average: 3, count: 2 });
    const rejected = await send('PATCH', `/api/review/${id}`, { body: { status: 'rejected' } });
    expect([rejected.status, rejected.body.data]).toMatchObject([
      200,
      { id, status: 'rejected', created_at },
    ]);
    const shown = await listed('', here.shop.public.token);
    expect([idsOf(shown.data), shown.meta.item_count]).toEqual([[good.id], 1]);
    expect(shown.meta.summary).toMatchObject({ average: 5, count: 1, distribution: { '1': 0, '5': 1 } });
    await merchant.reviews.update(id, { status: 'published' });
    expect((await listed('', here.shop.public.token)).meta.summary).toMatchObject({ average: 3, count: 2 });
  });

  test('is listed by status for secret keys', async () => {
    const ids: Record<string, string> = {};
    for (const status of ['published', 'pending', 'rejected'])
      ids[status] = (await post({ ...GOOD, status })).body.data.id;
    for (const [status, id] of Object.entries(ids)) {
      const { data, meta } = await listed(`?status=${status}`);
      expect([data, meta.item_count, meta.summary.count]).toMatchObject([[{ id, status }], 1, 1]);
      expect(idsOf(await merchant.reviews.list({ status: status as 'pending' }).all())).toEqual([id]);
    }
    const newest_first = [ids.rejected, ids.pending, ids.published];
    expect(new Set(idsOf((await listed('?status=all')).data))).toEqual(new Set(newest_first));
    expect(new Set(idsOf(await merchant.reviews.list().all()))).toEqual(new Set(newest_first));
    expect((await merchant.reviews.list({ limit: 1 }).page(2)).meta).toMatchObject({
      page: 2,
      item_count: 3,
    });
    const { token } = here.shop.public;
    expect((await listed('?status=published', token)).data).toMatchObject([{ id: ids.published }]);
    for (const path of [`/api/publication/${publication_id}/reviews?status=pending`, '/api/reviews'])
      expectError(await send('GET', path, { token }), 403, 'INSUFFICIENT_PERMISSIONS');
    expectError(await send('GET', '/api/reviews?status=new'), 400, 'VALIDATION_ERROR', 'status');
  });

  test('is deleted, once and for good, also for a later import', async () => {
    const context = { source: 'cli', request_id: 'import' } as const;
    const target = { environment: 'live', store_id: here.shop.store_id, external_id: 'r1' } as const;
    const input = { ...GOOD, publication_id: publication_id as PublicationId };
    const { id } = await postReview(here.harness.deps, context, target, input);
    await here.harness.settled();
    expect(idsOf((await listed()).data)).toEqual([id]);
    expect(await merchant.reviews.delete(id)).toEqual({ id, object: 'review', deleted: true });
    expect((await listed()).meta).toMatchObject({ item_count: 0, summary: { count: 0, average: 0 } });
    expect(await postReview(here.harness.deps, context, target, input)).toMatchObject({ id, changed: false });
    await here.harness.settled();
    expect((await listed('?status=all')).data).toEqual([]);
    const body = { status: 'published' };
    expectError(await send('PATCH', `/api/review/${id}`, { body }), 404, 'REVIEW_NOT_FOUND');
    expectError(await send('DELETE', `/api/review/${id}`), 404, 'REVIEW_NOT_FOUND');
  });

  test('compares If-Match', async () => {
    const first = await post(GOOD);
    const path = `/api/review/${first.body.data.id}`;
    const stale = { 'if-match': '"7-x"' };
    const body = { status: 'rejected' };
    expectError(await send('PATCH', path, { body, headers: stale }), 412, 'CONFLICT');
    expectError(await send('DELETE', path, { headers: stale }), 412, 'CONFLICT');
    const current = { 'if-match': first.headers.get('etag')! };
    const patched = await send('PATCH', path, { body, headers: current });
    expect(patched.headers.get('etag')).toMatch(/^"2-/);
    const unchanged = await send('PATCH', path, { body });
    expect(unchanged.headers.get('etag')).toBe(patched.headers.get('etag'));
  });
});

test.each([
  [{ author_name: '' }, 'FIELD_TOO_SHORT', 'author_name'],
  [{ status: 'hidden' }, 'FIELD_INVALID', 'status'],
  [{ verified: true }, 'FIELD_INVALID', 'verified'],
])('a review with %j is refused with %s', async (fields, code, at) => {
  expectError(await post({ ...GOOD, ...fields }), 400, code, at);
});
