import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { dropUnused } from '../../projections/maintenance/rebuild';
import { Access } from '../../services/operator/access';
import { ENDPOINTS } from '../../services/operator/routes';
import { shapeOf } from '../../shared/api/requests/parameters';
import { type StreamName, streamName } from '../../shared/catalog/events/envelope';
import { PARTITION_COUNT } from '../../shared/catalog/events/partitions';
import type { Limits } from '../../shared/http/rate-limit';
import type { HttpRequest } from '../../shared/http/request';
import { Sessions } from '../../shared/http/sessions';
import { CatalogError } from '../../shared/kernel/errors';
import { generateId, type StoreId } from '../../shared/kernel/ids';
import { damage, withBody } from '../support/damage';
import { addDeadLetter, appendUnreadable } from '../support/dead-letters';
import { fetch } from '../support/fetch';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';

const TOKEN = 'an operator token of 32 characters';
const PAGE = 'docs/operations/interface.md';
const OTHER_ORIGINS = ['https://evil.example', 'null', undefined];

let harness: Harness;
let shop: Shop;

beforeAll(async () => {
  harness = await startHarness({ is_own: true, environment: { CONSOLE_OPERATOR_TOKEN: TOKEN } });
  shop = await harness.newShop();
});
afterAll(() => harness?.close());

interface Sent {
  readonly body?: object;
  readonly url?: string;
  readonly headers?: Record<string, string | undefined>;
}

