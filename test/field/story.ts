import assert from 'node:assert/strict';
import { pino } from 'pino';
import { openRuntime } from '../../services/boot/runtime';
import { streamName } from '../../shared/catalog/events/envelope';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { Cli } from '../api/cli-run';
import { unpackDataFolder } from '../fixtures/data-folder';
import { fetch } from '../support/fetch';
import { type RunningProcess, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

/*
 * Creates, filters, changes and clears a publication's `trial_field` in a service that has this field, on a data folder
 * of a release that did not have it. Exits with 0 if every check passes. `main.ts` starts it in a copy of the sources
 * with the edits of `edits.ts`.
 */

// biome-ignore lint/suspicious/noExplicitAny: answers are read freely
type Json = any;

let service: RunningProcess;
let token = '';

/** The position of the last write. Reads wait until its documents are written. */
let position = '0';

async function send(method: string, path: string, body?: object): Promise<Json> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const reply = await fetch(`${service.url}${path}`, { method, headers, ...content });
  position = reply.headers.get('x-catalog-position') ?? position;
  return reply.json();
}

/** Reads a state that contains the last write. Reads again while a busy machine has not projected it. */
async function get(path: string): Promise<Json> {
  const headers = { authorization: `Bearer ${token}`, 'x-catalog-min-position': position };
  const read = async () => {
    const reply = await fetch(`${service.url}${path}`, { headers });
    return reply.status !== 503 && reply.json();
  };
  return waitFor(read, { what: `an answer to ${path}` });
}

async function start(data_dir: string, key: string): Promise<void> {
  service = await startProcess('services/boot/main.js', { DATA_DIR: data_dir });
  const request = { method: 'POST', headers: { 'x-api-key': key } };
  const reply = (await (await fetch(`${service.url}/auth/token`, request)).json()) as Json;
  token = reply.data.token;
}

const POT = { title: 'Pot', price_currency: 'PEN', price_amount: 1_900 };

/** Returns titles and trial fields of the publications in a list, with the total. */
async function listed(query: string): Promise<unknown> {
  const { data, meta } = await get(`/api/publications?${query}`);
  return { items: data.map(({ title, trial_field }: Json) => [title, trial_field]), total: meta.item_count };
}

/** Returns type and trial field of each event of a publication. */
async function eventsOf(data_dir: string, id: string): Promise<[type: string, trial_field: unknown][]> {
  const config = parseConfig({ DATA_DIR: data_dir });
  const runtime = await openRuntime(config, pino({ level: 'silent' }), realSystem);
  const recorded = await runtime.events.live.readStream(streamName('live', 'publication', id));
  await runtime.close();
  return recorded.map(({ type, data }) => [type, data.trial_field]);
}

async function story(folder: string): Promise<void> {
  const { data_dir, keys, answers } = unpackDataFolder(folder);
  const cli = new Cli(data_dir, { LOG_LEVEL: 'silent' });
  await start(data_dir, keys.secret);

  // The old documents lack the key. They are served until the rebuild ends.
  const old = answers.find(({ path, status }) => /^\/api\/publication\/[^/]+$/.test(path) && status === 200)!;
  assert.equal((await get(old.path)).data.id, JSON.parse(old.body).data.id);
  const isRebuilt = async () => (await listed('trial_field=Nobody').catch(() => undefined)) as Json;
  assert.deepEqual(await waitFor(isRebuilt, { what: 'the rebuilt documents' }), { items: [], total: 0 });

  const created = await send('POST', '/api/publication', { ...POT, trial_field: '  Acme ' });
  assert.equal(created.data?.trial_field, 'Acme');
  const { id } = created.data;
  const without_field = await send('POST', '/api/publication', { ...POT, title: 'Pan' });
  assert.equal('trial_field' in without_field.data, false);
  const rejected = await send('POST', '/api/publication', { ...POT, trial_field: 'x'.repeat(121) });
  assert.deepEqual(rejected.error.details.errors, [
    { field: 'trial_field', constraint: 'at most 120 characters', code: 'FIELD_TOO_LONG' },
  ]);

  assert.equal((await get(`/api/publication/${id}`)).data.trial_field, 'Acme');
  assert.deepEqual(await listed('trial_field=Acme'), { items: [['Pot', 'Acme']], total: 1 });

  const patched = await send('PATCH', `/api/publication/${without_field.data.id}`, { trial_field: 'Blau' });
  assert.equal(patched.data.trial_field, 'Blau');
  assert.deepEqual(await listed('trial_field=Blau'), { items: [['Pan', 'Blau']], total: 1 });
  const cleared = await send('PATCH', `/api/publication/${id}`, { trial_field: null });
  assert.equal('trial_field' in cleared.data, false);
  assert.deepEqual(await listed('trial_field=Acme'), { items: [], total: 0 });

  const { components, paths } = await get('/openapi.json');
  for (const name of ['NewPublication', 'PublicationPatch', 'Publication'])
    assert.equal(
      components.schemas[name].properties.trial_field.description,
      'A field that only this test adds.',
    );
  assert.equal(components.schemas.Publication.required.includes('trial_field'), false);
  const parameters: Json[] = paths['/api/publications'].get.parameters;
  const parameter = parameters.find(({ name }) => name === 'trial_field');
  assert.equal(parameter.description, 'Only those with this value.');

  await service.end('SIGTERM');
  assert.deepEqual(await eventsOf(data_dir, id), [
    ['PublicationCreated', 'Acme'],
    ['PublicationTrialFieldChanged', null],
  ]);

  for (const command of ['rebuild', 'verify']) {
    const { code, stderr } = await cli.run('projections', command);
    assert.equal(code, 0, `projections ${command}: ${stderr}`);
  }
  await start(data_dir, keys.secret);
  assert.deepEqual(await listed('trial_field=Blau'), { items: [['Pan', 'Blau']], total: 1 });
  await service.end('SIGTERM');
}

withTempDir(story).catch((error: unknown) => {
  console.error(error);
  service?.child.kill('SIGKILL');
  process.exitCode = 1;
});
