import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FetchError, type FetchOptions, fetchImage } from '../../../services/import/fetch-image';

const OPTIONS: FetchOptions = { allow_private: true, size_bytes_max: 1_000, timeout_ms: 60_000 };
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/** A server of the test's own; `asked` are the paths that it was asked for. */
async function serve(listener: RequestListener): Promise<{ url: string; port: number; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.headers.host} ${request.url}`);
    listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, asked };
}

async function whole(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const get = (url: string, options: Partial<FetchOptions> = {}): Promise<string> =>
  fetchImage(url, { ...OPTIONS, ...options }, whole);

const refusal = async (asking: Promise<unknown>): Promise<string> => {
  const error = await asking.then(
    () => 'nothing was refused',
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(FetchError);
  return (error as FetchError).message;
};

test('bytes come as they are sent', async () => {
  const { url } = await serve((_request, response) => {
    response.write('one ');
    response.end('picture');
  });
  expect(await get(`${url}/a.jpg`)).toBe('one picture');
});

test.each([
  ['file:///etc/passwd', 'is neither http nor https'],
  ['ftp://example.com/a.jpg', 'is neither http nor https'],
  ['data:image/png;base64,AAAA', 'is neither http nor https'],
  ['//example.com/a.jpg', 'is no address'],
  ['not an address', 'is no address'],
  ['http://someone:secret@example.com/a.jpg', 'has a name or password in it'],
  ['http://127.0.0.1:1/a.jpg', 'leads to an address that is not public'],
  ['http://2130706433:1/a.jpg', 'leads to an address that is not public'],
  ['http://0x7f.1:1/a.jpg', 'leads to an address that is not public'],
  ['http://[::1]:1/a.jpg', 'leads to an address that is not public'],
  ['http://[::ffff:127.0.0.1]:1/a.jpg', 'leads to an address that is not public'],
  ['http://169.254.169.254/latest/meta-data', 'leads to an address that is not public'],
  ['http://localhost:1/a.jpg', 'leads to an address that is not public'],
])('%s is not asked for', async (url, reason) => {
  expect(await refusal(get(url, { allow_private: false }))).toBe(reason);
});

test('a name is refused where any of its addresses is not public, and nobody is connected to', async () => {
  const { port, asked } = await serve((_request, response) => response.end('secret'));
  const mixed = async () => [
    { address: '93.184.216.34', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ];
  const named = get(`http://images.example:${port}/a.jpg`, { allow_private: false, resolve: mixed });
  expect(await refusal(named)).toBe('leads to an address that is not public');
  expect(asked).toEqual([]);
});

test('the address that was looked at is the one that is connected to: a name is asked once', async () => {
  const { port, asked } = await serve((_request, response) => response.end('picture'));
  let times = 0;
  const resolve = async () => {
    times++;
    // Had it been asked again for the connection, that would have gone elsewhere.
    return [{ address: times === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }];
  };
  expect(await get(`http://images.example:${port}/a.jpg`, { resolve })).toBe('picture');
  expect([times, asked]).toEqual([1, [`images.example:${port} /a.jpg`]]);
});

test('a redirect is followed, and looked at like the first address', async () => {
  const { url, port, asked } = await serve((request, response) => {
    if (request.url === '/there') return response.end('picture');
    const location = request.url === '/start' ? '/next' : `http://private.example:${port}/there`;
    return response.writeHead(302, { location }).end();
  });
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
  expect(await get(`${url}/start`, { resolve })).toBe('picture');
  expect(asked.map((each) => each.split(' ')[1])).toEqual(['/start', '/next', '/there']);

  const elsewhere = await serve((_request, response) =>
    response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  );
  expect(await refusal(get(`${elsewhere.url}/a`))).toBe('is neither http nor https');
});

test('a redirect to a private address is refused although the first was public', async () => {
  const inner = await serve((_request, response) => response.end('secret'));
  const outer = await serve((_request, response) =>
    response.writeHead(302, { location: `http://inner.example:${inner.port}/secret` }).end(),
  );
  // The outer name stands for a public server that this test plays on its own machine.
  const looked_up: string[] = [];
  const resolve = async (host: string) => {
    looked_up.push(host);
    return [{ address: host === 'outer.example' ? '127.0.0.1' : '10.0.0.1', family: 4 }];
  };
  const options = { resolve, allow_private: false, is_public: (address: string) => address === '127.0.0.1' };
  const asking = get(`http://outer.example:${outer.port}/a.jpg`, options);
  expect(await refusal(asking)).toBe('leads to an address that is not public');
  expect(looked_up).toEqual(['outer.example', 'inner.example']);
  expect(outer.asked).toHaveLength(1);
  expect(inner.asked).toEqual([]);
});

test('three redirects are followed and a fourth is not', async () => {
  const { url } = await serve((request, response) => {
    const left = Number(request.url!.slice(1));
    if (left === 0) return response.end('picture');
    return response.writeHead(301, { location: `/${left - 1}` }).end();
  });
  expect(await get(`${url}/3`)).toBe('picture');
  expect(await refusal(get(`${url}/4`))).toBe('redirects more than 3 times');
});

test('what is too large is not read to its end, whether it says so or not', async () => {
  const { url } = await serve((request, response) => {
    if (request.url === '/says') return response.end('x'.repeat(1_001));
    if (request.url === '/fits') return response.end('x'.repeat(1_000));
    const more = (): void => {
      if (!response.destroyed) response.write('x'.repeat(100), more);
    };
    return more();
  });
  expect(await get(`${url}/fits`)).toHaveLength(1_000);
  expect(await refusal(get(`${url}/says`))).toBe('is larger than 1000 bytes');
  expect(await refusal(get(`${url}/never-ends`))).toBe('is larger than 1000 bytes');
});

test('a server that is silent, breaks off, answers something else or is not there is told of', async () => {
  const { url } = await serve((request, response) => {
    if (request.url === '/silent') return;
    if (request.url === '/half') {
      response.writeHead(200, { 'content-length': 100 });
      return response.write('half', () => response.destroy());
    }
    return response.writeHead(404).end('no');
  });
  expect(await refusal(get(`${url}/silent`, { timeout_ms: 1_000 }))).toBe('took longer than 1 s');
  expect(await refusal(get(`${url}/half`))).toBe('cannot be reached (ECONNRESET)');
  expect(await refusal(get(`${url}/none`))).toBe('answered 404');
  expect(await refusal(get('http://127.0.0.1:1/'))).toBe('cannot be reached (ECONNREFUSED)');
  const resolve = async () => {
    throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
  };
  expect(await refusal(get('http://no.example/', { resolve }))).toBe('cannot be reached (ENOTFOUND)');
});

test('what the one who reads throws is thrown on, and the connection is let go', async () => {
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
  while (!closed) await new Promise((resolve) => setImmediate(resolve));
});
