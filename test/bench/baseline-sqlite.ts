import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import express from 'express';
import Database from 'libsql';

/**
 * The baseline: Express routes that do only the necessary work, with the same database and durability. Runs as a
 * process: `node baseline-sqlite.js DATA_DIR COUNT BODY_BYTES`. Prints its port.
 */
function main(folder: string, count: number, body_bytes: number): void {
  const database = new Database(join(folder, 'baseline.sqlite'));
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  database.exec(`CREATE TABLE documents (id INTEGER PRIMARY KEY, rank INTEGER, body TEXT);
    CREATE INDEX by_rank ON documents (rank, id);
    CREATE TABLE events (position INTEGER PRIMARY KEY AUTOINCREMENT, stream TEXT, id TEXT UNIQUE, data TEXT)`);
  fill(database, count, body_bytes);
  const one = database.prepare('SELECT body FROM documents WHERE id = ?');
  const page = database.prepare('SELECT body FROM documents WHERE rank >= ? ORDER BY rank, id LIMIT 20');
  const append = database.prepare('INSERT INTO events (stream, id, data) VALUES (?, ?, ?)');

  const app = express();
  app.use(express.json());
  app.get('/one/:id', (request, response) => {
    const row = one.get(Number(request.params.id)) as { body: string };
    response.json({ code: 200, status: 'OK', data: JSON.parse(row.body) });
  });
  app.get('/page', (_request, response) => {
    const rows = page.all(0) as { body: string }[];
    response.json({ code: 200, status: 'OK', data: rows.map((row) => JSON.parse(row.body)) });
  });
  app.post('/append', (request, response) => {
    append.run(randomUUID(), randomUUID(), JSON.stringify(request.body));
    response.status(201).json({ code: 201, status: 'OK', data: request.body });
  });
  const server = app.listen(0, '127.0.0.1', () => {
    console.log(JSON.stringify({ port: (server.address() as { port: number }).port }));
  });
  process.on('SIGTERM', () => process.exit(0));
}

function fill(database: Database.Database, count: number, body_bytes: number): void {
  const insert = database.prepare('INSERT INTO documents (rank, body) VALUES (?, ?)');
  const filler = 'x'.repeat(Math.max(0, body_bytes - 60));
  database.exec('BEGIN');
  for (let i = 0; i < count; i++) insert.run(i, JSON.stringify({ id: randomUUID(), description: filler }));
  database.exec('COMMIT');
}

main(process.argv[2]!, Number(process.argv[3]), Number(process.argv[4]));
