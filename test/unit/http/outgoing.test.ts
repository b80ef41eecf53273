import { Agent, createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { createServer as createTlsServer } from 'node:tls';
import { requestAllowed } from '../../../shared/http/outgoing';

test('a request is sent again if the receiver has just ended the idle connection that it used', async () => {
  const used = new Set<Socket>();
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    if (used.has(request.socket)) return void request.socket.resetAndDestroy();
    used.add(request.socket);
    bodies.push(await text(request));
    response.end('ok');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const agent = new Agent({ keepAlive: true });
  const send = async (body: string) =>
    text(await requestAllowed(url, { allow_private: true }, { method: 'POST', agent }, body));
  try {
    expect([await send('one'), await send('two')]).toEqual(['ok', 'ok']);
    expect([bodies, used.size]).toEqual([['one', 'two'], 2]);
  } finally {
    agent.destroy();
    server.close();
  }
});

test('a certificate must have the name in the address of the request, not that in its header Host', async () => {
  const names: string[] = [];
  const server = createTlsServer({
    SNICallback: (name, done) => {
      names.push(name);
      done(new Error('no certificate'));
    },
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  try {
    const url = new URL(`https://localhost:${(server.address() as AddressInfo).port}`);
    const options = { headers: { Host: 'shop.example' }, agent: false } as const;
    await expect(requestAllowed(url, { allow_private: true }, options)).rejects.toThrow();
    expect(names).toEqual(['localhost']);
  } finally {
    server.close();
  }
});
