import { readFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { streamName } from '../../shared/catalog/events/envelope';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import { metricsRoute } from '../../shared/http/operational';
import { CatalogError } from '../../shared/kernel/errors';
import { VERSION } from '../../shared/kernel/version';
import { fetch } from '../support/fetch';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { freeOwnPort } from '../support/own-port';
import { ownNames } from '../support/own-servers';
import { pngDeclaringSize } from '../support/pictures';
import { endAll, startProcess } from '../support/processes';
import { waitFor } from '../support/wait-for';
import { MediaShop } from './media-shop';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };

/** Reads the metrics. `value` returns a sample by its name and labels, as they are written in the text. */
async function scrape(url: string): Promise<{ text: string; value: (sample: string) => number | undefined }> {
  const reply = await fetch(`${url}/metrics`);
  expect([reply.status, reply.headers.get('content-type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ]);
  const text = await reply.text();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const samples = new Map(lines.map((line) => [line.replace(/ \S+$/, ''), Number(/\S+$/.exec(line)?.[0])]));
  return { text, value: (sample) => samples.get(sample) };
}

/** Reads the metrics until they contain the lag of every realm. A busy store may answer the first scrape too late. */
function scrapeAll(url: string): ReturnType<typeof scrape> {
  return waitFor(async () => {
    const scraped = await scrape(url);
    const lags = REALMS.map((realm) => `catalog_partition_lag_events{realm="${realm}",partition="7"}`);
    return lags.every((lag) => scraped.value(lag) !== undefined) && scraped;
  });
}

describe('/metrics', () => {
  let harness: Harness;
  let shop: Shop;

  beforeAll(async () => {
    harness = await startHarness({
      is_own: true,
      environment: { RATE_LIMIT_PUBLIC: '1/1000/3', VIEW_FLUSH_INTERVAL_S: '3600' },
    });
    shop = await harness.newShop();
  });
  afterAll(() => harness.close());

  const post = (headers = {}) =>
    harness.request('POST', '/api/publication', { token: shop.secret.token, body: TEA, headers });
  const metrics = () => scrape(harness.url);

  test('start known outcomes at 0, so that the first failure is an increase', async () => {
    const { value } = await metrics();
    for (const outcome of ['ready', 'failed', 'tried_again'])
      expect(value(`catalog_media_rendering_seconds_count{outcome="${outcome}"}`)).toBe(0);
    for (const outcome of ['first', 'resumed', 'answered', 'locked', 'other_request', 'quota_reached'])
      expect(value(`catalog_idempotent_requests_total{outcome="${outcome}"}`)).toBe(0);
    expect(value('catalog_append_duration_seconds_count{realm="live",outcome="failed"}')).toBe(0);
    expect(value('catalog_events_appended_total{realm="test"}')).toBe(0);
  });

  test('counts requests by route and status, and measures their duration', async () => {
    const { id } = (await post()).body.data;
    const path = `/api/publication/${id}`;
    for (let n = 0; n < 3; n++) await harness.request('GET', path, { token: shop.secret.token });
    await harness.request('GET', `${path}x`, { token: shop.secret.token });
    await harness.request('GET', '/api/nothing/at/all', { token: shop.secret.token });
    const seen = 'method="GET",route="/api/publication/:id"';
    // A request is counted after its answer.
    await waitFor(async () => {
      const { value } = await metrics();
      return (
        value(`catalog_http_requests_total{${seen},status="200"}`) === 3 &&
        value(`catalog_http_requests_total{${seen},status="400"}`) === 1 &&
        value('catalog_http_requests_total{method="GET",route="none",status="404"}') === 1 &&
        value(`catalog_http_request_duration_seconds_count{${seen}}`) === 4
      );
    });
  });

  test('counts all unusual methods under one label', async () => {
    for (const method of ['PROPFIND', 'MKCALENDAR', 'PURGE', 'REPORT'])
      expect((await fetch(`${harness.url}/anything`, { method })).status).toBe(404);
    await waitFor(async () => {
      const { value, text } = await metrics();
      expect(text).not.toMatch(/PROPFIND|MKCALENDAR|PURGE|REPORT/);
      return value('catalog_http_requests_total{method="OTHER",route="none",status="404"}') === 4;
    });
  });

  test('counts methods that a path does not have, and OPTIONS, without its route', async () => {
    const token = shop.secret.token;
    for (const path of ['/api/store', '/api/publications', '/api/listings', '/health/live', '/docs'])
      for (const method of ['PUT', 'DELETE', 'OPTIONS']) await harness.request(method, path, { token });
    const count = (method: string, status: number) =>
      `catalog_http_requests_total{method="${method}",route="none",status="${status}"} 5`;
    await waitFor(async () => {
      const { text } = await metrics();
      const lines = text.match(/^catalog_http_requests_total\{method="(?:PUT|DELETE|OPTIONS)".*$/gm) ?? [];
      return lines.sort().join() === [count('DELETE', 405), count('OPTIONS', 204), count('PUT', 405)].join();
    });
  });

  test('counts events and appends by realm', async () => {
    const before = await metrics();
    await post();
    const after = await metrics();
    // The reservation of the handle, and the publication.
    const live = 'catalog_events_appended_total{realm="live"}';
    expect(after.value(live)! - before.value(live)!).toBe(2);
    const appends = 'catalog_append_duration_seconds_count{realm="live",outcome="appended"}';
    expect(after.value(appends)! - before.value(appends)!).toBe(2);
  });

  test('shows the lag and the dead letters of every partition and realm, under the old names too', async () => {
    await harness.settled();
    // While a busy store answers too late, the lag grows.
    const { value } = await waitFor(async () => {
      const scraped = await scrapeAll(harness.url);
      const lags = REALMS.map((realm) => `catalog_partition_lag_seconds{realm="${realm}",partition="7"}`);
      return lags.every((lag) => scraped.value(lag) === 0) && scraped;
    });
    for (const realm of REALMS) {
      for (let partition = 0; partition < 8; partition++) {
        expect(value(`catalog_partition_lag_events{realm="${realm}",partition="${partition}"}`)).toBe(0);
        expect(value(`catalog_partition_lag_seconds{realm="${realm}",partition="${partition}"}`)).toBe(0);
      }
      expect(value(`catalog_dead_letter_streams{realm="${realm}"}`)).toBe(0);
      expect(value(`catalog_dependency_up{dependency="event_store",realm="${realm}"}`)).toBe(1);
      expect(value(`catalog_dependency_up{dependency="view_store",realm="${realm}"}`)).toBe(1);
    }
  });

  test('counts cache hits, idempotency keys, and waiting views', async () => {
    const path = `/api/publication/${(await post()).body.data.id}`;
    await post({ 'idempotency-key': 'metrics' });
    await post({ 'idempotency-key': 'metrics' });
    // On a busy machine, an entry may expire between two requests.
    for (const cache of ['api_key_by_id', 'account_status', 'written_store'])
      await waitFor(async () => {
        await post();
        const hits = (await metrics()).value(`catalog_cache_lookups_total{cache="${cache}",result="hit"}`);
        return hits !== undefined && hits > 0;
      });
    const before = await metrics();
    await harness.request('GET', path, { token: shop.public.token });
    const { value } = await metrics();
    expect(value('catalog_idempotent_requests_total{outcome="first"}')).toBe(1);
    expect(value('catalog_idempotent_requests_total{outcome="answered"}')).toBe(1);
    expect(value('catalog_views_waiting')! - before.value('catalog_views_waiting')!).toBe(1);
  });

  test('counts refused requests, and requests that were limited without the shared limiter', async () => {
    const stranger = await harness.newKey('public', [shop.store_id]);
    const read = () => harness.request('GET', '/api/store', { token: stranger.token });
    for (let n = 0; n < 4; n++) await read();
    const refusals = 'catalog_rate_limit_refusals_total{area="api",tier="public_key"}';
    expect((await metrics()).value(refusals)).toBe(1);
    const { limiter } = harness.service.runtime;
    const { take } = limiter;
    limiter.take = async () => {
      throw new CatalogError('unavailable');
    };
    await read();
    limiter.take = take;
    expect((await metrics()).value('catalog_rate_limit_fallbacks_total')).toBe(1);
  });

  test('counts the pictures that were made, that failed, and that wait', async () => {
    const media = await MediaShop.of(harness, shop);
    await media.ready(await media.upload());
    expect((await media.send(pngDeclaringSize({ width: 600, height: 400 }))).status).toBe(201);
    await media.record();
    await waitFor(async () => {
      const { text, value } = await metrics();
      expect(text).not.toContain('catalog_media_processing{realm="control"}');
      return (
        value('catalog_media_rendering_seconds_count{outcome="ready"}') === 1 &&
        value('catalog_media_rendering_seconds_count{outcome="failed"}') === 1 &&
        value('catalog_media_processing{realm="live"}') === 1
      );
    });
  });

  test('may be read by the same machine, but not through a gateway', async () => {
    for (const name of ['X-Forwarded-For', 'X-Real-IP', 'Forwarded', 'Via']) {
      const reply = await harness.request('GET', '/metrics', { headers: { [name]: '127.0.0.1' } });
      expect([name, reply.status, reply.body.error.code]).toEqual([name, 404, 'NOT_FOUND']);
    }
  });

  test('documents every metric with its kind', async () => {
    const { text } = await metrics();
    const exposed = [...text.matchAll(/^# TYPE (catalog_\w+) (\w+)$/gm)].map(
      ([, name, kind]) => `${name} ${kind}`,
    );
    const docs = readFileSync(join(process.cwd(), 'docs', 'metrics.md'), 'utf8');
    const rows = [...docs.matchAll(/^\| `(catalog_\w+)` +\| (\w+)/gm)].map(
      ([, name, kind]) => `${name} ${kind}`,
    );
    expect(exposed.sort()).toEqual(rows.sort());
  });

  test('includes the metrics of the process, needs no token, and contains no key, token or id', async () => {
    const { text, value } = await metrics();
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(0);
    expect(text).toContain('nodejs_eventloop_lag_p99_seconds');
    const { public: open, secret } = shop;
    for (const hidden of [open.key, open.id, open.token, secret.key, secret.id, secret.token, shop.store_id])
      expect(text).not.toContain(hidden);
    expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-7/);
    const refused = await harness.request('POST', '/metrics');
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });
});

/** Returns the distance of each partition to the head of the log. On the embedded log it is a number of events. */
async function lagOf({ service }: Harness, realm: Realm): Promise<number[]> {
  const { events, views } = service.runtime;
  const head = await events[realm].head();
  const checkpoints = await (await views[realm].current())!.checkpoints();
  return checkpoints.map((checkpoint) => Number(head - checkpoint));
}

describe('a service', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ servers: ownNames({}) });
  });
  afterAll(() => harness.close());

  test('with a store that fails is not ready; the state of every part is still reported', async () => {
    const { events, idempotency, limiter } = harness.service.runtime;
    const fail = async (): Promise<never> => {
      throw new CatalogError('unavailable');
    };
    const { head } = events.test;
    const { check } = idempotency;
    const { take } = limiter;
    Object.assign(events.test, { head: fail });
    Object.assign(idempotency, { check: fail });
    Object.assign(limiter, { take: fail });
    const ready = await harness.request('GET', '/health/ready');
    expect([ready.status, ready.body.error.details]).toEqual([
      503,
      expect.objectContaining({
        rate_limiter: 'unavailable',
        idempotency_store: 'unavailable',
        test: expect.objectContaining({ event_store: 'unavailable', view_store: 'ok' }),
        live: expect.objectContaining({ event_store: 'ok', view_store: 'ok' }),
      }),
    ]);
    const { value } = await scrape(harness.url);
    expect(value('catalog_ready')).toBe(0);
    expect(value('catalog_dependency_up{dependency="event_store",realm="test"}')).toBe(0);
    expect(value('catalog_dependency_up{dependency="event_store",realm="live"}')).toBe(1);
    expect(value('catalog_partition_lag_events{realm="test",partition="0"}')).toBeUndefined();
    Object.assign(events.test, { head });
    Object.assign(idempotency, { check });
    Object.assign(limiter, { take });
    expect((await harness.request('GET', '/health/ready')).status).toBe(200);
    expect((await scrape(harness.url)).value('catalog_ready')).toBe(1);
  });

  test('shows the space on the disk of its data folder', async () => {
    const { value } = await scrape(harness.url);
    const { bavail, blocks, bsize } = statfsSync(harness.data_dir);
    expect(value('catalog_data_dir_size_bytes')).toBe(blocks * bsize);
    // Others write to the same disk meanwhile.
    expect(value('catalog_data_dir_free_bytes')! / (bavail * bsize)).toBeCloseTo(1, 1);
  });

  test('whose lag cannot be read keeps the number of events and grows in seconds, so that an alert sees it', async () => {
    const { events } = harness.service.runtime;
    const { head } = events.test;
    const seconds = 'catalog_partition_lag_seconds{realm="test",partition="3"}';
    const readLag = async () => (await scrapeAll(harness.url)).value(seconds);
    await waitFor(async () => (await readLag()) === 0);
    Object.assign(events.test, { head: () => Promise.reject(new CatalogError('unavailable')) });
    await waitFor(async () => (await readLag())! > 0.2);
    const { value } = await scrape(harness.url);
    expect(value('catalog_partition_lag_events{realm="test",partition="3"}')).toBe(0);
    expect(value('catalog_dead_letter_streams{realm="test"}')).toBe(0);
    Object.assign(events.test, { head });
    await waitFor(async () => (await readLag()) === 0);
  });

  test('that does not project shows the lag of each partition in events and seconds', async () => {
    const shop = await harness.newShop();
    await harness.settled();
    await harness.service.pipelines.stop();
    const { store_id } = shop;
    const hour_ago = new Date(Date.now() - 3_600_000).toISOString();
    const metadata = { occurred_at: hour_ago, partition_key: store_id, store_id, source: 'system' } as const;
    for (const id of ['1', '2'].map((n) => `01890000-0000-7000-8000-00000000000${n}`))
      await harness.service.runtime.events.live.append(streamName('live', 'listing', id), -1, [
        { id, type: 'ListingDeleted', schema_version: 1, data: {}, metadata },
      ]);
    const partitions = [0, 1, 2, 3, 4, 5, 6, 7];
    const lag = await lagOf(harness, 'live');
    const test_lag = await lagOf(harness, 'test');
    expect(lag).toEqual(partitions.map(() => 2));
    expect(test_lag).toEqual(partitions.map(() => 0));
    const { value } = await scrapeAll(harness.url);
    for (const partition of partitions) {
      expect(value(`catalog_partition_lag_events{realm="live",partition="${partition}"}`)).toBe(
        lag[partition],
      );
      const seconds = value(`catalog_partition_lag_seconds{realm="live",partition="${partition}"}`);
      expect(seconds).toBeGreaterThanOrEqual(3_600);
      expect(seconds).toBeLessThan(7_200);
      expect(value(`catalog_partition_lag_events{realm="test",partition="${partition}"}`)).toBe(
        test_lag[partition],
      );
    }
    const ready = await harness.request('GET', '/health/ready');
    expect(ready.body.data).toMatchObject({
      ready: true,
      rate_limiter: 'ok',
      idempotency_store: 'ok',
      live: {
        event_store: 'ok',
        view_store: 'ok',
        lag,
        dead_letters: [],
      },
    });
  });
});

