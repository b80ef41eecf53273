import { createHash } from 'node:crypto';
import { type Harness, type Reply, startHarness } from '../support/harness';
import { chunks } from '../support/media';
import { flatPicture } from '../support/pictures';
import { verifyDocuments } from '../support/verify-documents';
import { MediaShop, type Query } from './media-shop';
import { expectError } from './replies';

const PIXELS = Buffer.from('GIF89a - a picture that was made of an upload');
const HASH = createHash('sha256').update(PIXELS).digest('hex');
const PICTURE = `/media/live/${HASH}.gif`;

let harness: Harness;
beforeAll(async () => {
  // `verify` compares all documents of the service.
  harness = await startHarness({ is_own: true });
});
afterAll(() => harness.close());

describe('GET /api/media/:id', () => {
  let media: MediaShop;
  let id: string;

  beforeAll(async () => {
    media = await MediaShop.of(harness);
    id = await media.record();
  });

  test('returns the record, with type and sizes immediately, and URLs when it is ready', async () => {
    const before = await media.get(`/api/media/${id}`);
    expect(before.body.data).toMatchObject({ status: 'processing', width: 30, height: 20, variants: [] });
    expect(before.body.data).not.toHaveProperty('url');
    await media.makeReady(id, PIXELS, 'image/gif');
    const after = await media.get(`/api/media/${id}`);
    expect(after.body.data).toMatchObject({ status: 'ready', url: PICTURE });
    expect(after.body.data.variants.map(({ name }: { name: string }) => name)).toEqual([
      ...['thumb', 'small', 'medium', 'large'],
    ]);
    expect(after.headers.get('etag')).toMatch(/^"2-/);
    const again = await media.get(`/api/media/${id}`, { 'if-none-match': after.headers.get('etag')! });
    expect([again.status, again.text]).toEqual([304, '']);
    const changed = await media.get(`/api/media/${id}`, { 'if-none-match': before.headers.get('etag')! });
    expect(changed.status).toBe(200);
  });

  test('works with public keys and HEAD', async () => {
    const path = `/api/media/${id}`;
    const { harness, shop } = media;
    expect((await media.get(path, {}, shop.public.token)).body.data.id).toBe(id);
    const head = await harness.request('HEAD', path, { token: media.token });
    expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', expect.any(String)]);
  });

  test('returns the picture if Accept prefers an image to JSON', async () => {
    const path = `/api/media/${id}`;
    for (const accept of [
      'image/*',
      'image/avif,image/webp,*/*;q=0.8',
      'application/json;q=0.1, image/png',
    ]) {
      const bytes = await media.get(path, { accept });
      expect([bytes.status, bytes.headers.get('content-type')]).toEqual([200, 'image/gif']);
      expect(bytes.bytes).toEqual(PIXELS);
      expect(bytes.headers.get('vary')).toContain('Accept');
      expect(bytes.headers.get('cache-control')).toBe('private, no-cache');
    }
    for (const accept of ['*/*', 'application/json, image/*', 'image/*;q=0.5, application/*', 'text/html'])
      expect((await media.get(path, { accept })).body.data.id).toBe(id);
    const range = await media.get(path, { accept: 'image/*', range: 'bytes=0-4' });
    expect([range.status, range.text]).toEqual([206, 'GIF89']);
    const known = await media.get(path, { accept: 'image/*', 'if-none-match': `"${HASH}"` });
    expect(known.status).toBe(304);
  });

  test('returns 404 with Retry-After for the picture of a media that is processing', async () => {
    const processing = await media.record();
    const reply = await media.get(`/api/media/${processing}`, { accept: 'image/*' });
    expect([reply.status, reply.body.error.code]).toEqual([404, 'MEDIA_NOT_FOUND']);
    expect(reply.headers.get('retry-after')).toBe('1');
  });
});

describe('GET /media/:environment/:file', () => {
  let media: MediaShop;
  const load = (method: string, path: string, headers: Query = {}) =>
    harness.request(method, path, { headers });

  beforeAll(async () => {
    media = await MediaShop.of(harness);
    await media.makeReady(await media.record(), PIXELS, 'image/gif');
  });

  test('returns the picture without a token, for any origin, immutable, and with safe headers', async () => {
    const reply = await load('GET', PICTURE, { origin: 'https://shop.example' });
    expect(reply.status).toBe(200);
    expect(reply.bytes).toEqual(PIXELS);
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      'content-type': 'image/gif',
      'content-length': String(PIXELS.length),
      'cache-control': 'public, max-age=31536000, immutable',
      etag: `"${HASH}"`,
      'accept-ranges': 'bytes',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
    });
    expect(reply.headers.has('x-ratelimit-limit')).toBe(false);
    const head = await load('HEAD', PICTURE);
    expect([head.status, head.text, head.headers.get('content-length')]).toEqual([200, '', '45']);
    const options = await load('OPTIONS', PICTURE);
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
    expect((await load('POST', PICTURE)).status).toBe(405);
  });

  test('returns 304 if If-None-Match has the ETag', async () => {
    expect((await load('GET', PICTURE, { 'if-none-match': `W/"x", "${HASH}"` })).status).toBe(304);
    expect((await load('GET', PICTURE, { 'if-none-match': '"x"' })).status).toBe(200);
  });

  test('returns a part for a range that it has, 416 for one past its end, and everything for any other', async () => {
    const answer = async (headers: Query) => {
      const reply = await load('GET', PICTURE, headers);
      return [reply.status, reply.text, reply.headers.get('content-range')];
    };
    for (const [range, text, content_range] of [
      ['bytes=0-4', 'GIF89', 'bytes 0-4/45'],
      ['bytes=36-', 'an upload', 'bytes 36-44/45'],
      ['bytes=-6', 'upload', 'bytes 39-44/45'],
      ['bytes=39-1000', 'upload', 'bytes 39-44/45'],
      ['bytes=-1000', PIXELS.toString(), 'bytes 0-44/45'],
    ] as const)
      expect([range, ...(await answer({ range }))]).toEqual([range, 206, text, content_range]);
    for (const range of ['bytes=45-', 'bytes=45-50', 'bytes=-0']) {
      const [status, text, content_range] = await answer({ range });
      expect([range, status, content_range]).toEqual([range, 416, 'bytes */45']);
      expect(text).toContain('"INVALID_REQUEST"');
    }
    for (const range of ['bytes=0-1,3-4', 'bytes=5-4', 'bytes=x', 'lines=0-1', 'bytes=-'])
      expect([range, ...(await answer({ range }))]).toEqual([range, 200, PIXELS.toString(), null]);
    expect((await answer({ range: 'bytes=0-4', 'if-range': '"x"' }))[0]).toBe(200);
    expect((await answer({ range: 'bytes=0-4', 'if-range': `"${HASH}"` }))[0]).toBe(206);
  });

  test('only accepts the extension of the actual type, also for cached types', async () => {
    const { pictures } = media.harness.service.runtime.blobs.live;
    const jpeg = await flatPicture('jpeg', { width: 9, height: 9 });
    const { hash } = await pictures.put(chunks(jpeg));
    const read = jest.spyOn(pictures, 'read');
    for (const extension of ['png', 'avif', 'jpeg', 'jpg', 'gif', 'webp', 'png']) {
      const reply = await load('GET', `/media/live/${hash}.${extension}`);
      const headers = [reply.status, reply.headers.get('content-type'), reply.headers.get('cache-control')];
      if (extension === 'jpg')
        expect(headers).toEqual([200, 'image/jpeg', 'public, max-age=31536000, immutable']);
      else
        expect(headers).toEqual([
          404,
          'application/json; charset=utf-8',
          expect.not.stringMatching(/public/),
        ]);
      const known = await load('GET', `/media/live/${hash}.${extension}`, { 'if-none-match': `"${hash}"` });
      expect(known.status).toBe(extension === 'jpg' ? 304 : 404);
    }
    // The first bytes are read once, and the complete picture for the one response that returns it.
    expect(read.mock.calls.map(([, range]) => range)).toEqual([{ first: 0, last: 63 }, undefined]);
    read.mockRestore();
    await pictures.delete(hash);
    expect((await load('GET', `/media/live/${hash}.jpg`)).status).toBe(404);
    const stray = await pictures.put(chunks(Buffer.from('<script>alert(1)</script>')));
    for (const extension of ['png', 'jpg', 'gif', 'webp', 'avif'])
      expect((await load('GET', `/media/live/${stray.hash}.${extension}`)).status).toBe(404);
  });

  test('returns 404 for uploads, other environments and other names', async () => {
    const uploaded = await media.send(media.png);
    const original = createHash('sha256').update(media.png).digest('hex');
    expect(uploaded.status).toBe(201);
    for (const path of [
      ...[`/media/live/${original}.png`, `/media/test/${HASH}.gif`, `/media/live/${HASH}.svg`],
      ...[`/media/live/${HASH}`, `/media/other/${HASH}.gif`, '/media/live/..%2f..%2fevents.sqlite'],
      ...[`/media/live/${HASH.toUpperCase()}.gif`, '/media', '/media/live', '/media/live/'],
    ])
      expect([path, (await load('GET', path)).status]).toEqual([path, 404]);
  });
});

