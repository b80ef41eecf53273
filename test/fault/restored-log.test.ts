import { randomUUID } from 'node:crypto';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createPublication } from '../../services/command/publication';
import { createStore } from '../../services/command/store';
import { EventStoreDbEventStore } from '../../shared/adapters/eventstoredb/event-store';
import type { Realm } from '../../shared/catalog/realm';
import type { AccountId, StoreId } from '../../shared/kernel/ids';
import { realSystem } from '../../shared/kernel/system';
import { type Cli, expectFailure, InProcessCli } from '../api/cli-run';
import { ForgetfulNetwork } from '../support/eventstore-standin/forgetful-network';
import { openStore } from '../support/eventstore-standin/server-under-test';
import { EventStoreStandIn } from '../support/eventstore-standin/standin';
import { fetch } from '../support/fetch';
import { type Harness, type Reply, startHarness } from '../support/harness';
import { createKeys, fetchToken, project, withRuntime } from '../support/merchant';
import { ownNames } from '../support/own-servers';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { readLog } from '../support/read-log';
import { readinessOf } from '../support/readiness';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

/*
 * An older copy of the log is restored, and the documents stay: they contain events that the log does not have. Nothing
 * is projected and no write is accepted until the documents are made again, and the operator is told so everywhere.
 */

const MAIN = 'services/boot/main.js';
const OTHER_LOG = 'The documents belong to another log, or to a newer copy of it.';
const REMEDY = 'run "catalog projections rebuild"';

/** The log of the service, as an operator copies and restores it while no process of the service runs. */
interface Log {
  readonly settings: Record<string, string>;
  copy(): Promise<void>;
  restore(): Promise<void>;
  dispose(): Promise<void>;
}

async function sqliteLog(folder: string): Promise<Log> {
  const file = join(folder, 'live', 'events.sqlite');
  return {
    settings: {},
    copy: async () => copyFileSync(file, `${file}.copy`),
    restore: async () => {
      for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
      copyFileSync(`${file}.copy`, file);
    },
    dispose: async () => {},
  };
}

async function eventStoreDbLog(folder: string): Promise<Log> {
  const own = join(folder, 'eventstore');
  const file = join(own, 'events.jsonl');
  let server = await EventStoreStandIn.start({ folder: own });
  const { port } = server.address;
  const whileStopped = async (work: () => void): Promise<void> => {
    await server.stop();
    work();
    server = await EventStoreStandIn.start({ folder: own, port });
  };
  return {
    settings: { EVENTSTORE_URL: server.url },
    copy: () => whileStopped(() => copyFileSync(file, `${file}.copy`)),
    restore: () => whileStopped(() => copyFileSync(`${file}.copy`, file)),
    dispose: () => server.stop(),
  };
}

interface Shop {
  readonly log: Log;
  readonly cli: Cli;
  readonly account_id: AccountId;
  start(): Promise<Running>;
}

/** A running service, as a merchant uses it. */
class Running {
  constructor(
    readonly process: RunningProcess,
    private readonly token: string,
  ) {}

  /** Creates a product. Returns the status of the answer. */
  async create(title: string): Promise<number> {
    const product = { title, price_currency: 'EUR', price_amount: 100 };
    return (await this.send('POST', '/api/publication', product)).status;
  }

  async titles(): Promise<string[]> {
    const reply = await this.send('GET', '/api/publications?sort=created_at&order=asc');
    const { data } = (await reply.json()) as { data: { title: string }[] };
    return data.map(({ title }) => title);
  }

