import type { Proposal } from '../../shared/client';
import { CatalogProposedError } from '../../shared/client';
import { CatalogError } from '../../shared/kernel/errors';
import { realSystem } from '../../shared/kernel/system';
import { type Reply, type RequestOptions, startHarness, type TestKey } from '../support/harness';
import { waitFor } from '../support/wait-for';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_000 };
const RUN = { 'x-catalog-run': 'session-1' };

const here = ownShop();
const { send } = here;
/** The key of an assistant, whose writes a person confirms. */
let assistant: TestKey;
let tea: string;

beforeEach(async () => {
  assistant = await newAssistant();
  tea = (await send('POST', '/api/publication', { body: TEA })).body.data.id;
});

async function newAssistant(body: object = {}): Promise<TestKey> {
  const made = await send('POST', '/api/key', {
    body: { name: 'Assistant', type: 'secret', needs_confirmation: true, ...body },
  });
  expect(made.body.data.needs_confirmation).toBe(true);
  const { id, secret: key } = made.body.data;
  return { id, key, token: await here.harness.token(key) };
}
const ask = (method: string, path: string, options: RequestOptions = {}): Promise<Reply> =>
  send(method, path, { token: assistant.token, ...options });
const propose = async (method: string, path: string, body?: object, headers = {}): Promise<Proposal> => {
  const reply = await ask(method, path, { body, headers: { ...RUN, ...headers } });
  expect([reply.status, reply.body.data?.status]).toEqual([202, 'waiting']);
  expect(reply.headers.get('location')).toBe(`/api/proposal/${reply.body.data.id}`);
  return reply.body.data;
};
const confirm = (id: string, options?: RequestOptions): Promise<Reply> =>
  send('POST', `/api/proposal/${id}/confirm`, options);
const priceOf = async (id: string) => (await send('GET', `/api/publication/${id}`)).body.data.price_amount;
const waiting = async () => (await send('GET', '/api/proposals?status=waiting')).body.data;

test('an assistant proposes, a person confirms, and the write is done in the name of the assistant', async () => {
  const proposal = await propose('PATCH', `/api/publication/${tea}`, { price_amount: 900 });
  expect(proposal).toMatchObject({
    ...{ key: assistant.id, run: 'session-1', operation: 'updatePublication', method: 'PATCH' },
    ...{ path: `/api/publication/${tea}`, body: { price_amount: 900 }, summary: 'Update a publication: Tea' },
  });
  expect(await priceOf(tea)).toBe(1_000);
  const [listed] = await waiting();
  expect([listed.id, listed.body]).toEqual([proposal.id, undefined]);
  expect((await ask('GET', `/api/proposal/${proposal.id}`)).body.data).toEqual(proposal);

  const confirmed = await confirm(proposal.id);
  expect(confirmed.body.data).toMatchObject({
    ...{ status: 'confirmed', decided_by: here.shop.secret.id },
    result: { status: 200, data: { id: tea, price_amount: 900 } },
  });
  expect(await priceOf(tea)).toBe(900);
  const [change] = (await send('GET', '/api/history?run=session-1')).body.data;
  expect(change).toMatchObject({
    ...{ actor: { type: 'key', id: assistant.id }, run: 'session-1' },
    request_id: `proposal-${proposal.id}`,
  });
  expect(await waiting()).toEqual([]);
  expect((await send('POST', '/api/runs/session-1/undo')).body.data).toMatchObject({ reverted: 1, kept: [] });
});

test('a proposal is rejected for a reason, and then stays rejected', async () => {
  const { id } = await propose('DELETE', `/api/publication/${tea}`);
  const rejected = await send('POST', `/api/proposal/${id}/reject`, { body: { reason: 'It sells' } });
  expect(rejected.body.data).toMatchObject({ status: 'rejected', reason: 'It sells' });
  const refused = await confirm(id);
  expectError(refused, 409, 'CONFLICT');
  expect(refused.body.error.message).toBe('The proposal is rejected already');
  expect(await priceOf(tea)).toBe(1_000);
});