/** Sends a request of a script, or with other headers that of a browser. */
async function call(request: string, { body, url = harness.url, headers }: Sent = {}) {
  const [method, path] = request.split(' ') as [string, string];
  const sent = { ...(headers ?? { authorization: `Bearer ${TOKEN}` }) };
  const answer = await fetch(`${url}/operator${path}`, {
    method,
    headers: Object.entries({ ...sent, ...(body && { 'content-type': 'application/json' }) }).filter(
      (header): header is [string, string] => header[1] !== undefined,
    ),
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  const { data, meta, error } = await answer.json();
  return { status: answer.status, headers: answer.headers, data, meta, error };
}

/** Begins a session, and returns the headers that the browser sends from then on. */
async function signIn() {
  const origin = harness.url;
  const answer = await call('POST /session', { body: { token: TOKEN }, headers: { origin } });
  expect([answer.status, answer.data]).toEqual([201, { expires_in: 43_200 }]);
  const set = answer.headers.get('set-cookie')!;
  expect(set).toMatch(
    /^catalog_operator=[\w-]{43}; Path=\/operator; Max-Age=43200; HttpOnly; SameSite=Strict$/,
  );
  return { cookie: set.split(';')[0]!, origin };
}

describe('access', () => {
  test('needs the token: no other one, and no key, opens any endpoint', async () => {
    for (const token of ['', `${TOKEN}.`, TOKEN.slice(1), shop.secret.key, shop.secret.token]) {
      const guess = await call('GET /accounts', { headers: { authorization: `Bearer ${token}` } });
      expect([guess.status, guess.error.code]).toEqual([401, 'TOKEN_INVALID']);
      const refused = await call('POST /session', { body: { token }, headers: { origin: harness.url } });
      expect([refused.status, refused.headers.get('set-cookie')]).toEqual([401, null]);
    }
    for (const { method, path } of ENDPOINTS) {
      const request = `${method} ${path.replace('/operator', '').replace(':id', shop.store_id)}`;
      const refused = await call(request, { headers: {} });
      expect([request, refused.status, refused.headers.get('www-authenticate')]).toEqual([
        request,
        401,
        'Bearer realm="catalog"',
      ]);
    }
  });

  test('does not exist without a token in the settings', async () => {
    const other = await startHarness();
    for (const method of ['GET', 'POST', 'DELETE'])
      expect((await fetch(`${other.url}/operator/session`, { method })).status).toBe(404);
    await other.close();
  });

  test('of a browser is a session, which its sign-out ends', async () => {
    const browser = await signIn();
    const { status, headers } = await call('GET /accounts', { headers: browser });
    expect([status, headers.get('set-cookie')]).toEqual([
      200,
      expect.stringMatching(/^catalog_operator=[\w-]{43}; .*Max-Age=43200; HttpOnly; SameSite=Strict$/),
    ]);
    const secure = await call('GET /accounts', { headers: { ...browser, 'x-forwarded-proto': 'https' } });
    expect(secure.headers.get('set-cookie')).toContain('; Secure');

    for (const origin of OTHER_ORIGINS) {
      const sent = { headers: { ...browser, origin }, body: { name: 'Evil' } };
      for (const request of ['POST /accounts', 'POST /session', 'DELETE /session'])
        expect([origin, (await call(request, sent)).status]).toEqual([origin, 403]);
    }
    expect((await call('POST /accounts', { headers: browser, body: { name: 'Mine' } })).status).toBe(201);

    const out = await call('DELETE /session', { headers: browser });
    expect(out.headers.get('set-cookie')).toMatch(/^catalog_operator=; .*Max-Age=0/);
    expect((await call('GET /accounts', { headers: browser })).status).toBe(401);
    const [name, value] = (await signIn()).cookie.split('=') as [string, string];
    for (const forged of [`${name}=${value}x`, `${name}=`, `${name}=../${value}`, `catalog_console=${value}`])
      expect((await call('GET /accounts', { headers: { cookie: forged } })).status).toBe(401);
  });

  test('lasts 12 hours from the last use, in every process with the same token', async () => {
    const folder = join(harness.data_dir, 'sessions');
    await signIn();
    const before = new Set(readdirSync(folder));
    const browser = await signIn();
    const file = join(folder, readdirSync(folder).find((name) => !before.has(name))!);
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
    utimesSync(file, hoursAgo(11), hoursAgo(11));
    expect((await call('GET /accounts', { headers: browser })).status).toBe(200);
    expect(statSync(file).mtimeMs).toBeGreaterThan(hoursAgo(1).getTime());

    const processWith = (token: string) =>
      new Access(token, { sessions: new Sessions(folder), limits: {} as Limits });
    const request = { method: 'GET', headers: { cookie: browser.cookie } } as HttpRequest;
    await expect(processWith(TOKEN).admit(request)).resolves.toHaveProperty('Set-Cookie');
    await expect(processWith(`another ${TOKEN}`).admit(request)).rejects.toThrow('Send the token');
    utimesSync(file, hoursAgo(13), hoursAgo(13));
    const { status } = await call('GET /accounts', { headers: browser });
    expect([status, statSync(file).mtimeMs < hoursAgo(12).getTime()]).toEqual([401, true]);

    const { cookie, origin } = await signIn();
    await call('DELETE /session', { headers: { cookie, origin } });
    const signed_out = { ...request, headers: { cookie } } as HttpRequest;
    await expect(processWith(TOKEN).admit(signed_out)).rejects.toThrow('Send the token');
  });

  test("is not given by a merchant's session", async () => {
    const sessions = new Sessions(join(harness.data_dir, 'sessions'));
    for (const content of [shop.secret.token, shop.secret.id, '']) {
      const cookie = `catalog_operator=${await sessions.begin(content)}`;
      expect((await call('GET /accounts', { headers: { cookie } })).status).toBe(401);
    }
  });

  test('counts the guesses of each visitor by the address that a trusted proxy names', async () => {
    const environment = { RATE_LIMIT_AUTH: '1/3', TRUST_PROXY: 'loopback', CONSOLE_OPERATOR_TOKEN: TOKEN };
    const guessed = await startHarness({ environment, is_own: true });
    try {
      const { url } = guessed;
      const attempts: Readonly<Record<string, (address: string) => ReturnType<typeof call>>> = {
        session: (address) =>
          call('POST /session', {
            ...{ url, body: { token: 'guessed' } },
            headers: { origin: url, 'x-forwarded-for': address },
          }),
        bearer: (address) =>
          call('GET /accounts', {
            url,
            headers: { authorization: 'Bearer guessed', 'x-forwarded-for': address },
          }),
      };
      for (const [place, [name, attempt]] of Object.entries(attempts).entries()) {
        const refused = await waitFor(async () => {
          const all = await Promise.all(Array.from({ length: 10 }, () => attempt(`203.0.113.${place}`)));
          return all.find(({ status }) => status === 429);
        });
        expect([name, refused.headers.get('retry-after')]).toEqual([name, '1']);
        expect((await attempt(`203.0.113.1${place}`)).status).toBe(401);
      }
      // The right token is no guess.
      const headers = { authorization: `Bearer ${TOKEN}`, 'x-forwarded-for': '203.0.113.1' };
      for (let n = 0; n < 10; n++) expect((await call('GET /accounts', { url, headers })).status).toBe(200);
    } finally {
      await guessed.close();
    }
  });
});

describe('health', () => {
  const health = async () => (await call('GET /health')).data;

  test('is one state and one sentence, with the versions and partitions of each realm', async () => {
    await harness.settled();
    const head = String(await harness.service.runtime.events.live.head());
    const each = <Value>(value: Value) => Array<Value>(PARTITION_COUNT).fill(value);
    const found = await health();
    expect(found).toMatchObject({ state: 'ok', cause: null, outages: {}, waiting_for: [] });
    expect(Object.keys(found.realms)).toEqual(['control', 'live', 'test']);
    expect(found.realms.live).toMatchObject({
      parts: { event_store: 'ok', view_store: 'ok', matching_log: 'yes', pipeline: 'running' },
      ...{ head, position: each(head), lag: each('0'), dead_letters: each(0), paused_since: null },
      versions: [{ version: 1, status: 'active', damaged: false, mismatch: null, dead_letters: 0 }],
    });
    const { realms } = (await call('GET /projections')).data;
    expect(realms.map(({ realm }: { realm: string }) => realm)).toEqual(['control', 'live', 'test']);
    expect(realms[1].versions[0].partitions).toHaveLength(PARTITION_COUNT);
  });

  test('says what needs attention, and what it waits for', async () => {
    const { viewStores, events } = harness.service.runtime;
    await viewStores.test.setPaused(true);
    const paused = await waitFor(async () => {
      const found = await health();
      return found.state === 'attention' && found;
    });
    expect(paused.cause).toBe('An operator has paused the projections of test.');
    expect(paused.realms.test.paused_since).toEqual(expect.any(String));
    await viewStores.test.setPaused(false);
    await waitFor(async () => (await health()).state === 'ok');

    const reading = jest
      .spyOn(events.live, 'head')
      .mockRejectedValue(new CatalogError('unavailable', { message: 'gone' }));
    try {
      const down = await waitFor(async () => {
        const found = await health();
        return found.state === 'down' && found;
      });
      expect(down).toMatchObject({ cause: 'Waiting for event store.', waiting_for: ['event_store'] });
      expect(down.realms.live.error).toBe('gone');
    } finally {
      reading.mockRestore();
    }
    await waitFor(async () => (await health()).state === 'ok');
  });
});

describe('a task', () => {
  // A dead letter would be in the retired version, too.
  afterAll(() => dropUnused(harness.service.runtime.viewStores.live));

  const live = async () => (await call('GET /tasks')).data[1];
  const start = (task: string) => call('POST /task', { body: { realm: 'live', action: 'start', task } });
  const stop = () => call('POST /task', { body: { realm: 'live', action: 'stop' } });
  const shown = (status: string) =>
    waitFor(
      async () => {
        const state = await live();
        return state.status === status && state;
      },
      { what: status },
    );

  test('rebuilds the documents in another process, and shows the version that is active then', async () => {
    const none = { realm: 'live', task: null, status: 'none' };
    expect(await live()).toEqual(none);
    for (const body of [
      { task: 'drop' },
      { realm: 'none' },
      { action: 'pause' },
      { task: undefined },
      { all: true },
    ]) {
      const asked = { realm: 'live', action: 'start', task: 'rebuild', ...body };
      expect((await call('POST /task', { body: asked })).status).toBe(400);
    }
    expect(await live()).toEqual(none);

    const started = await start('rebuild');
    expect([started.status, started.data]).toMatchObject([202, { task: 'rebuild', status: 'running' }]);
    const { result } = await shown('rebuilt');
    expect(result).toMatchObject({
      outcome: 'activated',
      version: 2,
      previous: 1,
      verified: { clean: true },
    });
    const { live: realm } = (await call('GET /health')).data.realms;
    expect(realm).toMatchObject({
      task: { task: 'rebuild', status: 'rebuilt' },
      versions: [
        { version: 2, status: 'active' },
        { version: 1, status: 'retired' },
      ],
    });
    expect(await harness.client(shop.secret).store.get()).toMatchObject({ id: shop.store_id });
  });

  test('is the only one of its realm, and can be stopped; the next rebuild continues', async () => {
    // On a busy machine, it may end before it is looked at.
    await waitFor(async () => {
      await start('rebuild');
      const [running, refused, stopped] = [await live(), await start('verify'), await stop()];
      if (running.status !== 'running' || refused.status !== 409) return false;
      expect(refused.error).toEqual({
        code: 'CONFLICT',
        message: 'A rebuild of live is running. Stop it, or wait until it has ended.',
      });
      return refused.data.task === 'rebuild' && stopped.data.status === 'stopped';
    });
    // A rebuild that a busy machine was late to stop is killed, and holds its lease for a while.
    await waitFor(async () => {
      const { status } = await live();
      if (status !== 'running' && status !== 'rebuilt') await start('rebuild');
      return status === 'rebuilt';
    });
  });

  test('says that a command line rebuilds the realm', async () => {
    const views = harness.service.runtime.viewStores.live;
    const owner = `pid:${process.pid}:test`;
    await waitFor(() => views.lease('rebuild', owner, 60_000));
    try {
      await start('rebuild');
      expect((await shown('failed')).reason).toContain('A rebuild of live is already running.');
      expect((await call('GET /health')).data).toMatchObject({
        ...{
          state: 'attention',
          cause: expect.stringContaining('The last rebuild of live failed: A rebuild'),
        },
      });
    } finally {
      await views.release('rebuild', owner);
    }
  });

  test('finds a document that differs from the log, and repairs it', async () => {
    const { publications } = harness.client(shop.secret);
    const { id } = await publications.create({ title: 'Cup', price_currency: 'USD', price_amount: 900 });
    await harness.settled();
    await start('verify');
    expect((await shown('verified')).result).toMatchObject({ clean: true, differences: [] });

    const { live: views } = harness.service.runtime.viewStores;
    const title = 'Changed by hand '.repeat(20);
    await damage(views, shop.store_id, 'publications', id, withBody({ title }));
    await start('verify');
    const drifted = await waitFor(async () => {
      const { status, result } = await live();
      return status === 'verified' && !result.clean && result;
    });
    expect(drifted.differences).toEqual([
      {
        ...{ collection: 'publications', id, field: 'body.title', expected: '"Cup"' },
        actual: expect.stringMatching(/^"Changed by hand .{100,190}$/),
      },
    ]);
    expect((await call('GET /health')).data.cause).toBe(
      'The last verify of live found documents that differ from the log.',
    );
    await start('repair');
    await waitFor(async () => (await live()).result?.rewritten === 1);
    expect((await publications.get(id)).title).toBe('Cup');
  });
});

test.each([
  ['too_large', 413],
  ['unavailable', 503],
] as const)('a request that fails with %s is answered with %i', async (condition, status) => {
  const { live } = harness.service.runtime.events;
  const readStream = live.readStream.bind(live);
  const stream = streamName('live', 'store', shop.store_id);
  const reading = jest.spyOn(live, 'readStream');
  reading.mockImplementation(async (...args) => {
    if (args[0] === stream) throw new CatalogError(condition);
    return readStream(...args);
  });
  try {
    expect((await call(`GET /stream?name=${stream}`)).status).toBe(status);
  } finally {
    reading.mockRestore();
  }
});

describe('accounts, stores and keys', () => {
  test('are created, and listed at once', async () => {
    const account = (await call('POST /accounts', { body: { name: 'A merchant' } })).data;
    expect(account).toMatchObject({ name: 'A merchant', status: 'active' });
    // On a busy machine, the answer may not wait until the store is listed.
    const created = await waitFor(async () => {
      const made = await call('POST /stores', {
        body: { account_id: account.id, environment: 'test', name: '<b>Shop</b>', currency: 'PEN' },
      });
      return made.meta.is_applied && made;
    });
    expect([created.status, created.data]).toMatchObject([
      201,
      { name: '<b>Shop</b>', currency: 'PEN', account_id: account.id, environment: 'test' },
    ]);
    expect((await call('GET /accounts')).data).toContainEqual(expect.objectContaining({ id: account.id }));
    const { id } = created.data;
    expect((await call('GET /stores')).data.stores).toContainEqual({
      ...{ id, name: '<b>Shop</b>', environment: 'test', status: 'active', account_id: account.id },
      created_at: expect.any(String),
    });
    const unknown = generateId<StoreId>(Date.now(), (bytes) => new Uint8Array(bytes));
    const refused = await call('POST /stores', {
      body: { account_id: unknown, environment: 'live', name: 'Shop' },
    });
    expect([refused.status, refused.error.details.field]).toEqual([400, 'account_id']);
  });

  const works = async (key: string) => {
    const issued = await harness.request('POST', '/auth/token', { headers: { 'x-api-key': key } });
    const { token } = issued.body.data ?? {};
    return token !== undefined && (await harness.request('GET', '/api/store', { token })).status === 200;
  };

  test('a key is shown once, rotated with an overlap, and revoked', async () => {
    const { account_id } = harness;
    const created = await call('POST /keys', {
      body: { account_id, name: 'Till', type: 'secret', stores: [shop.store_id] },
    });
    expect([created.status, created.meta]).toEqual([201, { is_applied: expect.any(Boolean) }]);
    await harness.settled();
    const { id, key } = created.data;
    expect([created.data.status, await works(key)]).toEqual(['active', true]);

    const rotate = () => call(`POST /key/${id}/rotate`, { body: { overlap_minutes: 60 } });
    const next = (await rotate()).data;
    await harness.settled();
    expect(next).toMatchObject({ name: 'Till', stores: [shop.store_id], rotated_from: id });
    expect(Date.parse(next.old_key_expires_at)).toBeGreaterThan(Date.now());
    expect([await works(key), await works(next.key)]).toEqual([true, true]);

    const revoked = await call(`DELETE /key/${id}`);
    expect(revoked.data).toMatchObject({ id, status: 'revoked' });
    await waitFor(async () => !(await works(key)));
    expect(await rotate()).toMatchObject({ status: 409, error: { message: 'The API key is revoked' } });

    for (const query of [`account=${account_id}`, `store=${shop.store_id}`]) {
      const { data } = await call(`GET /keys?${query}`);
      const [old, replaced] = data.filter(({ name }: { name: string }) => name === 'Till');
      expect([old.id, old.status, replaced.id, replaced.last_four]).toEqual([
        ...[id, 'revoked', next.id, next.key.slice(-4)],
      ]);
      expect(JSON.stringify(data)).not.toMatch(/key_hash|sk_/);
    }
    const other = await harness.newStore();
    expect((await call(`GET /keys?store=${other}`)).data).toEqual([]);
    for (const query of ['', `?account=${account_id}&store=${other}`, '?account=x'])
      expect((await call(`GET /keys${query}`)).status).toBe(400);
    for (const request of [`DELETE /key/${other}`, `GET /keys?store=${account_id}`])
      expect((await call(request)).status).toBe(404);
    expect((await call('DELETE /key/1')).error.code).toBe('INVALID_UUID');
  });

  test('a suspended account has no access until it is reinstated', async () => {
    const account_id = (await call('POST /accounts', { body: { name: 'Late payer' } })).data.id;
    const store = (await call('POST /stores', { body: { account_id, environment: 'live', name: 'Shop' } }))
      .data;
    const grants = { account_id, name: 'Shop', type: 'public', stores: [store.id] };
    const { key } = (await call('POST /keys', { body: grants })).data;
    const suspended = await call(`POST /account/${account_id}/suspend`);
    expect(suspended.data).toMatchObject({ id: account_id, status: 'suspended' });
    await waitFor(async () => !(await works(key)));
    await call(`POST /account/${account_id}/reinstate`);
    await waitFor(() => works(key));
    expect((await call(`POST /account/${store.id}/suspend`)).status).toBe(404);
    const [event] = (await call(`GET /events?realm=control&store=${account_id}&type=AccountSuspended`)).data;
    const by = suspended.headers.get('x-request-id');
    expect(event).toMatchObject({ source: 'cli', request_id: by });
  });

  test('webhooks that do not send are listed with the reason and what waits', async () => {
    const { webhooks } = harness.client(shop.secret);
    const { id } = await webhooks.create({ url: 'https://example.com/sends' });
    const { id: still } = await webhooks.create({ url: 'https://example.com/sends-still' });
    await webhooks.update(id, { status: 'paused' });
    await harness.settled();
    const { stopped_webhooks } = (await call('GET /stores')).data;
    expect(stopped_webhooks).toContainEqual({
      ...{ id, url: 'https://example.com/sends', environment: 'live', store_id: shop.store_id },
      ...{ status: 'paused', status_reason: null, pending_count: 0, updated_at: expect.any(String) },
    });
    expect(JSON.stringify(stopped_webhooks)).not.toContain(still);
  });
});

test('the newest events are found by realm, store and type, and each stream is shown without secrets', async () => {
  const other = await harness.newShop();
  const { publications, webhooks } = harness.client(other.secret);
  const ids: string[] = [];
  for (let n = 0; n < 51; n++)
    ids.push((await publications.create({ title: `T${n}`, price_currency: 'USD', price_amount: n })).id);
  const { id: webhook, secret } = await webhooks.create({ url: 'https://example.com/hook' });
  const filter = `GET /events?realm=live&store=${other.store_id}&type=PublicationCreated`;
  const streamsOf = (data: { stream: string }[]) => data.map(({ stream }) => stream);
  const newest = ids.map((id) => `live.publication-${id}`).reverse();
  const first = await call(filter);
  expect(streamsOf(first.data)).toEqual(newest.slice(0, 50));
  const older = await call(`${filter}&before=${first.meta.before}`);
  expect(streamsOf(older.data)).toEqual(newest.slice(50));
  expect(streamsOf((await call(`${filter},StoreCreated&limit=2`)).data)).toEqual(newest.slice(0, 2));
  expect((await call(`GET /events?store=${shop.store_id}&type=NoSuchType`)).data).toEqual([]);
  expect((await call('GET /events?stor=x')).headers.get('x-catalog-ignored')).toBe('stor');
  const control = await call('GET /events?realm=control&type=AccountCreated');
  expect(control.data[0]).toMatchObject({ type: 'AccountCreated', position: expect.any(String) });
  for (const query of ['realm=none', 'before=x', 'limit=51', 'limit=0'])
    expect((await call(`GET /events?${query}`)).status).toBe(400);

  const stream = (await call(`GET /stream?name=${newest[50]}`)).data;
  expect(stream).toMatchObject({ realm: 'live', stream: newest[50], dead_letter: null });
  expect(stream.events[0]).toMatchObject({ revision: 0, type: 'PublicationCreated', data: { title: 'T0' } });
  for (const query of ['name=live.store-nothing', 'name=nothing', `name=${newest[50]}&from=1`])
    expect((await call(`GET /stream?${query}`)).status).toBe(404);
  const views = await call(`GET /stream?name=live.webhook-${webhook}`);
  expect(views.data.events[0].data.secret).toBe('(hidden)');
  expect(JSON.stringify(views.data)).not.toContain(secret);
  const of_key = await call(`GET /stream?name=control.api_key-${shop.secret.id}`);
  expect(of_key.data.events[0].data.key_hash).toBe('(hidden)');
});

test('a long stream is read from one revision to the next', async () => {
  const { publications } = harness.client(shop.secret);
  const { id } = await publications.create({ title: 'T', price_currency: 'USD', price_amount: 1 });
  for (let n = 0; n < 50; n++) await publications.update(id, { title: `T${n}` });
  const name = `live.publication-${id}`;
  const first = await call(`GET /stream?name=${name}`);
  expect([first.data.events.length, first.meta]).toEqual([50, { next: 50 }]);
  const rest = await call(`GET /stream?name=${name}&from=50`);
  expect([rest.data.events[0].revision, rest.meta]).toEqual([50, { next: null }]);
});

describe('a dead letter', () => {
  const list = async () => (await call('GET /dead-letters')).data;
  const release = (body: object) => call('POST /dead-letters/release', { body });

  async function appendShown(n: number): Promise<StreamName> {
    const stream = await appendUnreadable(harness, shop.store_id, n);
    await waitFor(async () => JSON.stringify(await list()).includes(stream));
    return stream;
  }

  test('is shown, retried and skipped with those of its group', async () => {
    const streams = [await appendShown(1), await appendShown(2)];
    const found = await list();
    const [{ group, count, first, plan }] = found.groups;
    expect([found.groups.length, count, first.reason]).toEqual([1, 2, 'unknown event type OfALaterRelease']);
    expect(found.streams).toMatchObject(
      streams.map((stream) => ({ realm: 'live', stream, group, revision: 0 })),
    );
    expect((await call('GET /health')).data).toMatchObject({
      state: 'attention',
      cause: 'Streams on the dead-letter list of live: 2.',
    });

    const failed = await release({ action: 'retry', group, plan });
    expect(failed.data.versions).toMatchObject(
      streams.map((stream) => ({ stream, projected: 0, dead_letter: { stream } })),
    );

    streams.push(await appendShown(3));
    const changed = await release({ action: 'skip', group, plan });
    expect([changed.status, changed.error.code]).toEqual([409, 'CONFLICT']);
    expect(changed.data.streams).toMatchObject(streams.map((stream) => ({ stream })));
    const shown = (await call(`GET /stream?name=${streams[0]}`)).data;
    expect(shown).toMatchObject({
      dead_letter: { stream: streams[0], revision: 0 },
      events: [{ type: 'OfALaterRelease', error: 'unknown event type OfALaterRelease' }],
    });
    for (const body of [{ plan }, { plan, group, stream: streams[0] }, { group }])
      expect((await release({ action: 'skip', ...body })).status).toBe(400);
    const done = await release({ action: 'skip', group, plan: changed.data.plan });
    expect(done.data.versions).toMatchObject(streams.map((stream) => ({ stream, dead_letter: null })));
    expect(await list()).toEqual({ groups: [], streams: [] });
    expect((await release({ action: 'skip', group, plan })).status).toBe(404);
  });

  test('that can be projected now leaves the list after a retry', async () => {
    const { publications } = harness.client(shop.secret);
    const { id } = await publications.create({ title: 'Tea', price_currency: 'USD', price_amount: 1_250 });
    const stream = streamName('live', 'publication', id);
    const { position } = await addDeadLetter(harness, shop.store_id, stream, 'it broke');
    const [shown] = (await list()).streams;
    expect(shown).toMatchObject({ stream, reason: 'it broke', position: String(position) });
    const done = await release({ action: 'retry', stream, plan: shown.plan });
    expect(done.data.versions).toMatchObject([{ stream, projected: 1, dead_letter: null }]);
    expect((await publications.get(id)).title).toBe('Tea');
  });
});

describe('the documentation', () => {
  const page = readFileSync(PAGE, 'utf8');

  test('lists every endpoint with its parameters, and no other', () => {
    const rows = [...page.matchAll(/^\| `(GET|POST|DELETE) (\/operator\/[^`]+)` \|([^|]*)\|/gm)];
    const listed = rows.map(([, method, path, names]) => [
      `${method} ${path}`,
      [...names!.matchAll(/`(\w+)`/g)].map(([, name]) => name!).sort(),
    ]);
    const declared = ENDPOINTS.map(({ method, path, query, body }) => [
      `${method} ${path}`,
      [query, body].flatMap((schema) => (schema ? Object.keys(shapeOf(schema)) : [])).sort(),
    ]);
    expect(listed).toEqual(declared);
  });

  test('has commands that work one after another', async () => {
    const script = [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)]
      .map(([, block]) => block!)
      .join('')
      .replace('http://127.0.0.1:8080', harness.url);
    const env = { ...process.env, CONSOLE_OPERATOR_TOKEN: TOKEN };
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { env });
    expect(stdout.match(/"code":\d+|"state":"\w+"|"clean":\w+/g)).toEqual([
      ...['"code":200', '"state":"ok"', '"code":201', '"code":200', '"code":202', '"clean":true'],
    ]);
  });
});
