import { Redis } from 'ioredis';
import { Cli } from '../api/cli-run';
import { Fleet } from '../support/fleet';
import { createListing, listing, missing, more, secretKey, settled, tokenFor } from '../support/merchant';
import { SERVER_SETTINGS, withDatabase } from '../support/own-servers';
import { endAll } from '../support/processes';
import { describeOnAll } from '../support/real-servers';
import { type OwnServer, startOwnServer } from '../support/servers/own-server';
import { withTempDir } from '../support/temp-dir';
import { Ledger, read, type TrafficOptions, write } from '../support/traffic';
import { waitFor } from '../support/wait-for';

const HIGH = '1000000/100000000/1000000';
const SETTINGS = { DEMO: 'off', RATE_LIMIT_SECRET: HIGH, RATE_LIMIT_AUTH: '100000/100000' };
const LISTINGS = ['Tea', 'Coffee'];
/** How much is written before and after each fault. */
const WRITES = 8;

/** Servers of the test's own, which it may kill, stop, empty and start. */
class OwnServers {
  private constructor(
    readonly redis: OwnServer,
    readonly mongo: OwnServer,
    readonly event_store: OwnServer,
  ) {}

  static async start(): Promise<OwnServers> {
    const kinds = ['redis', 'mongo', 'eventstore'] as const;
    const [redis, mongo, event_store] = await Promise.all(kinds.map(startOwnServer));
    return new OwnServers(redis!, mongo!, event_store!);
  }

  get settings(): Record<string, string> {
    return {
      EVENTSTORE_URL: this.event_store.url,
      REDIS_URL: this.redis.url,
      MONGODB_URL: withDatabase(this.mongo.url, 'catalog'),
    };
  }

  async flushRedis(): Promise<void> {
    const redis = new Redis(this.redis.url);
    await redis.flushall();
    redis.disconnect();
  }

  async dispose(): Promise<void> {
    await Promise.all([this.redis, this.mongo, this.event_store].map((server) => server.dispose()));
  }
}

/** Each story is told while writers write: some writes before it, some after. */
async function hurtServers(servers: OwnServers, ledger: Ledger): Promise<void> {
  const noticed = async (): Promise<void> => {
    const before = ledger.outages;
    await waitFor(() => ledger.outages > before, { what: 'clients that are refused' });
  };
  const stories: (() => Promise<void>)[] = [
    async () => {
      await servers.redis.kill();
      await more(ledger, WRITES);
      await servers.redis.start();
    },
    () => servers.flushRedis(),
    async () => {
      await servers.event_store.kill();
      await noticed();
      await servers.event_store.start();
    },
    async () => {
      await servers.mongo.stop();
      await noticed();
      await servers.mongo.start();
    },
  ];
  for (const story of stories) {
    await more(ledger, WRITES);
    await story();
  }
  await more(ledger, WRITES);
}

async function hurtWorkers(fleet: Fleet, ledger: Ledger): Promise<void> {
  for (const [name, signal] of [
    ['worker-1', 'SIGKILL'],
    ['worker-2', 'SIGTERM'],
  ] as const) {
    await more(ledger, WRITES);
    expect([name, await fleet.end(name, signal)]).toEqual([name, signal === 'SIGTERM' ? 0 : null]);
    await more(ledger, WRITES);
    await fleet.start(name);
  }
}

describeOnAll(SERVER_SETTINGS, 'two processes of each kind on servers of their own', () => {
  let servers: OwnServers;

  beforeAll(async () => {
    servers = await OwnServers.start();
  });
  afterAll(async () => {
    endAll();
    await servers?.dispose();
  });

  test('given writers and readers at work, when servers restart, Redis is emptied, workers die and all is rebuilt, then nothing acknowledged is missing and verify is clean', async () => {
    await withTempDir(async (folder) => {
      const settings = { ...SETTINGS, ...servers.settings, DATA_DIR: folder };
      const fleet = new Fleet(settings);
      await fleet.start('command-1', 'command-2', 'query-1', 'query-2', 'worker-1', 'worker-2');
      const key = await secretKey(settings);
      const commands = [fleet.url('command-1'), fleet.url('command-2')];
      const queries = [fleet.url('query-1'), fleet.url('query-2')];
      const token = await tokenFor(commands[0]!, key);
      const listings = await Promise.all(LISTINGS.map((name) => createListing(commands[1]!, token, name)));

      const ledger = new Ledger();
      const stopping = new AbortController();
      const options: TrafficOptions = { token, ledger, listings, signal: stopping.signal };
      const writers = commands.flatMap((url, index) =>
        ['a', 'b'].map((name) => write(`${name}${index}`, url, options)),
      );
      const readers = queries.map((url) => read(url, options));
      const cli = new Cli(folder, settings);
      try {
        await hurtServers(servers, ledger);
        const rebuilding = cli.run('projections', 'rebuild', '--no-verify');
        await hurtWorkers(fleet, ledger);
        expect(await rebuilding).toMatchObject({ code: 0 });
      } finally {
        stopping.abort();
      }
      await Promise.all([...writers, ...readers]);

      expect(fleet.faults).toEqual([]);
      expect(ledger.failures).toEqual([]);
      const settled_shop = queries.map((url) => settled(url, token, ledger));
      await Promise.all(settled_shop);
      let shown = 0;
      for (const id of listings) {
        const [one, two] = await Promise.all(queries.map((url) => listing(url, token, id)));
        expect(one).toEqual(two);
        const { ids, total, publication_count } = one!;
        expect([total, publication_count]).toEqual([ids.length, ids.length]);
        const certain = ledger.ofListing(id).filter((written) => !ledger.uncertain.has(written.id));
        const wanted = new Set(certain.map((written) => written.id));
        expect(ids.filter((each) => wanted.has(each))).toEqual(certain.map((written) => written.id));
        shown += ids.length - certain.length;
      }
      // What nobody was told of: creations and changes that an outage cut off.
      expect(shown).toBeLessThanOrEqual(ledger.perhaps_created + ledger.uncertain.size);
      expect(await missing(queries[0]!, token, ledger)).toEqual([]);
      expect(await cli.run('projections', 'verify')).toMatchObject({ code: 0, stderr: '' });
      const codes = await fleet.stop();
      expect(new Set(Object.values(codes))).toEqual(new Set([0]));
    });
  });
});
