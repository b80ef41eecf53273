import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { buildCommandApp } from '../../services/boot/apps';
import { refuseUnreadable } from '../../shared/http/errors';
import type { Reply } from '../support/harness';
import { avifOfContainerBrand, boastfulPng, FORMATS, flatPicture } from '../support/pictures';
import { waitFor } from '../support/wait-for';
import { MediaShop } from './media-shop';

const LIMIT = 10_485_760;
const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8059';

function refused(reply: Reply, status: number, code: string, field?: string): void {
  expect([reply.status, reply.body.error?.code, reply.body.error?.details?.field]).toEqual([
    status,
    code,
    field,
  ]);
}

describe('uploads', () => {
  let media: MediaShop;

  beforeAll(async () => {
    media = await MediaShop.open();
  });
  afterAll(() => media.harness.close());

  /** What the environment's store of uploads holds. */
  async function kept(): Promise<string[]> {
    const hashes: string[] = [];
    for await (const { hash } of media.harness.service.runtime.blobs.live.originals.list()) hashes.push(hash);
    return hashes.sort();
  }

  test.each(FORMATS)('%s is taken by its bytes, whatever it is called', async (format) => {
    const bytes = await flatPicture(format, { width: 64, height: 48 });
    const reply = await media.sendForm({ file: bytes, alt: 'A green field' });
    expect(reply.status).toBe(201);
    expect(reply.body.data).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      object: 'media',
      status: 'processing',
      mime_type: `image/${format}`,
      size_bytes: bytes.length,
      width: 64,
      height: 48,
      alt: 'A green field',
      variants: [],
      created_at: expect.any(String),
      updated_at: reply.body.data.created_at,
    });
    expect(reply.headers.get('location')).toBe(`/api/media/${reply.body.data.id}`);
    expect(reply.headers.get('x-catalog-position')).toMatch(/^\d+$/);
    expect(reply.headers.get('etag')).toMatch(/^"1-/);
    const read = await media.get(reply.headers.get('location')!);
    expect(read.body.data).toMatchObject({ id: reply.body.data.id, mime_type: `image/${format}` });
  });

  test('an AVIF whose major brand is its container is taken, and made ready', async () => {
    const reply = await media.send(await avifOfContainerBrand({ width: 64, height: 48 }));
    expect([reply.status, reply.body.data?.mime_type]).toEqual([201, 'image/avif']);
    const { body } = await media.ready(reply.body.data.id);
    const picture = await media.get(body.data.url);
    expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/avif']);
  });

  test('the bytes alone are taken too, with the fields in the query', async () => {
    const publication_id = await media.publication();
    const reply = await media.send(media.png, { query: { alt: 'Green', publication_id } });
    expect(reply.status).toBe(201);
    expect(reply.body.data).toMatchObject({ alt: 'Green', width: 30, height: 20 });
  });

  test('a field of a form that is empty counts as left out', async () => {
    const reply = await media.sendForm({ alt: '', publication_id: '', listing_id: '', file: media.png });
    expect(reply.status).toBe(201);
    expect(reply.body.data).not.toHaveProperty('alt');
  });

  test('without a file, or with an empty one, the file is missing', async () => {
    refused(await media.sendForm({ alt: 'Nothing' }), 400, 'FIELD_REQUIRED', 'file');
    refused(await media.sendForm({ file: Buffer.alloc(0) }), 400, 'FIELD_REQUIRED', 'file');
    refused(
      await media.harness.request('POST', '/api/media', { token: media.token }),
      400,
      'FIELD_REQUIRED',
      'file',
    );
  });

  test('any other content type is refused before it is read', async () => {
    for (const type of ['application/json', 'text/plain', 'application/octet-stream', 'multipart/mixed'])
      refused(await media.send(media.png, { headers: { 'content-type': type } }), 415, 'INVALID_REQUEST');
    refused(await media.send(media.png, { headers: { 'content-encoding': 'gzip' } }), 415, 'INVALID_REQUEST');
  });

  test('what is no form at all is malformed', async () => {
    const headers = { 'content-type': 'multipart/form-data' };
    refused(await media.send(media.png, { headers }), 400, 'INVALID_REQUEST');
    const broken = Buffer.from('--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nGIF89a');
    const before = await kept();
    refused(
      await media.send(broken, { headers: { 'content-type': 'multipart/form-data; boundary=b' } }),
      400,
      'INVALID_REQUEST',
    );
    expect(await kept()).toEqual(before);
  });

  test('fields are checked: unknown ones, repeated ones, other files, ids and lengths', async () => {
    const form = (parts: Readonly<Record<string, string | Uint8Array>>) =>
      media.sendForm({ ...parts, file: media.png });
    refused(await form({ name: 'x' }), 400, 'FIELD_INVALID', 'name');
    refused(await form({ picture: media.png }), 400, 'FIELD_INVALID', 'picture');
    refused(await form({ publication_id: 'x' }), 400, 'FIELD_INVALID', 'publication_id');
    refused(await form({ alt: 'x'.repeat(501) }), 400, 'FIELD_TOO_LONG', 'alt');
    refused(await form({ alt: 'x'.repeat(20_000) }), 400, 'FIELD_TOO_LONG', 'alt');
    refused(await media.send(media.png, { query: { listing_id: 'x' } }), 400, 'INVALID_UUID', 'listing_id');
    refused(await media.send(media.png, { query: { alt: 'x'.repeat(501) } }), 400, 'FIELD_TOO_LONG', 'alt');
    const twice = new FormData();
    for (const alt of ['a', 'b']) twice.append('alt', alt);
    refused(
      await media.harness.request('POST', '/api/media', { token: media.token, body: twice }),
      400,
      'FIELD_INVALID',
      'alt',
    );
  });

  test('a text that is no UTF-8 is refused, and nothing of the file kept', async () => {
    const before = await kept();
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
    refused(await form(latin1), 400, 'INVALID_REQUEST');
    refused(await form(Buffer.from([0xff])), 400, 'INVALID_REQUEST');
    refused(await form(latin1, { type: type('utf-8') }), 400, 'INVALID_REQUEST');
    expect(await kept()).toEqual(before);
    refused(await form(latin1, { first: false }), 400, 'INVALID_REQUEST');
    for (const reply of [
      await form(Buffer.from('café 🫖')),
      await form(Buffer.from('café 🫖'), { type: type('UTF-8') }),
    ])
      expect([reply.status, reply.body.data?.alt]).toEqual([201, 'café 🫖']);
    const declared = await form(latin1, { type: type('ISO-8859-1') });
    expect([declared.status, declared.body.data?.alt]).toEqual([201, 'café']);
  });

  test('nor is a query that is no UTF-8', async () => {
    const send = (query: string): Promise<Reply> =>
      media.harness.request('POST', `/api/media?${query}`, {
        token: media.token,
        body: new Blob([new Uint8Array(media.png)]),
        headers: { 'content-type': 'image/png' },
      });
    refused(await send('alt=caf%E9'), 400, 'VALIDATION_ERROR', 'alt');
    expect((await send('alt=caf%C3%A9&tracked=caf%E9')).body.data.alt).toBe('café');
  });

  test('what is no supported image is refused, and nothing of it kept', async () => {
    const before = await kept();
    for (const text of [
      '<svg xmlns="http://www.w3.org/2000/svg"/>',
      'GIF',
      'x'.repeat(500_000),
      '%PDF-1.7',
    ]) {
      refused(await media.send(Buffer.from(text)), 415, 'INVALID_FORMAT');
      refused(await media.sendForm({ file: Buffer.from(text) }), 415, 'INVALID_FORMAT');
    }
    expect(await kept()).toEqual(before);
    const header = Buffer.concat([media.png.subarray(0, 20), Buffer.alloc(100)]);
    refused(await media.send(header), 415, 'INVALID_FORMAT');
  });

  test('10,485,760 bytes are taken, one more is refused and nothing of it kept', async () => {
    const largest = Buffer.concat([media.png, Buffer.alloc(LIMIT - media.png.length)]);
    const taken = await media.sendForm({ file: largest });
    expect([taken.status, taken.body.data?.size_bytes]).toEqual([201, LIMIT]);
    expect((await media.send(largest)).status).toBe(201);
    const before = await kept();
    const more = Buffer.concat([largest, Buffer.alloc(1)]);
    refused(await media.send(more), 413, 'LIMIT_EXCEEDED');
    refused(await media.sendForm({ file: more }), 413, 'LIMIT_EXCEEDED');
    expect(await kept()).toEqual(before);
  });

  test('more than 50 megapixels are refused by the header alone', async () => {
    refused(await media.send(boastfulPng({ width: 10_000, height: 5_001 })), 413, 'LIMIT_EXCEEDED');
  });

  test('an upload that never ends is answered and cut off', async () => {
    const { status, sent } = await sendForEver(media);
    expect(status).toBe('413');
    expect(sent).toBeLessThan(8 * LIMIT);
  });

  test.each(['image/png', 'multipart/form-data; boundary=b'])(
    'an upload that the client gives up ends, and leaves nothing behind: %s',
    async (type) => {
      const before = await kept();
      const { puts } = await withPutsWatched(() => giveUp(media, type));
      expect(puts).toHaveLength(1);
      await expect(puts[0]).rejects.toMatchObject({ condition: 'malformed_request' });
      expect(await kept()).toEqual(before);
      expect((await media.send(media.png)).status).toBe(201);
    },
  );

  test('an upload that takes longer than a request may is cut off, and leaves nothing behind', async () => {
    const before = await kept();
    // The server that everybody uploads to, with less patience.
    const patience = { requestTimeout: 300, headersTimeout: 300, connectionsCheckingInterval: 50 };
    const server = createServer(patience, await buildCommandApp(media.harness.service.runtime));
    server.on('clientError', refuseUnreadable);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { puts, value } = await withPutsWatched(() => dawdle(media, port));
    expect(value).toMatch(/^HTTP\/1.1 408 /);
    await expect(puts[0]).rejects.toMatchObject({ condition: 'malformed_request' });
    expect(await kept()).toEqual(before);
    await new Promise((resolve) => server.close(resolve));
  });

  /** What becomes of the uploads that reach the store meanwhile; until at least one has. */
  async function withPutsWatched<Value>(
    story: () => Promise<Value>,
  ): Promise<{ puts: Promise<unknown>[]; value: Value }> {
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
      const value = await story();
      await waitFor(() => puts.length > 0, { what: 'an upload to reach the store' });
      return { puts, value };
    } finally {
      spy.mockRestore();
    }
  }

  test('a public key may not upload, nor a secret one without write:media', async () => {
    const { shop, harness } = media;
    refused(await media.send(media.png, { token: shop.public.token }), 403, 'INSUFFICIENT_PERMISSIONS');
    const reader = await harness.newKey('secret', [shop.store_id], ['read:media', 'write:publications']);
    refused(await media.send(media.png, { token: reader.token }), 403, 'INSUFFICIENT_PERMISSIONS');
    refused(await media.send(media.png, { token: 'x' }), 401, 'TOKEN_INVALID');
  });

  test("another store's is refused, and one that is not active", async () => {
    refused(await media.send(media.png, { query: { store_id: UNKNOWN } }), 403, 'STORE_ACCESS_DENIED');
    refused(await media.sendForm({ store_id: UNKNOWN, file: media.png }), 403, 'STORE_ACCESS_DENIED');
  });

  describe('with an Idempotency-Key', () => {
    test('are carried out once, and answered again', async () => {
      const headers = { 'idempotency-key': 'upload-1' };
      const first = await media.send(media.png, { headers });
      const again = await media.send(media.png, { headers });
      expect(again.status).toBe(201);
      expect(again.body).toEqual(first.body);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
    });

    test('are told apart by their bytes, not by how a form delimits them', async () => {
      const headers = { 'idempotency-key': 'upload-2' };
      const first = await media.sendForm({ file: media.png, alt: 'a' }, headers);
      const again = await media.sendForm({ file: media.png, alt: 'a' }, headers);
      expect(again.body.data.id).toBe(first.body.data.id);
      const other = await flatPicture('png', { width: 31, height: 20 });
      refused(await media.sendForm({ file: other, alt: 'a' }, headers), 409, 'DUPLICATE_OPERATION');
      refused(await media.sendForm({ file: media.png, alt: 'b' }, headers), 409, 'DUPLICATE_OPERATION');
    });

    test('may be corrected where they were refused', async () => {
      const headers = { 'idempotency-key': 'upload-3' };
      refused(await media.send(Buffer.from('no picture'), { headers }), 415, 'INVALID_FORMAT');
      expect((await media.send(media.png, { headers })).status).toBe(201);
    });
  });
});

