import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SqliteEventStore } from '../../shared/adapters/sqlite/event-store';
import type { RecordedEvent } from '../../shared/catalog/events/envelope';
import { fetch } from '../support/fetch';
import { createSecretKey, fetchToken } from '../support/merchant';
import { flatPicture } from '../support/pictures';
import { endAll, type RunningProcess, type StartOptions, startProcess } from '../support/processes';
import { readLog } from '../support/read-log';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { TraceReceiver } from '../support/trace-receiver';
import { waitFor } from '../support/wait-for';
import { InProcessCli } from './cli-run';

const PROJECTED = ['POST /api/publication', 'event_store.append', 'process live', 'projection.run'];
const PUBLICATION = { title: 'Confidential teapot', price_currency: 'EUR', price_amount: 1900 };

const aTraceId = (): string => randomBytes(16).toString('hex');
const aSpanId = (): string => randomBytes(8).toString('hex');

/** The whole service in one process on SQLite, with a key and a token. */
class Shop {
  private constructor(
    readonly running: RunningProcess,
    readonly key: string,
    readonly token: string,
    readonly folder: string,
    readonly log: () => string,
  ) {}

  static async open(
    folder: string,
    settings: Readonly<Record<string, string>>,
    options: StartOptions = {},
  ): Promise<Shop> {
    const key = await createSecretKey({ DATA_DIR: folder });
    const environment = { DATA_DIR: folder, ...settings };
    const running = await startProcess('services/boot/main.js', environment, options);
    let log = '';
    running.child.stderr!.on('data', (text) => {
      log += text;
    });
    return new Shop(running, key, await fetchToken(running.url, key), folder, () => log);
  }

  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const reply = await fetch(`${this.running.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { data } = JSON.parse(await reply.text()) as { data: { id: string } };
    return { status: reply.status, data };
  }

  /** Returns the stored events of a publication. */
  async eventsOf(id: string): Promise<RecordedEvent[]> {
    const store = await SqliteEventStore.open({ file: join(this.folder, 'live', 'events.sqlite') });
    try {
      return (await readLog(store)).filter(({ stream }) => stream.endsWith(id));
    } finally {
      await store.close();
    }
  }
}

let folder: TempDir;
let receiver: TraceReceiver;
const setUp = async (): Promise<void> => {
  folder = makeTempDir();
  receiver = await TraceReceiver.start();
};
const tearDown = (): void => {
  endAll();
  receiver.stop();
  folder.remove();
};

const PRELOADS = join(__dirname, '..', 'support');
const preload = (file: string): StartOptions => ({ node_arguments: ['--require', join(PRELOADS, file)] });

/** Returns whether the process has loaded modules of OpenTelemetry. It runs with `preload('loaded-modules.js')`. */
async function hasLoadedTracing(shop: Shop): Promise<boolean> {
  shop.running.child.kill('SIGUSR2');
  const output = join(shop.folder, 'modules.json');
  const modules = await waitFor(() => JSON.parse(readFileSync(output, 'utf8')) as string[]);
  return modules.some((path) =>
    /[/]@opentelemetry[/](?!api[/])|services[/]tracing[/](?!settings|start)/.test(path),
  );
}

describe('with an OTLP endpoint', () => {
  let shop: Shop;

  beforeAll(async () => {
    await setUp();
    const settings = { ...receiver.settings, LOADED_MODULES: join(folder.path, 'modules.json') };
    shop = await Shop.open(folder.path, settings, preload('loaded-modules.js'));
  });
  afterAll(tearDown);

  test('the modules of OpenTelemetry are loaded', async () => {
    expect(await hasLoadedTracing(shop)).toBe(true);
  });

  test('a write is one trace from the request to the projection, and continues the trace of its client', async () => {
    const [trace_id, client_span] = [aTraceId(), aSpanId()];
    const headers = { traceparent: `00-${trace_id}-${client_span}-01`, tracestate: 'vendor=1' };
    // A creation also appends the reservation of its handle.
    const { id } = (await shop.send('POST', '/api/publication', PUBLICATION)).data;
    await waitFor(async () => (await shop.send('GET', `/api/publication/${id}`)).status === 200);
    const written = await shop.send('PATCH', `/api/publication/${id}`, { price_amount: 1 }, headers);
    expect(written.status).toBe(200);

    const names = ['PATCH /api/publication/:id', ...PROJECTED.slice(1)];
    const spans = await receiver.waitForSpans(trace_id, names);
    const named = (name: string) => {
      const found = spans.filter((span) => span.name === name);
      expect({ name, count: found.length }).toEqual({ name, count: 1 });
      return found[0]!;
    };
    const [request, append, job, projection] = names.map(named);
    expect(request).toMatchObject({
      kind: 'server',
      parent_id: client_span,
      service: 'catalog',
      attributes: {
        'http.request.method': 'PATCH',
        'http.route': '/api/publication/:id',
        'http.response.status_code': 200,
        'url.path': `/api/publication/${id}`,
        'url.scheme': 'http',
      },
    });
    expect(append).toMatchObject({
      kind: 'client',
      parent_id: request!.span_id,
      attributes: {
        'db.system.name': 'sqlite',
        'catalog.realm': 'live',
        'catalog.stream.category': 'publication',
        'catalog.event.count': 1,
        'catalog.append.outcome': 'appended',
      },
    });
    expect(named('send live')).toMatchObject({ kind: 'producer', parent_id: append!.span_id });
    expect(job).toMatchObject({
      kind: 'consumer',
      parent_id: append!.span_id,
      attributes: {
        'messaging.system': 'in_process',
        'messaging.destination.name': 'live',
        'messaging.operation.type': 'process',
        'messaging.batch.message_count': 1,
      },
    });
    expect(projection).toMatchObject({
      kind: 'internal',
      parent_id: job!.span_id,
      attributes: { 'catalog.view_version': 1, 'catalog.event.count': 1 },
    });

    const [, event] = await shop.eventsOf(written.data.id);
    expect(event!.metadata).toMatchObject({
      traceparent: `00-${trace_id}-${append!.span_id}-01`,
      tracestate: 'vendor=1',
    });
    const line = await waitFor(() =>
      shop
        .log()
        .split('\n')
        .find((text) => text.includes('"msg":"request"') && text.includes(trace_id)),
    );
    expect(JSON.parse(line)).toMatchObject({ trace_id, span_id: request!.span_id, status: 200 });

    for (const secret of [shop.key, shop.token, PUBLICATION.title, '127.0.0.1'])
      expect(receiver.text).not.toContain(secret);
    const verified = await new InProcessCli(folder.path).run('projections', 'verify', '--realm', 'live');
    expect(verified).toMatchObject({ code: 0 });
  });

  test('a read is its request and one read of the documents', async () => {
    const { data } = await shop.send('POST', '/api/publication', PUBLICATION);
    const trace_id = aTraceId();
    const headers = { traceparent: `00-${trace_id}-${aSpanId()}-01` };
    const path = `/api/publication/${data.id}`;
    expect((await shop.send('GET', `${path}?expand=media`, undefined, headers)).status).toBe(200);

    const spans = await receiver.waitForSpans(trace_id, ['GET /api/publication/:id', 'get publications']);
    const request = spans.find(({ kind }) => kind === 'server')!;
    expect(request.attributes).toMatchObject({ 'http.route': '/api/publication/:id', 'url.path': path });
    expect(JSON.stringify(request)).not.toContain('expand');
    const reads = spans.filter((span) => span.attributes['db.collection.name'] === 'publications');
    expect(reads).toHaveLength(1);
    expect(reads[0]).toMatchObject({
      kind: 'client',
      parent_id: request.span_id,
      attributes: { 'db.system.name': 'sqlite', 'db.namespace': 'live', 'db.operation.name': 'get' },
    });
  });

  test('a key in a path is hidden', async () => {
    const trace_id = aTraceId();
    const headers = { traceparent: `00-${trace_id}-${aSpanId()}-01` };
    await shop.send('GET', `/api/publication/${shop.key}`, undefined, headers);
    const spans = await receiver.waitForSpans(trace_id, ['GET /api/publication/:id']);
    expect(spans.find(({ kind }) => kind === 'server')).toMatchObject({
      is_error: false,
      attributes: { 'url.path': '/api/publication/[hidden]', 'http.response.status_code': 400 },
    });
    expect(receiver.text).not.toContain(shop.key);
  });

  test('a request without a valid traceparent begins a trace', async () => {
    const trace_id = aTraceId();
    for (const traceparent of [`00-${trace_id}-${'0'.repeat(16)}-01`, `00-${trace_id}-xyz-01`, 'nonsense']) {
      const { status, data } = await shop.send('POST', '/api/publication', PUBLICATION, { traceparent });
      expect(status).toBe(201);
      const [event] = await shop.eventsOf(data.id);
      const own_trace_id = event!.metadata.traceparent!.split('-')[1]!;
      const spans = await receiver.waitForSpans(own_trace_id, PROJECTED);
      expect(spans.find(({ kind }) => kind === 'server')).not.toHaveProperty('parent_id', expect.anything());
    }
    expect(receiver.spansOf(trace_id)).toEqual([]);
  });

  test('a request whose client does not sample it leaves no span and no context in its events', async () => {
    const [unsampled, sampled] = [aTraceId(), aTraceId()];
    const write = (trace_id: string, flags: string) =>
      shop.send('POST', '/api/publication', PUBLICATION, {
        traceparent: `00-${trace_id}-${aSpanId()}-${flags}`,
      });
    const { data } = await write(unsampled, '00');
    await write(sampled, '01');
    await receiver.waitForSpans(sampled, PROJECTED);
    expect(receiver.spansOf(unsampled)).toEqual([]);
    expect((await shop.eventsOf(data.id))[0]!.metadata).not.toHaveProperty('traceparent');
  });

  test('a file, and a write with an Idempotency-Key, are in the trace of their request', async () => {
    const [upload, write] = [aTraceId(), aTraceId()];
    const traceparent = (trace_id: string) => ({ traceparent: `00-${trace_id}-${aSpanId()}-01` });
    const authorization = `Bearer ${shop.token}`;
    const headers = { authorization, 'content-type': 'image/png', ...traceparent(upload) };
    const body = new Uint8Array(await flatPicture('png', { width: 20, height: 10 }));
    const reply = await fetch(`${shop.running.url}/api/media`, { method: 'POST', headers, body });
    expect(reply.status).toBe(201);
    const keyed = { ...traceparent(write), 'idempotency-key': 'once' };
    expect((await shop.send('POST', '/api/publication', PUBLICATION, keyed)).status).toBe(201);
    for (const [trace_id, path] of [
      [upload, '/api/media'],
      [write, '/api/publication'],
    ] as const) {
      const spans = await receiver.waitForSpans(trace_id, [`POST ${path}`, ...PROJECTED.slice(1)]);
      const [request, append] = [`POST ${path}`, 'event_store.append'].map((name) =>
        spans.find((span) => span.name === name),
      );
      expect(append!.parent_id).toBe(request!.span_id);
    }
  });
});

describe('a process', () => {
  beforeEach(setUp);
  afterEach(tearDown);

  test('sends spans as Protobuf by default, and takes the sampler, the resource and the propagator from the standard variables', async () => {
    const shop = await Shop.open(folder.path, {
      ...receiver.settings,
      OTEL_EXPORTER_OTLP_PROTOCOL: '',
      OTEL_SERVICE_NAME: 'my-shop',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=trial',
      OTEL_TRACES_SAMPLER: 'always_on',
      OTEL_PROPAGATORS: 'none',
    });
    const trace_id = aTraceId();
    await shop.send('POST', '/api/publication', PUBLICATION, {
      traceparent: `00-${trace_id}-${aSpanId()}-00`,
    });
    for (const text of ['POST /api/publication', 'projection.run', 'my-shop', 'deployment.environment.name'])
      await waitFor(() => receiver.text.includes(text), { what: text });
    expect(() => JSON.parse(receiver.text)).toThrow();
    const line = await waitFor(() =>
      shop
        .log()
        .split('\n')
        .find((text) => text.includes('"msg":"request"') && text.includes('/api/publication')),
    );
    expect(JSON.parse(line).trace_id).toMatch(/^[0-9a-f]{32}$/);
    expect(JSON.parse(line).trace_id).not.toBe(trace_id);
  });

  test('whose receiver never answers serves and stops as usual', async () => {
    receiver.stop();
    receiver = await TraceReceiver.start('silent');
    const shop = await Shop.open(folder.path, receiver.settings);
    for (let i = 0; i < 20; i++)
      expect((await shop.send('POST', '/api/publication', PUBLICATION)).status).toBe(201);
    expect(shop.running.faults).toEqual([]);
    // A stop that takes longer than 15 s ends with 1.
    expect(await shop.running.end('SIGTERM')).toBe(0);
  });

  test('whose receiver refuses spans logs that once a minute', async () => {
    receiver.stop();
    receiver = await TraceReceiver.start('refuses');
    const shop = await Shop.open(folder.path, receiver.settings);
    await waitFor(async () => {
      await shop.send('GET', '/api/store');
      return receiver.requests >= 5;
    });
    const { warnings } = shop.running;
    await waitFor(() => warnings.some((line) => line.includes('traces')), { what: 'a log line' });
    const failures = warnings.filter((line) => line.includes('traces cannot be exported'));
    const processes = failures.map((line) => (JSON.parse(line) as { pid: number }).pid);
    // The service and its projection process export on their own.
    expect([...new Set(processes)]).toEqual(processes);
    expect(processes).toContain(shop.running.child.pid);
    expect(await shop.running.end('SIGTERM')).toBe(0);
  });

  test('without an endpoint loads no module of OpenTelemetry, and keeps no context in its events', async () => {
    const settings = { LOADED_MODULES: join(folder.path, 'modules.json') };
    const shop = await Shop.open(folder.path, settings, preload('loaded-modules.js'));
    const traceparent = `00-${aTraceId()}-${aSpanId()}-01`;
    const { data } = await shop.send('POST', '/api/publication', PUBLICATION, { traceparent });
    expect((await shop.eventsOf(data.id))[0]!.metadata).not.toHaveProperty('traceparent');
    expect(await hasLoadedTracing(shop)).toBe(false);
    expect(shop.log()).not.toContain('trace_id');
  });

  test('without the packages says so in one log line, and works without traces', async () => {
    const shop = await Shop.open(folder.path, receiver.settings, preload('without-trace-packages.js'));
    expect((await shop.send('POST', '/api/publication', PUBLICATION)).status).toBe(201);
    const about_traces = shop.running.warnings.filter((line) => /opentelemetry|trace/i.test(line));
    expect(about_traces).toEqual([
      expect.stringContaining('the optional packages @opentelemetry/* are not installed'),
    ]);
  });
});
