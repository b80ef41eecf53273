import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { pino } from 'pino';
import { type Service, startAllInOne } from '../../services/boot/all-in-one';
import { reasonLeftOut } from '../../services/mcp/tools';
import { operations } from '../../shared/api/operations';
import { parseConfig } from '../../shared/kernel/config';
import { LateWrites } from '../support/late-writes';
import { makeTempDir } from '../support/temp-dir';
import { WAIT_MS_MAX, waitFor } from '../support/wait-for';
import { InProcessCli } from './cli-run';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by tests
type Body = any;

const folder = makeTempDir();
let cli: InProcessCli;
let account: string;
let stores: readonly [string, string];
let keys: Record<'merchant' | 'other' | 'shop', string>;
const late = new LateWrites();
const fetch = late.settling(() => service);
let service: Service;

const keyOf = async (type: string, store: string, ...options: string[]): Promise<Body> =>
  cli.json('key', 'create', '--account', account, '--type', type, '--store', store, ...options);

async function startService(settings: Record<string, string> = {}): Promise<Service> {
  const environment = { DATA_DIR: folder.path, PORT: '0', DEMO: 'off', LOG_LEVEL: 'silent' };
  const started = await startAllInOne(
    parseConfig({ ...environment, ...settings }),
    pino({ level: 'warn' }, late),
  );
  expect(await started.pipelines.caughtUp(WAIT_MS_MAX)).toBe(true);
  return started;
}

beforeAll(async () => {
  cli = new InProcessCli(folder.path);
  account = await cli.account();
  stores = [await cli.store(account), await cli.store(account)];
  const keyText = async (type: string, store: string): Promise<string> => (await keyOf(type, store)).key;
  keys = {
    merchant: await keyText('secret', stores[0]),
    other: await keyText('secret', stores[1]),
    shop: await keyText('public', stores[0]),
  };
  service = await startService();
});
afterAll(async () => {
  await service?.close();
  folder.remove();
});

/** An assistant that is connected with a key. */
class Assistant {
  readonly client = new Client({ name: 'Kitchen Assistant 2', version: '1.0.0' });
  private transport!: StreamableHTTPClientTransport;

  static async connect(key: string, url = service.url): Promise<Assistant> {
    const assistant = new Assistant();
    assistant.transport = new StreamableHTTPClientTransport(new URL('/mcp', url), {
      requestInit: { headers: { Authorization: `Bearer ${key}` } },
      fetch,
    });
    await assistant.client.connect(assistant.transport as Parameters<Client['connect']>[0]);
    return assistant;
  }

  get session(): string {
    return this.transport.sessionId!;
  }

  async tools(): Promise<Map<string, Body>> {
    const { tools } = await this.client.listTools();
    return new Map(tools.map((tool) => [tool.name, tool]));
  }

  /** Calls a tool, and returns the result. */
  async result(name: string, args: Body = {}): Promise<Body> {
    return this.client.callTool({ name, arguments: args });
  }

  /** Calls a tool, and returns the answer of the service. */
  async call(name: string, args: Body = {}): Promise<Body> {
    const { isError, content, structuredContent } = await this.result(name, args);
    expect({ name, isError, text: isError ? content[0].text : '' }).toEqual({ name, text: '' });
    expect(JSON.parse(content[0].text)).toEqual(structuredContent);
    return structuredContent;
  }
}

/** Sends a message as a client without a session does. */
async function post(message: Body, { key = keys.merchant, headers = {} as Record<string, string> } = {}) {
  const response = await fetch(new URL('/mcp', service.url), {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'X-API-Key': key,
      ...headers,
    },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  });
  const body = await response.text();
  return { status: response.status, headers: response.headers, body: (body && JSON.parse(body)) as Body };
}

const coffee = { title: 'Coffee', price_currency: 'PEN', price_amount: 3_600 };