  private send(method: string, path: string, body?: object): Promise<Response> {
    const headers = { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' };
    return fetch(`${this.process.url}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
  }
}

/** Writes products, and projects them. */
const create = (settings: Record<string, string>, store_id: StoreId, titles: readonly string[]) =>
  withRuntime(settings, async (runtime) => {
    const scope = { environment: 'live', store_id } as const;
    for (const title of titles) {
      const product = { title, price_currency: 'EUR', price_amount: 100 };
      await createPublication(runtime, { source: 'api', request_id: title }, scope, product);
    }
    await project(runtime);
  });

/** Runs the story on a shop with a log that was restored: the copy has one product, the documents have four. */
async function withRestoredLog(
  openLog: (folder: string) => Promise<Log>,
  story: (shop: Shop) => Promise<void>,
): Promise<void> {
  await withTempDir(async (folder) => {
    const log = await openLog(folder);
    try {
      const settings = { DATA_DIR: folder, ...log.settings };
      const { secret, store_id, account_id } = await createKeys(settings);
      await create(settings, store_id, ['in the copy']);
      await log.copy();
      await create(settings, store_id, ['lost 1', 'lost 2', 'lost 3']);
      await log.restore();
      // The documents do not catch up, and readiness waits for that as long as this.
      const service_settings = { ...settings, START_TIMEOUT_S: '1' };
      const start = async (): Promise<Running> => {
        const process = await startProcess(MAIN, service_settings);
        return new Running(process, await fetchToken(process.url, secret));
      };
      const cli = new InProcessCli(folder, { ...log.settings, LOG_LEVEL: 'silent' });
      await story({ log, cli, account_id, start });
    } finally {
      endAll();
      await log.dispose();
    }
  });
}

/** Expects that the service says what is wrong, projects nothing and accepts no write, and that a rebuild mends it. */
async function expectRefusalUntilRebuild({ cli, start }: Shop): Promise<void> {
  expectFailure(await cli.run('projections', 'verify'), 1, REMEDY);
  const status = await cli.run('projections', 'status', '--realm', 'live');
  expect(status).toMatchObject({ code: 1, stderr: expect.stringContaining(OTHER_LOG) });
  expect(status.stdout).toContain('active, other log');

  const running = await start();
  const says = await waitFor(
    async () => {
      const readiness = await readinessOf(running.process);
      return readiness.waiting_for.length === 1 && readiness;
    },
    { what: 'readiness to wait for one thing' },
  );
  expect(says).toMatchObject({
    status: 503,
    waiting_for: ['matching_log'],
    live: { matching_log: 'no', mismatch: expect.stringContaining(REMEDY), event_store: 'ok' },
  });
  expect(await running.create('refused')).toBe(503);
  expect(await running.titles()).toEqual(['in the copy', 'lost 1', 'lost 2', 'lost 3']);
  expect(await running.create('refused again')).toBe(503);
  // The projection process of the service notices it on its own.
  const reports = running.process.warnings.filter(
    (line) => line.includes(OTHER_LOG) && !line.includes('"process":"projections"'),
  );
  expect(reports.filter((line) => /"level":"error"/.test(line) && /"realm":"live"/.test(line))).toHaveLength(
    1,
  );

  expect(await cli.run('projections', 'rebuild')).toMatchObject({ code: 0 });
  await waitFor(async () => (await readinessOf(running.process)).status === 200, {
    what: 'the service to be ready',
  });
  expect(await running.titles()).toEqual(['in the copy']);
  expect(await running.create('after the rebuild')).toBe(201);
  await waitFor(async () => (await running.titles()).includes('after the rebuild'), {
    what: 'the new product',
  });
  expect(await running.process.end('SIGTERM')).toBe(0);
  expect(await cli.run('projections', 'verify')).toMatchObject({ code: 0 });
  // The documents of the other log are not kept for a rollback.
  expectFailure(await cli.run('projections', 'rollback', '--realm', 'live'), 1, 'No retired version');
}

test('an older copy of the log on SQLite is noticed before anything is written to it', () =>
  withRestoredLog(sqliteLog, expectRefusalUntilRebuild));

test('an older copy of the log on EventStoreDB is noticed after others have written past the checkpoints', () =>
  withRestoredLog(eventStoreDbLog, async (shop) => {
    // Another process, which has no documents.
    const open = (realm: Realm) =>
      EventStoreDbEventStore.open({ url: shop.log.settings.EVENTSTORE_URL!, realm });
    const events = { control: await open('control'), live: await open('live'), test: await open('test') };
    const deps = { system: realSystem, events };
    for (let n = 0; n < 12; n++)
      await createStore(
        deps,
        { source: 'cli', request_id: randomUUID() },
        { account_id: shop.account_id },
        { name: `Store ${'x'.repeat(n)}`, environment: 'live' },
      );
    for (const log of Object.values(events)) await log.close();
    await expectRefusalUntilRebuild(shop);
  }));

/** An address behind which the log of the service can be exchanged for another one while the service runs. */
interface Exchange {
  readonly url: string;
  /** Starts to use the log in `folder`. The service notices at most that its connections end. */
  use(folder: string): Promise<void>;
  end(): Promise<void>;
}

async function restartedServer(folder: string): Promise<Exchange> {
  let server = await EventStoreStandIn.start({ folder });
  const { url, address } = server;
  const use = async (other: string): Promise<void> => {
    await server.stop();
    server = await EventStoreStandIn.start({ folder: other, port: address.port });
  };
  return { url, use, end: () => server.stop() };
}

async function redirectedProxy(folder: string): Promise<Exchange> {
  const servers = new Map([[folder, await EventStoreStandIn.start({ folder })]]);
  const proxy = new ForgetfulNetwork(servers.get(folder)!.address);
  const url = `esdb://127.0.0.1:${await proxy.listen()}?tls=false`;
  const use = async (other: string): Promise<void> => {
    const server = servers.get(other) ?? (await EventStoreStandIn.start({ folder: other }));
    servers.set(other, server);
    proxy.redirect(server.address);
  };
  const end = async (): Promise<void> => {
    await proxy.close();
    for (const server of servers.values()) await server.stop();
  };
  return { url, use, end };
}

/** The service does not even notice the end of a connection. */
async function proxyThatKeepsConnections(folder: string): Promise<Exchange> {
  const server = await EventStoreStandIn.start({ folder });
  const use = async (other: string): Promise<void> => server.exchangeLog(other);
  return { url: server.url, use, end: () => server.stop() };
}

/** Clients that write all the time, each in its own way, and what they are answered. */
class Writers {
  readonly replies: { readonly title: string; readonly status: number; readonly text: string }[] = [];
  private readonly writing: Promise<void>[];
  private stopped = false;

  constructor(
    private readonly harness: Harness,
    private readonly token: string,
    ids: readonly string[],
  ) {
    const create = (title: string, headers = {}) => this.send('POST', '/api/publication', title, headers);
    const kinds = [
      (title: string) => create(title),
      (title: string) => create(title, { 'idempotency-key': title }),
      ...ids.flatMap((id) => [
        (title: string) => this.send('PATCH', `/api/publication/${id}`, title),
        (title: string) => this.send('PATCH', `/api/publication/${id}`, title, { 'idempotency-key': title }),
      ]),
    ];
    this.writing = kinds.map((write) => this.repeat(write));
  }

  /** Waits until each writer has had so many more answers that are as expected. */
  async until(count: number, isExpected: (status: number) => boolean, what: string): Promise<void> {
    const from = this.replies.length;
    const goal = count * this.writing.length;
    await waitFor(() => this.replies.slice(from).filter(({ status }) => isExpected(status)).length >= goal, {
      what,
    });
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.writing);
  }

  private async repeat(write: (title: string) => Promise<Reply>): Promise<void> {
    while (!this.stopped) {
      const title = randomUUID();
      const { status, text } = await write(title);
      this.replies.push({ title, status, text });
    }
  }

  private send(method: string, path: string, title: string, headers: object = {}): Promise<Reply> {
    const price = method === 'POST' ? { price_currency: 'EUR', price_amount: 100 } : {};
    const sent = { token: this.token, headers: { prefer: 'respond-async', ...headers } };
    return this.harness.request(method, path, { ...sent, body: { title, ...price } });
  }
}

describe.each([
  ['an older copy of the log', true],
  ['an empty log', false],
])(
  '%s that takes the place of the log of a running service gets no write, and decides none',
  (_, is_copy) => {
    test.each([
      ['by a restart of the server', restartedServer],
      ['by a proxy that leads to another server', redirectedProxy],
      ['by a proxy that keeps its connections', proxyThatKeepsConnections],
    ])('%s', (_how, openExchange) =>
      withTempDir(async (folder) => {
        const [right, other] = [join(folder, 'right'), join(folder, 'other')];
        const exchange = await openExchange(right);
        const harness = await startHarness({
          servers: ownNames({ EVENTSTORE_URL: exchange.url }),
          waits_for_late: false,
        });
        const { secret } = await harness.newShop();
        const body = { title: 'In the copy', price_currency: 'EUR', price_amount: 100 };
        const first = await harness.request('POST', '/api/publication', { token: secret.token, body });
        mkdirSync(other);
        if (is_copy) copyFileSync(join(right, 'events.jsonl'), join(other, 'events.jsonl'));
        const second = await harness.request('POST', '/api/publication', { token: secret.token, body });

        const ids = [first, second].map((reply) => reply.body.data.id as string);
        const writers = new Writers(harness, secret.token, ids);
        const accepted = (status: number): boolean => status === 200 || status === 201;
        for (let round = 0; round < 2; round++) {
          await writers.until(3, accepted, 'writes to the right log');
          await exchange.use(other);
          await writers.until(3, (status) => status >= 400, 'writes to the other log to be refused');
          await exchange.use(right);
        }
        await writers.until(3, accepted, 'writes to the right log again');
        await writers.stop();
        await harness.close();

        const { replies } = writers;
        expect(replies.filter(({ status }) => ![200, 201, 500, 503].includes(status))).toEqual([]);
        const events = await openStore(exchange.url, { namespace: namespaceOf(harness) });
        const stored = new Set((await readLog(events)).flatMap(({ data }) => Object.values(data)));
        expect(replies.filter(({ status, title }) => accepted(status) && !stored.has(title))).toEqual([]);
        await events.close();
        await exchange.end();
      }),
    );
  },
);

const namespaceOf = ({ settings }: Harness): string => `${settings.EVENTSTORE_NAMESPACE}.`;