describe('the media of a shop', () => {
  let media: MediaShop;
  let media_ids: string[];
  let publication: string;
  let listing: string;

  beforeAll(async () => {
    media = await MediaShop.of(harness);
    media_ids = (await media.recordMany(50)).toReversed();
    publication = await media.publication({ media_ids });
    listing = await media.listing({ media_ids: media_ids.slice(10, 30) });
  });

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
      expect(page.body.data.find(({ id }: { id: string }) => id === publication).media_ids).toEqual(
        media_ids,
      );
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
  });

  test('are updated when they become ready and removed when they are deleted', async () => {
    const [kept, deleted] = (await media.recordMany(2)) as [string, string];
    const publication = await media.publication({ media_ids: [deleted, kept] });
    const listing = await media.listing({ media_ids: [deleted, kept] });
    await media.makeReady(kept, PIXELS, 'image/gif');
    const reply = await media.harness.request('DELETE', `/api/media/${deleted}`, { token: media.token });
    expect(reply.body.data).toEqual({ id: deleted, object: 'media', deleted: true });
    for (const path of [`/api/publication/${publication}`, `/api/listing/${listing}`]) {
      const { data } = (await publicRead(`${path}?expand=media`)).body;
      expect(data.media).toMatchObject({
        total_count: 1,
        data: [{ id: kept, status: 'ready', url: PICTURE }],
      });
      expect([data.media_ids, data.stats.media_count]).toEqual([[kept], 1]);
      // What was read can be sent back.
      expect((await patch(path, { media_ids: data.media_ids })).body.data.media_ids).toEqual([kept]);
    }
    expect((await publicRead(`/api/media/${deleted}`)).body.error.code).toBe('MEDIA_NOT_FOUND');
  });

  describe('the listing_id of a publication', () => {
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

    test('of one resource are each on one page, although their order changes meanwhile', async () => {
      const [first, second, third, late] = (await media.recordMany(4)) as [string, string, string, string];
      const id = await media.publication({ media_ids: [first, second, third] });
      const page = async (query: string) => publicRead(`/api/media?publication_id=${id}&limit=1&${query}`);
      const before = await page('page=1');
      expect(idsOf(before)).toEqual([first]);
      const after_second = (await page('page=2')).body.meta.pagination.next_cursor;
      expect(idsOf(await page(`cursor=${after_second}`))).toEqual([third]);
      const path = `/api/publication/${id}`;
      const body = { media_ids: [late, third, first, second] };
      expect((await media.harness.request('PATCH', path, { token: media.token, body })).status).toBe(200);
      const rest: string[] = [];
      for (let { next_cursor } = before.body.meta.pagination; next_cursor; ) {
        const reply = await page(`cursor=${next_cursor}`);
        rest.push(...idsOf(reply));
        next_cursor = reply.body.meta.pagination.next_cursor;
      }
      expect(rest).toEqual([late, third, second]);
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
      expect((await publicRead('/api/media?visibility=all')).body.error.code).toBe(
        'INSUFFICIENT_PERMISSIONS',
      );
    });
  });

  test('the documents equal a fold of the log', async () => {
    await media.harness.settled();
    expect(await verifyDocuments(harness, 'live')).toMatchObject({
      clean: true,
      undecided: 0,
      differences: [],
    });
  });
});