describe('an assistant with a secret key', () => {
  let assistant: Assistant;
  beforeAll(async () => {
    assistant = await Assistant.connect(keys.merchant);
  });
  afterAll(async () => assistant.client.close());

  test('has a run with its name, and is told how to work', () => {
    expect(assistant.session).toMatch(/^kitchen-assistant-2-[0-9a-f]{8}-[0-9a-f-]{27}$/);
    const instructions = assistant.client.getInstructions()!;
    expect(instructions).toContain('batch_publications with dry_run true first');
    expect(instructions).toContain(`This session is the run ${assistant.session}.`);
    expect(instructions).toContain('The argument visibility: Which resources to return');
    expect(instructions).not.toContain('The key has the stores');
  });

  test('has a tool for each operation that is not left out by rule', async () => {
    const tools = await assistant.tools();
    const of_api = operations.filter(({ path }) => path.startsWith('/api/'));
    const left_out = of_api.filter((operation) => reasonLeftOut(operation) !== undefined);
    expect(tools.size).toBe(of_api.length - left_out.length);
    const leftOutAs = (reason: string) => left_out.filter((operation) => reasonLeftOut(operation) === reason);
    expect(leftOutAs('alias').map(({ id }) => id)).toEqual(['listStoreListings']);
    expect(leftOutAs('bytes').map(({ id }) => id)).toEqual(['uploadMedia']);
    expect(leftOutAs('event stream').map(({ id }) => id)).toEqual(['readChanges']);
    expect(new Set(leftOutAs('tag').map(({ tag }) => tag))).toEqual(new Set(['Keys', 'Webhooks', 'Prices']));
    expect(leftOutAs('external id').every(({ path }) => path.includes('/by-external-id/'))).toBe(true);
    // The model reads all of it.
    expect(JSON.stringify([...tools.values()]).length).toBeLessThan(100_000);
    // Names that providers of models accept.
    for (const [name, { inputSchema }] of tools) {
      expect(name).toMatch(/^[a-z_]{1,64}$/);
      for (const argument of Object.keys(inputSchema.properties)) expect(argument).toMatch(/^[\w-]{1,64}$/);
    }
    expect(tools.get('get_publication').annotations).toEqual({ readOnlyHint: true, openWorldHint: false });
    expect(tools.get('create_publication').annotations).toMatchObject({ destructiveHint: false });
    expect(tools.get('delete_publication').annotations).toMatchObject({
      destructiveHint: true,
      idempotentHint: true,
    });
  });

  test('creates products, finds them, and changes them after a dry run', async () => {
    const { data: created } = await assistant.call('create_publication', {
      ...coffee,
      attributes: { roast: 'medium' },
    });
    await assistant.call('create_publication', {
      ...coffee,
      title: 'Dark coffee',
      attributes: { roast: 'dark' },
    });
    const { data: found } = await assistant.call('search_store', { q: 'coffee', sort: 'name', limit: 5 });
    expect(found.map(({ title }: Body) => title)).toEqual(['Coffee', 'Dark coffee']);
    // A parameter with any names, a list of names, and null for an argument that is left out.
    const filtered = await assistant.call('list_publications', {
      ...{
        attributes: { roast: ['medium', 'light'] },
        facets: ['vendor', 'price'],
        in_stock: true,
        cursor: null,
      },
    });
    expect(filtered.data.map(({ id }: Body) => id)).toEqual([created.id]);
    expect(filtered.meta.facets.map(({ name }: Body) => name)).toEqual(['vendor', 'price']);

    const items = [{ action: 'update', id: created.id, body: { price_amount: 4_000 } }];
    const { data: planned } = await assistant.call('batch_publications', { items, dry_run: true });
    const { data: before } = await assistant.call('get_publication', { id: created.id });
    const { data: done } = await assistant.call('batch_publications', { items, dry_run: false });
    const { data: after } = await assistant.call('get_publication', { id: created.id });
    expect([before.price_amount, after.price_amount]).toEqual([3_600, 4_000]);
    expect(done).toEqual({ ...planned, dry_run: false });
  });

  test('schedules, orders the featured products of a listing, and reads the history', async () => {
    const { data: listing } = await assistant.call('create_listing', { name: 'Teas' });
    const make = async (title: string): Promise<Body> =>
      (await assistant.call('create_publication', { ...coffee, title, listing_id: listing.id })).data;
    const [green, black] = [await make('Green tea'), await make('Black tea')];
    const publication_ids = [black.id, green.id];
    await assistant.call('arrange_featured', { id: listing.id, publication_ids });
    const { data: shown } = await assistant.call('list_listing_publications', { id: listing.id });
    expect(shown.featured.map(({ id }: Body) => id)).toEqual(publication_ids);
    const publish_at = '2126-01-01T00:00:00.000Z';
    await assistant.call('update_publication', { id: green.id, visibility: 'private', publish_at });
    const { data: changes } = await assistant.call('list_publication_history', { id: green.id, limit: 1 });
    expect(changes[0].changed.publish_at).toEqual({ before: null, after: publish_at });
    const { data: scheduled } = await assistant.call('list_publications', {
      scheduled: true,
      visibility: 'all',
      expand: ['listing', 'media'],
    });
    expect(scheduled.map(({ id }: Body) => id)).toEqual([green.id]);
  });

  test('imports the text of a file, and exports the catalog as text', async () => {
    const file = 'Handle,Title,Variant Price\nmate,Mate,12.50\n';
    const { data: started } = await assistant.call('create_import', {
      file,
      currency: 'PEN',
      overwrite: true,
    });
    const finished = async (): Promise<Body> => {
      const { data } = await assistant.call('get_import', { id: started.id });
      return data.status !== 'running' && data;
    };
    expect(await waitFor(finished)).toMatchObject({ step: 'preview', settings: { overwrite: true } });
    await assistant.call('start_import', { id: started.id });
    expect(await waitFor(finished)).toMatchObject({ step: 'import', report: { rows: { created: 1 } } });
    const { content, structuredContent } = await assistant.result('export_store');
    expect(structuredContent).toBeUndefined();
    const lines = content[0].text
      .trim()
      .split('\n')
      .map((line: string) => JSON.parse(line));
    expect(lines.map(({ title }: Body) => title)).toContain('Mate');
  });

  test('gets the errors of the interface as results that it can mend', async () => {
    const missing = await assistant.result('create_publication', { title: 'Tea' });
    expect(missing.isError).toBe(true);
    expect(missing.structuredContent.error.details.errors.map(({ field }: Body) => field)).toEqual([
      'price_currency',
      'price_amount',
    ]);
    const unknown = await assistant.result('get_publication', { uuid: 'x' });
    expect(unknown.structuredContent.error.details.errors).toEqual([
      { field: 'uuid', constraint: 'not a known field', code: 'FIELD_INVALID' },
      { field: 'id', constraint: 'required', code: 'FIELD_REQUIRED' },
    ]);
    const malformed = await assistant.result('get_publication', { id: '..' });
    expect(malformed.structuredContent.error.code).toBe('FIELD_REQUIRED');
    const half = await assistant.result('get_publication_by_handle', { handle: '\ud800' });
    expect(half.structuredContent.error.code).toBe('PUBLICATION_NOT_FOUND');
    const query = await assistant.result('list_publications', { limit: 51, in_stock: { any: true } });
    expect(query.structuredContent.error.details.errors).toHaveLength(2);
    await expect(assistant.result('issue_token')).rejects.toThrow('There is no tool issue_token.');
  });
});

