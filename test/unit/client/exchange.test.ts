import { CatalogConnectionError } from '../../../shared/client';
import { type Outgoing, sender } from '../../../shared/client/exchange';

const GET: Outgoing = { method: 'GET', url: 'https://catalog.test/api/store', headers: {} };

/** Answers nothing, until it is told that nobody waits any more. */
const silent: typeof fetch = (_input, init) =>
  new Promise((_resolve, reject) => {
    init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
  });

const answering =
  (text: string, init: ResponseInit): typeof fetch =>
  async () =>
    new Response(text, init);

test('a request that takes too long is lost', async () => {
  const outcome = await sender(silent, 1)(GET);
  expect(outcome).toEqual({ lost: expect.any(CatalogConnectionError) });
  expect('lost' in outcome && outcome.lost.cause).toMatchObject({ name: 'TimeoutError' });
});

test('an upload may take longer', async () => {
  const timeout = jest.spyOn(AbortSignal, 'timeout');
  const send = sender(answering('{}', { status: 201 }), 1_000);
  await send(GET);
  await send({ ...GET, method: 'POST', body: new FormData() });
  expect(timeout.mock.calls).toEqual([[1_000], [10_000]]);
  timeout.mockRestore();
});

test('a refusal in words of a gateway is an answer without a body', async () => {
  const outcome = await sender(answering('<h1>Bad gateway</h1>', { status: 502 }), 1_000)(GET);
  expect(outcome).toMatchObject({ status: 502, body: undefined });
});

test('a success that is no JSON is no answer of the service', async () => {
  const outcome = await sender(answering('<h1>Log in</h1>', { status: 200 }), 1_000)(GET);
  expect(outcome).toEqual({ lost: expect.any(CatalogConnectionError) });
});
