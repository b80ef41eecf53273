import { Agent, get, type RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { listen } from '../../../services/boot/listen';
import { waitFor, within } from '../../support/wait-for';

/** Longer than any test, so that no timeout ends a connection. */
const NEVER_MS = 600_000;
const NO_TIMEOUT = { grace_ms: NEVER_MS, idle_ms: NEVER_MS };

interface Answer {
  readonly status: number | undefined;
  readonly connection: string | undefined;
}

/** A client with one keep-alive connection, like a gateway. */
function client(url: string): { send(): Promise<Answer>; end(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const send = () => {
    const answered = new Promise<Answer>((resolve, reject) => {
      const request = get(url, { agent }, (response) => {
        const { statusCode: status, headers } = response;
        response.resume().once('end', () => resolve({ status, connection: headers.connection }));
      });
      request.once('error', reject);
    });
    return within(answered, 'an answer');
  };
  return { send, end: () => agent.destroy() };
}

const answering: RequestListener = (_request, response) => void response.end('done');

test('a request that runs when the server closes is answered, and its connection is closed', async () => {
  const waiting: (() => void)[] = [];
  const server = await listen((_request, response) => waiting.push(() => response.end()), '127.0.0.1', 0);
  const { send, end } = client(server.url);
  const response = send();
  await waitFor(() => waiting.length === 1);
  const closed = server.close(NO_TIMEOUT);
  waiting[0]!();
  expect(await response).toEqual({ status: 200, connection: 'close' });
  await within(closed, 'the server to close');
  end();
});

test('a request on a keep-alive connection is answered after the server has closed its port', async () => {
  const server = await listen(answering, '127.0.0.1', 0);
  const { send, end } = client(server.url);
  expect(await send()).toEqual({ status: 200, connection: 'keep-alive' });
  const closed = server.close(NO_TIMEOUT);
  const other = client(server.url);
  await waitFor(() =>
    other.send().then(
      () => false,
      ({ code }) => code === 'ECONNREFUSED',
    ),
  );
  expect(await send()).toEqual({ status: 200, connection: 'close' });
  await within(closed, 'the server to close');
  for (const one of [{ end }, other]) one.end();
});

test('closing the server does not wait for an idle keep-alive connection', async () => {
  const server = await listen(answering, '127.0.0.1', 0);
  const { send, end } = client(server.url);
  await send();
  await within(server.close({ grace_ms: NEVER_MS, idle_ms: 1 }), 'the server to close');
  end();
});

/** Sends bytes on a connection of its own. Returns everything that the server answers until it ends the connection. */
async function exchange(url: string, send: (socket: Socket) => void | Promise<void>): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk;
  });
  const ended = new Promise((resolve) => socket.once('close', resolve));
  await send(socket);
  await within(ended, 'the end of the connection');
  return text;
}

const POST = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n';

test('bytes that are not HTTP do not take the place of the answer to the request before them', async () => {
  const waiting: (() => void)[] = [];
  const server = await listen(
    (_request, response) => waiting.push(() => response.end('done')),
    '127.0.0.1',
    0,
  );
  const answer = await exchange(server.url, async (socket) => {
    socket.write(`${POST}nonsense\r\n\r\n`);
    await waitFor(() => waiting.length === 1);
    waiting[0]!();
  });
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK/);
  await server.close(NO_TIMEOUT);
});

test('a request that arrives behind the last one of a closing server is not handled', async () => {
  const handled: (() => void)[] = [];
  const server = await listen(
    (_request, response) => handled.push(() => response.end('done')),
    '127.0.0.1',
    0,
  );
  let closed: Promise<void> | undefined;
  const answer = await exchange(server.url, async (socket) => {
    socket.write(POST);
    await waitFor(() => handled.length === 1);
    closed = server.close(NO_TIMEOUT);
    socket.write(POST);
    // Several turns of the event loop, so that the server has most likely read the second request.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    handled[0]!();
  });
  expect(answer.match(/HTTP\/1\.1 200/g)).toHaveLength(1);
  expect(handled).toHaveLength(1);
  await closed;
});