test('a session is a run, which one call undoes for what nobody has changed since', async () => {
  const [assistant, merchant] = [
    await Assistant.connect(keys.merchant),
    await Assistant.connect(keys.merchant),
  ];
  const make = async (title: string): Promise<string> =>
    (await assistant.call('create_publication', { ...coffee, title })).data.id;
  const [mug, jug] = [await make('Mug'), await make('Jug')];
  await merchant.call('update_publication', { id: mug, price_amount: 2_000 });
  const run = assistant.session;
  const { data: changes } = await merchant.call('list_history', { run });
  expect(changes.map((change: Body) => [change.title, change.run])).toEqual([
    ['Jug', run],
    ['Mug', run],
  ]);

  const undone = { run, deleted: 1, kept: [{ id: mug, reason: 'changed since' }], complete: true };
  expect((await assistant.call('undo_run', { dry_run: true })).data).toMatchObject({
    ...undone,
    dry_run: true,
  });
  expect((await merchant.call('get_publication', { id: jug })).data.title).toBe('Jug');
  expect((await assistant.call('undo_run')).data).toMatchObject({ ...undone, dry_run: false });
  expect((await merchant.result('get_publication', { id: jug })).structuredContent.error.code).toBe(
    'PUBLICATION_NOT_FOUND',
  );
  // Another session has another run.
  expect((await merchant.call('undo_run', { run: merchant.session, dry_run: true })).data).toMatchObject({
    ...{ reverted: 1, kept: [] },
  });
});

