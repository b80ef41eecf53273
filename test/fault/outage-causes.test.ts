import { execFile } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
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
      await this.call().catch(() => {});
      return this.lines.find((line) => matches(line.cause ?? ''));
    };
    const logged = await waitFor(findLine, { what: 'the log line' });
    expect(logged).toMatchObject({ level: 'warn', server: this.server });
    expect(logged.msg).toBe('a server cannot be used; retrying');
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

let folder: TempDir;
let used: Used | undefined;
const servers: { stop(): Promise<void> | void }[] = [];

beforeEach(() => {
  folder = makeTempDir();
});
afterEach(async () => {
  await used?.close();
  used = undefined;
  for (const server of servers.splice(0)) await server.stop();
  folder.remove();
});

async function use(server: Server, url: string): Promise<Used> {
  used = await new Used(server).open(url);
  return used;
}

async function eventStore(): Promise<EventStoreStandIn> {
  const standIn = await EventStoreStandIn.start({ folder: folder.path });
  servers.push(standIn);
  return standIn;
}

async function redis(...options: string[]): Promise<OwnRedis> {
  const server = await OwnRedis.start(folder.path, ...options);
  servers.push(server);
  return server;
}

async function mongo(plan: FakeMongo['plan'] = { is_primary: true }): Promise<FakeMongo> {
  const server = new FakeMongo();
  server.plan = plan;
  await server.start();
  servers.push(server);
  return server;
}

/** Addresses with the options for TLS. */
const urlOf = {
  event_store: (host: string, tls: boolean, ca?: string) =>
    `esdb://reader:${PASSWORD}@${host}?tls=${tls}${ca ? `&tlsCAFile=${ca}` : ''}`,
  view_store: (host: string, tls: boolean, ca?: string) =>
    `mongodb://${host}/catalog?tls=${tls}${ca ? `&tlsCAFile=${ca}` : ''}`,
  redis: (host: string, tls: boolean) => `redis${tls ? 's' : ''}://${host}`,
} satisfies Record<Server, unknown>;

/** Starts the server. Returns its port. */
const start = {
  event_store: async () => (await eventStore()).address.port,
  view_store: async () => (await mongo()).port,
  redis: async () => (await redis()).port,
} satisfies Record<Server, unknown>;

describe.each(['event_store', 'view_store', 'redis'] as const)('%s', (server) => {
  test('nothing listens at its address', async () => {
    const outage = await use(server, urlOf[server]('127.0.0.1:1', false));
    await outage.expectCause(REFUSED);
    await outage.expectCause(REFUSED);
    // On a busy machine, an attempt may end before the refusal arrives. That is another cause with a line of its own.
    expect(outage.lines.filter(({ cause }) => cause === REFUSED)).toHaveLength(1);
    expect(outage.text).not.toContain(PASSWORD);
  });

  test('its host name does not exist', async () => {
    const outage = await use(server, urlOf[server]('no-such-host.invalid:2113', false));
    await outage.expectCause('the host name cannot be resolved');
  });
});

describeWithProgram('openssl', 'TLS', () => {
  let ca: TestCa;
  let ca_folder: TempDir;

  beforeAll(() => {
    ca_folder = makeTempDir();
    ca = new TestCa(ca_folder.path);
  });
  afterAll(() => ca_folder.remove());

  async function front(host: string, target_port: number, port = 0): Promise<number> {
    const opened = await TlsFront.open(ca.issue(host), target_port, port);
    servers.unshift({ stop: () => opened.close() });
    return opened.port;
  }

  const itFindsCauses = (server: Server): void => {
    test('the address asks for TLS, and the server does not use it', async () => {
      const outage = await use(server, urlOf[server](`localhost:${await start[server]()}`, true));
      await outage.expectCause(/TLS|does not answer/);
    });

    test('the server expects TLS, and the address does not ask for it', async () => {
      const port = await front('localhost', await start[server]());
      const outage = await use(server, urlOf[server](`localhost:${port}`, false));
      await outage.expectCause(/uses TLS/);
    });

    test('the certificate is from another CA', async () => {
      const port = await front('localhost', await start[server]());
      const outage = await use(server, urlOf[server](`localhost:${port}`, true));
      await outage.expectCause("the server's certificate is not from a trusted CA");
    });
  };
  describe.each(['event_store', 'view_store'] as const)('%s', itFindsCauses);
  describeWithProgram('redis-server', 'redis', () => itFindsCauses('redis'));

  test('event_store: the certificate is for the host of the address, and not for the one in gossip', async () => {
    const server = await eventStore();
    const port = await front('localhost', server.address.port);
    server.faults.set({ advertised: { host: '127.0.0.1', port } });
    const url = urlOf.event_store(`localhost:${port}`, true, ca.file).replace('esdb:', 'esdb+discover:');
    await (await use('event_store', url)).expectCause(
      "the server's certificate is for another host name: it does not name 127.0.0.1",
    );
  });

  test.each(['event_store', 'view_store'] as const)(
    '%s: the certificate is for another host name, or for the right one',
    async (server) => {
      const target = await start[server]();
      const other = await front('other.example', target);
      const outage = await use(server, urlOf[server](`localhost:${other}`, true, ca.file));
      await outage.expectCause(
        "the server's certificate is for another host name: it does not name localhost",
      );
      await outage.close();
      const right = await front('localhost', target);
      const working = await use(server, urlOf[server](`localhost:${right}`, true, ca.file));
      await working.call();
      expect(working.lines).toEqual([]);
    },
  );
});

