import { CatalogClient, CatalogConnectionError, type ClientOptions } from '../../../shared/client';
import { createSender, type HttpRequest } from '../../../shared/client/exchange';
import { freeOwnPort } from '../../support/own-port';
import { within } from '../../support/wait-for';

const GET: HttpRequest = { method: 'GET', url: 'https://catalog.test/api/store', headers: {} };

/** A `fetch` that never responds, and rejects when it is aborted. */
const silent: typeof fetch = (_input, init) =>
  new Promise((_resolve, reject) => {
    init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
  });

/** Returns a `fetch` that always responds with this body. */
const respondingWith =
  (text: string, init: ResponseInit): typeof fetch =>
  async () =>
    new Response(text, init);

test('a request that times out is reported as lost, with the cause', async () => {
  const outcome = await within(createSender(silent, 1)(GET), 'the request to be lost');
  expect(outcome).toEqual({ lost: expect.any(CatalogConnectionError) });
  expect('lost' in outcome && outcome.lost.cause).toMatchObject({ name: 'TimeoutError' });
  expect('lost' in outcome && outcome.lost.message).toMatch(/to GET https:\S+: The operation .* timeout$/);
});

test.each(['127.0.0.1', 'localhost'])(
  'a connection that %s refuses is reported with its cause',
  async (host) => {
    const port = await freeOwnPort();
    const options = { baseUrl: `http://${host}:${port}`, apiKey: 'pk_test_x', retries: 0 };
    const message = new RegExp(
      `^No valid response to POST http://${host}:${port}/auth/token: connect ECONNREFUSED \\S+:${port}`,
    );
    await expect(new CatalogClient(options).store.get()).rejects.toMatchObject({
      ...{ name: 'CatalogConnectionError', message: expect.stringMatching(message) },
    });
  },
);

test.each([
  [undefined, /^apiKey is missing/],
  [{ baseUrl: 'http://catalog.test' }, /^apiKey is missing/],
  [{ baseUrl: 'http://catalog.test', apiKey: '' }, /^apiKey is missing/],
  [null, /^apiKey is missing/],
  [{ apiKey: 5, baseUrl: 'http://catalog.test' }, /^apiKey is missing/],
  [{ apiKey: 'pk_test_x' }, /^baseUrl is missing/],
  [{ apiKey: 'pk_test_x', baseUrl: new URL('http://catalog.test') }, /^baseUrl is missing/],
  [{ apiKey: 'pk_test_x', baseUrl: '' }, /^baseUrl is missing/],
  [{ apiKey: 'pk_test_x', baseUrl: 'localhost:8080' }, /^baseUrl .* http:\/\/localhost:8080/],
  [{ apiKey: 'pk_test_x', baseUrl: 'catalog.test/shop' }, /^baseUrl .* http:\/\/catalog\.test\/shop/],
  [{ apiKey: 'pk_test_x', baseUrl: '/catalog' }, /^baseUrl must begin with http:\/\/ or https:\/\//],
  [{ apiKey: 'pk_test_x', baseUrl: 'ftp://catalog.test' }, /^baseUrl must begin with http/],
  [{ apiKey: 'pk_test_x', baseUrl: 'http://' }, /^baseUrl must begin with http/],
])('the client of the options %j is refused with a clear error', (options, message) => {
  const construct = () => new CatalogClient(options as ClientOptions);
  expect(construct).toThrow(message);
  expect(construct).toThrow(TypeError);
});

test('an upload has ten times the timeout of other requests', async () => {
  const timeout = jest.spyOn(AbortSignal, 'timeout');
  const send = createSender(respondingWith('{}', { status: 201 }), 1_000);
  await send(GET);
  await send({ ...GET, method: 'POST', body: new FormData() });
  expect(timeout.mock.calls).toEqual([[1_000], [10_000]]);
  timeout.mockRestore();
});

test('an error response that is not JSON is returned without a body', async () => {
  const outcome = await createSender(respondingWith('<h1>Bad gateway</h1>', { status: 502 }), 1_000)(GET);
  expect(outcome).toMatchObject({ status: 502, body: undefined });
});

test('a successful response that is not JSON is reported as lost', async () => {
  const outcome = await createSender(respondingWith('<h1>Log in</h1>', { status: 200 }), 1_000)(GET);
  expect(outcome).toEqual({ lost: expect.any(CatalogConnectionError) });
});
