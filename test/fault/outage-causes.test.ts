import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { EventStoreDBClient } from '@eventstore/db-client';
import { EventStoreDbEventStore } from '../../shared/adapters/eventstoredb/event-store';
import { MongoViewStore } from '../../shared/adapters/mongodb/view-store';
import { RedisIdempotencyStore } from '../../shared/adapters/redis/idempotency-store';
import { createLogger } from '../../shared/kernel/log';
import { Outages, type Server } from '../../shared/kernel/outages';
import type { IdempotencyStore } from '../../shared/ports/idempotency-store';
import { Cli } from '../api/cli-run';
import { EventStoreStandIn } from '../support/eventstore-standin/standin';
import { FakeMongo, MONGO_ERRORS } from '../support/fake-mongo';
import { listenOnOwnPort } from '../support/own-port';
import { OwnRedis } from '../support/own-redis';
import { describeWithProgram } from '../support/programs';
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
  }

  async close(): Promise<void> {
    await this.store?.close();
  }
}

/** The store and the servers of one test. */
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

  async end(): Promise<void> {
    for (const store of this.used) await store.close();
    for (const server of this.servers) await server.stop();
    this.folder.remove();
  }
}

/** Returns a test with a scene of its own. */
function inScene<Row extends unknown[]>(story: (scene: Scene, ...row: Row) => Promise<void>) {
  return async (...row: Row): Promise<void> => {
    const scene = new Scene();
    try {
      await story(scene, ...row);
    } finally {
      await scene.end();
    }
  };
}

/** The tests run concurrently, because they wait for time limits of the clients. */
function story(name: string, tell: (scene: Scene) => Promise<void>): void {
  test.concurrent(name, inScene(tell));
}

/** Addresses with the options for TLS. */
const urlOf = {
  event_store: (host: string, tls: boolean, ca?: string) =>
    `esdb://reader:${PASSWORD}@${host}?tls=${tls}${ca ? `&tlsCAFile=${ca}` : ''}`,
  view_store: (host: string, tls: boolean, ca?: string) =>
    `mongodb://${host}/catalog?tls=${tls}${ca ? `&tlsCAFile=${ca}` : ''}`,
  redis: (host: string, tls: boolean) => `redis${tls ? 's' : ''}://${host}`,
} satisfies Record<Server, unknown>;

describe.each(['event_store', 'view_store', 'redis'] as const)('%s', (server) => {
  story('nothing listens at its address', async (scene) => {
    const outage = await scene.use(server, urlOf[server]('127.0.0.1:1', false));
    await outage.expectCause(REFUSED);
    await outage.expectCause(REFUSED);
    // On a busy machine, an attempt may end before the refusal arrives. That is another cause with a line of its own.
    expect(outage.lines.filter(({ cause }) => cause === REFUSED)).toHaveLength(1);
  });

  story('its host name does not exist', async (scene) => {
    const outage = await scene.use(server, urlOf[server]('no-such-host.invalid:2113', false));
    await outage.expectCause('the host name cannot be resolved');
  });
});

