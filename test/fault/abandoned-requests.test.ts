import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const CLIENTS = 2_000;
/** Fewer requests than the limit of a connection, so that they wait instead of closing it. */
const REQUESTS_EACH = 25;
const GROWTH_BYTES_MAX = 20_000_000;

let harness: Harness;
let shop: Shop;

beforeAll(async () => {
  harness = await startHarness({ environment: { RATE_LIMIT_PUBLIC: '1000000/100000000/1000000' } });
  shop = await harness.newShop();
});
afterAll(() => harness.close());

function heapBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function connected(): Promise<Socket> {
  const { hostname, port } = new URL(harness.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

const requestText = (path: string, headers = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: catalog\r\nAuthorization: Bearer ${shop.public.token}\r\n${headers}\r\n`;

/** Sends many requests on one connection and leaves without reading an answer. */
async function abandon(pipelined: number): Promise<void> {
  const socket = await connected();
  const text = requestText('/api/publications', 'Accept-Encoding: gzip\r\n').repeat(pipelined);
  await new Promise((resolve) => socket.write(text, resolve));
  socket.resetAndDestroy();
}

test('releases the requests of 2,000 clients that pipeline 25 requests each and leave', async () => {
  await abandon(REQUESTS_EACH);
  const before = heapBytes();
  for (let client = 0; client < CLIENTS; client++) await abandon(REQUESTS_EACH);
  await waitFor(() => heapBytes() - before < GROWTH_BYTES_MAX, {
    timeout_ms: 30_000,
    what: `heap growth below ${GROWTH_BYTES_MAX} bytes`,
  });
});

test('answers pipelined requests in order', async () => {
  const socket = await connected();
  socket.write(requestText('/api/store') + requestText('/api/nothing') + requestText('/api/store'));
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk;
  });
  await waitFor(() => text.match(/HTTP\/1\.1 /g)?.length === 3);
  expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '404', '200']);
  socket.destroy();
});

test('closes a connection with more pipelined requests than the limit', async () => {
  const socket = await connected();
  socket.resume();
  socket.write(requestText('/api/publications').repeat(1_000));
  await waitFor(() => socket.destroyed, { what: 'the end of the connection' });
});
