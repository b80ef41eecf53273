import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FetchError, type FetchOptions, fetchImage } from '../../../services/import/fetch-image';
import { isPublicAddress } from '../../../shared/http/outgoing';
import { waitFor } from '../../support/wait-for';

const OPTIONS: FetchOptions = { allow_private: true, size_bytes_max: 1_000, timeout_ms: 60_000 };
const NOT_PUBLIC = 'the address is not public; use --allow-private-images to fetch it';
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/** Starts a server for one test. `requested` lists the host and path of each request. */
async function serve(listener: RequestListener): Promise<{ url: string; port: number; requested: string[] }> {
  const requested: string[] = [];
  const server = createServer((request, response) => {
    requested.push(`${request.headers.host} ${request.url}`);
    listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, requested };
}

async function readAll(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const get = (url: string, options: Partial<FetchOptions> = {}): Promise<string> =>
  fetchImage(url, { ...OPTIONS, ...options }, readAll);

const refusal = async (fetching: Promise<unknown>): Promise<string> => {
  const error = await fetching.then(
    () => 'the image was fetched',
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(FetchError);
  return (error as FetchError).message;
};

test('returns the bytes that the server sends', async () => {
  const { url } = await serve((_request, response) => {
    response.write('one ');
    response.end('picture');
  });
  expect(await get(`${url}/a.jpg`)).toBe('one picture');
});

test.each([
  ['file:///etc/passwd', 'the URL must begin with http:// or https://'],
  ['ftp://example.com/a.jpg', 'the URL must begin with http:// or https://'],
  ['data:image/png;base64,AAAA', 'the URL must begin with http:// or https://'],
  ['//example.com/a.jpg', 'invalid URL'],
  ['not an address', 'invalid URL'],
  ['http://someone:secret@example.com/a.jpg', 'the URL must not contain a user name or password'],
  ['http://127.0.0.1:1/a.jpg', NOT_PUBLIC],
  ['http://2130706433:1/a.jpg', NOT_PUBLIC],
  ['http://0x7f.1:1/a.jpg', NOT_PUBLIC],
  ['http://[::1]:1/a.jpg', NOT_PUBLIC],
  ['http://[::ffff:127.0.0.1]:1/a.jpg', NOT_PUBLIC],
  ['http://169.254.169.254/latest/meta-data', NOT_PUBLIC],
  ['http://localhost:1/a.jpg', NOT_PUBLIC],
])('refuses %s without a connection', async (url, reason) => {
  expect(await refusal(get(url, { allow_private: false }))).toBe(reason);
});

test('refuses a host if one of its addresses is not public, without a connection', async () => {
  const { port, requested } = await serve((_request, response) => response.end('secret'));
  const mixed = async () => [
    { address: '93.184.216.34', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ];
  const named = get(`http://images.example:${port}/a.jpg`, { allow_private: false, resolve: mixed });
  expect(await refusal(named)).toBe(NOT_PUBLIC);
  expect(requested).toEqual([]);
});

test.each(['EMFILE', 'ENOMEM'])(
  'rejects with the error itself if this machine causes it (%s)',
  async (code) => {
    const error = Object.assign(new Error('no more'), { code });
    const fetching = get('http://images.example/a.jpg', { resolve: () => Promise.reject(error) });
    await expect(fetching).rejects.toBe(error);
  },
);

test('resolves a host once and connects to the address that it checked', async () => {
  const { port, requested } = await serve((_request, response) => response.end('picture'));
  let times = 0;
  const resolve = async () => {
    times++;
    // A second look-up for the connection would return another address.
    return [{ address: times === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }];
  };
  expect(await get(`http://images.example:${port}/a.jpg`, { resolve })).toBe('picture');
  expect([times, requested]).toEqual([1, [`images.example:${port} /a.jpg`]]);
});

test('follows a redirect and checks its address like the first one', async () => {
  const { url, port, requested } = await serve((request, response) => {
    if (request.url === '/there') return response.end('picture');
    const location = request.url === '/start' ? '/next' : `http://private.example:${port}/there`;
    return response.writeHead(302, { location }).end();
  });
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
  expect(await get(`${url}/start`, { resolve })).toBe('picture');
  expect(requested.map((each) => each.split(' ')[1])).toEqual(['/start', '/next', '/there']);

  const elsewhere = await serve((_request, response) =>
    response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  );
  expect(await refusal(get(`${elsewhere.url}/a`))).toBe('the URL must begin with http:// or https://');
});

test('refuses a redirect from a public to a private address', async () => {
  const inner = await serve((_request, response) => response.end('secret'));
  const outer = await serve((_request, response) =>
    response.writeHead(302, { location: `http://inner.example:${inner.port}/secret` }).end(),
  );
  // The test treats 127.0.0.1, where both servers listen, as the public address of the outer one.
  const looked_up: string[] = [];
  const resolve = async (host: string) => {
    looked_up.push(host);
    return [{ address: host === 'outer.example' ? '127.0.0.1' : '10.0.0.1', family: 4 }];
  };
  const options = { resolve, allow_private: false, is_public: (address: string) => address === '127.0.0.1' };
  const fetching = get(`http://outer.example:${outer.port}/a.jpg`, options);
  expect(await refusal(fetching)).toBe(NOT_PUBLIC);
  expect(looked_up).toEqual(['outer.example', 'inner.example']);
  expect(outer.requested).toHaveLength(1);
  expect(inner.requested).toEqual([]);
});

test('follows three redirects and refuses a fourth', async () => {
  const { url } = await serve((request, response) => {
    const left = Number(request.url!.slice(1));
    if (left === 0) return response.end('picture');
    return response.writeHead(301, { location: `/${left - 1}` }).end();
  });
  expect(await get(`${url}/3`)).toBe('picture');
  expect(await refusal(get(`${url}/4`))).toBe('more than 3 redirects');
});

test('stops reading a response that is too large, with or without a content-length', async () => {
  const { url } = await serve((request, response) => {
    if (request.url === '/says') return response.end('x'.repeat(1_001));
    if (request.url === '/fits') return response.end('x'.repeat(1_000));
    // A turn of the event loop for each: it notices there that the client has left.
    const more = (): void => {
      if (!response.destroyed) response.write('x'.repeat(100), () => setImmediate(more));
    };
    return more();
  });
  expect(await get(`${url}/fits`)).toHaveLength(1_000);
  expect(await refusal(get(`${url}/says`))).toBe('larger than 1000 bytes');
  expect(await refusal(get(`${url}/never-ends`))).toBe('larger than 1000 bytes');
});

test('reports a timeout, an aborted response, an error status and an unreachable server', async () => {
  const { url } = await serve((request, response) => {
    if (request.url === '/silent') return;
    if (request.url === '/half') {
      response.writeHead(200, { 'content-length': 100 });
      return response.write('half', () => response.destroy());
    }
    return response.writeHead(404).end('no');
  });
  expect(await refusal(get(`${url}/silent`, { timeout_ms: 1_000 }))).toBe('timed out after 1 s');
  expect(await refusal(get(`${url}/half`))).toBe('the server cannot be reached (ECONNRESET)');
  expect(await refusal(get(`${url}/none`))).toBe('the server responded with status 404');
  expect(await refusal(get('http://127.0.0.1:1/'))).toBe('the server cannot be reached (ECONNREFUSED)');
  const resolve = async () => {
    throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
  };
  expect(await refusal(get('http://no.example/', { resolve }))).toBe(
    'the server cannot be reached (ENOTFOUND)',
  );
});

test('rethrows an error of the consumer and closes the connection', async () => {
  let closed = false;
  const { url } = await serve((_request, response) => {
    response.on('close', () => {
      closed = true;
    });
    response.write('x');
  });
  const stop = fetchImage(`${url}/a`, OPTIONS, async () => {
    throw new RangeError('enough');
  });
  await expect(stop).rejects.toThrow(new RangeError('enough'));
  await waitFor(() => closed, { what: 'the connection to be closed' });
});

const PUBLIC = [
  '8.8.8.8',
  '1.1.1.1',
  '93.184.216.34',
  '172.15.0.1',
  '172.32.0.1',
  '100.63.0.1',
  '100.128.0.1',
];
const PUBLIC_6 = ['2606:2800:220:1:248:1893:25c8:1946', '2a00:1450:4001:81b::200e', '2003::1'];

const PRIVATE: Record<string, string[]> = {
  loopback: ['127.0.0.1', '127.255.255.254', '::1'],
  'this network': ['0.0.0.0', '0.1.2.3', '::'],
  private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd12:3456::1'],
  'link-local': ['169.254.1.1', 'fe80::1', 'fe80::1%eth0', 'febf::1'],
  'cloud metadata': ['169.254.169.254', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254'],
  'carrier-grade NAT': ['100.64.0.1', '100.127.255.255'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1'],
  'reserved and broadcast': ['240.0.0.1', '255.255.255.255'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  benchmarks: ['198.18.0.1', '198.19.255.255'],
  'IPv4 in IPv6': [
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
  ],
  NAT64: ['64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::1'],
  'tunnels to IPv4': ['2002:7f00:1::', '2001:0:4136:e378:8000:63bf:3fff:fdd2', '192.88.99.1'],
  'site-local': ['fec0::1'],
  'not an IP address': ['', 'localhost', '127.1', '0x7f000001', '2130706433', '1.2.3.4.5', '[::1]'],
};

test.each([...PUBLIC, ...PUBLIC_6])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each(Object.entries(PRIVATE))('%s is not public', (_kind, addresses) => {
  expect(addresses.filter(isPublicAddress)).toEqual([]);
});