/*
 * Media have no visibility of their own: what uses a media decides whether a storefront sees it
 * (docs/interface/reads.md#visibility).
 */
test('a media has the publications and listings that show it, for a secret key', async () => {
  const media = await MediaShop.of(harness);
  const [shown, other] = (await media.recordMany(2)) as [string, string];
  const listing = await media.listing({ name: 'Teas', media_ids: [shown] });
  const tea = await media.publication({ title: 'Tea', media_ids: [other, shown], visibility: 'private' });
  const gone = await media.publication({ media_ids: [shown] });
  await media.publication({ media_ids: [other] });
  const client = harness.client(media.shop.secret);
  await client.publications.delete(gone);
  const { data, meta } = await client.media.uses(shown, { limit: 1 }).page();
  expect([data.length, meta.item_count]).toEqual([1, 2]);
  expect(await client.media.uses(shown, { limit: 1 }).all()).toEqual([
    { id: listing, object: 'listing', title: 'Teas', visibility: 'public' },
    { id: tea, object: 'publication', title: 'Tea', visibility: 'private' },
  ]);
  const path = `/api/media/${shown}/uses`;
  expectError(await media.get(path, {}, media.shop.public.token), 403, 'INSUFFICIENT_PERMISSIONS');
  const stranger = await harness.newShop();
  expectError(await media.get(path, {}, stranger.secret.token), 404, 'MEDIA_NOT_FOUND');
});

