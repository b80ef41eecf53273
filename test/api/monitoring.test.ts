import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lastBackupFile } from '../../services/boot/copy-data';
import { streamName } from '../../shared/catalog/events/envelope';
import { CatalogError } from '../../shared/kernel/errors';
import { fetch } from '../support/fetch';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { ALERTS_FILE, alertQueries, panelQueries } from '../support/monitoring';
import { freeOwnPort } from '../support/own-port';
import { ownNames } from '../support/own-servers';
import { flatPicture } from '../support/pictures';
import { describeWithProgram } from '../support/programs';
import { makeTempDir } from '../support/temp-dir';
import { waitFor, within } from '../support/wait-for';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };

/** Makes one request, or failure, of each kind that the service counts. */
async function makeTraffic(harness: Harness, shop: Shop): Promise<void> {
  const { token } = shop.secret;
  const created = await harness.request('POST', '/api/publication', {
    token,
    body: TEA,
    headers: { 'idempotency-key': 'traffic' },
  });
  expect(created.status).toBe(201);
  const path = `/api/publication/${created.body.data.id}`;
  expect((await harness.request('GET', path, { token: shop.public.token })).status).toBe(200);
  // More than the burst of the key.
  for (let n = 0; n < 4; n++) await harness.request('GET', '/api/store', { token: shop.public.token });
  const { limiter, events } = harness.service.runtime;
  const { take } = limiter;
  const { readStream } = events.live;
  const fail = async (): Promise<never> => {
    throw new CatalogError('unavailable');
  };
  Object.assign(limiter, { take: fail });
  await harness.request('GET', path, { token });
  Object.assign(limiter, { take });
  Object.assign(events.live, { readStream: fail });
  const failed = await harness.request('PATCH', path, { token, body: { title: 'Coffee' } });
  expect(failed.status).toBe(503);
  Object.assign(events.live, { readStream });
  const picture = await flatPicture('png', { width: 8, height: 8 });
  const body = new Blob([new Uint8Array(picture)], { type: 'image/png' });
  const { id } = (await harness.request('POST', '/api/media', { token, body })).body.data;
  await waitFor(
    async () => (await harness.request('GET', `/api/media/${id}`, { token })).body.data.status === 'ready',
  );
}

/** Appends an event that no worker can read, as one of a later release would be. */
async function appendUnreadable(harness: Harness, { store_id }: Shop): Promise<void> {
  const id = '01890000-0000-7000-8000-000000000001';
  const metadata = {
    occurred_at: new Date().toISOString(),
    partition_key: store_id,
    store_id,
    source: 'system' as const,
  };
  await harness.service.runtime.events.live.append(streamName('live', 'listing', id), -1, [
    { id, type: 'OfALaterRelease', schema_version: 1, data: {}, metadata },
  ]);
}

interface Prometheus {
  /** Returns the `data` of an endpoint of its HTTP API. */
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by tests
  get(path: string): Promise<any>;
  stop(): Promise<void>;
}

