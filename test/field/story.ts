import assert from 'node:assert/strict';
import { pino } from 'pino';
import { openRuntime } from '../../services/boot/runtime';
import { streamName } from '../../shared/catalog/events/envelope';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { Cli } from '../api/cli-run';
import { unpackDataFolder } from '../fixtures/data-folder';
import { type RunningProcess, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

/*
 * The life of a publication's `brand`, in a service that has this field, on a data folder of a release that had not.
 * Exits with 0 where all of it is so. Started by `main.ts`, in a tree with the edits of `edits.ts`.
 */

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by tests
type Json = any;

let service: RunningProcess;
let token = '';

async function send(method: string, path: string, body?: object): Promise<Json> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  return (await fetch(`${service.url}${path}`, { method, headers, ...sent })).json();
}

async function start(data_dir: string, key: string): Promise<void> {
  service = await startProcess('services/boot/main.js', { DATA_DIR: data_dir });
  const asked = { method: 'POST', headers: { 'x-api-key': key } };
  const reply = (await (await fetch(`${service.url}/auth/token`, asked)).json()) as Json;
  token = reply.data.token;
}

const POT = { title: 'Pot', price_currency: 'PEN', price_amount: 1_900 };

/** The publications that a list has, by title and brand, with the total. */
async function listed(query: string): Promise<unknown> {
  const { data, meta } = await send('GET', `/api/publications?${query}`);
  return { items: data.map(({ title, brand }: Json) => [title, brand]), total: meta.item_count };
}

/** Types and data of the events of a publication. */
async function eventsOf(data_dir: string, id: string): Promise<[type: string, brand: unknown][]> {
  const config = parseConfig({ DATA_DIR: data_dir });
  const runtime = await openRuntime(config, pino({ level: 'silent' }), realSystem);
  const recorded = await runtime.events.live.readStream(streamName('live', 'publication', id));
  await runtime.close();
  return recorded.map(({ type, data }) => [type, data.brand]);
}

async function story(folder: string): Promise<void> {
  const { data_dir, keys, answers } = unpackDataFolder(folder);
  const cli = new Cli(data_dir, { LOG_LEVEL: 'silent' });
  await start(data_dir, keys.secret);

  // The old documents have no such key. They are served until those with it are made.
  const old = answers.find(({ path, status }) => /^\/api\/publication\/[^/]+$/.test(path) && status === 200)!;
  assert.equal((await send('GET', old.path)).data.id, JSON.parse(old.body).data.id);
  const isRebuilt = async () => (await listed('brand=Nobody').catch(() => undefined)) as Json;
  assert.deepEqual(await waitFor(isRebuilt, { what: 'the rebuilt documents' }), { items: [], total: 0 });

  const created = await send('POST', '/api/publication', { ...POT, brand: '  Acme ' });
  assert.equal(created.data?.brand, 'Acme');
  const { id } = created.data;
  const other = await send('POST', '/api/publication', { ...POT, title: 'Pan' });
  assert.equal('brand' in other.data, false);
  const refused = await send('POST', '/api/publication', { ...POT, brand: 'x'.repeat(121) });
  assert.deepEqual(refused.error.details.errors, [
    { field: 'brand', constraint: 'at most 120 characters', code: 'FIELD_TOO_LONG' },
  ]);

  assert.equal((await send('GET', `/api/publication/${id}`)).data.brand, 'Acme');
  assert.deepEqual(await listed('brand=Acme'), { items: [['Pot', 'Acme']], total: 1 });

  const patched = await send('PATCH', `/api/publication/${other.data.id}`, { brand: 'Blau' });
  assert.equal(patched.data.brand, 'Blau');
  assert.deepEqual(await listed('brand=Blau'), { items: [['Pan', 'Blau']], total: 1 });
  const cleared = await send('PATCH', `/api/publication/${id}`, { brand: null });
  assert.equal('brand' in cleared.data, false);
  assert.deepEqual(await listed('brand=Acme'), { items: [], total: 0 });

  const { components, paths } = await send('GET', '/openapi.json');
  for (const name of ['NewPublication', 'PublicationPatch', 'Publication'])
    assert.equal(components.schemas[name].properties.brand.description, 'Who makes it.');
  assert.equal(components.schemas.Publication.required.includes('brand'), false);
  const parameters: Json[] = paths['/api/publications'].get.parameters;
  const parameter = parameters.find(({ name }) => name === 'brand');
  assert.equal(parameter.description, 'Only those of this brand.');

  await service.end('SIGTERM');
  assert.deepEqual(await eventsOf(data_dir, id), [
    ['PublicationCreated', 'Acme'],
    ['PublicationBranded', null],
  ]);

  for (const command of ['rebuild', 'verify']) {
    const { code, stderr } = await cli.run('projections', command);
    assert.equal(code, 0, `projections ${command}: ${stderr}`);
  }
  await start(data_dir, keys.secret);
  assert.deepEqual(await listed('brand=Blau'), { items: [['Pan', 'Blau']], total: 1 });
  await service.end('SIGTERM');
}

withTempDir(story).catch((error: unknown) => {
  console.error(error);
  service?.child.kill('SIGKILL');
  process.exitCode = 1;
});