test('two people confirm at once, and again: the write is done once', async () => {
  const { id } = await propose('POST', '/api/publication', { ...TEA, title: 'Cup' });
  const replies = await Promise.all([confirm(id), confirm(id), confirm(id)]);
  const made = new Set(replies.map(({ body }) => body.data.result.data.id));
  expect([replies.map(({ status }) => status), made.size]).toEqual([[200, 200, 200], 1]);
  expect((await confirm(id)).body.data.result.data.id).toBe([...made][0]);
  expectError(await send('POST', `/api/proposal/${id}/reject`), 409, 'CONFLICT');
  expect((await send('GET', '/api/publications')).body.data).toHaveLength(2);
});

test('what cannot be written is refused at once, and what has become impossible is in the result', async () => {
  expectError(
    await ask('PATCH', `/api/publication/${tea}`, { body: { title: '' } }),
    400,
    'FIELD_TOO_SHORT',
    'title',
  );
  expectError(await ask('DELETE', `/api/listing/${tea}`), 404, 'LISTING_NOT_FOUND');
  const unchanged = await ask('PATCH', `/api/publication/${tea}`, { body: { title: 'Tea' } });
  expect([unchanged.status, await waiting()]).toEqual([200, []]);

  const etag = (await send('GET', `/api/publication/${tea}`)).headers.get('etag')!;
  const { id } = await propose('PATCH', `/api/publication/${tea}`, { title: 'Mate' }, { 'if-match': etag });
  await send('PATCH', `/api/publication/${tea}`, { body: { price_amount: 950 } });
  const { result } = (await confirm(id)).body.data;
  expect(result).toMatchObject({ status: 412, error: { code: 'CONFLICT' } });
});

test('a batch is previewed at once, proposed as a whole, and limited in size', async () => {
  const items = [{ action: 'update', id: tea, body: { price_amount: 900 } }];
  const preview = await ask('POST', '/api/publications/batch?dry_run=true', { body: { items } });
  expect([preview.status, preview.body.data.updated]).toEqual([200, 1]);
  // Only a batch has this parameter.
  await propose('PATCH', `/api/publication/${tea}?dry_run=true`, { price_amount: 800 });
  const { id, summary } = await propose('POST', '/api/publications/batch', { items });
  expect(summary).toBe('Write many publications: 1 updated');
  expect((await confirm(id)).body.data.result.data.updated).toBe(1);
  expect(await priceOf(tea)).toBe(900);
  const large = { ...TEA, description_html: `<p>${'x'.repeat(40_000)}</p>` };
  const many = Array.from({ length: 7 }, () => ({ action: 'create', body: large }));
  expectError(await ask('POST', '/api/publications/batch', { body: { items: many } }), 413, 'LIMIT_EXCEEDED');
});

test('at most 100 proposals of a key wait', async () => {
  const made: Proposal[] = [];
  for (let n = 0; n < 100; n++)
    made.push(await propose('PATCH', `/api/publication/${tea}`, { price_amount: n }));
  const refused = await ask('DELETE', `/api/publication/${tea}`);
  expectError(refused, 409, 'CONFLICT');
  expect(refused.body.error.message).toMatch(/Confirm or reject some first/);
  const { token } = await newAssistant();
  expect((await send('DELETE', `/api/publication/${tea}`, { token })).status).toBe(202);
  await send('POST', `/api/proposal/${made[0]!.id}/reject`);
  await propose('DELETE', `/api/publication/${tea}`);
});

test('a retried proposal is one proposal', async () => {
  const headers = { 'idempotency-key': 'once' };
  const one = await propose('PATCH', `/api/publication/${tea}`, { price_amount: 900 }, headers);
  const two = await propose('PATCH', `/api/publication/${tea}`, { price_amount: 900 }, headers);
  expect([two.id, (await waiting()).length]).toEqual([one.id, 1]);
});

