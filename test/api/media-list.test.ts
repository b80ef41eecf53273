import type { Reply } from '../support/harness';
import { MediaShop } from './media-shop';

let media: MediaShop;
let media_ids: string[];
let publication: string;
let listing: string;

beforeAll(async () => {
  media = await MediaShop.open();
  media_ids = (await media.recordMany(50)).toReversed();
  publication = await media.publication({ media_ids });
  listing = await media.listing({ media_ids: media_ids.slice(10, 30) });
});
afterAll(() => media.harness.close());

const publicRead = (path: string): Promise<Reply> => media.get(path, {}, media.shop.public.token);
const idsOf = (reply: Reply): string[] => reply.body.data.map(({ id }: { id: string }) => id);

async function patch(path: string, body: object): Promise<Reply> {
  const reply = await media.harness.request('PATCH', path, { token: media.token, body });
  expect([path, reply.status]).toEqual([path, 200]);
  return reply;
}

/** Follows the pages of a collection's `url`. */
async function walk(url: string, read: (path: string) => Promise<Reply> = publicRead): Promise<string[]> {
  const ids: string[] = [];
  for (let page = 1, pages = 1; page <= pages; page++) {
    const reply = await read(`${url}&page=${page}`);
    expect(reply.status).toBe(200);
    ids.push(...idsOf(reply));
    pages = reply.body.meta.pagination.total_pages;
  }
  return ids;
}

describe('the media_ids of a resource', () => {
  test('are all in its answers, in order, and can be sent back', async () => {
    const read = (await publicRead(`/api/publication/${publication}`)).body.data;
    expect(read.media_ids).toEqual(media_ids);
    const page = await publicRead('/api/publications');
    expect(page.body.data.find(({ id }: { id: string }) => id === publication).media_ids).toEqual(media_ids);
    const reversed = await patch(`/api/publication/${publication}`, { media_ids: media_ids.toReversed() });
    expect(reversed.body.data.media_ids).toEqual(media_ids.toReversed());
    const restored = await patch(`/api/publication/${publication}`, { media_ids: read.media_ids });
    expect(restored.body.data.media_ids).toEqual(media_ids);
    expect((await publicRead(`/api/listing/${listing}`)).body.data.media_ids).toEqual(
      media_ids.slice(10, 30),
    );
    const renamed = await patch(`/api/listing/${listing}`, { name: 'Fine teas' });
    expect(renamed.body.data).toMatchObject({
      media_ids: media_ids.slice(10, 30),
      stats: { media_count: 20, publication_count: 0 },
    });
  });

  test('leave out deleted media, also in the answer to a write, so that they can be sent back', async () => {
    const [kept, deleted] = (await media.recordMany(2)) as [string, string];
    const path = `/api/publication/${await media.publication({ media_ids: [deleted, kept] })}`;
    const shelf = `/api/listing/${await media.listing({ media_ids: [kept, deleted] })}`;
    await media.harness.request('DELETE', `/api/media/${deleted}`, { token: media.token });
    for (const resource of [path, shelf]) {
      const { data } = (await publicRead(resource)).body;
      expect([data.media_ids, data.stats.media_count]).toEqual([[kept], 1]);
      const written = await patch(resource, { media_ids: data.media_ids });
      expect(written.body.data.media_ids).toEqual([kept]);
    }
  });
});

describe('the listing_id of a publication', () => {
  test('is in its answers, and follows moves and deletion', async () => {
    const first = await media.listing();
    const second = await media.listing();
    const path = `/api/publication/${await media.publication({ listing_id: first })}`;
    const listingOf = async () => (await publicRead(path)).body.data.listing_id;
    expect(await listingOf()).toBe(first);
    expect((await patch(path, { listing_id: second })).body.data.listing_id).toBe(second);
    expect(await listingOf()).toBe(second);
    const page = await publicRead(`/api/listing/${second}/publications`);
    expect(page.body.data.others[0].listing_id).toBe(second);
    await media.harness.request('DELETE', `/api/listing/${second}`, { token: media.token });
    expect(await listingOf()).toBeUndefined();
    expect((await patch(path, { title: 'Alone' })).body.data).not.toHaveProperty('listing_id');
  });

  test('does not reveal a private listing to a storefront', async () => {
    const hidden = await media.listing({ name: 'Next season' });
    const id = await media.publication({ title: 'Matcha', listing_id: hidden });
    const path = `/api/publication/${id}`;
    const before = (await publicRead(path)).headers.get('etag');
    await patch(`/api/listing/${hidden}`, { visibility: 'private' });
    for (const answer of [
      ...[
        path,
        `${path}?expand=listing,media`,
        '/api/publications?limit=50',
        '/api/publications?expand=listing',
      ],
      ...['/api/store/search?q=matcha', `/api/publication/${publication}/related`],
      ...['/api/store?expand=listing,media', '/api/listings?expand=publication'],
    ]) {
      const reply = await publicRead(answer);
      expect([answer, reply.status, reply.text.includes(hidden)]).toEqual([answer, 200, false]);
      expect([answer, reply.text.includes('Next season')]).toEqual([answer, false]);
    }
    expect((await publicRead(path)).headers.get('etag')).not.toBe(before);
    expect((await media.get(path)).body.data).not.toHaveProperty('listing_id');
    for (const answer of [`${path}?visibility=all`, `/api/listing/${hidden}/publications?visibility=all`]) {
      const { data } = (await media.get(answer)).body;
      expect((data.others?.[0] ?? data).listing_id).toBe(hidden);
    }
    expect((await patch(path, { price_amount: 5 })).body.data.listing_id).toBe(hidden);
    await patch(`/api/listing/${hidden}`, { visibility: 'public' });
    expect((await publicRead(path)).body.data.listing_id).toBe(hidden);
  });
});

