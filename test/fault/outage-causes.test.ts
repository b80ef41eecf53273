import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { EventStoreDBClient } from '@eventstore/db-client';
import { EventStoreDbEventStore } from '../../shared/adapters/eventstoredb/event-store';
import { MongoViewStore } from '../../shared/adapters/mongodb/view-store';
import { RedisIdempotencyStore } from '../../shared/adapters/redis/idempotency-store';
import { createLogger } from '../../shared/kernel/log';
import { Outages, type Server } from '../../shared/kernel/outages';
import type { IdempotencyStore } from '../../shared/ports/idempotency-store';
import { Cli } from '../api/cli-run';
import { StandInCluster } from '../support/eventstore-standin/cluster';
import { EventStoreStandIn } from '../support/eventstore-standin/standin';
import { UnusableServer } from '../support/eventstore-standin/unusable-server';
import { FakeMongo, MONGO_ERRORS } from '../support/fake-mongo';
import { OwnRedis } from '../support/own-redis';
import { hasProgram } from '../support/programs';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { TestCa, TlsFront } from '../support/tls-front';
import { FAILS_WITHIN_MS, waitFor, within } from '../support/wait-for';

/** Tests that every outage of a server is explained: in one log line, in readiness and in the error of the call. */

const PASSWORD = 'hunter2hunter2';
const REFUSED = 'the connection is refused: no server listens at this address';

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly server?: string;
  readonly cause?: string;
  readonly outage_ms?: number;
}

function someClaim(): Parameters<IdempotencyStore['claim']> {
  const now_ms = Date.now();
  const times = { now_ms, locked_until_ms: now_ms, expires_at_ms: now_ms + 60_000 };
  const claim = { fingerprint: 'print', holder: 'holder', ...times, records_max: 9 };
  return [{ api_key_id: 'key', idempotency_key: 'once' }, claim];
}

/** A store of this process, and what it logs. */
class Used {
  private readonly printed: string[] = [];
  private readonly outages: Outages;
  private store: { close(): Promise<void> } | undefined;
  call: () => Promise<unknown> = async () => {};

  constructor(private readonly server: Server) {
    const destination = { write: (line: string) => void this.printed.push(line) };
    this.outages = new Outages(createLogger({ level: 'debug', destination }), Date.now);
  }

  async open(url: string): Promise<this> {
    const report = this.outages.of(this.server);
    if (this.server === 'event_store') {
      const store = await EventStoreDbEventStore.open({ url, realm: 'live', report });
      this.store = store;
      this.call = () => store.head();
    } else if (this.server === 'view_store') {
      const store = await MongoViewStore.open({ url, realm: 'live', opening_ms: 0, report });
      this.store = store;
      this.call = () => store.versions();
    } else {
      const store = await RedisIdempotencyStore.open({ url, report });
      this.store = store;
      this.call = async () => {
        await store.check();
        await store.claim(...someClaim());
      };
    }
    return this;
  }

  get lines(): Line[] {
    return this.printed.map((line) => JSON.parse(line));
  }

  get text(): string {
    return this.printed.join('');
  }

  /** Waits until the outage is explained by the cause, everywhere. */
  async expectCause(cause: string | RegExp): Promise<void> {
    const matches = (text: string): boolean =>
      typeof cause === 'string' ? text === cause : cause.test(text);
    await waitFor(
      async () => {
        const failure: unknown = await within(this.call(), 'a call', FAILS_WITHIN_MS).then(
          () => '',
          (error: Error) => error.message,
        );
        const [, told = ''] =
          /^(?:The event store|MongoDB|Redis) cannot be used: (.*)$/.exec(`${failure}`) ?? [];
        return matches(told) && matches(this.outages.current()[this.server]?.cause ?? '');
      },
      { what: `the cause ${cause}` },
    );
    const findLine = async () => {
      const found = this.lines.find((line) => matches(line.cause ?? ''));
      // Without failures, the outage would end.
      if (!found) await this.call().catch(() => {});
      return found;
    };
    const logged = await waitFor(findLine, { what: 'the log line' });
    expect(logged).toMatchObject({ level: 'warn', server: this.server });
    expect(logged.msg).toBe('a server cannot be used; retrying');
    expect(this.text).not.toContain(PASSWORD);
  }

