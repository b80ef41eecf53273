import { request } from 'node:http';
import { connect } from 'node:net';
import { loadSharp } from '../../shared/images/sharp';
import { type Harness, type Reply, startHarness } from '../support/harness';
import { flatPicture, pngDeclaringSize } from '../support/pictures';
import { verifyDocuments } from '../support/verify-documents';
import { waitFor, within } from '../support/wait-for';
import { MediaShop, type Query } from './media-shop';
import { expectError } from './replies';

const LIMIT = 10_485_760;
const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8059';

let harness: Harness;
beforeAll(async () => {
  // `verify` compares all documents of the service.
  harness = await startHarness({ is_own: true });
});
afterAll(() => harness.close());

describe('the pictures of an upload', () => {
  let media: MediaShop;
  beforeAll(async () => {
    media = await MediaShop.of(harness);
  });

  interface PictureRecord {
    readonly url: string;
    readonly width: number;
    readonly height: number;
    readonly mime_type: string;
  }

  /** Loads a picture without a token, like an `<img>`, and compares it with its record. */
  async function assertLoads({ url, width, height, mime_type }: PictureRecord): Promise<void> {
    const reply = await harness.request('GET', url);
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, mime_type]);
    expect(await loadSharp()(reply.bytes).metadata()).toMatchObject({ width, height, mediaType: mime_type });
  }

  async function uploaded(bytes: Uint8Array): Promise<string> {
    const reply = await media.send(bytes);
    expect(reply.status).toBe(201);
    expect(reply.body.data).toMatchObject({ status: 'processing', variants: [] });
    expect(reply.body.data.url).toBeUndefined();
    return reply.body.data.id;
  }

  test('become ready, and every URL in its record loads', async () => {
    const id = await uploaded(await flatPicture('jpeg', { width: 1_700, height: 17 }));
    const { data } = (await media.ready(id)).body;
    expect(data).toMatchObject({ mime_type: 'image/jpeg', width: 1_700, height: 17 });
    await assertLoads(data);
    const variants = data.variants.map(({ name, width }: PictureRecord & { name: string }) => [name, width]);
    expect(variants).toEqual(Object.entries({ thumb: 200, small: 480, medium: 960, large: 1600 }));
    for (const variant of data.variants) await assertLoads(variant);
    const placeholder = Buffer.from(data.placeholder.split(',')[1], 'base64');
    expect((await loadSharp()(placeholder).metadata()).width).toBe(16);
  });

  test('fail if the file is damaged', async () => {
    const id = await uploaded(pngDeclaringSize({ width: 600, height: 400 }));
    const data = await waitFor(async () => {
      const { body } = await media.get(`/api/media/${id}`);
      return body.data.status === 'processing' ? undefined : body.data;
    });
    expect(data).toMatchObject({ id, status: 'failed', variants: [] });
    expect([data.url, data.placeholder]).toEqual([undefined, undefined]);
  });
});