describe('in_use', () => {
  test('lists media that something uses, or that nothing uses any more', async () => {
    const media = await MediaShop.of(harness);
    const [shown, hidden, unused] = (await media.recordMany(3)) as [string, string, string];
    const publication = await media.publication({ media_ids: [shown] });
    await media.listing({ media_ids: [hidden], visibility: 'private' });
    const listed = async (query: string) => {
      const { data, meta } = (await media.get(`/api/media?${query}`)).body;
      expect(meta.item_count).toBe(data.length);
      return data.map(({ id }: { id: string }) => id);
    };
    expect(await listed('in_use=true')).toEqual([shown]);
    expect(await listed('in_use=true&visibility=all')).toEqual([hidden, shown]);
    expect(await listed('in_use=true&visibility=private')).toEqual([hidden]);
    expect(await listed('in_use=false&visibility=all')).toEqual([unused]);
    expect(await listed(`in_use=true&publication_id=${publication}`)).toEqual([shown]);
    expect(await listed(`in_use=false&visibility=all&publication_id=${publication}`)).toEqual([]);
    await harness.client(media.shop.secret).publications.delete(publication);
    expect(await listed('in_use=false&visibility=private&order=asc')).toEqual([shown, unused]);
  });

  test('false is refused without a visibility that shows unused media', async () => {
    const media = await MediaShop.of(harness);
    const refused = await media.get('/api/media?in_use=false');
    expect([refused.status, refused.body.error]).toMatchObject([
      400,
      { code: 'VALIDATION_ERROR', details: { field: 'in_use' } },
    ]);
    expect((await media.get('/api/media?in_use=maybe&visibility=all')).status).toBe(400);
  });
});

