import { join } from 'node:path';
import Database from 'libsql';
import { pino } from 'pino';
import { startHttpService } from '../../services/boot/http-service';
import { startPipelines } from '../../services/boot/pipelines';
import { readiness, startOperations, WRITES } from '../../services/boot/readiness';
import { openRuntime } from '../../services/boot/runtime';
import { versionFile } from '../../shared/adapters/sqlite/view-store';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { fetch } from '../support/fetch';
import { createSecretKey, fetchToken } from '../support/merchant';
import { makeTempDir } from '../support/temp-dir';
import { WAIT_MS_MAX, waitFor, within } from '../support/wait-for';

const folder = makeTempDir();
const settings = { DEMO: 'off', PORT: '0', LOG_LEVEL: 'silent', DATA_DIR: folder.path };
const closers: (() => Promise<unknown>)[] = [];
async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await within(close(), 'a part of the service to stop');
}
afterAll(async () => {
  await closeAll();
  folder.remove();
});

/** Starts reads and writes, without a worker. */
async function startHttp() {
  const runtime = await openRuntime(parseConfig(settings), pino({ level: 'silent' }), realSystem);
  closers.push(() => runtime.close());
  const operations = startOperations(runtime, readiness(runtime, WRITES));
  const maintain = () => Promise.reject(new Error('no maintenance'));
  const http = await startHttpService(runtime, operations, { maintain });
  closers.push(() => http.close());
  const startWorker = () => {
    const pipelines = startPipelines(runtime);
    closers.push(() => pipelines.stop());
    return pipelines;
  };
  return { url: http.url, startWorker };
}

test('over HTTP, only a filter by a key that the documents lack returns 503, until they are rebuilt', async () => {
  const key = await createSecretKey(settings);
  const first = await startHttp();
  const pipelines = first.startWorker();
  const published = await fetch(`${first.url}/api/publication`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await fetchToken(first.url, key)}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ title: 'A cup', price_currency: 'EUR', price_amount: 100, quantity_available: 1 }),
  });
  expect(published.status).toBe(201);
  expect(await pipelines.caughtUp(WAIT_MS_MAX)).toBe(true);
  await closeAll();

  // Simulates documents of a release that did not declare the key.
  const file = new Database(join(folder.path, 'live', versionFile(1)));
  file.exec('ALTER TABLE publications DROP COLUMN key_in_stock');
  file.close();

  const { url, startWorker } = await startHttp();
  const token = await fetchToken(url, key);
  const get = async (query: string) => {
    const reply = await fetch(`${url}/api/publications${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const text = await reply.text();
    const { error } = JSON.parse(text) as { error?: { code: string } };
    return { status: reply.status, found: text.includes('"A cup"'), code: error?.code };
  };
  const found = { status: 200, found: true };
  for (let round = 0; round < 2; round++) {
    expect(await get('')).toMatchObject(found);
    expect(await get('?in_stock=true')).toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE' });
    expect(await get('?free_shipping=false')).toMatchObject({ status: 200 });
  }
  startWorker();
  await waitFor(async () => (await get('?in_stock=true')).status === 200, { what: 'the rebuild' });
  expect(await get('?in_stock=true')).toMatchObject(found);
  expect(await get('')).toMatchObject(found);
});
