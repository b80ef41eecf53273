import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';

export interface Gateway {
  /** URL of the gateway's root, which responds with 404. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts a gateway that forwards requests below `path` to `target`, without that prefix. Responds with 404 to other
 * requests.
 */
export async function startGateway(target: string, path: string): Promise<Gateway> {
  const server = createServer((req, res) => {
    if (!req.url?.startsWith(`${path}/`)) {
      res.writeHead(404).end();
      return;
    }
    const { method, headers } = req;
    const forwarded = request(target + req.url.slice(path.length), { method, headers }, (response) => {
      res.writeHead(response.statusCode ?? 502, response.headers);
      pipeline(response, res, () => {});
    });
    pipeline(req, forwarded, (error) => {
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
