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
import { SERVER_SETTINGS } from '../support/own-servers';
import { endAll } from '../support/processes';
import { describeOnAll } from '../support/real-servers';
import { OwnServers } from '../support/servers/own-server';
import { withTempDir } from '../support/temp-dir';
import { Ledger, read, type TrafficOptions, write } from '../support/traffic';
import { waitFor } from '../support/wait-for';

const HIGH = '1000000/100000000/1000000';
const SETTINGS = { DEMO: 'off', RATE_LIMIT_SECRET: HIGH, RATE_LIMIT_AUTH: '100000/100000' };
const LISTINGS = ['Tea', 'Coffee'];
/** Number of writes before and after each fault. */
const WRITES = 8;

/** Injects server faults one after the other while writers run. */
async function injectServerFaults(servers: OwnServers, ledger: Ledger): Promise<void> {
  const clientsNotice = async (): Promise<void> => {
    const before = ledger.outages;
    await waitFor(() => ledger.outages > before, { what: 'clients that are refused' });
  };
  const faults: (() => Promise<void>)[] = [
    async () => {
      await servers.redis.kill();
      await waitForWrites(ledger, WRITES);
      await servers.redis.start();
    },
    () => servers.flushRedis(),
    async () => {
      await servers.event_store.kill();
      await clientsNotice();
      await servers.event_store.start();
    },
    async () => {
      await servers.event_store.stop();
      await servers.event_store.start();
    },
    async () => {
      await servers.mongo.stop();
      await clientsNotice();
      await servers.mongo.start();
    },
  ];
  for (const inject of faults) {
    await waitForWrites(ledger, WRITES);
    await inject();
  }
  await waitForWrites(ledger, WRITES);
}

async function restartWorkers(fleet: Fleet, ledger: Ledger): Promise<void> {
  for (const [name, signal] of [
    ['worker-1', 'SIGKILL'],
    ['worker-2', 'SIGTERM'],
  ] as const) {
    await waitForWrites(ledger, WRITES);
    expect([name, await fleet.end(name, signal)]).toEqual([name, signal === 'SIGTERM' ? 0 : null]);
    await waitForWrites(ledger, WRITES);
    await fleet.start(name);
  }
}

describeOnAll(SERVER_SETTINGS, 'two processes of each kind on their own servers', () => {
  let servers: OwnServers;

  beforeAll(async () => {
    servers = await OwnServers.start();
  });
  afterAll(async () => {
    endAll();
    await servers?.dispose();
  });

  test('no acknowledged write is missing after server restarts, an emptied Redis, worker crashes and a rebuild', async () => {
    await withTempDir(async (folder) => {
      const settings = { ...SETTINGS, ...servers.settings, DATA_DIR: folder };
      const fleet = new Fleet(settings);
      await fleet.start('command-1', 'command-2', 'query-1', 'query-2', 'worker-1', 'worker-2');
      const key = await createSecretKey(settings);
      const commands = [fleet.url('command-1'), fleet.url('command-2')];
      const queries = [fleet.url('query-1'), fleet.url('query-2')];
      const token = await fetchToken(commands[0]!, key);
      const listings = await Promise.all(LISTINGS.map((name) => createListing(commands[1]!, token, name)));
      await waitForListings(queries, token, listings);

      const ledger = new Ledger();
      const stopping = new AbortController();
      const options: TrafficOptions = { token, ledger, listings, signal: stopping.signal };
      const writers = commands.flatMap((url, index) =>
        ['a', 'b'].map((name) => write(`${name}${index}`, url, options)),
      );
      const readers = queries.map((url) => read(url, options));
      const cli = new Cli(folder, settings);
      try {
        await injectServerFaults(servers, ledger);
        const rebuilding = cli.run('projections', 'rebuild', '--no-verify');
        await restartWorkers(fleet, ledger);
        expect(await rebuilding).toMatchObject({ code: 0 });
      } finally {
        stopping.abort();
      }
      await Promise.all([...writers, ...readers]);

      expect(fleet.faults).toEqual([]);
      expect(ledger.failures).toEqual([]);
      await Promise.all(queries.map((url) => waitUntilProjected(url, token, ledger)));
      let uncertain_shown = 0;
      for (const id of listings) {
        const [one, two] = await Promise.all(queries.map((url) => readListing(url, token, id)));
        expect(one).toEqual(two);
        const { ids, total, publication_count } = one!;
        expect([total, publication_count]).toEqual([ids.length, ids.length]);
        const certain = ledger.inListing(id).filter((written) => !ledger.uncertain.has(written.id));
        const certain_ids = new Set(certain.map((written) => written.id));
        expect(ids.filter((shown_id) => certain_ids.has(shown_id))).toEqual(
          certain.map((written) => written.id),
        );
        uncertain_shown += ids.length - certain.length;
      }
      // Writes whose answer was lost in an outage may be stored or not.
      expect(uncertain_shown).toBeLessThanOrEqual(ledger.uncertain_creations + ledger.uncertain.size);
      expect(await findMissingWrites(queries[0]!, token, ledger)).toEqual([]);
      expect(await cli.run('projections', 'verify')).toMatchObject({ code: 0, stderr: '' });
      const codes = await fleet.stop();
      expect(new Set(Object.values(codes))).toEqual(new Set([0]));
    });
  });
});
