import { IncomingMessage } from 'node:http';
import { connect, Socket } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { readBody } from '../../../shared/http/body';
import type { HttpRequest } from '../../../shared/http/request';
import { waitFor, within } from '../../support/wait-for';
import { KEY, startTinyApp, type TinyApp, write } from './tiny-app';

const JSON_TYPE = { 'content-type': 'application/json' };

const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;

/** Text without repetitions, of three bytes per character. */
const chinese = (length: number) => {
  let state = 1;
  const next = () => {
    state = (state * 48_271) % 0x7fffffff;
    return String.fromCharCode(0x4e00 + (state % 3_000));
  };
  return Array.from({ length }, next).join('');
};

describe('bodies', () => {
  let app: TinyApp;

  beforeAll(async () => {
    const echo = async (request: { body: object }) => ({ data: request.body as never });
    app = await startTinyApp({
      routes: [
        write('POST', '/api/publication', echo),
        write('PATCH', '/api/publication/:id', echo),
        write('DELETE', '/api/publication/:id', echo),
      ],
    });
  });

  afterAll(() => app.close());

  const post = (body: string | Buffer, headers: Record<string, string> = JSON_TYPE) =>
    app.request('POST', '/api/publication', { token: 'secret', body, headers });

  const patch = (body: string | Buffer | undefined, headers: Record<string, string>) =>
    app.request('PATCH', '/api/publication/01890a5d-ac96-774b-bcce-b302099a8059', {
      token: 'secret',
      headers,
      ...(body === undefined ? {} : { body }),
    });

  test.each([
    ['a JSON object', '{"a":1}', JSON_TYPE],
    ['JSON with a charset', '{"a":1}', { 'content-type': 'application/json; charset=utf-8' }],
    ['JSON with a quoted charset', '{"a":1}', { 'content-type': 'application/json;Charset="UTF8"' }],
    ['JSON with a byte order mark', '\ufeff{"a":1}', JSON_TYPE],
    ['JSON compressed with gzip', gzipSync('{"a":1}'), { ...JSON_TYPE, 'content-encoding': 'gzip' }],
    [
      'JSON compressed with brotli',
      brotliCompressSync('{"a":1}'),
      { ...JSON_TYPE, 'content-encoding': 'br' },
    ],
  ])('%s is accepted', async (_name, body, headers) => {
    const reply = await post(body, headers);
    expect([reply.status, reply.body.data]).toEqual([200, { a: 1 }]);
  });

  test.each([
    ['of 32 levels', nested(32)],
    [
      'with brackets and commas in its texts',
      JSON.stringify({ a: `[{\\"${'[,\\"'.repeat(20_000)}`, 'b"[': '\\' }),
    ],
  ])('a body %s is accepted', async (_name, body) => {
    const reply = await post(body);
    expect([reply.status, reply.body.data]).toEqual([200, JSON.parse(body)]);
  });

  test.each([
    ['100,000 bytes that are all the same', `{"a":"${'x'.repeat(100_000)}"}`],
    ['long texts of Chinese', JSON.stringify({ a: chinese(300_000) })],
  ])('a compressed body of %s is accepted', async (_name, body) => {
    const reply = await post(gzipSync(body), { ...JSON_TYPE, 'content-encoding': 'gzip' });
    expect([reply.status, JSON.stringify(reply.body.data)]).toEqual([200, body]);
  });

  test.each([
    ['no body', undefined, {}],
    ['an empty body of another type', '', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['an empty body of JSON', '', JSON_TYPE],
  ])('%s counts as an empty object', async (_name, body, headers) => {
    const reply = await app.request('POST', '/api/publication', {
      token: 'secret',
      headers,
      ...(body === undefined ? {} : { body }),
    });
    expect([reply.status, reply.body.data]).toEqual([200, {}]);
  });

  test.each([
    ['malformed JSON', '{"a":', 400, 'INVALID_REQUEST', JSON_TYPE],
    ['an array', '[1]', 400, 'INVALID_REQUEST', JSON_TYPE],
    ['a string', '"a"', 400, 'INVALID_REQUEST', JSON_TYPE],
    ['null', 'null', 400, 'INVALID_REQUEST', JSON_TYPE],
    ['an object of 33 levels', nested(33), 400, 'INVALID_REQUEST', JSON_TYPE],
    [
      'a deeply nested array',
      `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`,
      400,
      'INVALID_REQUEST',
      JSON_TYPE,
    ],
    ['invalid gzip', 'no gzip', 400, 'INVALID_REQUEST', { ...JSON_TYPE, 'content-encoding': 'gzip' }],
    ['text in Latin-1', Buffer.from('{"a":"\xe9"}', 'latin1'), 400, 'INVALID_REQUEST', JSON_TYPE],
    [
      'half of a compressed body',
      gzipSync('{"a":1}').subarray(0, 15),
      400,
      'INVALID_REQUEST',
      { ...JSON_TYPE, 'content-encoding': 'gzip' },
    ],
    ['invalid brotli', 'no brotli', 400, 'INVALID_REQUEST', { ...JSON_TYPE, 'content-encoding': 'br' }],
    ['an unknown encoding', '{}', 415, 'INVALID_REQUEST', { ...JSON_TYPE, 'content-encoding': 'lzma' }],
    [
      'an unknown charset',
      '{}',
      415,
      'INVALID_REQUEST',
      { 'content-type': 'application/json; charset=klingon' },
    ],
    ['another type', 'a=1', 415, 'INVALID_REQUEST', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['plain text', '{}', 415, 'INVALID_REQUEST', { 'content-type': 'text/plain' }],
    ['a body without a type', '{}', 415, 'INVALID_REQUEST', {}],
    ['a body of more than 1 MiB', `{"a":"${'x'.repeat(1_048_576)}"}`, 413, 'LIMIT_EXCEEDED', JSON_TYPE],
    [
      'a compressed body that expands to more than 1 MiB',
      gzipSync(`{"a":"${'x'.repeat(5_000_000)}"}`),
      413,
      'LIMIT_EXCEEDED',
      { ...JSON_TYPE, 'content-encoding': 'gzip' },
    ],
    [
      'a compressed body that expands to 200 times its size',
      gzipSync(`{"a":"${'x'.repeat(200_000)}"}`),
      413,
      'LIMIT_EXCEEDED',
      { ...JSON_TYPE, 'content-encoding': 'gzip' },
    ],
    ['a body of 50,001 values', `{"a":[${'{},'.repeat(49_999)}0]}`, 413, 'LIMIT_EXCEEDED', JSON_TYPE],
  ])('%s is refused', async (_name, body, status, code, headers) => {
    const reply = await post(body, headers as Record<string, string>);
    expect([reply.status, reply.body.error.code]).toEqual([status, code]);
    expect('message' in reply.body).toBe(status === 400);
    expect(reply.headers['x-ratelimit-limit']).toBe('1000');
    expect(reply.headers['x-request-id']).toBeDefined();
  });

  test.each([
    ['no body', undefined, {}],
    ['an empty body of JSON', '', JSON_TYPE],
    ['an empty body of another type', '', { 'content-type': 'text/plain' }],
    ['an empty chunked body', undefined, { ...JSON_TYPE, 'transfer-encoding': 'chunked' }],
    ['an empty compressed body', gzipSync(''), { ...JSON_TYPE, 'content-encoding': 'gzip' }],
  ])('a PATCH with %s is refused', async (_name, body, headers) => {
    const reply = await patch(body, headers as Record<string, string>);
    expect([reply.status, reply.body.error?.code]).toEqual([400, 'INVALID_REQUEST']);
    expect(reply.body.error.message).toBe('The body must be a JSON object');
  });

  test('a PATCH with {} is accepted', async () => {
    const reply = await patch('{}', JSON_TYPE);
    expect([reply.status, reply.body.data]).toEqual([200, {}]);
  });

  test('a field named __proto__ is refused, and changes no prototype; a text may contain it', async () => {
    for (const [body, field] of [
      ['{"__proto__":{"admin":true}}', '__proto__'],
      ['{"attributes":[{"__proto__":"x"}]}', 'attributes.0.__proto__'],
      [String.raw`{"attributes":{"\u005f_\u0070roto__":"x"}}`, 'attributes.__proto__'],
    ] as const) {
      const error = { code: 'FIELD_INVALID', details: { field, constraint: 'not a known field' } };
      expect(await post(body)).toMatchObject({ status: 400, body: { error } });
    }
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
    expect((await post('{"title":"__proto__"}')).status).toBe(200);
  });

  test('a DELETE needs no body', async () => {
    const reply = await app.request('DELETE', '/api/publication/01890a5d-ac96-774b-bcce-b302099a8059', {
      token: 'secret',
    });
    expect(reply.status).toBe(200);
  });

  test.each([
    ['announces too many bytes', `Content-Length: 1048577\r\n\r\n{`],
    ['announces too many compressed bytes', `Content-Encoding: gzip\r\nContent-Length: 1049601\r\n\r\n`],
    [
      'sends too many bytes in chunks',
      `Transfer-Encoding: chunked\r\n\r\n100001\r\n${' '.repeat(0x100001)}\r\n1\r\n{`,
    ],
  ])('a body that %s is refused before it ends, and its connection is closed', async (_name, rest) => {
    const socket = connect(app.port, '127.0.0.1');
    const received: Buffer[] = [];
    socket.on('data', (bytes: Buffer) => received.push(bytes));
    socket.on('error', () => {});
    const head = 'POST /api/publication HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n';
    socket.write(`${head}Content-Type: application/json\r\n${rest}`);
    const text = await waitFor(() => {
      const response = Buffer.concat(received).toString();
      return response.includes('LIMIT_EXCEEDED') && response;
    });
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const more = setInterval(() => socket.writable && socket.write(Buffer.alloc(1_048_576)), 1);
    try {
      await within(closed, 'the server to cut the connection');
    } finally {
      clearInterval(more);
    }
  });

  test('a client that disconnects while it sends its body is logged as aborted, not as an error', async () => {
    const admitted = () => app.limiter.taken.get(`key:${KEY}`) ?? 0;
    const before = admitted();
    const socket = connect(app.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(
      'POST /api/publication HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nX-Request-Id: gone\r\n' +
        'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a":',
    );
    await waitFor(() => admitted() > before);
    socket.destroy();
    const line = await waitFor(() => app.lines.find((text) => text.includes('"gone"')));
    expect(JSON.parse(line)).toMatchObject({ level: 'info', aborted: true });
    expect(app.lines.some((text) => text.includes('"gone"') && text.includes('"level":"error"'))).toBe(false);
  });
});

test('the body of a client that has left cannot be read, which is no internal error', async () => {
  const socket = new Socket();
  socket.destroy();
  const request = new IncomingMessage(socket) as HttpRequest;
  Object.assign(request, { method: 'POST', headers: { ...JSON_TYPE, 'content-length': '7' } });
  request.destroy();
  await expect(readBody(request)).rejects.toMatchObject({ condition: 'malformed_request' });
});
