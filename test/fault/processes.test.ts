import { Cli } from '../api/cli-run';
import { Fleet } from '../support/fleet';
import { IS_LONG } from '../support/long';
import {
  createListing,
  createSecretKey,
  fetchToken,
  findMissingWrites,
  readListing,
  waitForListings,
  waitForWrites,
  waitUntilProjected,
} from '../support/merchant';
import { ownNames, serversOfEnvironment } from '../support/own-servers';
import { endAll } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { Ledger, read, type TrafficOptions, write } from '../support/traffic';

/*
 * Several processes on one installation: on the embedded stores, or on the servers in the environment variables
 * EVENTSTORE_URL, REDIS_URL and MONGODB_URL.
 */

const HIGH = '1000000/100000000/1000000';
const SETTINGS = { DEMO: 'off', RATE_LIMIT_SECRET: HIGH, RATE_LIMIT_AUTH: '100000/100000' };
const LISTINGS = ['Tea', 'Coffee', 'Cups'];
/** Number of writes between two faults. */
const WRITES = IS_LONG ? 60 : 15;
/** How often each worker is killed and stopped. */
const ROUNDS = IS_LONG ? 4 : 1;
const WRITERS = ['a', 'b'];

afterEach(endAll);

/** Kills one worker and stops the other in turn, while the other one runs. Restarts it each time. */
async function restartWorkers(fleet: Fleet, ledger: Ledger): Promise<void> {
  for (let round = 0; round < ROUNDS; round++)
    for (const [index, signal] of (['SIGKILL', 'SIGTERM'] as const).entries()) {
      const name = (round + index) % 2 === 0 ? 'worker-1' : 'worker-2';
      await waitForWrites(ledger, WRITES);
      const code = await fleet.end(name, signal);
      expect({ name, signal, code }).toEqual({ name, signal, code: signal === 'SIGTERM' ? 0 : null });
      await waitForWrites(ledger, WRITES);
      await fleet.start(name);
    }
}

test('no acknowledged write is missing after workers were killed and stopped in turn during a rebuild', async () => {
  await withTempDir(async (folder) => {
    const servers = ownNames(serversOfEnvironment());
    const settings = { ...SETTINGS, ...servers.settings, DATA_DIR: folder };
    const key = await createSecretKey(settings);
    const fleet = new Fleet(settings);
    await fleet.start('command-1', 'query-1', 'query-2', 'worker-1', 'worker-2');
    const command = fleet.url('command-1');
    const queries = [fleet.url('query-1'), fleet.url('query-2')];
    const token = await fetchToken(command, key);
    const listings = await Promise.all(LISTINGS.map((name) => createListing(command, token, name)));
    await waitForListings(queries, token, listings);

    const ledger = new Ledger();
    const stopping = new AbortController();
    const options: TrafficOptions = { token, ledger, listings, signal: stopping.signal };
    const writers = WRITERS.map((name) => write(name, command, options));
    const readers = queries.map((url) => read(url, options));
    const cli = new Cli(folder, settings);
    try {
      const rebuilding = waitForWrites(ledger, WRITES).then(() => cli.run('projections', 'rebuild'));
      const [rebuilt] = await Promise.all([rebuilding, restartWorkers(fleet, ledger)]);
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
      await waitUntilProjected(url, token, ledger);
      expect(await findMissingWrites(url, token, ledger)).toEqual([]);
      for (const id of listings) {
        const ids = ledger.inListing(id).map((written) => written.id);
        const count = ids.length;
        expect(await readListing(url, token, id)).toEqual({ ids, total: count, publication_count: count });
      }
    }
    expect(await cli.run('projections', 'verify')).toMatchObject({ code: 0, stderr: '' });
    const codes = await fleet.stop();
    expect(new Set(Object.values(codes))).toEqual(new Set([0]));
    await servers.dispose();
  });
});