/** Sends picture bytes without end, whatever it is answered, until the connection is gone. */
async function sendForEver({ harness, token, png }: MediaShop): Promise<{ status: string; sent: number }> {
  const { hostname, port } = new URL(harness.url);
  const socket = connect(Number(port), hostname);
  let sent = 0;
  let answer = '';
  const send = (bytes: Buffer): boolean => {
    sent += bytes.length;
    return socket.write(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, CRLF]));
  };
  const gone = new Promise<void>((resolve) => socket.on('close', () => resolve()));
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
    const room = send(chunk) || new Promise((resolve) => socket.once('drain', resolve));
    await Promise.race([room, gone]);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { status: answer.slice('HTTP/1.1 '.length).slice(0, 3), sent };
}

const CRLF = Buffer.from('\r\n');

/** Sends the beginning of an upload, and hangs up when the server has begun to keep it. */
async function giveUp({ harness, token, png }: MediaShop, type: string): Promise<void> {
  const { originals } = harness.service.runtime.blobs.live;
  const began = jest.mocked(originals.put);
  const headers = { authorization: `Bearer ${token}`, 'content-type': type, 'content-length': 5_000_000 };
  const upload = request(`${harness.url}/api/media`, { method: 'POST', headers });
  upload.on('error', () => {});
  const part = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n';
  if (type.startsWith('multipart')) upload.write(part);
  upload.write(png);
  upload.write(Buffer.alloc(1_000_000));
  await waitFor(() => began.mock.calls.length > 0, { what: 'the upload to begin' });
  upload.destroy();
}

/** Sends an upload a byte at a time, until the connection is gone; gives what was answered. */
async function dawdle({ token, png }: MediaShop, port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('error', () => {});
  socket.on('data', (data) => {
    answer += String(data);
  });
  const gone = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  socket.write(
    `POST /api/media HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer ${token}\r\n` +
      'Content-Type: image/png\r\nContent-Length: 5000000\r\n\r\n',
  );
  socket.write(png);
  const drip = setInterval(() => socket.write('x'), 10);
  await gone;
  clearInterval(drip);
  return answer;
}
