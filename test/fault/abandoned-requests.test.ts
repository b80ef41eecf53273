import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** A request that is not released keeps over 2 KB, so that 6,250 of them exceed the bound. */
const CLIENTS = 250;
const REQUESTS_EACH = 25;
const GROWTH_BYTES_MAX = 12_000_000;

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

test('releases the requests of clients that pipeline 25 requests each and leave', async () => {
  await abandon(REQUESTS_EACH);
  const before = heapBytes();
  for (let client = 0; client < CLIENTS; client++) await abandon(REQUESTS_EACH);
  await waitFor(() => heapBytes() - before < GROWTH_BYTES_MAX, {
    what: `heap growth below ${GROWTH_BYTES_MAX} bytes`,
  });
});

test('answers every one of many pipelined requests, in order', async () => {
  const socket = await connected();
  const ids = Array.from({ length: 250 }, (_, n) => `request-${n}`);
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk;
  });
  socket.write(ids.map((id) => requestText('/api/store', `X-Request-Id: ${id}\r\n`)).join(''));
  const answered = () => [...text.matchAll(/^X-Request-Id: (.*)\r$/gim)].map(([, id]) => id);
  await waitFor(() => socket.destroyed || answered().length === ids.length, { what: 'all responses' });
  expect(answered()).toEqual(ids);
  expect(new Set([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status))).toEqual(
    new Set(['200']),
  );
  socket.destroy();
});

test('answers pipelined writes, whose bodies arrive while others run', async () => {
  const socket = await connected();
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk;
  });
  const body = JSON.stringify({ name: 'Tea', description: 'a'.repeat(3_000) });
  const head = `POST /api/listing HTTP/1.1\r\nHost: catalog\r\nAuthorization: Bearer ${shop.secret.token}`;
  const request = `${head}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  socket.write(request.repeat(200));
  const statuses = () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  await waitFor(() => socket.destroyed || statuses().length === 200, { what: 'all responses' });
  expect(statuses()).toEqual(Array(200).fill('201'));
  socket.destroy();
});

test('cuts a connection with a flood of tiny requests', async () => {
  const socket = await connected();
  socket.resume();
  socket.write('GET / HTTP/1.1\r\nHost:\r\n\r\n'.repeat(2_000));
  await waitFor(() => socket.destroyed, { what: 'the end of the connection' });
});
