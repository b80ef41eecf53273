import { once } from 'node:events';
import { Agent, createServer, get, type RequestListener, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { listen } from '../../../services/boot/listen';
import type { Exchange } from '../../../shared/http/request';
import { endWithBody, send } from '../../../shared/http/respond';
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

test('connections that are established before the server closes are answered', async () => {
  const server = await listen(answering, '127.0.0.1', 0);
  const answers = Array.from({ length: 20 }, () =>
    exchange(server.url, (socket) => void socket.on('error', () => {}).write(POST)),
  );
  // The system has established all of them, and Node has accepted none.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  const closed = server.close({ grace_ms: NEVER_MS, idle_ms: 1 });
  for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 200 OK/);
  await within(closed, 'the server to close');
});

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

describe('time limits of a client', () => {
  const LIMITS = { headers_ms: NEVER_MS, request_ms: NEVER_MS, unread_ms: NEVER_MS, check_ms: 20 };
  const HEAD = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n';

  test.each([
    ['headers', { headers_ms: 100 }, HEAD],
    ['headers and a body', { headers_ms: 100, request_ms: 200 }, `${HEAD}\r\nabc`],
  ])('%s that do not arrive in time are 408', async (_part, limits, bytes) => {
    const server = await listen(answerWhenComplete, '127.0.0.1', 0, { limits: { ...LIMITS, ...limits } });
    const answer = await exchange(server.url, (socket) => void socket.write(bytes));
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toContain('"message":"The request did not arrive within the time limit"');
    await server.close();
  });

  /** More than the buffers of the operating system hold. Two of them may be unread. */
  const BODY = Buffer.alloc(32_000_000);

  test('the connection of a client that does not read its answer is cut', async () => {
    let closed = false;
    const sending: RequestListener = (_request, response) => {
      response.once('close', () => {
        closed = true;
      });
      response.end(BODY);
    };
    const server = await listen(sending, '127.0.0.1', 0, { limits: { ...LIMITS, unread_ms: 200 } });
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await waitFor(() => closed, { what: 'the end of the connection' });
    socket.destroy();
    await server.close();
  });

  describe('of answers that are too large together', () => {
    let now_ms = performance.now();
    const responses: ServerResponse[] = [];
    const server = createServer((_request, response) => void responses.push(response));
    const connected: Client[] = [];

    /** A client that reads only the bytes that the test asks for. No buffer of the operating system reads ahead. */
    class Client extends Duplex {
      private taking = 0;
      private onTaken: (() => void) | undefined;

      override _read(): void {}

      override _write(chunk: Buffer, _encoding: string, done: () => void): void {
        this.taking += chunk.length;
        this.onTaken = done;
      }

      /** Resolves when the server has written as much as it may. */
      async takeBytes(bytes: number): Promise<void> {
        this.taking -= bytes;
        while (this.taking <= 0 && this.onTaken) {
          const done = this.onTaken;
          this.onTaken = undefined;
          done();
          await new Promise(setImmediate);
        }
      }
    }

    async function connectClient(): Promise<{ client: Client; response: ServerResponse }> {
      const client = new Client();
      connected.push(client);
      server.emit('connection', client);
      client.push('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      await waitFor(() => responses.length === connected.length);
      return { client, response: responses.at(-1)! };
    }

    beforeEach(() => void jest.spyOn(performance, 'now').mockImplementation(() => now_ms));
    afterEach(() => {
      jest.restoreAllMocks();
      for (const client of connected) client.destroy();
    });

    test('the one of a client that reads slowly is not cut', async () => {
      const slow = await connectClient();
      endWithBody(slow.response, BODY);
      const idle = await connectClient();
      endWithBody(idle.response, BODY);
      now_ms += 1_900;
      await slow.client.takeBytes(100_000);
      now_ms += 200;
      endWithBody((await connectClient()).response, BODY);
      const are_cut = [slow, idle].map(({ client }) => client.destroyed);
      expect(are_cut).toEqual([false, true]);
    });

    test('one is cut when its client has had time to read, also if no answer follows', async () => {
      const clients: Client[] = [];
      for (let n = 0; n < 3; n++) {
        const { client, response } = await connectClient();
        endWithBody(response, BODY);
        clients.push(client);
      }
      expect(clients.map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
      now_ms += 3_000;
      await waitFor(() => clients[0]!.destroyed, { what: 'the cut' });
      expect(clients.map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
    });

    test('streams count, too, until their clients have read what was made', async () => {
      const { response, client } = await connectClient();
      const made: number[] = [];
      async function* pieces(): AsyncGenerator<Uint8Array> {
        for (let n = 0; n < 3; n++) {
          made.push(n);
          yield BODY.subarray(0, n === 0 ? 100 : BODY.length);
        }
      }
      const exchange = { req: response.req, res: response, headers: {} } as unknown as Exchange;
      const sending = send(exchange, { status: 200, headers: {}, body: pieces() });
      await waitFor(() => made.length >= 2);
      endWithBody((await connectClient()).response, BODY);
      now_ms += 3_000;
      endWithBody((await connectClient()).response, BODY);
      await sending;
      expect([client.destroyed, made]).toEqual([true, [0, 1]]);
    });

    test('those of clients that left before they were made do not count', async () => {
      const waiting = await connectClient();
      endWithBody(waiting.response, BODY);
      now_ms += 3_000;
      for (let n = 0; n < 3; n++) {
        const { client, response } = await connectClient();
        client.destroy();
        await once(response, 'close');
        endWithBody(response, BODY);
      }
      expect(waiting.client.destroyed).toBe(false);
    });
  });

  test('the time for an answer does not count for the next request on its connection', async () => {
    const waiting: (() => void)[] = [];
    const slow: RequestListener = (_request, response) => waiting.push(() => response.end('done'));
    const server = await listen(slow, '127.0.0.1', 0, { limits: { ...LIMITS, unread_ms: 100 } });
    const { send, end } = client(server.url);
    for (let request = 0; request < 2; request++) {
      const answer = send();
      await waitFor(() => waiting.length === 1);
      await new Promise((resolve) => setTimeout(resolve, 300));
      waiting.pop()!();
      expect((await answer).status).toBe(200);
    }
    end();
    await server.close(NO_TIMEOUT);
  });
});

const answerWhenComplete: RequestListener = (request, response) =>
  void request.resume().once('end', () => response.end('done'));