test('two stores never mix', async () => {
  const [one, two] = [await Assistant.connect(keys.merchant), await Assistant.connect(keys.other)];
  const { data: made } = await one.call('create_publication', { ...coffee, title: 'Secret blend' });
  expect((await two.call('search_store', { q: 'secret blend' })).data).toEqual([]);
  const foreign = await two.result('update_publication', { id: made.id, title: 'Taken' });
  expect(foreign.structuredContent.error.code).toBe('PUBLICATION_NOT_FOUND');
  const denied = await two.result('list_publications', { store_id: stores[0] });
  expect(denied.structuredContent.error.code).toBe('STORE_ACCESS_DENIED');
  const { key } = await keyOf('secret', stores[0], '--store', stores[1]);
  const both = await Assistant.connect(key);
  expect(both.client.getInstructions()).toContain(`The key has the stores ${stores.join(', ')}.`);
});

test('a key has the tools of its permissions, and a revoked key has none', async () => {
  const { key, id } = await keyOf(
    'secret',
    stores[0],
    '--permission',
    'read:listings,read:media,write:media',
  );
  const assistant = await Assistant.connect(key);
  const names = [...(await assistant.tools()).keys()];
  expect(names).toEqual(expect.arrayContaining(['list_listings', 'update_media']));
  expect(names).not.toContain('create_listing');
  expect(assistant.client.getInstructions()).not.toContain('batch_publications');
  await expect(assistant.result('create_listing', { name: 'Teas' })).rejects.toThrow('There is no tool');
  await cli.json('key', 'revoke', id);
  const refused = await waitFor(async () => {
    const { status, body } = await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { key });
    return status !== 200 && { status, code: body.error.code };
  });
  expect(refused).toEqual({ status: 401, code: 'REVOKED_API_KEY' });
});

test('each read that a key sees is permitted', async () => {
  for (const permission of [
    'read:publications',
    'read:media',
    'read:listings,read:media,read:publications',
  ]) {
    const { key } = await keyOf('secret', stores[0], '--permission', permission);
    const assistant = await Assistant.connect(key);
    const codes = [...(await assistant.tools())].map(async ([name, { inputSchema }]) => {
      const args = (inputSchema.required ?? []).map((argument: string) => [argument, stores[0]]);
      const { structuredContent } = await assistant.result(name, Object.fromEntries(args));
      return [name, structuredContent?.error?.code];
    });
    expect(await Promise.all(codes)).not.toContainEqual([expect.anything(), 'INSUFFICIENT_PERMISSIONS']);
  }
});

test('a token works as well, a public key does not, and no key says what to send', async () => {
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const issued = await fetch(new URL('/auth/token', service.url), {
    method: 'POST',
    headers: { 'X-API-Key': keys.merchant },
  });
  const { data } = (await issued.json()) as Body;
  const pong = await post(ping, { key: '', headers: { Authorization: `Bearer ${data.token}` } });
  expect(pong).toMatchObject({ status: 200, body: { id: 1, result: {} } });
  expect(await post(ping, { key: keys.shop })).toMatchObject({
    status: 403,
    body: { error: { code: 'INSUFFICIENT_PERMISSIONS', message: 'This requires a secret key' } },
  });
  const without = await post(ping, { key: '' });
  expect(without.status).toBe(401);
  expect(without.body.error.message).toContain('X-API-Key');
  expect(without.headers.get('www-authenticate')).toContain('Bearer');
});