describe('each process', () => {
  afterEach(endAll);

  test('serves its metrics: command, query, and the worker on WORKER_PORT', async () => {
    const harness = await startHarness({
      is_own: true,
      environment: { METRICS_FROM: '10.0.0.0/8, 192.0.2.1' },
    });
    const DATA_DIR = harness.data_dir;
    const port = await freeOwnPort();
    const processes = await Promise.all([
      startProcess('services/boot/main.js worker', { DATA_DIR, WORKER_PORT: String(port) }),
      startProcess('services/boot/main.js command', { DATA_DIR }),
      startProcess('services/boot/main.js query', { DATA_DIR }),
    ]);
    expect(processes[0]!.url).toBe(`http://127.0.0.1:${port}`);
    for (const { url } of processes) {
      expect((await fetch(`${url}/health/ready`)).status).toBe(200);
      await fetch(`${url}/nothing`);
      const { value } = await waitFor(async () => {
        const scraped = await scrape(url);
        const ready = 'catalog_http_requests_total{method="GET",route="/health/ready",status="200"}';
        return scraped.value(ready) === 1 && scraped;
      });
      expect(value('catalog_partition_lag_events{realm="live",partition="7"}')).toBe(0);
      expect(value('catalog_ready')).toBe(1);
      expect(value(`catalog_build_info{version="${VERSION}"}`)).toBe(1);
      expect(value('catalog_data_dir_size_bytes')).toBeGreaterThan(0);
    }
    await expect(
      startProcess('services/boot/main.js worker', { DATA_DIR, WORKER_PORT: String(port) }),
    ).rejects.toThrow(`worker: Port ${port} is in use. Set another one, such as WORKER_PORT=${port + 1}.`);
    // The service itself allows other addresses only.
    const refused = await harness.request('GET', '/metrics');
    expect([refused.status, refused.body.error]).toEqual([
      404,
      { code: 'NOT_FOUND', message: 'METRICS_FROM does not allow this address to read /metrics' },
    ]);
    expect((await harness.request('GET', '/health/ready')).status).toBe(200);
    for (const one of processes) expect(await one.end('SIGTERM')).toBe(0);
    await harness.close();
  });
});

test('METRICS_FROM must be a list of addresses', () => {
  const route = () => metricsRoute(() => Promise.reject(), { METRICS_FROM: 'everybody' });
  expect(route).toThrow('Invalid METRICS_FROM: expected a list of addresses');
});
