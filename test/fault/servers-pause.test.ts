import { Cli } from '../api/cli-run';
import { Fleet } from '../support/fleet';
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
import { ownNames, SERVER_SETTINGS, serversForTests } from '../support/own-servers';
import { endAll } from '../support/processes';
import { describeOnAll } from '../support/real-servers';
import { withTempDir } from '../support/temp-dir';
import { Ledger, type TrafficOptions, write } from '../support/traffic';
import { waitFor } from '../support/wait-for';

const SETTINGS = { DEMO: 'off', RATE_LIMIT_SECRET: '1000000/100000000/1000000' };
/** Number of writes before and after each step. */
const WRITES = 8;

describeOnAll(SERVER_SETTINGS, 'a pause on servers', () => {
  afterEach(endAll);

  test('of workers that are killed and stopped while writes go on loses none of them', async () => {
    await withTempDir(async (folder) => {
      const servers = ownNames(serversForTests());
      const settings = { ...SETTINGS, ...servers.settings, DATA_DIR: folder };
      const fleet = new Fleet(settings);
      await fleet.start('command-1', 'query-1', 'worker-1', 'worker-2');
      const key = await createSecretKey(settings);
      const [command, query] = [fleet.url('command-1'), fleet.url('query-1')];
      const token = await fetchToken(command, key);
      const listing = await createListing(command, token, 'Teas');
      await waitForListings([query], token, [listing]);
      const cli = new Cli(folder, settings);
      const lag = async (): Promise<bigint> => {
        const { realms } = await cli.json('projections', 'status', '--realm', 'live');
        return BigInt(realms[0].lag);
      };

      const ledger = new Ledger();
      const stopping = new AbortController();
      const options: TrafficOptions = { token, ledger, listings: [listing], signal: stopping.signal };
      const writers = ['a', 'b'].map((name) => write(name, command, options));
      try {
        await waitForWrites(ledger, WRITES);
        await cli.json('projections', 'pause');
        await waitForWrites(ledger, WRITES);
        const shown = await readListing(query, token, listing);
        await fleet.end('worker-1', 'SIGKILL');
        await waitForWrites(ledger, WRITES);
        await fleet.start('worker-1');
        expect(await fleet.end('worker-2', 'SIGTERM')).toBe(0);
        await fleet.start('worker-2');
        await waitForWrites(ledger, WRITES);
        expect(await readListing(query, token, listing)).toEqual(shown);
        expect(await lag()).toBeGreaterThan(0n);
        await cli.json('projections', 'resume');
        await waitForWrites(ledger, WRITES);
      } finally {
        stopping.abort();
      }
      await Promise.all(writers);
      await waitUntilProjected(query, token, ledger);
      // Partitions without events follow the head at intervals.
      await waitFor(async () => (await lag()) === 0n, { what: 'no lag' });
      const { ids, total } = await readListing(query, token, listing);
      expect(ids).toEqual(ledger.inListing(listing).map(({ id }) => id));
      expect(total).toBe(ids.length);
      expect(await findMissingWrites(query, token, ledger)).toEqual([]);
      expect(await cli.run('projections', 'verify')).toMatchObject({ code: 0, stderr: '' });
      expect([fleet.faults, ledger.failures]).toEqual([[], []]);
      await fleet.stop();
      await servers.dispose();
    });
  });
});