test('a call counts once against the limit of the key', async () => {
  const { key } = await keyOf('secret', stores[0], '--limit', '60/1000/5');
  // Initialises, and tells so.
  const assistant = await Assistant.connect(key);
  await assistant.call('get_store');
  await assistant.call('get_store');
  // The service gets no request for an argument that a tool does not have.
  expect((await assistant.result('get_store', { uuid: 'x' })).isError).toBe(true);
  const refused = await assistant.result('get_store');
  expect(refused.structuredContent.error.code).toBe('RATE_LIMIT_EXCEEDED');
  expect(refused.content[1].text).toMatch(/^Call again in \d+ s\.$/);
  // Nor for what is no message.
  for (const message of [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }, '{']) {
    const other = await post(message, { key });
    expect(other.status).toBe(429);
    expect(other.headers.get('retry-after')).toMatch(/^\d+$/);
  }
});

describe('messages', () => {
  const call = (params: Body): Body => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 'x' } };

  test.each<[what: string, message: Body, status: number, code: number, text: string]>([
    ['no JSON', '{', 400, -32700, 'The body is not valid JSON'],
    ['a batch', [list], 400, -32700, 'The body must be a JSON object'],
    ['another version', { ...list, jsonrpc: '1.0' }, 400, -32600, 'Invalid jsonrpc: expected "2.0".'],
    [
      'an id of another type',
      { ...list, id: {} },
      400,
      -32600,
      'Invalid id: expected a string or an integer.',
    ],
    ['no id', { ...list, id: null }, 400, -32600, 'Invalid id: expected a string or an integer.'],
    ['no method', { jsonrpc: '2.0', id: 1 }, 400, -32600, 'Invalid method: expected a string.'],
    [
      'an unknown method',
      { ...list, method: 'resources/list' },
      200,
      -32601,
      'There is no method resources/list.',
    ],
    ['params of another type', { ...list, params: [] }, 200, -32602, 'Invalid params: expected an object.'],
    [
      'a cursor of another type',
      { ...list, params: { cursor: 1 } },
      200,
      -32602,
      'Invalid params.cursor: expected string, received number.',
    ],
    [
      'a call without a name',
      call({}),
      200,
      -32602,
      'Invalid params.name: expected string, received undefined.',
    ],
    [
      'a call without an object',
      call({ name: 'get_store', arguments: [] }),
      200,
      -32602,
      'Invalid params.arguments: expected object, received array.',
    ],
    ['a call of no tool', call({ name: '__proto__' }), 200, -32602, 'There is no tool __proto__.'],
    [
      'no client',
      initialize,
      200,
      -32602,
      'Invalid params.capabilities: expected object, received undefined.',
    ],
    ['another member', { ...list, extra: 1 }, 400, -32600, 'The body is not a message of JSON-RPC 2.0.'],
  ])('%s gets an error that says what is wrong', async (_, message, status, code, text) => {
    const answer = await post(message);
    expect({ status: answer.status, error: answer.body.error }).toEqual({
      status,
      error: { code, message: text },
    });
    expect(answer.body.id).toBe(code === -32700 || message.id !== 1 ? null : 1);
  });

  test.each<[what: string, headers: Record<string, string>, status: number]>([
    ['from a page of another site', { Origin: 'https://shop.example' }, 403],
    ['with a malformed session', { 'Mcp-Session-Id': 'a b' }, 400],
    ['of an unknown version of the protocol', { 'Mcp-Protocol-Version': '2020-01-01' }, 400],
    ['for another type of answer', { Accept: 'text/html' }, 406],
    ['of another type', { 'Content-Type': 'text/plain' }, 415],
  ])('one %s does nothing', async (_, headers, status) => {
    const made = await post(call({ name: 'create_listing', arguments: { name: 'Never' } }), { headers });
    expect(made.status).toBe(status);
    const { body } = await post(call({ name: 'list_listings', arguments: { visibility: 'all' } }));
    expect(body.result.structuredContent.data.map(({ name }: Body) => name)).not.toContain('Never');
  });

  test('a call without a session works, and there are no streams and no tasks', async () => {
    // The wish for a task is ignored.
    const params = { name: 'get_store', task: { ttl: 1_000 } };
    const { body } = await post(call(params), { headers: { Origin: 'http://localhost:6274' } });
    expect(body.result.structuredContent.data.id).toBe(stores[0]);
    for (const method of ['GET', 'DELETE']) {
      const refused = await fetch(new URL('/mcp', service.url), { method });
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
    }
  });

  test('one that is sent twice in a session is carried out once', async () => {
    const headers = { 'Mcp-Session-Id': 'bridge-1' };
    const add = call({ name: 'create_listing', arguments: { name: 'Once' } });
    const [first, again] = [await post(add, { headers }), await post(add, { headers })];
    expect(again.body.result).toEqual(first.body.result);
    const other = await post({ ...add, id: 2 }, { headers });
    expect(other.body.result.structuredContent.data.id).not.toBe(first.body.result.structuredContent.data.id);
  });
});