  /** Waits until the end of the outage is logged. Calls may still fail before that. */
  async expectEnd(): Promise<void> {
    const end = await waitFor(async () => {
      await this.call().catch(() => {});
      return this.lines.find(({ msg }) => msg === 'a server can be used again');
    });
    expect(end.outage_ms).toBeGreaterThan(0);
    expect(this.outages.current()).toEqual({});
    expect(this.lines.filter(({ msg }) => msg === end.msg)).toHaveLength(1);
  }

  async close(): Promise<void> {
    await this.store?.close();
  }
}

/** The store and the servers of one case. */
class Scene {
  readonly folder: TempDir = makeTempDir();
  private readonly used: Used[] = [];
  private readonly servers: { stop(): Promise<void> | void }[] = [];

  async use(server: Server, url: string): Promise<Used> {
    const opened = await new Used(server).open(url);
    this.used.push(opened);
    return opened;
  }

  /** Notes a server, which is stopped at the end before those from earlier calls. */
  add<Stoppable extends { stop(): Promise<void> | void }>(server: Stoppable): Stoppable {
    this.servers.unshift(server);
    return server;
  }

  async eventStore(
    faults: Parameters<EventStoreStandIn['faults']['set']>[0] = {},
  ): Promise<EventStoreStandIn> {
    const server = await EventStoreStandIn.start({ folder: this.folder.path });
    server.faults.set(faults);
    return this.add(server);
  }

  async redis(...options: string[]): Promise<OwnRedis> {
    return this.add(await OwnRedis.start(this.folder.path, ...options));
  }

  async mongo(plan: FakeMongo['plan'] = { is_primary: true }): Promise<FakeMongo> {
    const server = new FakeMongo();
    server.plan = plan;
    await server.start();
    return this.add(server);
  }

  /** Starts the server. Returns its port. */
  async start(server: Server): Promise<number> {
    if (server === 'event_store') return (await this.eventStore()).address.port;
    return server === 'view_store' ? (await this.mongo()).port : (await this.redis()).port;
  }

  /** Puts a certificate for the host before a server. Returns the port. */
  async front(host: string, target_port: number, days?: number): Promise<number> {
    const front = await TlsFront.open(testCa().issue(host, days), target_port);
    this.add({ stop: () => front.close() });
    return front.port;
  }

  async end(): Promise<void> {
    for (const store of this.used) await store.close();
    for (const server of this.servers) await server.stop();
    this.folder.remove();
  }
}

async function inScene<Result>(story: (scene: Scene) => Promise<Result>): Promise<Result> {
  const scene = new Scene();
  try {
    return await story(scene);
  } finally {
    await scene.end();
  }
}

let opened: { readonly ca: TestCa; readonly folder: TempDir } | undefined;
/** Created by the first case: concurrent tests begin before `beforeAll`. */
function testCa(): TestCa {
  const folder = opened?.folder ?? makeTempDir();
  opened ??= { ca: new TestCa(folder.path), folder };
  return opened.ca;
}
afterAll(() => opened?.folder.remove());

/** Addresses with the options for TLS. EventStoreDB's address names a user. */
const urlOf = {
  event_store: (host: string, tls = false, ca?: string) =>
    `esdb://reader:${PASSWORD}@${host}?tls=${tls}${ca ? `&tlsCAFile=${ca}` : ''}`,
  view_store: (host: string, tls = false, ca?: string) =>
    `mongodb://${host}/catalog?tls=${tls}${ca ? `&tlsCAFile=${ca}` : ''}`,
  redis: (host: string, tls = false) => `redis${tls ? 's' : ''}://${host}`,
} satisfies Record<Server, unknown>;

/** The address of a server that cannot be used. */
interface Fault {
  readonly url: string;
  /** Ends the outage. */
  readonly end?: () => unknown;
}

interface Case {
  readonly name: string;
  readonly cause: string | RegExp;
  begin(scene: Scene): Promise<Fault>;
}

/** An outage of a server. `begin` makes it. */
const outage = (name: string, cause: Case['cause'], begin: Case['begin']): Case => ({ name, cause, begin });

