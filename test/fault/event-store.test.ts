import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EventStoreDBClient } from '@eventstore/db-client';
import { InProcessCli } from '../api/cli-run';
import { StandInCluster } from '../support/eventstore-standin/cluster';
import { EventStoreStandIn } from '../support/eventstore-standin/standin';
import { type Harness, type Reply, startHarness } from '../support/harness';
import { ownNames } from '../support/own-servers';
import { makeTempDir, type TempDir, withTempDir } from '../support/temp-dir';
import { FAILS_WITHIN_MS, waitFor, within } from '../support/wait-for';

/** The whole service on an EventStoreDB that behaves as a real one does in trouble. Always uses the stand-in. */
describe('the service on one node', () => {
  let folder: TempDir;
  let server: EventStoreStandIn;
  let harness: Harness;

  beforeAll(async () => {
    folder = makeTempDir();
    server = await EventStoreStandIn.start({ folder: folder.path });
    harness = await startHarness({ servers: ownNames({ EVENTSTORE_URL: server.url }) });
  });
  afterAll(async () => {
    await harness?.close();
    await server?.stop();
    folder?.remove();
  });
  afterEach(() => server.faults.clear());

  test('64 readiness checks and scrapes at once do not stall the server', async () => {
    // Without one shared read, each check would take longer than its time limit, and answer 503.
    server.faults.set({ concurrent_head_read_ms: 4_000 });
    const { concurrent } = server.headReads;
    const asking = Array.from({ length: 64 }, (_, n) =>
      harness.request('GET', n % 2 === 0 ? '/health/ready' : '/metrics'),
    );
    const replies: Reply[] = await within(Promise.all(asking), 'the checks');
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect(server.headReads.concurrent).toBe(concurrent);
  });

  /** Creates a publication, and returns what changes it. */
  async function newPublication() {
    const { secret } = await harness.newShop();
    const body = { title: 'Cup', price_currency: 'USD', price_amount: 100 };
    const created = await harness.request('POST', '/api/publication', { token: secret.token, body });
    const path = `/api/publication/${created.body.data.id}`;
    return async (price_amount: number) => {
      const change = { token: secret.token, body: { price_amount } };
      return outcomeOf(await within(harness.request('PATCH', path, change), 'a write', FAILS_WITHIN_MS));
    };
  }

  test('a write whose reads are slow and whose append is not answered is 500, one to a stopped server is 503', async () => {
    const change = await newPublication();
    // Two reads precede the append: of the publication and of its store.
    server.faults.set({ read_stall_ms: 1_600, hung_appends: true });
    expect(await change(200)).toEqual({ outcome: '500 DATABASE_TIMEOUT', retry_after: true });
    server.faults.clear();
    expect(await change(300)).toMatchObject({ outcome: '200' });
    const { port } = server.address;
    await server.stop();
    expect(await change(400)).toEqual({ outcome: '503 SERVICE_UNAVAILABLE', retry_after: true });
    server = await EventStoreStandIn.start({ folder: folder.path, port });
    await waitFor(async () => (await change(500)).outcome === '200', { what: 'a write after the outage' });
  });

  test('a write to a publication whose stream an operator has deleted is 404, also if its state is cached', async () => {
    const change = await newPublication();
    // States of streams with more than 64 events are cached.
    for (let amount = 1; amount <= 66; amount++)
      expect(await inTheEnd(() => change(amount))).toMatchObject({ outcome: '200' });
    const { stream } = server.events('').findLast((event) => event.stream.includes('live.publication-'))!;
    const operator = EventStoreDBClient.connectionString(server.url);
    await operator.tombstoneStream(stream);
    await operator.dispose();
    for (const amount of [67, 68])
      expect(await inTheEnd(() => change(amount))).toMatchObject({ outcome: '404 PUBLICATION_NOT_FOUND' });
  });
});

test('the whole log is read across 200,000 events of another application, each search a few times', () =>
  withTempDir(async (folder) => {
    const FOREIGN = 200_000;
    // About four of each realm. A search that finds nothing within a second begins again as a subscription.
    const SEARCHES_MAX = 15;
    const server = await EventStoreStandIn.start({ folder: join(folder, 'server') });
    const harness = await startHarness({ servers: ownNames({ EVENTSTORE_URL: server.url }) });
    const { secret } = await harness.newShop();
    const body = { title: 'Cup', price_currency: 'USD', price_amount: 100 };
    const create = () => harness.request('POST', '/api/publication', { token: secret.token, body });
    const { id } = (await create()).body.data;
    const path = `/api/publication/${id}`;
    server.writeForeign(FOREIGN);
    await harness.settled();
    const patch = { token: secret.token, body: { title: 'Mug' } };
    expect(await harness.request('PATCH', path, patch)).toMatchObject({ status: 200 });
    // A search takes longer than the server may be silent.
    server.faults.set({ searched_per_s: 150_000 });
    const searches = async (work: () => Promise<unknown>): Promise<number> => {
      const before = server.examinedEvents;
      await within(work(), 'the log to be read');
      return Math.round((server.examinedEvents - before) / FOREIGN);
    };

    const idle = await searches(async () => {
      const { total } = server.headReads;
      await waitFor(() => server.headReads.total > total + 20, { what: 'polls of the log' });
    });
    expect(idle).toBe(0);
    const cli = new InProcessCli(harness.data_dir, harness.settings);
    const file = join(folder, 'events.jsonl');
    expect(await searches(() => cli.json('events', 'export', file))).toBeLessThanOrEqual(SEARCHES_MAX);
    const exported = readFileSync(file, 'utf8');
    for (const title of ['Cup', 'Mug']) expect(exported).toContain(`"title":"${title}"`);
    const rebuild = () => cli.json('projections', 'rebuild', '--realm', 'live');
    expect(await searches(rebuild)).toBeLessThanOrEqual(SEARCHES_MAX);
    const read = async () => {
      const { body } = await harness.request('GET', `${path}/history`, { token: secret.token });
      expect(body.data).toHaveLength(2);
    };
    expect(await searches(read)).toBe(0);
    server.faults.clear();
    await harness.close();
    await server.stop();
  }));