test('an import is uploaded and previewed at once, and started when it is confirmed', async () => {
  const form = new FormData();
  form.set('file', new File(['Handle,Title,Variant Price\nmate,Mate,9\n'], 'catalog.csv'));
  const { id } = (await ask('POST', '/api/imports', { body: form })).body.data;
  const ended = () =>
    waitFor(async () => {
      const { status, step } = (await send('GET', `/api/import/${id}`)).body.data;
      return status === 'done' && step;
    });
  expect(await ended()).toBe('preview');
  const started = await propose('POST', `/api/import/${id}/start`);
  const body = { overwrite: true };
  await ask('POST', `/api/import/${id}/preview`, { body });
  expect(await ended()).toBe('preview');
  expectError(await confirm(started.id), 409, 'CONFLICT');

  await ask('POST', `/api/import/${id}/preview`, { body: { overwrite: false } });
  expect(await ended()).toBe('preview');
  expect(started.body).toMatchObject({ settings: { overwrite: false } });
  expect((await confirm(started.id)).body.data.result).toMatchObject({ status: 202, data: { id } });
  expect(await ended()).toBe('import');
  assistant = await newAssistant();
  const refused = await ask('POST', `/api/import/${id}/preview`, { body });
  expectError(refused, 409, 'CONFLICT');
  expect(refused.body.error.message).toMatch(/only files that it has uploaded/);
});

test('the key cannot free itself, confirm, or upload', async () => {
  const { id } = await propose('DELETE', `/api/publication/${tea}`);
  const form = new FormData();
  form.set('file', new File([new Uint8Array(10)], 'tea.png'));
  const refused: [string, string, unknown?][] = [
    ['POST', '/api/key', { name: 'Free', type: 'secret' }],
    ['PATCH', `/api/key/${assistant.id}`, { needs_confirmation: false }],
    ['POST', '/api/webhook', { url: 'https://erp.example/catalog' }],
    ['POST', `/api/proposal/${id}/confirm`],
    ['POST', `/api/proposal/${id}/reject`],
    ['POST', '/api/media', form],
  ];
  for (const [method, path, body] of refused)
    expectError(await ask(method, path, { body }), 403, 'INSUFFICIENT_PERMISSIONS');

  const free = { body: { needs_confirmation: false } };
  expect((await send('PATCH', `/api/key/${assistant.id}`, free)).body.data.needs_confirmation).toBe(false);
  await waitFor(async () => (await ask('DELETE', `/api/publication/${tea}`)).status === 200);
});

test('only keys of the store that could make the write decide, and only secret keys see it', async () => {
  const { id } = await propose('POST', '/api/listing', { name: 'New' });
  const other = (await here.harness.newShop()).secret;
  const testing = (await here.harness.newShop('test')).secret;
  const few = await here.harness.newKey('secret', [here.shop.store_id], ['read:publications']);
  for (const { token } of [other, testing]) {
    expectError(await send('GET', `/api/proposal/${id}`, { token }), 404, 'PROPOSAL_NOT_FOUND');
    expectError(await confirm(id, { token }), 404, 'PROPOSAL_NOT_FOUND');
    expect((await send('GET', '/api/proposals', { token })).body.data).toEqual([]);
  }
  expectError(await confirm(id, { token: few.token }), 403, 'INSUFFICIENT_PERMISSIONS');
  const { token } = here.shop.public;
  for (const path of ['/api/proposals', `/api/proposal/${id}`])
    expectError(await send('GET', path, { token }), 403, 'INSUFFICIENT_PERMISSIONS');
  const { data } = (await send('GET', '/api/changes?offset=-1')).body;
  expect(JSON.stringify(data ?? [])).not.toContain(id);

  await send('DELETE', `/api/key/${assistant.id}`);
  const refused = await confirm(id);
  expectError(refused, 409, 'CONFLICT');
  expect(refused.body.error.message).toMatch(/does not work any more/);
  expect((await send('POST', `/api/proposal/${id}/reject`)).body.data.status).toBe('rejected');
});