/** Faults on the way to the server. */
function onTheWay(server: Server): readonly Case[] {
  const user = server === 'event_store' ? '' : `reader:${PASSWORD}@`;
  return [
    outage('nothing listens at its address', REFUSED, async () => ({
      url: urlOf[server](`${user}127.0.0.1:1`),
    })),
    outage('its host name does not exist', 'the host name cannot be resolved', async () => ({
      url: urlOf[server](`${user}no-such-host.invalid:2113`),
    })),
  ];
}

/** Faults of TLS, which need a running server and the program `openssl`. */
const ofTls = (server: Server): readonly Case[] => [
  outage(
    'the address asks for TLS, and the server does not use it',
    /TLS|does not answer/,
    async (scene) => ({ url: urlOf[server](`localhost:${await scene.start(server)}`, true) }),
  ),
  outage('the server expects TLS, and the address does not ask for it', /uses TLS/, async (scene) => {
    const port = await scene.front('localhost', await scene.start(server));
    return { url: urlOf[server](`localhost:${port}`) };
  }),
  outage(
    'the certificate is from another CA',
    "the server's certificate is not from a trusted CA",
    async (scene) => {
      const port = await scene.front('localhost', await scene.start(server));
      return { url: urlOf[server](`localhost:${port}`, true) };
    },
  ),
];

const ofHostNames = (server: 'event_store' | 'view_store'): Case =>
  outage(
    'the certificate is for another host name, or for the right one',
    "the server's certificate is for another host name: it does not name localhost",
    async (scene) => {
      const target = await scene.start(server);
      const other = await scene.front('other.example', target);
      const right = await scene.front('localhost', target);
      const working = await scene.use(server, urlOf[server](`localhost:${right}`, true, testCa().file));
      await waitFor(() => working.call().then(() => true), { what: 'a call that succeeds' });
      return { url: urlOf[server](`localhost:${other}`, true, testCa().file) };
    },
  );

/** A server with faults. `end` clears them. */
async function faultyEventStore(scene: Scene, faults: Parameters<Scene['eventStore']>[0]): Promise<Fault> {
  const server = await scene.eventStore(faults);
  const url = urlOf.event_store(`127.0.0.1:${server.address.port}`);
  return { url, end: () => server.faults.clear() };
}

const OF_EVENT_STORE: readonly Case[] = [
  outage('a wrong password, and its end', 'wrong user or password', (scene) =>
    faultyEventStore(scene, { wrong_password: true }),
  ),
  outage('no right on $all, while streams can be read', 'the user has no right to read $all', (scene) =>
    faultyEventStore(scene, { denied_log: true }),
  ),
  outage('no user in the address', 'the server requires a user, and the address has none', async (scene) => ({
    url: (await scene.eventStore({ denied_log: true })).url,
  })),
  outage(
    'a server without a leader',
    'the server is not ready: it is starting, or its cluster has no leader',
    async (scene) => ({ url: (await scene.eventStore({ not_ready: 1_000_000 })).url }),
  ),
  outage('a server that does not answer', 'the server does not answer', async (scene) => ({
    url: (await scene.eventStore({ silent: true })).url,
  })),
];

const OF_GOSSIP: Case = outage(
  'the certificate is for the host of the address, and not for the one in gossip',
  "the server's certificate is for another host name: it does not name 127.0.0.1",
  async (scene) => {
    const server = await scene.eventStore();
    const port = await scene.front('localhost', server.address.port);
    server.faults.set({ advertised: { host: '127.0.0.1', port } });
    const url = urlOf.event_store(`localhost:${port}`, true, testCa().file);
    return { url: url.replace('esdb:', 'esdb+discover:') };
  },
);

const NO_LEADER = 'the cluster has no leader: too few of its members run, or they are electing one';

/** An outage of an address with two hosts, of which none names a node of the cluster. */
const ofHosts = (
  name: string,
  cause: string,
  hosts: (scene: Scene, target_port: number) => Promise<readonly string[]>,
  { tls = true, ca = true } = {},
): Case =>
  outage(`of each host: ${name}`, cause, async (scene) => {
    const named = await hosts(scene, await scene.start('event_store'));
    return { url: urlOf.event_store(named.join(','), tls, ca ? testCa().file : undefined) };
  });