describe('uploads', () => {
  let media: MediaShop;

  beforeAll(async () => {
    media = await MediaShop.of(harness);
  });

  /** Returns the hashes of all stored uploads of the environment. */
  async function storedHashes(): Promise<string[]> {
    const hashes: string[] = [];
    for await (const { hash } of media.harness.service.runtime.blobs.live.originals.list()) hashes.push(hash);
    return hashes.sort();
  }

  test('the type is detected by the bytes, with any file name', async () => {
    const bytes = await flatPicture('webp', { width: 64, height: 48 });
    const reply = await media.sendForm({ file: bytes, alt: 'A green field' });
    expect(reply.status).toBe(201);
    expect(reply.body.data).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      object: 'media',
      status: 'processing',
      mime_type: 'image/webp',
      size_bytes: bytes.length,
      ...{ width: 64, height: 48, alt: 'A green field', variants: [] },
      created_at: expect.any(String),
      updated_at: reply.body.data.created_at,
    });
    expect(reply.headers.get('location')).toBe(`/api/media/${reply.body.data.id}`);
    expect(reply.headers.get('x-catalog-position')).toMatch(/^\d+$/);
    expect(reply.headers.get('etag')).toMatch(/^"1-/);
    const read = await media.get(reply.headers.get('location')!);
    expect(read.body.data).toMatchObject({ id: reply.body.data.id, mime_type: 'image/webp' });
  });

  test('a missing or empty file returns FIELD_REQUIRED', async () => {
    expectError(await media.sendForm({ alt: 'Nothing' }), 400, 'FIELD_REQUIRED', 'file');
    expectError(await media.sendForm({ file: Buffer.alloc(0) }), 400, 'FIELD_REQUIRED', 'file');
    expectError(
      await media.harness.request('POST', '/api/media', { token: media.token }),
      400,
      'FIELD_REQUIRED',
      'file',
    );
  });

  test('any other content type is rejected before the body is read', async () => {
    for (const type of ['application/json', 'text/plain', 'application/octet-stream', 'multipart/mixed'])
      expectError(await media.send(media.png, { headers: { 'content-type': type } }), 415, 'INVALID_REQUEST');
    expectError(
      await media.send(media.png, { headers: { 'content-encoding': 'gzip' } }),
      415,
      'INVALID_REQUEST',
    );
  });

  test('a malformed form is rejected', async () => {
    const headers = { 'content-type': 'multipart/form-data' };
    expectError(await media.send(media.png, { headers }), 400, 'INVALID_REQUEST');
    const broken = Buffer.from('--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nGIF89a');
    const before = await storedHashes();
    expectError(
      await media.send(broken, { headers: { 'content-type': 'multipart/form-data; boundary=b' } }),
      400,
      'INVALID_REQUEST',
    );
    expect(await storedHashes()).toEqual(before);
  });

  test('unknown and repeated fields, other files, invalid ids and long texts are rejected', async () => {
    const form = (parts: Readonly<Record<string, string | Uint8Array>>) =>
      media.sendForm({ ...parts, file: media.png });
    expectError(await form({ name: 'x' }), 400, 'FIELD_INVALID', 'name');
    expectError(await form({ picture: media.png }), 400, 'FIELD_INVALID', 'picture');
    expectError(await form({ publication_id: 'x' }), 400, 'FIELD_INVALID', 'publication_id');
    expectError(await form({ alt: 'x'.repeat(501) }), 400, 'FIELD_TOO_LONG', 'alt');
    expectError(await form({ alt: 'x'.repeat(20_000) }), 400, 'FIELD_TOO_LONG', 'alt');
    expectError(
      await media.send(media.png, { query: { listing_id: 'x' } }),
      400,
      'INVALID_UUID',
      'listing_id',
    );
    expectError(
      await media.send(media.png, { query: { alt: 'x'.repeat(501) } }),
      400,
      'FIELD_TOO_LONG',
      'alt',
    );
    const twice = new FormData();
    for (const alt of ['a', 'b']) twice.append('alt', alt);
    expectError(
      await media.harness.request('POST', '/api/media', { token: media.token, body: twice }),
      400,
      'FIELD_INVALID',
      'alt',
    );
  });

  test('a text that is not UTF-8 is rejected, and the file is not stored', async () => {
    const before = await storedHashes();
    const form = (alt: Buffer, { type = '', first = true } = {}): Promise<Reply> => {
      const text = [`--b\r\nContent-Disposition: form-data; name="alt"\r\n${type}\r\n`, alt, '\r\n'];
      const file = ['--b\r\nContent-Disposition: form-data; name="file"\r\n\r\n', media.png, '\r\n'];
      const parts = [...(first ? [...text, ...file] : [...file, ...text]), '--b--\r\n'];
      return media.send(Buffer.concat(parts.map((part) => Buffer.from(part as string))), {
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
      });
    };
    const latin1 = Buffer.from('caf\xe9', 'latin1');
    const type = (charset: string): string => `Content-Type: text/plain; charset=${charset}\r\n`;
    expectError(await form(latin1), 400, 'INVALID_REQUEST');
    expectError(await form(Buffer.from([0xff])), 400, 'INVALID_REQUEST');
    expectError(await form(latin1, { type: type('utf-8') }), 400, 'INVALID_REQUEST');
    expect(await storedHashes()).toEqual(before);
    expectError(await form(latin1, { first: false }), 400, 'INVALID_REQUEST');
    const accepted = await form(Buffer.from('café 🫖'));
    expect([accepted.status, accepted.body.data?.alt]).toEqual([201, 'café 🫖']);
    const declared = await form(latin1, { type: type('ISO-8859-1') });
    expect([declared.status, declared.body.data?.alt]).toEqual([201, 'café']);
  });

  test('a query that is not UTF-8 is rejected', async () => {
    const send = (query: string): Promise<Reply> =>
      media.harness.request('POST', `/api/media?${query}`, {
        token: media.token,
        body: new Blob([new Uint8Array(media.png)]),
        headers: { 'content-type': 'image/png' },
      });
    expectError(await send('alt=caf%E9'), 400, 'VALIDATION_ERROR', 'alt');
    expect((await send('alt=caf%C3%A9&tracked=caf%E9')).body.data.alt).toBe('café');
  });

  test('a file that is not a supported image is rejected and not stored', async () => {
    const before = await storedHashes();
    for (const text of [
      '<svg xmlns="http://www.w3.org/2000/svg"/>',
      'GIF',
      '%PDF-1.7',
      'x'.repeat(500_000),
    ]) {
      expectError(await media.send(Buffer.from(text)), 415, 'INVALID_FORMAT');
      expectError(await media.sendForm({ file: Buffer.from(text) }), 415, 'INVALID_FORMAT');
    }
    expect(await storedHashes()).toEqual(before);
    const header = Buffer.concat([media.png.subarray(0, 20), Buffer.alloc(100)]);
    expectError(await media.send(header), 415, 'INVALID_FORMAT');
  });

  test('10,485,760 bytes are accepted; one byte more is rejected and not stored', async () => {
    const largest = Buffer.concat([media.png, Buffer.alloc(LIMIT - media.png.length)]);
    const accepted = await media.sendForm({ file: largest });
    expect([accepted.status, accepted.body.data?.size_bytes]).toEqual([201, LIMIT]);
    const before = await storedHashes();
    const more = Buffer.concat([largest, Buffer.alloc(1)]);
    expectError(await media.send(more), 413, 'LIMIT_EXCEEDED');
    expectError(await media.sendForm({ file: more }), 413, 'LIMIT_EXCEEDED');
    expect(await storedHashes()).toEqual(before);
  });

  test.each([
    ['more than 50 megapixels', { width: 10_000, height: 5_001 }],
    ['a side of more than 20,000 pixels', { width: 500_000, height: 100 }],
  ])('%s are rejected by reading the header', async (_name, size) => {
    const reply = await media.send(pngDeclaringSize(size));
    expectError(reply, 413, 'LIMIT_EXCEEDED');
    expect(reply.body.error.message).toContain('or a side of more than 20,000 pixels');
  });

  test('an endless upload gets a response and is disconnected', async () => {
    const { status, sent } = await sendEndlessly(media);
    expect(status).toBe('413');
    expect(sent).toBeLessThan(8 * LIMIT);
  });

  test.each(['image/png', 'multipart/form-data; boundary=b'])(
    'an upload that the client aborts is not stored: %s',
    async (type) => {
      const before = await storedHashes();
      const puts = await recordedPuts(() => abortUpload(media, type));
      expect(puts).toHaveLength(1);
      await expect(within(puts[0], 'the upload to be discarded')).rejects.toMatchObject({
        condition: 'malformed_request',
      });
      expect(await storedHashes()).toEqual(before);
    },
  );

  /** Runs `action`, and returns the promises of all calls of `put` on the store. Waits until there is at least one. */
  async function recordedPuts(action: () => Promise<unknown>): Promise<Promise<unknown>[]> {
    const { originals } = media.harness.service.runtime.blobs.live;
    const puts: Promise<unknown>[] = [];
    const put = originals.put.bind(originals);
    const spy = jest.spyOn(originals, 'put').mockImplementation((bytes) => {
      const putting = put(bytes);
      putting.catch(() => {});
      puts.push(putting);
      return putting;
    });
    try {
      await action();
      await waitFor(() => puts.length > 0, { what: 'an upload to reach the store' });
      return puts;
    } finally {
      spy.mockRestore();
    }
  }

  describe('with an Idempotency-Key', () => {
    test('are compared by their content, not by the boundary of the form', async () => {
      const headers = { 'idempotency-key': 'upload-2' };
      const first = await media.sendForm({ file: media.png, alt: 'a' }, headers);
      const again = await media.sendForm({ file: media.png, alt: 'a' }, headers);
      expect(again.body.data.id).toBe(first.body.data.id);
      const other = await flatPicture('png', { width: 31, height: 20 });
      expectError(await media.sendForm({ file: other, alt: 'a' }, headers), 409, 'DUPLICATE_OPERATION');
      expectError(await media.sendForm({ file: media.png, alt: 'b' }, headers), 409, 'DUPLICATE_OPERATION');
    });

    test('keep the key for the same upload if it is stored but cannot be added', async () => {
      const { harness, token } = media;
      const headers = { 'idempotency-key': 'upload-4' };
      const body = { title: 'Tea', price_currency: 'USD', price_amount: 1 };
      const created = await harness.request('POST', '/api/publication', { token, body });
      const publication_id: string = created.body.data.id;
      // Another request deletes the publication while the upload is stored.
      const log = harness.service.runtime.events.live;
      const append = log.append.bind(log);
      log.append = async (...parameters) => {
        const appended = await append(...parameters);
        // Views, and the picture of an earlier upload, may be appended meanwhile.
        if (parameters[2].every(({ type }) => type !== 'MediaUploaded')) return appended;
        log.append = append;
        await harness.request('DELETE', `/api/publication/${publication_id}`, { token });
        return appended;
      };
      const upload = () => media.send(media.png, { headers, query: { publication_id } });
      const refused = await upload();
      expectError(refused, 409, 'CONFLICT');

      const other = await harness.request('POST', '/api/publication', { token, headers, body });
      expectError(other, 409, 'DUPLICATE_OPERATION');
      const again = await upload();
      expectError(again, 409, 'CONFLICT');
      // It names the same media: nothing was uploaded twice.
      expect(again.body.error.message).toBe(refused.body.error.message);
    });
  });
});