describeWithProgram('openssl', 'TLS', () => {
  let opened: { readonly ca: TestCa; readonly folder: TempDir } | undefined;
  /** Created by the first test: concurrent tests begin before `beforeAll`. */
  function testCa(): TestCa {
    const folder = opened?.folder ?? makeTempDir();
    opened ??= { ca: new TestCa(folder.path), folder };
    return opened.ca;
  }
  afterAll(() => opened?.folder.remove());

  async function front(scene: Scene, host: string, target_port: number): Promise<number> {
    const opened_front = await TlsFront.open(testCa().issue(host), target_port);
    scene.add({ stop: () => opened_front.close() });
    return opened_front.port;
  }

  const itFindsCauses = (server: Server): void => {
    story('the address asks for TLS, and the server does not use it', async (scene) => {
      const outage = await scene.use(server, urlOf[server](`localhost:${await scene.start(server)}`, true));
      await outage.expectCause(/TLS|does not answer/);
    });

    story('the server expects TLS, and the address does not ask for it', async (scene) => {
      const port = await front(scene, 'localhost', await scene.start(server));
      const outage = await scene.use(server, urlOf[server](`localhost:${port}`, false));
      await outage.expectCause(/uses TLS/);
    });

    story('the certificate is from another CA', async (scene) => {
      const port = await front(scene, 'localhost', await scene.start(server));
      const outage = await scene.use(server, urlOf[server](`localhost:${port}`, true));
      await outage.expectCause("the server's certificate is not from a trusted CA");
    });
  };
  describe.each(['event_store', 'view_store'] as const)('%s', itFindsCauses);
  describeWithProgram('redis-server', 'redis', () => itFindsCauses('redis'));

  story(
    'event_store: the certificate is for the host of the address, and not for the one in gossip',
    async (scene) => {
      const server = await scene.eventStore();
      const port = await front(scene, 'localhost', server.address.port);
      server.faults.set({ advertised: { host: '127.0.0.1', port } });
      const url = urlOf
        .event_store(`localhost:${port}`, true, testCa().file)
        .replace('esdb:', 'esdb+discover:');
      await (await scene.use('event_store', url)).expectCause(
        "the server's certificate is for another host name: it does not name 127.0.0.1",
      );
    },
  );

  test.concurrent.each(['event_store', 'view_store'] as const)(
    '%s: the certificate is for another host name, or for the right one',
    inScene(async (scene, server) => {
      const target = await scene.start(server);
      const other = await front(scene, 'other.example', target);
      const outage = await scene.use(server, urlOf[server](`localhost:${other}`, true, testCa().file));
      await outage.expectCause(
        "the server's certificate is for another host name: it does not name localhost",
      );
      const right = await front(scene, 'localhost', target);
      const working = await scene.use(server, urlOf[server](`localhost:${right}`, true, testCa().file));
      await waitFor(() => working.call().then(() => true), { what: 'a call that succeeds' });
    }),
  );
});

describe('EventStoreDB', () => {
  story('a wrong password, and its end', async (scene) => {
    const server = await scene.eventStore();
    server.faults.set({ wrong_password: true });
    const outage = await scene.use(
      'event_store',
      urlOf.event_store(`127.0.0.1:${server.address.port}`, false),
    );
    await outage.expectCause('wrong user or password');
    server.faults.clear();
    await outage.expectEnd();
    expect(outage.lines).toHaveLength(2);
  });

  story('no right on $all, while streams can be read', async (scene) => {
    const server = await scene.eventStore();
    server.faults.set({ denied_log: true });
    const outage = await scene.use(
      'event_store',
      urlOf.event_store(`127.0.0.1:${server.address.port}`, false),
    );
    await outage.expectCause('the user has no right to read $all');
    server.faults.clear();
    await outage.expectEnd();
  });

  story('the script of the page gives the right on $all, and keeps the rights of others', async (scene) => {
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
  });

  test.concurrent.each([1, 2])(
    '%d hosts that are silent in the TLS handshake, and a command that ends',
    inScene(async (scene, hosts) => {
      const sockets: Socket[] = [];
      const server = createServer((socket) => void sockets.push(socket.on('error', () => {})));
      scene.add({ stop: () => void server.close() });
      const host = `127.0.0.1:${await listenOnOwnPort(server)}`;
      const EVENTSTORE_URL = `esdb://${Array(hosts).fill(host)}?tls=true`;
      const ended = await new Cli(scene.folder.path, { EVENTSTORE_URL }).run('projections', 'status');
      for (const socket of sockets) socket.destroy();
      expect(ended).toMatchObject({ code: 1, stdout: '' });
      expect(ended.stderr).toMatch(/^catalog: The event store cannot be used: .*\n$/);
    }),
  );
});

