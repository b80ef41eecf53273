import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';

export interface Gateway {
  /** Of its root, where nothing is. */
  readonly url: string;
  close(): Promise<void>;
}

/** Hands on what comes below the path, without it, and answers 404 to anything else. */
export async function startGateway(target: string, path: string): Promise<Gateway> {
  const server = createServer((req, res) => {
    if (!req.url?.startsWith(`${path}/`)) {
      res.writeHead(404).end();
      return;
    }
    const { method, headers } = req;
    const handed_on = request(target + req.url.slice(path.length), { method, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      pipeline(answer, res, () => {});
    });
    pipeline(req, handed_on, (error) => {
      if (error) res.destroy();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
