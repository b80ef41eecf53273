import { networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fetch } from '../support/fetch';
import { createListing, fetchToken, findMissingWrites, waitUntilProjected } from '../support/merchant';
import { freeOwnPort } from '../support/own-port';
import { withTempDir } from '../support/temp-dir';
import { Ledger, read, type TrafficOptions, write } from '../support/traffic';
import { waitFor } from '../support/wait-for';
import { Compose, TimeLimitError } from './compose';

/*
 * Builds the image and starts docker-compose.yml with the Docker engine of DOCKER_HOST. Sends requests through the
 * gateway. Kills and restarts one process of each kind and each server while clients read and write. Prints how many
 * requests each fault made fail, how many acknowledged writes it lost, and how long clients saw it. EVENTSTORE_IMAGE
 * names an image of EventStoreDB; without it, the stand-in runs. Exits with 3 if there is no compose program.
 */

/** The MongoDB-protocol server of `.ci/docker` is no replica set, and loses what it wrote last if it is killed. */
const HAS_REAL_MONGODB = process.env.MONGODB_IMAGE !== 'catalog-test/mongo';
const OVERRIDES = [
  ...(process.env.EVENTSTORE_IMAGE ? [] : ['test/compose/stand-in.yml']),
  ...(HAS_REAL_MONGODB ? [] : ['test/compose/mongo-server.yml']),
];

const NO_COMPOSE = 3;
/** For the whole run, except stopping the containers. */
const RUN_MS_MAX = 480_000;
const BUILD_MS_MAX = 300_000;
/** A fault that has not begun by then is skipped, because this machine is too slow for all of them. */
const FAULTS_BEGIN_WITHIN_MS = 360_000;
const START_MS_MAX = 150_000;
/** Clients may see a fault for this long. It is a few seconds, and ten times that on a busy machine. */
const RECOVERS_WITHIN_S = 60;
/** A fault is over when no request has failed for this long. */
const QUIET_MS = 2_000;
/** How long a killed process stays away. */
const AWAY_MS = 1_500;
/** More than the clients can send. */
const NO_LIMIT = '1000000/100000000/1000000';
const PROCESSES = ['query-1', 'query-2', 'worker-1', 'worker-2', 'command-1', 'command-2'];

interface Shop {
  readonly url: string;
  readonly token: string;
  readonly store: string;
  readonly listings: readonly string[];
}

interface Row {
  readonly fault: string;
  readonly reads_failed: number;
  readonly writes_failed: number;
  readonly acknowledged: number;
  readonly lost: number;
  readonly recovered_s: number;
}

const [results, rows]: [boolean[], Row[]] = [[], []];
const started_ms = Date.now();
let skipped = 0;

/** Prints that a check is left out because there is no time for it. */
function skip(name: string): void {
  skipped++;
  console.log(`SKIPPED: ${name}, because this machine is too slow`);
}

/** Counts a check that passed or failed, and prints how long it took. */
async function check(name: string, work: () => Promise<void>): Promise<void> {
  const started = Date.now();
  let reason = '';
  try {
    await work();
  } catch (error) {
    reason = `: ${(error as Error).message}`;
  }
  results.push(reason === '');
  console.log(`${reason ? 'failed' : 'passed'} ${name} (${seconds(Date.now() - started)} s)${reason}`);
}

const seconds = (ms: number): string => (ms / 1000).toFixed(1);

function expectThat(holds: boolean, what: string): void {
  if (!holds) throw new Error(`expected ${what}`);
}

/** Creates a shop with a key without limits, as an operator would: with the command line in a container. */
async function openShop(compose: Compose, url: string): Promise<Shop> {
  const cli = async (...words: string[]) =>
    JSON.parse(await compose.exec('command-1', ['catalog', ...words, '--json']));
  const account = (await cli('account', 'create', '--name', 'Merchant')).id;
  const store = (await cli('store', 'create', '--account', account, '--name', 'Shop')).id;
  const options = ['--type', 'secret', '--name', 'Test', '--store', store, '--limit', NO_LIMIT];
  const { key } = await cli('key', 'create', '--account', account, ...options);
  const token = await fetchToken(url, key);
  const listings = [await createListing(url, token, 'Tea'), await createListing(url, token, 'Coffee')];
  return { url, token, store, listings };
}

