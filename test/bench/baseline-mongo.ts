import { randomUUID } from 'node:crypto';
import express from 'express';
import { MongoClient } from 'mongodb';

/**
 * The baseline for reads on servers: Express routes that make one MongoDB query and nothing else. Runs as a process:
 * `node baseline-mongo.js MONGODB_URL DATABASE COUNT BODY_BYTES PAGE_LENGTH`. Prints its port.
 */
async function main(
  url: string,
  name: string,
  count: number,
  body_bytes: number,
  page_length: number,
): Promise<void> {
  const client = await new MongoClient(url).connect();
  const documents = client.db(name).collection<{ _id: number; rank: number; body: string }>('documents');
  const description = 'x'.repeat(Math.max(0, body_bytes - 60));
  await documents.insertMany(
    Array.from({ length: count }, (_, n) => ({
      _id: n,
      rank: n,
      body: JSON.stringify({ id: randomUUID(), description }),
    })),
  );
  await documents.createIndex({ rank: 1, _id: 1 });

  const app = express();
  app.get('/one/:id', async (request, response) => {
    const found = await documents.findOne({ _id: Number(request.params.id) });
    response.json({ code: 200, status: 'OK', data: JSON.parse(found!.body) });
  });
  app.get('/page', async (_request, response) => {
    const found = await documents
      .find({ rank: { $gte: 0 } })
      .sort({ rank: 1, _id: 1 })
      .limit(page_length)
      .toArray();
    response.json({ code: 200, status: 'OK', data: found.map(({ body }) => JSON.parse(body)) });
  });
  const server = app.listen(0, '127.0.0.1', () => {
    console.log(JSON.stringify({ port: (server.address() as { port: number }).port }));
  });
}

const [url, name, ...numbers] = process.argv.slice(2);
const [count, body_bytes, page_length] = numbers.map(Number);
void main(url!, name!, count!, body_bytes!, page_length!);