// Both tests run at the same time, because they wait for time limits.
describe('the service on a cluster', () => {
  test.concurrent('a write while no node answers who leads is 503, because nothing was sent', () =>
    withTempDir(async (folder) => {
      const server = await EventStoreStandIn.start({ folder });
      const url = server.url.replace('esdb:', 'esdb+discover:');
      const harness = await startHarness({ servers: ownNames({ EVENTSTORE_URL: url }) });
      try {
        const { secret } = await harness.newShop();
        const body = { title: 'Cup', price_currency: 'USD', price_amount: 100 };
        const write = () => harness.request('POST', '/api/publication', { token: secret.token, body });
        expect(outcomeOf(await write())).toMatchObject({ outcome: '201' });
        server.faults.set({ silent: true });
        server.cutConnections();
        expect(outcomeOf(await write())).toEqual({ outcome: '503 SERVICE_UNAVAILABLE', retry_after: true });
        server.faults.clear();
        await waitFor(async () => (await write()).status === 201, { what: 'a write' });
      } finally {
        await harness.close();
        await server.stop();
      }
    }));

  test.concurrent('writes wait while the leader is stopped, until the next one leads', () =>
    withTempDir(async (folder) => {
      const cluster = await StandInCluster.start(folder);
      const harness = await startHarness({ servers: ownNames({ EVENTSTORE_URL: cluster.url }) });
      const { secret } = await harness.newShop();
      /** Creates a publication. Repeats the write if it is refused after it has waited, as it is on a busy machine. */
      const write = async () => {
        const headers = { 'idempotency-key': randomUUID() };
        // Writes of one title would wait for each other's handles.
        const body = { title: `Cup ${randomUUID()}`, price_currency: 'USD', price_amount: 100 };
        const send = () =>
          harness.request('POST', '/api/publication', { token: secret.token, body, headers });
        const began_ms = performance.now();
        const reply = outcomeOf(await send());
        if (isOutage(reply)) expect(performance.now() - began_ms).toBeGreaterThan(1_000);
        expect(await inTheEnd(async () => outcomeOf(await send()))).toMatchObject({ outcome: '201' });
        return reply;
      };
      const writes: ReturnType<typeof write>[] = [];
      const writing = setInterval(() => writes.push(write()), 50);
      await waitFor(() => writes.length > 20);
      /** Returns whether a write that began during the election is done at the first attempt. */
      const hasWaited = async (election: () => Promise<void>): Promise<boolean> => {
        const before = writes.length;
        await election();
        const replies = await Promise.all(writes.slice(before));
        return replies.some(({ outcome }) => outcome === '201');
      };
      const untilOneHasWaited = async (): Promise<void> => {
        // On a busy machine, the next leader may be found later than a write waits.
        if (await hasWaited(() => cluster.stopLeader())) return;
        while (!(await hasWaited(() => cluster.elect())));
      };
      await within(untilOneHasWaited(), 'a write that waits for the next leader');
      clearInterval(writing);
      await within(Promise.all(writes), 'the writes');
      await harness.settled();
      const stored = cluster.leader.events('').map(({ stream }) => stream);
      const publications = new Set(stored.filter((stream) => stream.includes('live.publication-')));
      expect(publications.size).toBe(writes.length);
      await harness.close();
      await cluster.stop();
    }));
});

function outcomeOf({ status, body, headers }: Reply) {
  const code = body.error?.code;
  const outcome = code === undefined ? String(status) : `${status} ${code}`;
  return { outcome, retry_after: Number(headers.get('retry-after')) >= 1 };
}

const isOutage = ({ outcome }: { outcome: string }): boolean => /^50[03] /.test(outcome);

/** Repeats a write until it is not refused because of an outage: a busy machine may not answer within 5 s. */
function inTheEnd<Result extends { outcome: string }>(write: () => Promise<Result>): Promise<Result> {
  return waitFor(
    async () => {
      const result = await write();
      return isOutage(result) ? undefined : result;
    },
    { what: 'a write to be answered' },
  ) as Promise<Result>;
}