describe('GET /api/media', () => {
  test('continues an expanded collection: all pictures are on the pages of its url', async () => {
    const { data } = (await publicRead(`/api/publication/${publication}?expand=media`)).body;
    expect(data.media).toMatchObject({ total_count: 50, has_more: true });
    expect(await walk(data.media.url)).toEqual(media_ids);
    const shelf = (await publicRead(`/api/listing/${listing}?expand=media`)).body.data;
    expect(shelf.media).toMatchObject({ total_count: 20, has_more: false });
    expect(await walk(shelf.media.url)).toEqual(media_ids.slice(10, 30));
    const store = (await publicRead('/api/store?expand=media')).body.data;
    const all = await walk(store.media.url);
    expect(all).toHaveLength(store.media.total_count);
    expect(all.slice(0, 20)).toEqual(store.media.data.map(({ id }: { id: string }) => id));
    expect(all).toEqual(expect.arrayContaining(media_ids));
  });

  test('has the paginated envelope, records, an ETag and HEAD', async () => {
    const reply = await publicRead(`/api/media?publication_id=${publication}&page=3&limit=20`);
    expect(reply.body.meta).toEqual({
      ...{ page: 3, take: 20, item_count: 50 },
      pagination: { page: 3, total_pages: 3, total_items: 50, limit: 20 },
    });
    expect(idsOf(reply)).toEqual(media_ids.slice(40));
    expect(reply.body.data[0]).toEqual((await publicRead(`/api/media/${media_ids[40]}`)).body.data);
    const known = { 'if-none-match': reply.headers.get('etag')! };
    const path = `/api/media?publication_id=${publication}&page=3&limit=20`;
    expect((await media.get(path, known, media.shop.public.token)).status).toBe(304);
    const head = await media.harness.request('HEAD', path, { token: media.shop.public.token });
    expect([head.status, head.text]).toEqual([200, '']);
    expect((await publicRead('/api/media?page=1000')).body.data).toEqual([]);
  });

  test('sorts by creation, by default newest first, and by media_ids for one resource', async () => {
    const oldest_first = media_ids.toReversed();
    const of = `publication_id=${publication}&limit=50`;
    expect(idsOf(await publicRead(`/api/media?${of}&order=desc`))).toEqual(oldest_first);
    expect(idsOf(await publicRead(`/api/media?${of}&sort=created_at&order=asc`))).toEqual(oldest_first);
    expect(idsOf(await publicRead(`/api/media?${of}&sort=created_at`))).toEqual(media_ids);
    const ascending = idsOf(await publicRead('/api/media?limit=50&order=asc'));
    expect(ascending.slice(0, 50)).toEqual(oldest_first);
  });

  test('with publication_id and listing_id returns the media that both use', async () => {
    const both = await publicRead(`/api/media?publication_id=${publication}&listing_id=${listing}`);
    expect(idsOf(both)).toEqual(media_ids.slice(10, 30));
    expect(both.body.meta.item_count).toBe(20);
  });

  test('shows a storefront only what something public uses; a secret key may ask for the rest', async () => {
    const [unused, hidden] = (await media.recordMany(2)) as [string, string];
    const secret = await media.publication({ visibility: 'private', media_ids: [hidden, media_ids[0]] });
    const total = async (query: string) => (await media.get(`/api/media?${query}`)).body.meta.item_count;
    const shown = await walk('/api/media?limit=50');
    expect(shown).not.toEqual(expect.arrayContaining([unused]));
    expect(shown).not.toEqual(expect.arrayContaining([hidden]));
    expect(await total('')).toBe(shown.length);
    const others = await walk('/api/media?visibility=private', media.get.bind(media));
    expect(others.slice(0, 2)).toEqual([hidden, unused]);
    expect(await total('visibility=all')).toBe(shown.length + others.length);
    for (const [query, ids] of [
      [`publication_id=${secret}`, []],
      [`publication_id=${secret}&visibility=private`, [hidden, media_ids[0]]],
      [`publication_id=${secret}&visibility=all`, [hidden, media_ids[0]]],
      [`publication_id=${publication}&visibility=private`, []],
      [`publication_id=${listing}`, []],
    ] as const)
      expect([query, idsOf(await media.get(`/api/media?${query}`))]).toEqual([query, ids]);
    const managed = await media.get(`/api/publication/${secret}?expand=media&visibility=private`);
    const { url } = managed.body.data.media;
    expect(await walk(url, media.get.bind(media))).toEqual([hidden, media_ids[0]]);
    expect((await publicRead('/api/media?visibility=all')).body.error.code).toBe('INSUFFICIENT_PERMISSIONS');
  });

  test('requires read:media, checks its parameters, and stays within the store', async () => {
    const { harness, shop } = media;
    const unpermitted = await harness.newKey('public', [shop.store_id], ['read:publications']);
    const refused = await media.get('/api/media', {}, unpermitted.token);
    expect(refused.body.error.code).toBe('INSUFFICIENT_PERMISSIONS');
    expect((await publicRead('/api/media?publication_id=x')).body.error.code).toBe('INVALID_UUID');
    expect((await publicRead('/api/media?limit=51')).body.error.code).toBe('VALIDATION_ERROR');
    const other = await harness.newShop();
    const foreign = await media.get(`/api/media?publication_id=${publication}`, {}, other.public.token);
    expect([foreign.status, foreign.body.data, foreign.body.meta.item_count]).toEqual([200, [], 0]);
  });
});

test('the documents equal a fold of the log', async () => {
  await media.harness.settled();
  expect(await media.verify()).toMatchObject({ clean: true, undecided: 0, differences: [] });
});