/** Starts Prometheus with the configuration of `docs/operations`, except for the target and the intervals. */
async function startPrometheus(folder: string, target: string): Promise<Prometheus> {
  const example = readFileSync('docs/operations/prometheus/prometheus.yml', 'utf8');
  const config = example
    .replace('scrape_interval: 15s', 'scrape_interval: 1s\n  evaluation_interval: 1s')
    .replace('127.0.0.1:8080', target);
  expect(config).toContain(target);
  writeFileSync(join(folder, 'prometheus.yml'), config);
  copyFileSync(ALERTS_FILE, join(folder, 'alerts.yml'));
  const address = `127.0.0.1:${await freeOwnPort()}`;
  const options = { 'config.file': 'prometheus.yml', 'storage.tsdb.path': 'data', 'log.level': 'warn' };
  const child = spawn(
    'prometheus',
    Object.entries({ ...options, 'web.listen-address': address }).map(
      ([name, value]) => `--${name}=${value}`,
    ),
    { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  child.stderr.on('data', (chunk) => {
    log += chunk;
  });
  const stop = async (): Promise<void> => {
    const ended = once(child, 'exit');
    if (child.exitCode === null && child.kill('SIGTERM')) await within(ended, 'Prometheus to stop');
  };
  const get: Prometheus['get'] = async (path) => {
    const reply = await fetch(`http://${address}/api/v1/${path}`);
    const { status, data, error } = (await reply.json()) as Record<string, unknown>;
    if (status !== 'success') throw new Error(`${path}: ${error}`);
    return data;
  };
  await waitFor(
    async () => {
      if (child.exitCode !== null) throw new Error(log);
      return (await fetch(`http://${address}/-/ready`)).ok;
    },
    { what: 'Prometheus to start' },
  );
  return { get, stop };
}

/** Leaves out the condition of an alert, so that the rest has a result although the alert does not fire. */
const compared = (query: string): string =>
  query.replace(/ (?:[<>]|==) [\d.]+$/, '').replace(/^absent\((.*)\)$/, '$1');

/** Returns an alert that fires. */
async function firing(prometheus: Prometheus, name: string): Promise<unknown> {
  const { alerts } = await prometheus.get('alerts');
  return alerts.find(
    ({ labels, state }: { labels: { alertname: string }; state: string }) =>
      labels.alertname === name && state === 'firing',
  );
}

describeWithProgram('prometheus', 'a Prometheus that scrapes the service', () => {
  let harness: Harness;
  let shop: Shop;
  let prometheus: Prometheus;
  const folder = makeTempDir();

  beforeAll(async () => {
    // On embedded stores, because only they have metrics of the data folder's disk. The limit is so low that the bucket
    // stays empty, however slow the machine is.
    harness = await startHarness({
      servers: ownNames({}),
      environment: { RATE_LIMIT_PUBLIC: '1/1000/3' },
    });
    shop = await harness.newShop();
    // As a back-up leaves it.
    writeFileSync(lastBackupFile(harness.data_dir), '');
    prometheus = await startPrometheus(folder.path, new URL(harness.url).host);
  });
  afterAll(async () => {
    await prometheus?.stop();
    await harness?.close();
    folder.remove();
  });

  const query = async (text: string): Promise<{ metric: Record<string, string> }[]> =>
    (await prometheus.get(`query?query=${encodeURIComponent(text)}`)).result;

  test('runs every query of the alerts and the dashboard, and fires an alert', async () => {
    // Given a Prometheus that has scraped the service before anything happens, so that it sees increases.
    await waitFor(async () => (await query('catalog_ready')).length > 0, {
      what: 'the first scrape',
    });

    // When there is traffic, and an event that cannot be projected.
    await makeTraffic(harness, shop);
    await appendUnreadable(harness, shop);

    // Then every query has a result, with the labels that its text or legend shows.
    for (const { name, query: text, shown_labels } of [...alertQueries, ...panelQueries]) {
      const [first] = await waitFor(
        async () => {
          const result = await query(compared(text));
          return result.length > 0 && result;
        },
        { what: `a result of ${name}` },
      );
      const missing = shown_labels.filter((label) => !(label in first!.metric));
      expect({ name, missing }).toEqual({ name, missing: [] });
    }

    // And the rules are evaluated without an error, and one tells of the dead letter.
    const { groups } = await prometheus.get('rules');
    const health = groups.flatMap((group: { rules: { name: string; health: string }[] }) =>
      group.rules.map((rule) => `${rule.name} ${rule.health}`),
    );
    expect(health).toEqual(alertQueries.map(({ name }) => `${name} ok`));
    const alert = await waitFor(() => firing(prometheus, 'CatalogDeadLetters'), { what: 'the alert' });
    expect(alert).toMatchObject({
      labels: { realm: 'live', severity: 'warning' },
      annotations: {
        description: 'Streams of live on the dead-letter list: 1.',
        runbook: 'docs/operations/runbook.md#catalogdeadletters',
      },
    });
  });
});