describe('an upload with publication_id or listing_id', () => {
  let media: MediaShop;

  beforeAll(async () => {
    media = await MediaShop.of(harness);
  });

  const shown = async (path: string): Promise<string[]> => {
    const { data } = (await media.get(`${path}?expand=media&visibility=all`)).body;
    return data.media.data.map(({ id }: { id: string }) => id);
  };

  test('is added as the last media of the publication and the listing', async () => {
    const first = await media.record();
    const publication_id = await media.publication({ media_ids: [first], visibility: 'private' });
    const listing_id = await media.listing();
    const reply = await media.sendForm({ publication_id, listing_id, file: media.png });
    expect(reply.status).toBe(201);
    const { id } = reply.body.data;
    expect(await shown(`/api/publication/${publication_id}`)).toEqual([first, id]);
    expect(await shown(`/api/listing/${listing_id}`)).toEqual([id]);
  });

  describe('with a key that only has write:media', () => {
    const FIELDS = ['publication_id', 'listing_id'] as const;
    const keyWithout = async (field: (typeof FIELDS)[number]): Promise<string> => {
      const missing = { publication_id: 'write:publications', listing_id: 'write:listings' } as const;
      const others = (['write:publications', 'write:listings'] as const).filter(
        (one) => one !== missing[field],
      );
      const permissions = ['read:media', 'write:media', ...others] as const;
      return (await media.harness.newKey('secret', [media.shop.store_id], permissions)).token;
    };
    const target = (field: (typeof FIELDS)[number]) =>
      field === 'publication_id' ? media.publication() : media.listing();
    const countStoredFiles = async (): Promise<number> => {
      let files = 0;
      for await (const _ of media.harness.service.runtime.blobs.live.originals.list()) files++;
      return files;
    };
    const errorOf = ({ status, body }: Reply) => [status, body.error?.code];

    test.each(FIELDS)('is rejected before the file is read if %s is in the query', async (field) => {
      const token = await keyWithout(field);
      const other = FIELDS.find((one) => one !== field)!;
      const permitted = { [other]: await target(other) };
      expect((await media.send(media.png, { query: permitted, token })).status).toBe(201);
      const query = { [field]: await target(field) };
      const before = [await countMedia(), await countStoredFiles()];
      // If the service read the body, a file that is not a picture would return 415 and an empty file 400.
      for (const file of [media.png, Buffer.from('no picture'), Buffer.alloc(0)])
        expect(errorOf(await media.send(file, { query, token }))).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
      expect([await countMedia(), await countStoredFiles()]).toEqual(before);
    });

    test.each(FIELDS)('is rejected as soon as the form contains %s', async (field) => {
      const token = await keyWithout(field);
      const id = await target(field);
      const file = await flatPicture('png', { width: 40, height: field.length });
      const before = [await countMedia(), await countStoredFiles()];
      const forbidden = [403, 'INSUFFICIENT_PERMISSIONS'];
      expect(errorOf(await media.sendForm({ [field]: id, file }, {}, token))).toEqual(forbidden);
      expect([await countMedia(), await countStoredFiles()]).toEqual(before);
      expect(errorOf(await media.sendForm({ file, [field]: id }, {}, token))).toEqual(forbidden);
      expect(await countMedia()).toBe(before[0]);
      const path = field === 'publication_id' ? `/api/publication/${id}` : `/api/listing/${id}`;
      expect(await shown(path)).toEqual([]);
      expect((await media.sendForm({ [field]: '', file }, {}, token)).status).toBe(201);
    });
  });

  test('is rejected, and not stored, if that resource is unknown, deleted or of another store', async () => {
    const other = await media.harness.newShop();
    const foreign_listing = await media.harness.request('POST', '/api/listing', {
      token: other.secret.token,
      body: { name: 'Strange' },
    });
    const deleted_id = await media.publication();
    await media.harness.request('DELETE', `/api/publication/${deleted_id}`, { token: media.token });
    const before = await countMedia();
    const cases: [Query, string][] = [
      [{ publication_id: UNKNOWN }, 'publication_id'],
      [{ publication_id: deleted_id }, 'publication_id'],
      [{ listing_id: UNKNOWN }, 'listing_id'],
      [{ listing_id: foreign_listing.body.data.id }, 'listing_id'],
      [{ publication_id: await media.publication(), listing_id: UNKNOWN }, 'listing_id'],
    ];
    for (const [query, field] of cases) {
      const reply = await media.send(media.png, { query });
      expect([reply.status, reply.body.error.code, reply.body.error.details.field]).toEqual([
        ...[400, 'FIELD_INVALID', field],
      ]);
      expect((await media.sendForm({ ...query, file: media.png })).body.error.details.field).toBe(field);
    }
    expect(await countMedia()).toBe(before);
  });

  test('is rejected if that resource has the maximum number of media', async () => {
    const media_ids = await media.recordMany(50);
    const publication_id = await media.publication({ media_ids });
    const listing_id = await media.listing({ media_ids: media_ids.slice(0, 20) });
    for (const query of [{ publication_id }, { listing_id }]) {
      const reply = await media.send(media.png, { query });
      expect([reply.status, reply.body.error.details.field]).toEqual([400, Object.keys(query)[0]]);
    }
    await media.harness.request('DELETE', `/api/media/${media_ids[3]}`, { token: media.token });
    expect((await media.send(media.png, { query: { publication_id, listing_id } })).status).toBe(201);
  });

  async function countMedia(): Promise<number> {
    return (await media.get('/api/store?expand=media&visibility=all')).body.data.media.total_count;
  }
});

