import { pino } from 'pino';
import { createAccount } from '../../services/command/account/service';
import { createApiKey } from '../../services/command/api-key/service';
import { createStore } from '../../services/command/store/service';
import { openRuntime } from '../../services/runtime';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { Cli } from '../api/cli-run';
import { Fleet } from '../support/fleet';
import { endAll } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { Ledger, read, type TrafficOptions, type Written, write } from '../support/traffic';
import { waitFor } from '../support/wait-for';

/*
 * Processes of each kind on one installation: the embedded default, or the servers that the environment names
 * (EVENTSTORE_URL, REDIS_URL, MONGODB_URL), which every process and the command line take over from this one.
 */

const HIGH = '1000000/100000000/1000000';
const SETTINGS = { DEMO: 'off', RATE_LIMIT_SECRET: HIGH, RATE_LIMIT_AUTH: '100000/100000' };
const LISTINGS = ['Tea', 'Coffee', 'Cups'];
/** How much is written between two faults. */
const WRITES = 60;

afterEach(endAll);

async function secretKey(settings: Record<string, string>): Promise<string> {
  const config = parseConfig({ ...process.env, ...settings });
  const runtime = await openRuntime(config, pino({ level: 'silent' }), realSystem);
  const deps = { system: realSystem, events: runtime.events };
  const context = (n: number) => ({ source: 'cli', request_id: `processes-test-${n}` }) as const;
  const { id: account_id } = (await createAccount(deps, context(1), { name: 'Merchant' })).value;
  const shop = { name: 'Shop', environment: 'live' } as const;
  const store = await createStore(deps, context(2), { account_id }, shop);
  const grants = { account_id, name: 'writer', type: 'secret' as const, stores: [store.value.id] };
  const { key } = await createApiKey(deps, context(3), grants);
  await runtime.close();
  return key;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by tests
async function get(url: string, token: string, headers: Record<string, string> = {}): Promise<any> {
  const reply = await fetch(url, { headers: { authorization: `Bearer ${token}`, ...headers } });
  return { ...(JSON.parse(await reply.text()) as object), status: reply.status };
}

/** The key works as soon as a worker has projected it. */
async function tokenFor(url: string, key: string): Promise<string> {
  const ask = async (): Promise<string | undefined> => {
    const reply = await fetch(`${url}/auth/token`, { method: 'POST', headers: { 'x-api-key': key } });
    const { data } = (await reply.json()) as { data?: { token: string } };
    return data?.token;
  };
  return waitFor(ask, { timeout_ms: 15_000, what: 'a token' });
}

async function createListing(url: string, token: string, name: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ name });
  const reply = await fetch(`${url}/api/listing`, { method: 'POST', headers, body });
  return ((await reply.json()) as { data: { id: string } }).data.id;
}

/** Until the documents hold the newest acknowledged write. */
async function settled(url: string, token: string, ledger: Ledger): Promise<void> {
  const headers = { 'x-catalog-min-position': String(ledger.position) };
  const asked = async () => (await get(`${url}/api/store`, token, headers)).status === 200;
  await waitFor(asked, { timeout_ms: 20_000, what: 'the last write to be projected' });
}

/** Those acknowledged writes that a query process answers otherwise. */
async function missing(url: string, token: string, ledger: Ledger): Promise<Written[]> {
  const wrong: Written[] = [];
  for (const written of ledger.publications.values()) {
    const { status, data } = await get(`${url}/api/publication/${written.id}`, token);
    const { title, price_amount, created_at, deleted } = written;
    const found = [data?.title, data?.price_amount, data?.created_at];
    const right = [title, price_amount, created_at].every((value, index) => value === found[index]);
    if (deleted ? status !== 404 : !right) wrong.push(written);
  }
  return wrong;
}

/** A whole listing, page by page, oldest first, with the counts that its pages and the listing itself tell. */
async function listing(url: string, token: string, id: string) {
  const ids: string[] = [];
  let total = 0;
  for (let page = 1; ; page++) {
    const query = `limit=50&sort=created_at&order=asc&page=${page}`;
    const { data } = await get(`${url}/api/listing/${id}/publications?${query}`, token);
    ids.push(...data.others.map((one: { id: string }) => one.id));
    total = data.meta.pagination.total;
    if (data.others.length < 50) break;
  }
  const { data } = await get(`${url}/api/listing/${id}`, token);
  return { ids, total, publication_count: data.stats.publication_count };
}

/** Each worker is killed, then each is stopped, always with the other at work, and always started again. */
async function hurtWorkers(fleet: Fleet, ledger: Ledger): Promise<void> {
  for (const signal of ['SIGKILL', 'SIGTERM'] as const)
    for (const name of ['worker-1', 'worker-2'] as const) {
      await more(ledger, WRITES);
      const code = await fleet.end(name, signal);
      expect({ name, signal, code }).toEqual({ name, signal, code: signal === 'SIGTERM' ? 0 : null });
      await more(ledger, WRITES);
      await fleet.start(name);
    }
}

async function more(ledger: Ledger, writes: number): Promise<void> {
  const goal = ledger.acknowledged + writes;
  await waitFor(() => ledger.acknowledged >= goal, { timeout_ms: 20_000, what: `${writes} more writes` });
}

test('given writers and readers at work, when workers are killed and stopped in turn and all is rebuilt, then nothing acknowledged is missing and verify is clean', async () => {
  await withTempDir(async (folder) => {
    const settings = { ...SETTINGS, DATA_DIR: folder };
    const key = await secretKey(settings);
    const fleet = new Fleet(settings);
    await fleet.start('command-1', 'query-1', 'query-2', 'worker-1', 'worker-2');
    const command = fleet.url('command-1');
    const queries = [fleet.url('query-1'), fleet.url('query-2')];
    const token = await tokenFor(command, key);
    const listings = await Promise.all(LISTINGS.map((name) => createListing(command, token, name)));

    const ledger = new Ledger();
    const stopping = new AbortController();
    const options: TrafficOptions = { token, ledger, listings, signal: stopping.signal };
    const writers = ['a', 'b', 'c', 'd'].map((name) => write(name, command, options));
    const readers = queries.map((url) => read(url, options));
    const cli = new Cli(folder, SETTINGS);
    try {
      const rebuilding = more(ledger, WRITES).then(() => cli.run('projections', 'rebuild'));
      const [rebuilt] = await Promise.all([rebuilding, hurtWorkers(fleet, ledger)]);
      expect(rebuilt).toMatchObject({ code: 0 });
    } finally {
      stopping.abort();
    }
    await Promise.all(writers);
    const answers = await Promise.all(readers);

    expect(ledger.failures).toEqual([]);
    expect(Math.min(...answers)).toBeGreaterThan(WRITES);
    for (const url of queries) {
      await settled(url, token, ledger);
      expect(await missing(url, token, ledger)).toEqual([]);
      for (const id of listings) {
        const ids = ledger.ofListing(id).map((one) => one.id);
        const count = ids.length;
        expect(await listing(url, token, id)).toEqual({ ids, total: count, publication_count: count });
      }
    }
    expect(await cli.run('projections', 'verify')).toMatchObject({ code: 0, stderr: '' });
    const codes = await fleet.stop();
    expect(new Set(Object.values(codes))).toEqual(new Set([0]));
  });
}, 120_000);