describe('the visibility of media', () => {
  let media: MediaShop;

  beforeAll(async () => {
    media = await MediaShop.of(harness);
  });

  const publicRead = (path: string, headers = {}) => media.get(path, headers, media.shop.public.token);

  async function change(method: string, path: string, body?: object): Promise<void> {
    const reply = await media.harness.request(method, path, { token: media.token, ...(body && { body }) });
    expect([method, path, reply.status]).toEqual([method, path, 200]);
  }

  /** Returns whether the storefront's view of the store has the media. Compares all ways to read it. */
  async function isShown(id: string): Promise<boolean> {
    const { data } = (await publicRead('/api/store?expand=media')).body;
    const { data: managed } = (await media.get('/api/store?expand=media')).body;
    expect(managed.media).toEqual(data.media);
    expect(data.media.total_count).toBe(data.media.data.length);
    const is_in_store = data.media.data.some((one: { id: string }) => one.id === id);
    const hidden = (await media.get('/api/store?expand=media&visibility=private')).body.data.media.data;
    expect(hidden.some((one: { id: string }) => one.id === id)).toBe(!is_in_store);
    return is_in_store;
  }

  const statusOf = async (id: string): Promise<number> => (await publicRead(`/api/media/${id}`)).status;

  describe('a media that only private resources use', () => {
    let id: string;

    beforeAll(async () => {
      const upload = { query: { alt: 'The secret of next week' } };
      id = (await media.send(media.png, upload)).body.data.id;
      await media.ready(id);
      await media.publication({ visibility: 'private', media_ids: [id] });
      await media.listing({ visibility: 'private', media_ids: [id] });
    });

    test('is 404 for public keys by id, as record and as picture, whatever they know of it', async () => {
      const path = `/api/media/${id}`;
      const etag = (await media.get(path)).headers.get('etag')!;
      for (const headers of [{}, { accept: 'image/*' }, { 'if-none-match': etag }]) {
        const reply = await publicRead(path, headers);
        expect([reply.status, reply.body.error.code]).toEqual([404, 'MEDIA_NOT_FOUND']);
      }
      const head = await media.harness.request('HEAD', path, { token: media.shop.public.token });
      expect(head.status).toBe(404);
      for (const visibility of ['all', 'private']) {
        const reply = await publicRead(`${path}?visibility=${visibility}`);
        expect(reply.body.error.code).toBe('INSUFFICIENT_PERMISSIONS');
      }
    });

    test('is left out of the expansion and the total of the store, with its text', async () => {
      const before = (await publicRead('/api/store?expand=media')).body.data.media.total_count;
      const reply = await publicRead('/api/store?expand=media');
      expect(reply.text).not.toContain('secret of next week');
      expect(reply.body.data.media.data.map((one: { id: string }) => one.id)).not.toContain(id);
      const all = await media.get('/api/store?expand=media&visibility=all');
      expect(all.body.data.media.total_count).toBe(before + 1);
      expect(all.text).toContain('secret of next week');
    });

    test('can be read by id with a secret key, with every visibility', async () => {
      for (const query of ['', '?visibility=public', '?visibility=private', '?visibility=all'])
        expect((await media.get(`/api/media/${id}${query}`)).body.data).toMatchObject({
          id,
          status: 'ready',
        });
      const picture = await media.get(`/api/media/${id}`, { accept: 'image/*' });
      expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/png']);
    });
  });

  describe('a media appears in the storefront and disappears', () => {
    test('with the visibility of the listing that uses it', async () => {
      const id = await media.record();
      const listing = await media.listing({ media_ids: [id] });
      await media.publication({ visibility: 'private', media_ids: [id] });
      expect([await isShown(id), await statusOf(id)]).toEqual([true, 200]);
      await change('PATCH', `/api/listing/${listing}`, { visibility: 'private' });
      expect([await isShown(id), await statusOf(id)]).toEqual([false, 404]);
      await change('PATCH', `/api/listing/${listing}`, { visibility: 'public' });
      expect([await isShown(id), await statusOf(id)]).toEqual([true, 200]);
      await change('DELETE', `/api/listing/${listing}`);
      expect([await isShown(id), await statusOf(id)]).toEqual([false, 404]);
    });

    test('when the last public resource no longer uses it', async () => {
      const id = await media.record();
      await media.publication({ visibility: 'private', media_ids: [id] });
      const first = await media.publication({ media_ids: [id] });
      const second = await media.publication({ media_ids: [id] });
      await change('PATCH', `/api/publication/${first}`, { media_ids: [] });
      expect([await isShown(id), await statusOf(id)]).toEqual([true, 200]);
      await change('DELETE', `/api/publication/${second}`);
      expect([await isShown(id), await statusOf(id)]).toEqual([false, 404]);
      await change('PATCH', `/api/publication/${first}`, { media_ids: [id] });
      expect([await isShown(id), await statusOf(id)]).toEqual([true, 200]);
      await media.makeReady(id, PIXELS, 'image/gif');
      expect([await isShown(id), await statusOf(id)]).toEqual([true, 200]);
      await change('PATCH', `/api/publication/${first}`, { visibility: 'private' });
      expect([await isShown(id), await statusOf(id)]).toEqual([false, 404]);
    });

    test('by the own visibility of a publication, also if its listing is private', async () => {
      const listing_id = await media.listing({ visibility: 'private' });
      const id = await media.record();
      const publication = await media.publication({ listing_id, media_ids: [id] });
      expect((await publicRead(`/api/publication/${publication}`)).status).toBe(200);
      expect([await isShown(id), await statusOf(id)]).toEqual([true, 200]);
    });
  });

  test('a media that nothing uses can be read by its id and is in no expansion of the storefront', async () => {
    const id = await media.record();
    expect([await isShown(id), await statusOf(id)]).toEqual([false, 200]);
    const publication = await media.publication({ media_ids: [id] });
    expect([await isShown(id), await statusOf(id)]).toEqual([true, 200]);
    await change('DELETE', `/api/publication/${publication}`);
    expect([await isShown(id), await statusOf(id)]).toEqual([false, 200]);
  });
});