/** A name, a function that starts the server and returns its address, and the cause. */
type Case = [name: string, server: Server, start: (scene: Scene) => Promise<string>, cause: string | RegExp];

const CASES: readonly Case[] = [
  [
    'EventStoreDB: no user in the address',
    'event_store',
    async (scene) => (await scene.eventStore({ denied_log: true })).url,
    'the server requires a user, and the address has none',
  ],
  [
    'EventStoreDB: a server without a leader',
    'event_store',
    async (scene) => (await scene.eventStore({ not_ready: 1_000_000 })).url,
    'the server is not ready: it is starting, or its cluster has no leader',
  ],
  [
    'EventStoreDB: a server that does not answer',
    'event_store',
    async (scene) => (await scene.eventStore({ silent: true })).url,
    'the server does not answer',
  ],
  [
    'MongoDB: a wrong password',
    'view_store',
    async (scene) => {
      const refuses_logins = MONGO_ERRORS.authentication_failed;
      const { port } = await scene.mongo({ is_primary: true, refuses_logins });
      return urlOf.view_store(`reader:${PASSWORD}@127.0.0.1:${port}`, false);
    },
    'wrong user or password',
  ],
  [
    'MongoDB: a user without rights',
    'view_store',
    async (scene) => {
      const { port } = await scene.mongo({ is_primary: true, refuses_commands: MONGO_ERRORS.unauthorized });
      return urlOf.view_store(`127.0.0.1:${port}`, false);
    },
    'the user has no right to use the database',
  ],
  [
    'MongoDB: a replica set without a primary',
    'view_store',
    async (scene) =>
      `mongodb://127.0.0.1:${(await scene.mongo({ is_primary: false })).port}/catalog?replicaSet=rs0`,
    'the replica set has no primary that can be reached',
  ],
  [
    'MongoDB: a file of the address that does not exist',
    'view_store',
    async () => urlOf.view_store('127.0.0.1:1', true, '/no/such/ca.crt'),
    'the file /no/such/ca.crt of the address does not exist',
  ],
];

test.concurrent.each(CASES)(
  '%s',
  inScene(async (scene, _name, server, startServer, cause) => {
    await (await scene.use(server, await startServer(scene))).expectCause(cause);
  }),
);

describeWithProgram('redis-server', 'Redis', () => {
  story('a wrong password, and its end', async (scene) => {
    const server = await scene.redis('--requirepass', 'right');
    const outage = await scene.use('redis', `redis://:${PASSWORD}@127.0.0.1:${server.port}`);
    await outage.expectCause('wrong user or password');
    await server.run([['CONFIG', 'SET', 'requirepass', PASSWORD]], 'right');
    await outage.expectEnd();
    expect(outage.lines).toHaveLength(2);
  });

  story('a user without rights', async (scene) => {
    const server = await scene.redis();
    await server.run([['ACL', 'SETUSER', 'reader', 'on', `>${PASSWORD}`, '~*', '+@all', '-set']]);
    const outage = await scene.use('redis', `redis://reader:${PASSWORD}@127.0.0.1:${server.port}`);
    await outage.expectCause('the user has no right to run a command, or to use a key or channel');
  });

  story('a Redis Cluster', async (scene) => {
    const server = await scene.redis('--cluster-enabled', 'yes');
    const outage = await scene.use('redis', server.url);
    await outage.expectCause(/^it is a Redis Cluster, which is not supported/);
  });

  test.concurrent.each([
    ['no memory', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0'], /no memory left/],
    ['a replica', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE'], 'the server is a replica'],
  ])(
    '%s, so that writes are refused, and its end',
    inScene(async (scene, _name, begin, end, cause) => {
      const server = await scene.redis();
      const outage = await scene.use('redis', server.url);
      await outage.call();
      await server.run([begin]);
      await outage.expectCause(cause);
      await server.run([end]);
      await outage.expectEnd();
      expect(outage.lines.filter(({ msg }) => msg === 'a server can be used again')).toHaveLength(1);
    }),
  );
});
