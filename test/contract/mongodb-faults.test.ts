import { setTimeout as sleep } from 'node:timers/promises';
import { MongoViewStore } from '../../shared/adapters/mongodb/view-store';
import { START } from '../../shared/catalog/events/envelope';
import type { ViewVersion } from '../../shared/ports/view-store';
import { NarrowNetwork } from '../support/narrow-network';
import { describeOn } from '../support/real-servers';
import { type OwnServer, startOwnServer } from '../support/servers/own-server';
import { BACK_MS_MAX, TOLD_MS_MAX, waitFor } from '../support/wait-for';
import { aBatch, aPublication, aWrite } from './some-documents';

/** More than the system's buffers on both ends of a socket hold, and less than a document may. */
const LARGE_LENGTH = 14_000_000;

describeOn('MONGODB_URL', 'MongoDB going away and coming back', () => {
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

  test('a store opens before its server is there, says that it waits, and works when it comes', async () => {
    await server.stop();
    await open();
    expect(() => store.lane_count).toThrow(expect.objectContaining({ condition: 'unavailable' }));
    await expectUnavailable(() => store.versions());
    await server.start();
    const back_ms = await timed(() => store.ready);
    expect(back_ms).toBeLessThan(BACK_MS_MAX);
    expect(store.lane_count).toBe(8);
    expect((await store.createVersion(1)).status).toBe('building');
  });

  test('every call to a server that is gone fails in time, and calls work again soon after its return', async () => {
    await open();
    const view = await store.open((await store.createVersion(1)).version);
    await view.apply(aBatch({ phases: [[aWrite('publications', 'p', 1n, aPublication())]] }));
    await server.stop();
    const batch = aBatch({ from: 1n, to: 2n, phases: [[aWrite('publications', 'q', 2n, aPublication())]] });
    const calls = [
      () => store.versions(),
      () => store.lease('feeder', 'one', 1_000),
      () => view.get('publications', 'p'),
      () => view.find('publications', { where: {}, order: [['id', 'asc']], limit: 1 }),
      () => view.checkpoints(),
      () => view.apply(batch),
    ];
    await Promise.all(calls.map(expectUnavailable));
    const waited_ms = await timed(async () => expect(await view.waitFor(0, 2n, 300)).toBe(false));
    expect(waited_ms).toBeLessThan(TOLD_MS_MAX);
    await server.start();
    const position = async () => (await view.get('publications', 'p'))?.position;
    expect(await waitFor(position, { timeout_ms: BACK_MS_MAX })).toBe(1n);
    expect(await view.apply(batch)).toBe('applied');
  });

  test('calls to a server that is silent fail in time', async () => {
    await open();
    const view = await store.open((await store.createVersion(1)).version);
    await server.freeze();
    await Promise.all([
      expectUnavailable(() => view.get('publications', 'p')),
      expectUnavailable(() => view.checkpoint(0)),
    ]);
    await server.thaw();
    const answered = async () => (await view.checkpoint(0)) === START;
    await waitFor(answered, { timeout_ms: BACK_MS_MAX });
  });

  test.each(['stalls', 'breaks'] as const)(
    'a large write whose way %s fails in time, and the pool has its connection back',
    async (fate) => {
      const network = new NarrowNetwork({ host: '127.0.0.1', port: Number(new URL(server.url).port) });
      const url = `mongodb://127.0.0.1:${await network.listen()}/?directConnection=true&maxPoolSize=1`;
      store = await MongoViewStore.open({ url, realm: 'live' });
      try {
        const view = await store.open((await store.createVersion(1)).version);
        const large = aPublication({}, { description: 'x'.repeat(LARGE_LENGTH) });
        network.large = fate;
        await expectUnavailable(() =>
          view.apply(aBatch({ phases: [[aWrite('publications', 'p', 1n, large)]] })),
        );
        network.large = 'passes';
        const answered = async () => (await view.checkpoint(0)) === START;
        await waitFor(answered, { timeout_ms: BACK_MS_MAX });
      } finally {
        await network.close();
      }
    },
  );

  test('a server restarted under load loses nothing that was applied', async () => {
    await open();
    const view = await store.open((await store.createVersion(1)).version);
    const load = new Load(view);
    const running = load.run(4);
    for (let restarts = 0; restarts < 2; restarts++) {
      const before = load.applied;
      await waitFor(() => load.applied > before + 40, { what: 'writes going on' });
      const { refused } = load;
      await server.stop();
      // The driver repeats what a short absence breaks off: away for long enough that somebody is told.
      await waitFor(() => load.refused > refused, { what: 'a refusal' });
      await server.start();
    }
    const before = load.applied;
    await waitFor(() => load.applied > before + 40, {
      what: 'writes after the restarts',
    });
    await load.stop(running);
    expect(load.told_ms_max).toBeLessThan(TOLD_MS_MAX);
    for (const [lane, acknowledged] of load.acknowledged) {
      const checkpoint = await view.checkpoint(lane);
      expect(checkpoint).toBeGreaterThanOrEqual(acknowledged);
      expect((await view.get('publications', `p${lane}`))?.position).toBeGreaterThanOrEqual(checkpoint);
    }
  });
});

/** Workers, one per lane, that do as a projection does: read afresh, write the next state, again after any failure. */
class Load {
  applied = 0;
  refused = 0;
  told_ms_max = 0;
  readonly acknowledged = new Map<number, bigint>();
  private readonly view: ViewVersion;
  private stopping = false;

  constructor(view: ViewVersion) {
    this.view = view;
  }

  async run(lanes: number): Promise<void> {
    await Promise.all(Array.from({ length: lanes }, (_, lane) => this.work(lane)));
  }

  async stop(running: Promise<void>): Promise<void> {
    this.stopping = true;
    await running;
  }

  private async work(lane: number): Promise<void> {
    while (!this.stopping) {
      const began_ms = Date.now();
      try {
        await this.step(lane);
      } catch (error) {
        expect(error).toMatchObject({ condition: 'unavailable' });
        this.refused++;
        this.told_ms_max = Math.max(this.told_ms_max, Date.now() - began_ms);
        await sleep(10);
      }
    }
  }

  private async step(lane: number): Promise<void> {
    const from = await this.view.checkpoint(lane);
    const found = await this.view.get('publications', `p${lane}`);
    const to = from + 1n;
    const done_already = found !== undefined && found.position >= to;
    const write = aWrite('publications', `p${lane}`, to, aPublication(), found?.position ?? null);
    const outcome = await this.view.apply(aBatch({ lane, from, to, phases: done_already ? [] : [[write]] }));
    if (outcome === 'lost_race') return;
    this.applied++;
    this.acknowledged.set(lane, to);
  }
}

async function expectUnavailable(call: () => Promise<unknown>): Promise<void> {
  const told_ms = await timed(() => expect(call()).rejects.toMatchObject({ condition: 'unavailable' }));
  expect(told_ms).toBeLessThan(TOLD_MS_MAX);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began_ms = Date.now();
  await work();
  return Date.now() - began_ms;
}
