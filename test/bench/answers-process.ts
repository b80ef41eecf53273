import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';

/** Asks the server to answer `/NAME` with the text, or with 304 if the request has the ETag of the answer. */
export interface FixedAnswer {
  readonly name: string;
  readonly text: string;
}

const answers = new Map<string, string>();

/** Express 5 as its documentation shows it: a route, a text from memory, and the default settings. */
function expressServer(): Server {
  const app = express();
  app.all('/:name', (request, response) => {
    response.type('json').send(answers.get(request.params.name));
  });
  return createServer(app);
}

/** What Node needs for an answer: the upper bound for any service on `node:http`. */
function bareServer(): Server {
  const etag = '"fixed"';
  return createServer((request: IncomingMessage, response: ServerResponse) => {
    if (request.headers['if-none-match'] === etag) {
      response.writeHead(304, { ETag: etag }).end();
      return;
    }
    const text = answers.get(request.url!.slice(1))!;
    response
      .writeHead(200, {
        'Content-Type': 'application/json; charset=utf-8',
        'Content-Length': Buffer.byteLength(text),
        ETag: etag,
      })
      .end(text);
  });
}

/** The fixed answers that the service is compared with. Run as `node answers-process.js express|bare`. */
const server = process.argv[2] === 'express' ? expressServer() : bareServer();
const listening = new Promise<number>((resolve) => {
  server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
});
process.on('message', async ({ name, text }: FixedAnswer) => {
  answers.set(name, text);
  process.send!({ value: await listening });
});
process.on('disconnect', () => process.exit());