describe('EventStoreDB', () => {
  test('a wrong password, and its end', async () => {
    const server = await eventStore();
    server.faults.set({ wrong_password: true });
    const outage = await use('event_store', urlOf.event_store(`127.0.0.1:${server.address.port}`, false));
    await outage.expectCause('wrong user or password');
    server.faults.clear();
    await outage.expectEnd();
    expect(outage.lines).toHaveLength(2);
    expect(outage.text).not.toContain(PASSWORD);
  });

  test('no user in the address', async () => {
    const server = await eventStore();
    server.faults.set({ denied_log: true });
    await (await use('event_store', server.url)).expectCause(
      'the server requires a user, and the address has none',
    );
  });

  test('no right on $all, while streams can be read', async () => {
    const server = await eventStore();
    server.faults.set({ denied_log: true });
    const outage = await use('event_store', urlOf.event_store(`127.0.0.1:${server.address.port}`, false));
    await outage.expectCause('the user has no right to read $all');
    server.faults.clear();
    await outage.expectEnd();
  });

  test('the script of the page gives the right on $all, and keeps the rights of others', async () => {
    const server = await eventStore();
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

  test('a server without a leader', async () => {
    const server = await eventStore();
    server.faults.set({ not_ready: 1_000_000 });
    const outage = await use('event_store', server.url);
    await outage.expectCause('the server is not ready: it is starting, or its cluster has no leader');
  });

  test.each([1, 2])(
    '%d hosts that are silent in the TLS handshake, and a command that ends',
    async (hosts) => {
      const sockets: Socket[] = [];
      const server = createServer((socket) => void sockets.push(socket.on('error', () => {})));
      servers.push({ stop: () => void server.close() });
      const host = `127.0.0.1:${await listenOnOwnPort(server)}`;
      const EVENTSTORE_URL = `esdb://${Array(hosts).fill(host)}?tls=true`;
      const ended = await new Cli(folder.path, { EVENTSTORE_URL }).run('projections', 'status');
      for (const socket of sockets) socket.destroy();
      expect(ended).toMatchObject({ code: 1, stdout: '' });
      expect(ended.stderr).toMatch(/^catalog: The event store cannot be used: .*\n$/);
    },
  );

  test('a server that does not answer', async () => {
    const server = await eventStore();
    server.faults.set({ silent: true });
    await (await use('event_store', server.url)).expectCause('the server does not answer');
  });
});

describe('MongoDB', () => {
  const LOGIN = `reader:${PASSWORD}@`;

  test('a wrong password, and its end', async () => {
    const server = await mongo({ is_primary: true, refuses_logins: MONGO_ERRORS.authentication_failed });
    const outage = await use('view_store', urlOf.view_store(`${LOGIN}127.0.0.1:${server.port}`, false));
    await outage.expectCause('wrong user or password');
    expect(outage.text).not.toContain(PASSWORD);
  });

  test('a user without rights', async () => {
    const server = await mongo({ is_primary: true, refuses_commands: MONGO_ERRORS.unauthorized });
    const outage = await use('view_store', urlOf.view_store(`127.0.0.1:${server.port}`, false));
    await outage.expectCause('the user has no right to use the database');
  });

  test('a replica set without a primary, and its end', async () => {
    const server = await mongo({ is_primary: false });
    const outage = await use('view_store', `mongodb://127.0.0.1:${server.port}/catalog?replicaSet=rs0`);
    await outage.expectCause('the replica set has no primary that can be reached');
  });

  test('a file of the address that does not exist', async () => {
    const file = `${folder.path}/ca.crt`;
    rmSync(file, { force: true });
    const outage = await use('view_store', urlOf.view_store('127.0.0.1:1', true, file));
    await outage.expectCause(`the file ${file} of the address does not exist`);
  });
});

describeWithProgram('redis-server', 'Redis', () => {
  test('a wrong password, and its end', async () => {
    const server = await redis('--requirepass', 'right');
    const outage = await use('redis', `redis://:${PASSWORD}@127.0.0.1:${server.port}`);
    await outage.expectCause('wrong user or password');
    await server.run([['CONFIG', 'SET', 'requirepass', PASSWORD]], 'right');
    await outage.expectEnd();
    expect(outage.lines).toHaveLength(2);
    expect(outage.text).not.toContain(PASSWORD);
  });

  test('a user without rights', async () => {
    const server = await redis();
    await server.run([['ACL', 'SETUSER', 'reader', 'on', `>${PASSWORD}`, '~*', '+@all', '-set']]);
    const outage = await use('redis', `redis://reader:${PASSWORD}@127.0.0.1:${server.port}`);
    await outage.expectCause('the user has no right to run a command, or to use a key or channel');
    expect(outage.text).not.toContain(PASSWORD);
  });

  test('a Redis Cluster', async () => {
    const server = await redis('--cluster-enabled', 'yes');
    const outage = await use('redis', server.url);
    await outage.expectCause(/^it is a Redis Cluster, which is not supported/);
  });

  test.each([
    ['no memory', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0'], /no memory left/],
    ['a replica', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE'], 'the server is a replica'],
  ])('%s, so that writes are refused, and its end', async (_name, begin, end, cause) => {
    const server = await redis();
    const outage = await use('redis', server.url);
    await outage.call();
    await server.run([begin]);
    await outage.expectCause(cause);
    await server.run([end]);
    await outage.expectEnd();
    expect(outage.lines.filter(({ msg }) => msg === 'a server can be used again')).toHaveLength(1);
  });
});