/** The ports of two hosts whose certificates are for this host name. */
const twoFronts = async (scene: Scene, host: string, target_port: number, days?: number) => [
  `localhost:${await scene.front(host, target_port, days)}`,
  `localhost:${await scene.front(host, target_port, days)}`,
];

const OF_TLS_HOSTS: readonly Case[] = [
  ofHosts(
    'the certificate is from another CA',
    "the server's certificate is not from a trusted CA",
    (scene, port) => twoFronts(scene, 'localhost', port),
    { ca: false },
  ),
  ofHosts(
    'the certificate has expired',
    "the server's certificate has expired or is not valid yet",
    (scene, port) => twoFronts(scene, 'localhost', port, -1),
  ),
  ofHosts(
    'the certificate is for another host name',
    "the server's certificate is for another host name: it does not name localhost",
    (scene, port) => twoFronts(scene, 'other.example', port),
  ),
  ofHosts(
    'one does not listen, the other has an expired certificate',
    `${REFUSED}; the server's certificate has expired or is not valid yet`,
    async (scene, port) => ['localhost:1', `localhost:${await scene.front('localhost', port, -1)}`],
  ),
];

const OF_HOSTS: readonly Case[] = [
  ofHosts('nothing listens', REFUSED, async () => ['127.0.0.1:1', '127.0.0.1:2'], { tls: false, ca: false }),
  outage('the hosts answer, and their cluster has no leader', NO_LEADER, async (scene) => {
    const cluster = scene.add(await StandInCluster.start(scene.folder.path));
    cluster.loseQuorum();
    return { url: cluster.url, end: () => cluster.resign() };
  }),
  outage('the hosts accept connections and never answer', 'the server does not answer', async (scene) => {
    const hosts = [await UnusableServer.start(), await UnusableServer.start()];
    for (const host of hosts) scene.add(host);
    return { url: urlOf.event_store(hosts.map(({ host }) => host).join(',')) };
  }),
];

const OF_MONGO: readonly Case[] = [
  outage('a wrong password', 'wrong user or password', async (scene) => {
    const refuses_logins = MONGO_ERRORS.authentication_failed;
    const { port } = await scene.mongo({ is_primary: true, refuses_logins });
    return { url: urlOf.view_store(`reader:${PASSWORD}@127.0.0.1:${port}`) };
  }),
  outage('a user without rights', 'the user has no right to use the database', async (scene) => {
    const { port } = await scene.mongo({ is_primary: true, refuses_commands: MONGO_ERRORS.unauthorized });
    return { url: urlOf.view_store(`127.0.0.1:${port}`) };
  }),
  outage(
    'a replica set without a primary',
    'the replica set has no primary that can be reached',
    async (scene) => {
      const { port } = await scene.mongo({ is_primary: false });
      return { url: `mongodb://127.0.0.1:${port}/catalog?replicaSet=rs0` };
    },
  ),
  outage(
    'a file of the address that does not exist',
    'the file /no/such/ca.crt of the address does not exist',
    async () => ({ url: urlOf.view_store('127.0.0.1:1', true, '/no/such/ca.crt') }),
  ),
];

/** A Redis that refuses writes between two commands. */
async function refusingRedis(scene: Scene, begin: string[], end: string[]): Promise<Fault> {
  const server = await scene.redis();
  await server.run([begin]);
  return { url: server.url, end: () => server.run([end]) };
}

