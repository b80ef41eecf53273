import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { rebuild } from '../../projections/maintenance/rebuild';
import { MongoViewStore } from '../../shared/adapters/mongodb/view-store';
import { START } from '../../shared/catalog/events/envelope';
import type { ViewVersion } from '../../shared/ports/view-store';
import { publicationCreated, storeCreated } from '../support/history';
import { NarrowNetwork } from '../support/narrow-network';
import { describeOn } from '../support/real-servers';
import { openRealm } from '../support/realm';
import { type OwnServer, startOwnServer } from '../support/servers/own-server';
import { FAILS_WITHIN_MS, RECOVERS_WITHIN_MS, waitFor, within } from '../support/wait-for';
import { aBatch, aPublication, aWrite } from './some-documents';

/** More than the socket buffers of both ends, and less than the maximum size of a document. */
const LARGE_LENGTH = 14_000_000;

describeOn('MONGODB_URL', 'MongoDB stops and restarts', () => {
  let server: OwnServer;
  let store: MongoViewStore;

  const open = async (): Promise<MongoViewStore> => {
    store = await MongoViewStore.open({ url: server.url, realm: 'live' });
    return store;
  };

  beforeEach(async () => {
    server = await startOwnServer('mongo');
  });
  afterEach(async () => {
    await store?.close();
    await server.dispose();
  });

  test('a store opens before its server starts, is unavailable until then, and works afterwards', async () => {
    await server.stop();
    await open();
    expect(() => store.partition_count).toThrow(expect.objectContaining({ condition: 'unavailable' }));
    await expectUnavailable(() => store.versions());
    await server.start();
    await within(store.ready, 'the store to be ready', RECOVERS_WITHIN_MS);
    expect(store.partition_count).toBe(8);
    expect((await store.createVersion(1)).status).toBe('building');
  });

  test('every call fails within the deadline while the server is stopped, and succeeds soon after its restart', async () => {
    await open();
    const view = await store.open((await store.createVersion(1)).version);
    await view.apply(aBatch({ writes: [aWrite('publications', 'p', 1n, aPublication())] }));
    await server.stop();
    const batch = aBatch({
      revision: 1,
      checkpoint: 2n,
      writes: [aWrite('publications', 'q', 2n, aPublication())],
    });
    const calls = [
      () => store.versions(),
      () => store.lease('dispatcher', 'one', 1_000),
      () => view.get('publications', 'p'),
      () => view.find('publications', { where: {}, order: [['id', 'asc']], limit: 1 }),
      () => view.checkpoints(),
      () => view.apply(batch),
    ];
    await Promise.all(calls.map(expectUnavailable));
    expect(await within(view.waitFor(0, 2n, 300), 'a wait to end', FAILS_WITHIN_MS)).toBe(false);
    await server.start();
    const position = async () => (await view.get('publications', 'p'))?.position;
    expect(await waitFor(position, { timeout_ms: RECOVERS_WITHIN_MS })).toBe(1n);
    expect(await view.apply(batch)).toBe('applied');
  });

  test('calls fail within the deadline while the server does not answer', async () => {
    await open();
    const view = await store.open((await store.createVersion(1)).version);
    await server.freeze();
    await Promise.all([
      expectUnavailable(() => view.get('publications', 'p')),
      expectUnavailable(() => view.checkpoint(0)),
    ]);
    await server.thaw();
    const answered = async () => (await view.checkpoint(0)) === START;
    await waitFor(answered, { timeout_ms: RECOVERS_WITHIN_MS });
  });

  test.each(['stalls', 'breaks'] as const)(
    'a large write whose connection %s fails within the deadline and returns its connection to the pool',
    async (fate) => {
      const network = new NarrowNetwork({ host: '127.0.0.1', port: Number(new URL(server.url).port) });
      const url = `mongodb://127.0.0.1:${await network.listen()}/?directConnection=true&maxPoolSize=1`;
      store = await MongoViewStore.open({ url, realm: 'live' });
      try {
        const view = await store.open((await store.createVersion(1)).version);
        const large = aPublication({}, { description: 'x'.repeat(LARGE_LENGTH) });
        network.large = fate;
        await expectUnavailable(() =>
          view.apply(aBatch({ writes: [aWrite('publications', 'p', 1n, large)] })),
        );
        network.large = 'passes';
        const answered = async () => (await view.checkpoint(0)) === START;
        await waitFor(answered, { timeout_ms: RECOVERS_WITHIN_MS });
      } finally {
        await network.close();
      }
    },
  );

  test('a rebuild that begins while the server is stopped continues when it is back', async () => {
    await open();
    const realm = await openRealm();
    try {
      await realm.append(storeCreated(0), publicationCreated(0));
      await server.stop();
      let waits = 0;
      const log = pino({ level: 'warn' }, { write: () => void waits++ });
      const rebuilding = rebuild({ ...realm.parts, views: store, log });
      await waitFor(() => waits > 0, { what: 'the first log line about the outage' });
      await server.start();
      expect(await within(rebuilding, 'the rebuild to end')).toMatchObject({
        outcome: 'activated',
        verified: { clean: true },
      });
    } finally {
      await realm.close();
    }
  });

  test('a server restarted under load loses no applied batch', async () => {
    await open();
    const view = await store.open((await store.createVersion(1)).version);
    const load = new Load(view);
    const running = load.run(4);
    for (let restarts = 0; restarts < 2; restarts++) {
      const before = load.applied;
      await waitFor(() => load.applied > before + 40, { what: 'more writes' });
      const { refused } = load;
      await server.stop();
      // The driver retries after a short outage. The server stays down until a call fails.
      await waitFor(() => load.refused > refused, { what: 'a failed write' });
      await server.start();
    }
    const before = load.applied;
    await waitFor(() => load.applied > before + 40, {
      what: 'writes after the restarts',
    });
    await load.stop(running);
    for (const [partition, acknowledged] of load.acknowledged) {
      const { checkpoint } = await view.partition(partition);
      expect(checkpoint).toBeGreaterThanOrEqual(acknowledged);
      expect((await view.get('publications', `p${partition}`))?.position).toBe(checkpoint);
    }
  });
});