/** Writes, reads and imports through the gateway. */
async function smoke(compose: Compose, { url, token, store }: Shop): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const fields = { title: 'Sencha', price_currency: 'EUR', price_amount: 950 };
  const created = await fetch(`${url}/api/publication`, {
    method: 'POST',
    headers,
    body: JSON.stringify(fields),
  });
  expectThat(created.status === 201, `201 for a new publication, not ${created.status}`);
  const position = created.headers.get('x-catalog-position')!;
  const fresh = { headers: { ...headers, 'x-catalog-min-position': position } };
  const listed = await fetch(`${url}${created.headers.get('location')}`, fresh);
  const { data } = (await listed.json()) as { data?: { title: string } };
  expectThat(data?.title === 'Sencha', 'to read what was written');
  for (const [path, status] of [
    ['/docs', 200],
    ['/openapi.json', 200],
    ['/metrics', 404],
  ] as const)
    expectThat((await fetch(url + path)).status === status, `${status} for ${path}`);

  const lines = ['one', 'two'].map((name) => ({ external_id: name, title: name, price: '1.00' }));
  const words = ['catalog', 'import', '-', '--format', 'jsonl', '--store', store, '--json'];
  const report = await compose.exec('command-2', words, lines.map((line) => JSON.stringify(line)).join('\n'));
  expectThat(JSON.parse(report).publications.created === 2, 'to import from standard input');
}

/** Reads and writes while `inject` runs and until the clients see no fault any more. */
async function underLoad(fault: string, shop: Shop, inject: () => Promise<void>): Promise<Row> {
  const [written, reads] = [new Ledger(), new Ledger()];
  const stopping = new AbortController();
  const optionsOf = (ledger: Ledger): TrafficOptions => ({ ...shop, ledger, signal: stopping.signal });
  const clients = [
    write('a', shop.url, optionsOf(written)),
    write('b', shop.url, optionsOf(written)),
    read(shop.url, optionsOf(reads)),
  ];
  let injected_ms = 0;
  try {
    await waitFor(() => written.acknowledged > 5, { what: 'writes before the fault' });
    injected_ms = Date.now();
    await inject();
    const before = written.acknowledged;
    await waitFor(() => written.acknowledged > before + 5, { what: 'writes after the fault' });
    const last = (): number => Math.max(injected_ms, written.last_failure_ms, reads.last_failure_ms);
    await waitFor(() => Date.now() - last() > QUIET_MS, { what: 'the end of the fault' });
  } finally {
    stopping.abort();
    await Promise.all(clients);
  }
  await waitUntilProjected(shop.url, shop.token, written);
  const lost = await findMissingWrites(shop.url, shop.token, written);
  const last_ms = Math.max(injected_ms, written.last_failure_ms, reads.last_failure_ms);
  return {
    fault,
    reads_failed: reads.failed,
    writes_failed: written.failed,
    acknowledged: written.acknowledged,
    lost: lost.length,
    recovered_s: (last_ms - injected_ms) / 1000,
  };
}

async function checkFault(
  fault: string,
  shop: Shop,
  inject: () => Promise<void>,
  holds: (row: Row) => boolean = () => true,
): Promise<void> {
  if (Date.now() - started_ms > FAULTS_BEGIN_WITHIN_MS) return skip(fault);
  await check(fault, async () => {
    const row = await underLoad(fault, shop, inject);
    rows.push(row);
    expectThat(row.lost === 0, `no lost write, not ${row.lost}`);
    expectThat(row.recovered_s < RECOVERS_WITHIN_S, `an end within ${RECOVERS_WITHIN_S} s`);
    expectThat(holds(row), 'fewer failed requests');
  });
}

/** Ends a service, and starts it again after a while. Resolves when all processes are ready. */
async function restart(compose: Compose, service: string, how: 'kill' | 'stop'): Promise<void> {
  await compose[how](service);
  await sleep(AWAY_MS);
  await compose.start(service);
  const waiting = PROCESSES.includes(service) ? [service] : PROCESSES;
  for (const process_name of waiting) await compose.untilReady(process_name);
}