describe('DELETE /api/media/:id', () => {
  let media: MediaShop;
  const remove = (id: string, headers: Query = {}, token = media.token) =>
    media.harness.request('DELETE', `/api/media/${id}`, { token, headers });

  beforeAll(async () => {
    media = await MediaShop.of(harness);
  });

  test('deletes a media, and returns 404 the second time', async () => {
    const id = await media.record();
    const reply = await remove(id);
    expect([reply.status, reply.body.data]).toEqual([200, { id, object: 'media', deleted: true }]);
    expect(reply.headers.get('x-catalog-position')).toMatch(/^\d+$/);
    expect([(await remove(id)).body.error.code, (await remove(UNKNOWN)).body.error.code]).toEqual([
      ...['MEDIA_NOT_FOUND', 'MEDIA_NOT_FOUND'],
    ]);
  });

  test('requires the version in If-Match', async () => {
    const id = await media.record();
    const { headers } = await media.get(`/api/media/${id}`);
    await media.makeReady(id, Buffer.from('pixels'));
    const stale = await remove(id, { 'if-match': headers.get('etag')! });
    expect([stale.status, stale.body.error.code]).toEqual([412, 'CONFLICT']);
    const fresh = await media.get(`/api/media/${id}`);
    expect((await remove(id, { 'if-match': fresh.headers.get('etag')! })).status).toBe(200);
  });
});