describe('with the interface at another address', () => {
  let interface_: Server;
  let received: { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: string }[];
  let own: Service;
  /** Of the texts that the interface answers. */
  let line = '{"line":1}\n';

  beforeAll(async () => {
    interface_ = createServer(async (request, response) => {
      received.push({
        url: `${request.method} ${request.url}`,
        headers: request.headers,
        body: await text(request),
      });
      const is_write = request.method !== 'GET';
      const answer = is_write
        ? { data: { id: 'p1', status: 'waiting' } }
        : line.repeat(400_000 / line.length);
      response.writeHead(is_write ? 202 : 200, {
        'Content-Type': is_write ? 'application/json' : 'text/csv',
      });
      response.end(typeof answer === 'string' ? answer : JSON.stringify(answer));
    });
    await new Promise<void>((resolve) => interface_.listen(0, '127.0.0.1', resolve));
    const { port } = interface_.address() as AddressInfo;
    await service.close();
    own = await startService({ API_URL: `http://127.0.0.1:${port}/shop/` });
  });
  beforeEach(() => {
    received = [];
  });
  afterAll(async () => {
    await own?.close();
    interface_.close();
  });

  test('a write carries the run, and a result says that a person must confirm a proposal', async () => {
    const assistant = await Assistant.connect(keys.merchant, own.url);
    const { content } = await assistant.result('delete_publication', { id: 'a/b' });
    expect(content[1].text).toContain('A person has to confirm it in the console.');
    const [{ url, headers }] = received as [(typeof received)[0]];
    expect(url).toBe('DELETE /shop/api/publication/a%2Fb');
    expect(headers['x-catalog-run']).toBe(assistant.session);
    expect(headers['idempotency-key']).toMatch(/^[0-9a-f]{64}$/);
    expect(headers.host).toBe(new URL(own.url).host);
  });

  test('a long text is cut at the end of a line', async () => {
    const assistant = await Assistant.connect(keys.merchant, own.url);
    const { content } = await assistant.result('export_store', { format: 'shopify' });
    expect(content[0].text.length).toBeLessThanOrEqual(200_000);
    expect(content[0].text.endsWith('}\n')).toBe(true);
    expect(content[1].text).toContain('only the beginning');
    expect(received[0]!.headers['x-catalog-run']).toBeUndefined();
    line = `${'x'.repeat(300_000)}\n`;
    const { content: of_long_line } = await assistant.result('export_store', { format: 'shopify' });
    expect(of_long_line[0].text).toBe('x'.repeat(200_000));
  });

  test('a call says so if nobody answers', async () => {
    const assistant = await Assistant.connect(keys.merchant, own.url);
    await new Promise((resolve) => {
      interface_.close(resolve);
      interface_.closeAllConnections();
    });
    const { isError, structuredContent } = await assistant.result('get_store');
    expect([isError, structuredContent.error.code]).toEqual([true, 'SERVICE_UNAVAILABLE']);
  });
});