const noneFailed = ({ reads_failed, writes_failed }: Row): boolean => reads_failed + writes_failed === 0;

async function injectFaults(compose: Compose, shop: Shop): Promise<void> {
  const rolling = async (): Promise<void> => {
    for (const service of PROCESSES) {
      await compose.stop(service);
      await compose.start(service);
      await compose.untilReady(service);
    }
  };
  await checkFault('rolling restart of all processes', shop, rolling, noneFailed);
  for (const service of ['query-1', 'worker-1', 'command-1', 'gateway', 'eventstore', 'redis'])
    await checkFault(`kill ${service}`, shop, () => restart(compose, service, 'kill'));
  const how = HAS_REAL_MONGODB ? 'kill' : 'stop';
  await checkFault(`${how} mongodb`, shop, () => restart(compose, 'mongodb', how));

  await check('the gateway starts while a query process is stopped', async () => {
    await compose.stop('query-2');
    await compose.stop('gateway');
    await compose.start('gateway');
    await waitFor(async () => (await fetch(`${shop.url}/health/live`)).ok, { what: 'the gateway' });
    await compose.start('query-2');
  });
}

async function runAll(compose: Compose, url: string): Promise<void> {
  await check('docker compose build', async () => {
    try {
      await compose.run(BUILD_MS_MAX, 'build');
    } catch (error) {
      if (!(error instanceof TimeLimitError)) throw error;
      skip('docker-compose.yml');
    }
  });
  if (skipped > 0) return;
  if (results.includes(false)) return;
  await check('docker compose up', async () => {
    await compose.run(START_MS_MAX, 'up', '-d');
    await compose.untilHealthy(START_MS_MAX);
  });
  if (results.includes(false)) return;
  let shop: Shop | undefined;
  await check('requests through the gateway', async () => {
    shop = await openShop(compose, url);
    await smoke(compose, shop);
  });
  if (shop) await injectFaults(compose, shop);
}

function printReport(): void {
  if (rows.length > 0) console.table(Object.fromEntries(rows.map(({ fault, ...row }) => [fault, row])));
  const passed = results.filter(Boolean).length;
  // In the form of jest, from which .ci/run adds up its sum.
  const failed = results.length - passed;
  console.log(
    `Tests: ${failed} failed, ${skipped} skipped, ${passed} passed, ${results.length + skipped} total`,
  );
  process.exitCode = passed === results.length ? 0 : 1;
}

/**
 * Returns the beginning of the addresses of a network that this machine does not have. An engine that was killed leaves its
 * networks, and containers in a second one with the same addresses could not reach each other.
 */
function unusedNetwork(): string {
  const used = Object.values(networkInterfaces()).flatMap(
    (list) => list?.map(({ address }) => address) ?? [],
  );
  const networks = Array.from({ length: 100 }, (_, index) => `172.30.${78 + index}`);
  return networks.find((network) => !used.some((address) => address.startsWith(`${network}.`)))!;
}

async function main(): Promise<void> {
  process.env.CATALOG_PORT = String(await freeOwnPort());
  process.env.CATALOG_NET ??= unusedNetwork();
  // The builder that every engine has.
  process.env.COMPOSE_DOCKER_CLI_BUILD ??= '0';
  await withTempDir(async (folder) => {
    const compose = Compose.find(folder, `catalog-test-${process.pid}`, OVERRIDES);
    if (!compose) {
      console.error('SKIPPED: docker-compose.yml, because there is no Docker engine with a compose program');
      process.exitCode = NO_COMPOSE;
      return;
    }
    const timeout = new Promise((_, reject) => {
      const late = (): void => reject(new Error(`the run takes more than ${RUN_MS_MAX / 1000} s`));
      setTimeout(late, RUN_MS_MAX).unref();
      for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => reject(new Error(signal)));
    });
    try {
      const work = runAll(compose, `http://127.0.0.1:${process.env.CATALOG_PORT}`);
      await check('the run ends in time', () => Promise.race([work, timeout]) as Promise<void>);
    } finally {
      await check('docker compose down', () => compose.down());
    }
    printReport();
  });
  // A check that was cut off may still wait for something.
  process.exit();
}

void main();