/** Sends picture bytes until the server closes the connection, ignoring its response. */
async function sendEndlessly({ harness, token, png }: MediaShop): Promise<{ status: string; sent: number }> {
  const { hostname, port } = new URL(harness.url);
  const socket = connect(Number(port), hostname);
  let sent = 0;
  let answer = '';
  const send = (bytes: Buffer): boolean => {
    sent += bytes.length;
    return socket.write(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, CRLF]));
  };
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  socket.on('error', () => {});
  socket.on('data', (data) => {
    answer += String(data);
  });
  socket.write(
    `POST /api/media HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer ${token}\r\n` +
      'Content-Type: image/png\r\nTransfer-Encoding: chunked\r\n\r\n',
  );
  send(png);
  const chunk = Buffer.alloc(65_536);
  while (!socket.destroyed) {
    const ready = send(chunk) || new Promise((resolve) => socket.once('drain', resolve));
    await within(Promise.race([ready, closed]), 'the server to read the upload or to close the connection');
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { status: answer.slice('HTTP/1.1 '.length).slice(0, 3), sent };
}

const CRLF = Buffer.from('\r\n');

/** Starts an upload, and disconnects when the server has started to store it. */
async function abortUpload({ harness, token, png }: MediaShop, type: string): Promise<void> {
  const { originals } = harness.service.runtime.blobs.live;
  const put = jest.mocked(originals.put);
  const headers = { authorization: `Bearer ${token}`, 'content-type': type, 'content-length': 5_000_000 };
  const upload = request(`${harness.url}/api/media`, { method: 'POST', headers });
  upload.on('error', () => {});
  const part = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n';
  if (type.startsWith('multipart')) upload.write(part);
  upload.write(png);
  upload.write(Buffer.alloc(1_000_000));
  await waitFor(() => put.mock.calls.length > 0, { what: 'the upload to begin' });
  upload.destroy();
}