/**
 * One worker per partition. Like a projection, it reads the document, writes the next state, and retries after any
 * failure.
 */
class Load {
  applied = 0;
  refused = 0;
  readonly acknowledged = new Map<number, bigint>();
  private readonly view: ViewVersion;
  private stopping = false;

  constructor(view: ViewVersion) {
    this.view = view;
  }

  async run(partitions: number): Promise<void> {
    await Promise.all(Array.from({ length: partitions }, (_, partition) => this.work(partition)));
  }

  async stop(running: Promise<void>): Promise<void> {
    this.stopping = true;
    await within(running, 'the load to stop');
  }

  private async work(partition: number): Promise<void> {
    while (!this.stopping) {
      try {
        await within(this.step(partition), 'a step to fail', FAILS_WITHIN_MS);
      } catch (error) {
        expect(error).toMatchObject({ condition: 'unavailable' });
        this.refused++;
        await sleep(10);
      }
    }
  }

  private async step(partition: number): Promise<void> {
    const { checkpoint, revision } = await this.view.partition(partition);
    const to = checkpoint + 1n;
    const writes = [aWrite('publications', `p${partition}`, to, aPublication())];
    const outcome = await this.view.apply({ partition, revision, checkpoint: to, writes });
    if (outcome === 'lost_race') return;
    this.applied++;
    this.acknowledged.set(partition, to);
  }
}

async function expectUnavailable(call: () => Promise<unknown>): Promise<void> {
  const calling = within(call(), 'the call to fail', FAILS_WITHIN_MS);
  await expect(calling).rejects.toMatchObject({ condition: 'unavailable' });
}