const OF_REDIS: readonly Case[] = [
  outage('a wrong password, and its end', 'wrong user or password', async (scene) => {
    const server = await scene.redis('--requirepass', 'right');
    const end = () => server.run([['CONFIG', 'SET', 'requirepass', PASSWORD]], 'right');
    return { url: `redis://:${PASSWORD}@127.0.0.1:${server.port}`, end };
  }),
  outage(
    'a user without rights',
    'the user has no right to run a command, or to use a key or channel',
    async (scene) => {
      const server = await scene.redis();
      await server.run([['ACL', 'SETUSER', 'reader', 'on', `>${PASSWORD}`, '~*', '+@all', '-set']]);
      return { url: `redis://reader:${PASSWORD}@127.0.0.1:${server.port}` };
    },
  ),
  outage('a Redis Cluster', /^it is a Redis Cluster, which is not supported/, async (scene) => ({
    url: (await scene.redis('--cluster-enabled', 'yes')).url,
  })),
  outage('no memory, so that writes are refused, and its end', /no memory left/, (scene) =>
    refusingRedis(scene, ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']),
  ),
  outage('a replica, which refuses writes, and its end', 'the server is a replica', (scene) =>
    refusingRedis(scene, ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']),
  ),
];

const HAS_OPENSSL = hasProgram('openssl', 'TLS');
const HAS_REDIS = hasProgram('redis-server', 'faults of a Redis that runs');

/** The cases that this machine can run. */
const CASES: Readonly<Record<Server, readonly Case[]>> = {
  event_store: [
    ...onTheWay('event_store'),
    ...OF_EVENT_STORE,
    ...OF_HOSTS,
    ...(HAS_OPENSSL ? [...ofTls('event_store'), ofHostNames('event_store'), OF_GOSSIP, ...OF_TLS_HOSTS] : []),
  ],
  view_store: [
    ...onTheWay('view_store'),
    ...OF_MONGO,
    ...(HAS_OPENSSL ? [...ofTls('view_store'), ofHostNames('view_store')] : []),
  ],
  redis: [
    ...onTheWay('redis'),
    ...(HAS_REDIS ? OF_REDIS : []),
    ...(HAS_REDIS && HAS_OPENSSL ? ofTls('redis') : []),
  ],
};

/** Runs a case. Returns the error of a failed expectation, undefined if all hold. */
const failureOf = (server: Server, { cause, begin }: Case): Promise<unknown> =>
  inScene(async (scene) => {
    const fault = await begin(scene);
    const outage = await scene.use(server, fault.url);
    await outage.expectCause(cause);
    if (cause === REFUSED) {
      await outage.expectCause(cause);
      // On a busy machine, an attempt may end before the refusal arrives. That is another cause with a line of its own.
      expect(outage.lines.filter((line) => line.cause === cause)).toHaveLength(1);
    }
    if (fault.end) {
      await fault.end();
      await outage.expectEnd();
    }
  }).then(
    () => undefined,
    (error: unknown) => error,
  );

// The cases run concurrently, because they wait for time limits of the clients.
test.concurrent.each(['event_store', 'view_store', 'redis'] as const)(
  'every outage of %s is explained',
  async (server) => {
    const cases = CASES[server];
    const failures = await Promise.all(cases.map((one) => failureOf(server, one)));
    const names = cases.map(({ name }) => name);
    expect(names.map((name, index) => [name, failures[index]])).toEqual(
      names.map((name) => [name, undefined]),
    );
  },
);

test.concurrent('the script of the page gives the right on $all, and keeps the rights of others', () =>
  inScene(async (scene) => {
    const server = await scene.eventStore();
    const page = readFileSync('docs/operations/eventstoredb.md', 'utf8');
    const [, script = ''] = /```js\n(.*?)```/s.exec(page) ?? [];
    const env = { ...process.env, EVENTSTORE_URL: server.url, ADMINPASSWORD: PASSWORD };
    const client = EventStoreDBClient.connectionString(server.url);
    for (const others of [undefined, { acl: { readRoles: ['$admins', 'reports'], writeRoles: ['ops'] } }]) {
      if (others) await client.setStreamMetadata('$all', others);
      await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env });
      const { metadata } = await client.getStreamMetadata('$all');
      const { readRoles, ...others_kept } = metadata!.acl!;
      expect(readRoles).toEqual([...(others ? others.acl.readRoles : ['$admins']), 'catalog']);
      expect(others_kept).toEqual(others ? { writeRoles: ['ops'] } : {});
    }
    await client.dispose();
  }));

test.concurrent.each([1, 2])(
  'a command ends that uses %d hosts which are silent in the TLS handshake',
  (hosts) =>
    inScene(async (scene) => {
      const { host } = scene.add(await UnusableServer.start());
      const EVENTSTORE_URL = `esdb://${Array(hosts).fill(host)}?tls=true`;
      const ended = await new Cli(scene.folder.path, { EVENTSTORE_URL }).run('projections', 'status');
      expect(ended).toMatchObject({ code: 1, stdout: '' });
      expect(ended.stderr).toMatch(/^catalog: The event store cannot be used: .*\n$/);
    }),
);