describe('PATCH /api/media/:id', () => {
  let media: MediaShop;
  beforeAll(async () => {
    media = await MediaShop.of(harness);
  });
  const patch = (id: string, body: unknown, headers: Query = {}, token = media.token): Promise<Reply> =>
    harness.request('PATCH', `/api/media/${id}`, { token, body, headers });
  const FOCAL_POINT = { x: 0.25, y: 1 };

  test('changes the alternative text and the focal point, everywhere the picture is shown', async () => {
    const id = await media.record();
    const publication = await media.publication({ media_ids: [id] });
    const listing = await media.listing({ media_ids: [id] });
    const reply = await patch(id, { alt: ' A cup ', focal_point: FOCAL_POINT });
    expect([reply.status, reply.body.data]).toMatchObject([
      200,
      { id, status: 'processing', alt: 'A cup', focal_point: FOCAL_POINT },
    ]);
    const shown = async (path: string) =>
      (await media.get(`${path}?expand=media`, {}, media.shop.public.token)).body.data;
    expect(await shown(`/api/media/${id}`)).toEqual(reply.body.data);
    for (const path of [`/api/publication/${publication}`, `/api/listing/${listing}`, '/api/store'])
      expect((await shown(path)).media.data).toEqual([reply.body.data]);

    const cleared = await patch(id, { alt: null });
    expect(cleared.body.data).toMatchObject({ focal_point: FOCAL_POINT });
    expect(cleared.body.data).not.toHaveProperty('alt');
    await media.makeReady(id, media.png);
    expect((await shown(`/api/publication/${publication}`)).media.data).toMatchObject([
      { status: 'ready', focal_point: FOCAL_POINT },
    ]);
    expect(await verifyDocuments(harness, 'live')).toMatchObject({ differences: [] });
  });

  test('compares If-Match, and changes nothing if the values are the same', async () => {
    const id = await media.record();
    const first = await patch(id, { alt: 'A cup' }, { 'if-match': '"1-x"' });
    expect(first.headers.get('etag')).toMatch(/^"2-/);
    const again = await patch(id, { alt: 'A cup', store_id: media.shop.store_id });
    expect(again.headers.get('etag')).toBe(first.headers.get('etag'));
    expectError(await patch(id, { alt: 'A mug' }, { 'if-match': '"1-x"' }), 412, 'CONFLICT');
    const read = await media.get(`/api/media/${id}`);
    expect(read.headers.get('etag')).toBe(first.headers.get('etag'));
  });

  test.each([
    ['alt', '', 'FIELD_TOO_SHORT'],
    ['alt', 'x'.repeat(501), 'FIELD_TOO_LONG'],
    ['focal_point', { x: 0.5 }, 'FIELD_REQUIRED', 'focal_point.y'],
    ['focal_point', { x: 1.01, y: 0 }, 'FIELD_INVALID', 'focal_point.x'],
    ['focal_point', { x: '0', y: 0 }, 'FIELD_INVALID', 'focal_point.x'],
    ['width', 30, 'FIELD_INVALID'],
    ['store_id', UNKNOWN, 'FIELD_INVALID'],
  ])('rejects %s %j with %s', async (field, value, code, at = field) => {
    const id = await media.record();
    expectError(await patch(id, { [field]: value }), 400, code, at);
  });
});
