import { Agent, get, type RequestListener } from 'node:http';
import { listen } from '../../../services/boot/listen';
import { waitFor } from '../../support/wait-for';

/** Beyond any test: what ends a connection then is not the clock. */
const NEVER_MS = 600_000;
const PATIENT = { grace_ms: NEVER_MS, idle_ms: NEVER_MS };

interface Answer {
  readonly status: number | undefined;
  readonly connection: string | undefined;
}

/** On one connection that is kept open, as a gateway keeps its own. */
function client(url: string): { ask(): Promise<Answer>; end(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = () =>
    new Promise<Answer>((resolve, reject) => {
      const request = get(url, { agent }, (response) => {
        const { statusCode: status, headers } = response;
        response.resume().once('end', () => resolve({ status, connection: headers.connection }));
      });
      request.once('error', reject);
    });
  return { ask, end: () => agent.destroy() };
}

const answering: RequestListener = (_request, response) => void response.end('done');

test('given a request that runs, when the server closes, then it is answered as the last of its connection', async () => {
  const waiting: (() => void)[] = [];
  const server = await listen((_request, response) => waiting.push(() => response.end()), '127.0.0.1', 0);
  const { ask, end } = client(server.url);
  const asked = ask();
  await waitFor(() => waiting.length === 1);
  const closed = server.close(PATIENT);
  waiting[0]!();
  expect(await asked).toEqual({ status: 200, connection: 'close' });
  await closed;
  end();
});

test('given a kept connection, when a request is sent on it after the server closed its port, then it is answered', async () => {
  const server = await listen(answering, '127.0.0.1', 0);
  const { ask, end } = client(server.url);
  expect(await ask()).toEqual({ status: 200, connection: 'keep-alive' });
  const closed = server.close(PATIENT);
  const other = client(server.url);
  await waitFor(() =>
    other.ask().then(
      () => false,
      ({ code }) => code === 'ECONNREFUSED',
    ),
  );
  expect(await ask()).toEqual({ status: 200, connection: 'close' });
  await closed;
  for (const one of [{ end }, other]) one.end();
});

test('given a kept connection that nobody uses, when the server closes, then that does not wait for its client', async () => {
  const server = await listen(answering, '127.0.0.1', 0);
  const { ask, end } = client(server.url);
  await ask();
  await server.close({ grace_ms: NEVER_MS, idle_ms: 1 });
  end();
});
