import { CatalogConnectionError } from '../../../shared/client';
import { createSender, type HttpRequest } from '../../../shared/client/exchange';
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
