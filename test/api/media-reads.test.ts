import { createHash } from 'node:crypto';
import { chunks } from '../support/media';
import { flatPicture } from '../support/pictures';
import { MediaShop } from './media-shop';

const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8059';
const PIXELS = Buffer.from('GIF89a - a picture that was made of an upload');
const HASH = createHash('sha256').update(PIXELS).digest('hex');
const PICTURE = `/media/live/${HASH}.gif`;

describe('GET /api/media/:id', () => {
  let media: MediaShop;
  let id: string;

  beforeAll(async () => {
    media = await MediaShop.open();
    id = await media.record();
  });
  afterAll(() => media.harness.close());

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

  test('requires read:media, works with public keys and HEAD, and does not find media of other stores', async () => {
    const path = `/api/media/${id}`;
    const { harness, shop } = media;
    expect((await media.get(path, {}, shop.public.token)).body.data.id).toBe(id);
    const head = await harness.request('HEAD', path, { token: media.token });
    expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', expect.any(String)]);
    const unpermitted = await harness.newKey('public', [shop.store_id], ['read:publications']);
    expect((await media.get(path, {}, unpermitted.token)).body.error.code).toBe('INSUFFICIENT_PERMISSIONS');
    const other = await harness.newShop();
    expect((await media.get(path, {}, other.secret.token)).body.error.code).toBe('MEDIA_NOT_FOUND');
    expect((await media.get(`/api/media/${UNKNOWN}`)).body.error.code).toBe('MEDIA_NOT_FOUND');
    expect((await media.get('/api/media/x')).body.error.code).toBe('INVALID_UUID');
    expect((await harness.request('GET', path)).body.error.code).toBe('UNAUTHORIZED');
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
  const load = (method: string, path: string, headers: Readonly<Record<string, string>> = {}) =>
    media.harness.request(method, path, { headers });

  beforeAll(async () => {
    media = await MediaShop.open();
    await media.makeReady(await media.record(), PIXELS, 'image/gif');
  });
  afterAll(() => media.harness.close());

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

  test.each([
    ['bytes=0-4', 'GIF89', 'bytes 0-4/45'],
    ['bytes=36-', 'an upload', 'bytes 36-44/45'],
    ['bytes=-6', 'upload', 'bytes 39-44/45'],
    ['bytes=39-1000', 'upload', 'bytes 39-44/45'],
    ['bytes=-1000', PIXELS.toString(), 'bytes 0-44/45'],
  ])('returns a part for %s', async (range, text, content_range) => {
    const reply = await load('GET', PICTURE, { range });
    expect([reply.status, reply.text, reply.headers.get('content-range')]).toEqual([
      206,
      text,
      content_range,
    ]);
  });

  test.each(['bytes=45-', 'bytes=45-50', 'bytes=-0'])(
    'returns 416 for %s, which is past the end',
    async (range) => {
      const reply = await load('GET', PICTURE, { range });
      expect([reply.status, reply.body.error.code]).toEqual([416, 'INVALID_REQUEST']);
      expect(reply.headers.get('content-range')).toBe('bytes */45');
    },
  );

  test.each(['bytes=0-1,3-4', 'bytes=5-4', 'bytes=x', 'lines=0-1', 'bytes=-'])(
    'ignores the invalid or unsupported range %s',
    async (range) => {
      expect((await load('GET', PICTURE, { range })).status).toBe(200);
    },
  );

  test('ignores the range if If-Range has another ETag', async () => {
    const range = 'bytes=0-4';
    expect((await load('GET', PICTURE, { range, 'if-range': '"x"' })).status).toBe(200);
    expect((await load('GET', PICTURE, { range, 'if-range': `"${HASH}"` })).status).toBe(206);
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

describe('media in other resources', () => {
  let media: MediaShop;

  beforeAll(async () => {
    media = await MediaShop.open();
  });
  afterAll(() => media.harness.close());

  const ids = (collection: { data: { id: string }[] }): string[] => collection.data.map(({ id }) => id);
  const publicRead = (path: string) => media.get(path, {}, media.shop.public.token);

  test('are in the order of media_ids in publications and listings, and newest first in stores', async () => {
    const uploaded = await media.recordMany(3);
    const media_ids = [uploaded[1]!, uploaded[2]!, uploaded[0]!];
    const publication = await media.publication({ media_ids });
    const listing = await media.listing({ media_ids });
    for (const path of [`/api/publication/${publication}`, `/api/listing/${listing}`]) {
      const { data } = (await publicRead(`${path}?expand=media`)).body;
      expect(ids(data.media)).toEqual(media_ids);
      expect(data.media).toMatchObject({ object: 'collection', total_count: 3, has_more: false });
      expect(data.stats.media_count).toBe(3);
      expect((await publicRead(path)).body.data).not.toHaveProperty('media');
    }
    const { data } = (await publicRead('/api/store?expand=media')).body;
    expect(ids(data.media)).toEqual(uploaded.toReversed());
    expect(data.media.total_count).toBe(3);
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
      expect(data.stats.media_count).toBe(1);
    }
    expect((await publicRead(`/api/media/${deleted}`)).body.error.code).toBe('MEDIA_NOT_FOUND');
    const patch = await media.harness.request('PATCH', `/api/publication/${publication}`, {
      token: media.token,
      body: { title: 'Coffee' },
    });
    expect(patch.body.data.stats.media_count).toBe(1);
    const page = await publicRead('/api/publications');
    const listed = page.body.data.find(({ id }: { id: string }) => id === publication);
    expect(listed.stats.media_count).toBe(1);
  });
});
