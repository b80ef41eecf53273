import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import express from 'express';

/**
 * The baseline for writes on servers: an Express route that makes one append with the plain client and nothing else.
 * Runs as a process: `node baseline-eventstore.js EVENTSTORE_URL PREFIX`. Prints its port.
 */
function main(url: string, prefix: string): void {
  const log = EventStoreDBClient.connectionString(url);
  const app = express();
  app.use(express.json());
  app.post('/append', async (request, response) => {
    const event = jsonEvent({ type: 'happened', data: request.body, metadata: { source: 'bench' } });
    await log.appendToStream(`${prefix}${randomUUID()}`, [event], { expectedRevision: NO_STREAM });
    response.status(201).json({ code: 201, status: 'OK', data: request.body });
  });
  const server = app.listen(0, '127.0.0.1', () => {
    console.log(JSON.stringify({ port: (server.address() as { port: number }).port }));
  });
}

const [url, prefix] = process.argv.slice(2);
main(url!, prefix!);
