import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { FaultPlan } from './faults';
import type { EventStoreStandIn } from './standin';

/**
 * HTTP interface to the stand-in's faults, for tests in other processes: `POST /faults` with parts of a FaultPlan,
 * `DELETE /faults`, `POST /subscriptions/end`, `POST /connections/cut`, `POST /noise` with `{stream, count}`, `GET
 * /events?prefix=`.
 */
export function openControlPort(standIn: EventStoreStandIn, host: string, port: number): Promise<Server> {
  const server = createServer((request, response) => {
    perform(standIn, request)
      .then((answer) => response.end(JSON.stringify(answer ?? {})))
      .catch((error: Error) => response.writeHead(400).end(error.message));
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve(server));
  });
}

async function perform(standIn: EventStoreStandIn, request: IncomingMessage): Promise<unknown> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  switch (`${request.method} ${pathname}`) {
    case 'GET /events':
      return standIn.events(searchParams.get('prefix') ?? '');
    case 'POST /faults':
      return standIn.faults.set((await bodyOf(request)) as Partial<FaultPlan>);
    case 'DELETE /faults':
      return standIn.faults.clear();
    case 'POST /subscriptions/end':
      return standIn.endSubscriptions();
    case 'POST /connections/cut':
      return standIn.cutConnections();
    case 'POST /noise': {
      const { stream, count } = (await bodyOf(request)) as { stream: string; count: number };
      return standIn.writeNoise(stream, count);
    }
    default:
      throw new Error(`no ${request.method} ${pathname}`);
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return JSON.parse(text);
}