test('a write that is refused for a reason that may pass waits again, to be confirmed or rejected', async () => {
  await send('PATCH', '/api/store', { body: { description: 'Fine' }, headers: RUN });
  const { id } = await propose('POST', '/api/runs/session-1/undo');
  const few = await here.harness.newKey('secret', [here.shop.store_id], ['write:publications']);
  expectError(await confirm(id, { token: few.token }), 403, 'INSUFFICIENT_PERMISSIONS');
  expect(await waiting()).toMatchObject([{ id }]);
  expect((await confirm(id)).body.data.result).toMatchObject({ status: 200, data: { reverted: 1 } });

  const form = new FormData();
  form.set('file', new File(['Handle,Title,Variant Price\nmate,Mate,9\n'], 'catalog.csv'));
  const found = (await ask('POST', '/api/imports', { body: form })).body.data;
  const undo = await propose('POST', `/api/import/${found.id}/undo`);
  expectError(await confirm(undo.id), 409, 'CONFLICT');
  expect(await waiting()).toMatchObject([{ id: undo.id }]);
  expect((await send('POST', `/api/proposal/${undo.id}/reject`)).body.data.status).toBe('rejected');
});

test('a public key writes nothing, so that it cannot need confirmation', async () => {
  const body = { name: 'Window', type: 'public', needs_confirmation: true };
  expectError(await send('POST', '/api/key', { body }), 400, 'FIELD_INVALID', 'needs_confirmation');
});

test('the client rejects with the proposal, and can decide it', async () => {
  const robot = here.harness.client(assistant, { run: 'session-2' });
  const person = here.harness.client(here.shop.secret);
  const error = await robot.publications
    .update(tea, { price_amount: 900 })
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CatalogProposedError);
  const { id, run } = (error as CatalogProposedError).proposal;
  expect(run).toBe('session-2');
  expect((await person.proposals.list({ status: 'waiting' }).all()).map((one) => one.id)).toEqual([id]);
  await person.proposals.confirm(id);
  expect((await robot.proposals.get(id)).result?.status).toBe(200);
  expect((await person.runs.undo('session-2', { dry_run: true })).reverted).toBe(1);
});

test('a proposal that nobody has decided in 7 days is expired', async () => {
  let ahead_ms = 0;
  const now = (): number => realSystem.now() + ahead_ms;
  const harness = await startHarness({ system: { ...realSystem, now } });
  try {
    const { secret } = await harness.newShop();
    const body = { name: 'Assistant', type: 'secret', needs_confirmation: true };
    const made = await harness.request('POST', '/api/key', { token: secret.token, body });
    const robot = await harness.token(made.body.data.secret);
    const proposed = await harness.request('POST', '/api/publication', { token: robot, body: TEA });
    const { id } = proposed.body.data;
    const lost = await harness.request('POST', '/api/publication', { token: robot, body: TEA });
    const { live } = harness.service.runtime.events;
    const append = live.append.bind(live);
    const spy = jest.spyOn(live, 'append').mockImplementation((stream, ...rest) => {
      if (stream.startsWith('live.publication-')) throw new CatalogError('unavailable');
      return append(stream, ...rest);
    });
    const confirmLost = (token: string) =>
      harness.request('POST', `/api/proposal/${lost.body.data.id}/confirm`, { token });
    expect((await confirmLost(secret.token)).status).toBe(503);
    spy.mockRestore();
    ahead_ms = 7 * 24 * 3_600_000 + 1_000;
    const token = await harness.token(secret.key);
    const listed = async (status: string) =>
      (await harness.request('GET', `/api/proposals?status=${status}`, { token })).body.data;
    expect(await listed('waiting')).toEqual([]);
    expect(await listed('expired')).toMatchObject([{ id, status: 'expired' }]);
    expect((await harness.request('GET', `/api/proposal/${id}`, { token })).body.data.status).toBe('expired');
    expectError(await harness.request('POST', `/api/proposal/${id}/confirm`, { token }), 409, 'CONFLICT');
    expectError(await confirmLost(token), 409, 'CONFLICT');
  } finally {
    await harness.close();
  }
});
