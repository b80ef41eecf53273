import { Cli } from '../api/cli-run';
import { Fleet } from '../support/fleet';
import { createListing, listing, missing, more, secretKey, settled, tokenFor } from '../support/merchant';
import { ownNames, serversOfEnvironment } from '../support/own-servers';
import { endAll } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { Ledger, read, type TrafficOptions, write } from '../support/traffic';

/*
 * Processes of each kind on one installation: the embedded default, or the servers that the environment names
 * (EVENTSTORE_URL, REDIS_URL, MONGODB_URL).
 */

const HIGH = '1000000/100000000/1000000';
const SETTINGS = { DEMO: 'off', RATE_LIMIT_SECRET: HIGH, RATE_LIMIT_AUTH: '100000/100000' };
const LISTINGS = ['Tea', 'Coffee', 'Cups'];
/** How much is written between two faults. */
const WRITES = 60;

afterEach(endAll);

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

test('given writers and readers at work, when workers are killed and stopped in turn and all is rebuilt, then nothing acknowledged is missing and verify is clean', async () => {
  await withTempDir(async (folder) => {
    const servers = ownNames(serversOfEnvironment());
    const settings = { ...SETTINGS, ...servers.settings, DATA_DIR: folder };
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
    const cli = new Cli(folder, settings);
    try {
      const rebuilding = more(ledger, WRITES).then(() => cli.run('projections', 'rebuild'));
      const [rebuilt] = await Promise.all([rebuilding, hurtWorkers(fleet, ledger)]);
      expect(rebuilt).toMatchObject({ code: 0 });
    } finally {
      stopping.abort();
    }
    await Promise.all(writers);
    const answers = await Promise.all(readers);

    expect(fleet.faults).toEqual([]);
    expect({ failures: ledger.failures, outages: ledger.outages }).toEqual({ failures: [], outages: 0 });
    expect(Math.min(...answers)).toBeGreaterThan(0);
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
    await servers.dispose();
  });
});
