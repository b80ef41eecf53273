import fc from 'fast-check';
import { MongoViewStore } from '../../shared/adapters/mongodb/view-store';
import type { MongoViewVersion } from '../../shared/adapters/mongodb/view-version';
import { partitionOf } from '../../shared/catalog/events/partitions';
import { isOutage } from '../../shared/kernel/errors';
import { expectSameDocuments, foldBatch, PARTITIONS } from '../support/folding';
import { historyOf, play } from '../support/history';
import { cases } from '../support/long';
import { MemoryEventStore } from '../support/memory-event-store';
import { describeOn, ownDatabase } from '../support/real-servers';
import { aBatch, aPublication, aWrite, idsOf, nextBatch } from './some-documents';

type Command = (namespace: unknown, command: Record<string, unknown>, ...rest: unknown[]) => Promise<unknown>;

const { Connection } = require('mongodb/lib/cmap/connection') as {
  Connection: { prototype: { command: Command } };
};

class Crash extends Error {}

/**
 * Ends the process, as far as the server can see, at the write command `crash_at`: that command and all later ones never
 * reach the server. Calls `atWrite` before each write command.
 */
function crashAt(crash_at: number, atWrite: (name: string) => Promise<void> = async () => {}) {
  const { command } = Connection.prototype;
  const sent: string[] = [];
  jest.spyOn(Connection.prototype, 'command').mockImplementation(async function (
    this: unknown,
    ...parameters
  ) {
    const { insert, update, delete: removed } = parameters[1];
    const name = insert ?? update ?? removed;
    if (name === undefined) return command.apply(this, parameters);
    if (sent.length >= crash_at) throw new Crash('crashed');
    sent.push(String(name));
    await atWrite(String(name));
    return command.apply(this, parameters);
  });
  return { sent };
}

describeOn('MONGODB_URL', 'the journal of a batch on MongoDB', (server) => {
  let store: MongoViewStore;
  let other: MongoViewStore;
  let view: MongoViewVersion;
  let other_view: MongoViewVersion;

  beforeEach(async () => {
    const url = ownDatabase(server).href;
    store = await MongoViewStore.open({ url, realm: 'live', partition_count: PARTITIONS });
    other = await MongoViewStore.open({ url, realm: 'live' });
    const { version } = await store.createVersion(1);
    view = await store.open(version);
    other_view = await other.open(version);
    await view.apply(
      aBatch({ writes: ['p', 'deleted'].map((id) => aWrite('publications', id, 1n, aPublication())) }),
    );
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await store.close();
    await other.close();
  });

  const listing = { keys: {}, body: { name: 'Shoes' }, state: {}, expansions: {} };
  const batch = aBatch({
    ...{ revision: 1, checkpoint: 9n },
    writes: [
      aWrite('publications', 'p', 9n, aPublication({}, { title: 'new' })),
      aWrite('publications', 'q', 9n, aPublication()),
      aWrite('publications', 'deleted', 9n, null),
      aWrite('listings', 'l', 9n, listing),
    ],
  });
  const contents = async (reader: MongoViewVersion) => ({
    ...(await reader.partition(0)),
    title: (await reader.get('publications', 'p'))?.document?.body.title,
    deleted: (await reader.get('publications', 'deleted'))?.document === null,
    ids: idsOf(await reader.scan('publications', { limit: 9 })),
    listings: idsOf(await reader.scan('listings', { limit: 9 })),
  });
  const before = { checkpoint: 1n, revision: 1, dead_letters: [], title: undefined, deleted: false };
  const after = { checkpoint: 9n, revision: 2, dead_letters: [], title: 'new', deleted: true };

  test('leaves all or nothing for a crash before any command, and does not hold up the next batch', async () => {
    const outcomes: string[] = [];
    for (let crash_at = 0; ; crash_at++) {
      const { version } = await store.createVersion(1);
      const [one, two] = [await store.open(version), await other.open(version)];
      const first = ['p', 'deleted'].map((id) => aWrite('publications', id, 1n, aPublication()));
      await one.apply(aBatch({ writes: first }));
      crashAt(crash_at);
      const outcome = await one.apply(batch).catch((error) => error);
      jest.restoreAllMocks();
      const found = await contents(two);
      const is_applied = found.revision === 2;
      expect(found).toMatchObject(is_applied ? after : before);
      expect(found.ids).toEqual(is_applied ? ['deleted', 'p', 'q'] : ['deleted', 'p']);
      expect(found.listings).toEqual(is_applied ? ['l'] : []);
      outcomes.push(is_applied ? 'all' : 'nothing');
      const next = await nextBatch(two, { checkpoint: 12n, writes: [aWrite('listings', 'm', 12n, listing)] });
      expect(await two.apply(next)).toBe('applied');
      if (outcome === 'applied') break;
    }
    expect(outcomes.slice(0, 3)).toEqual(['nothing', 'nothing', 'nothing']);
    expect(outcomes.slice(3)).toEqual(outcomes.slice(3).map(() => 'all'));
    expect(outcomes.length).toBeGreaterThanOrEqual(6);
  });

  test('a stalled worker changes nothing when others have completed its batch and applied later ones', async () => {
    let overtaken = false;
    const overtake = async (name: string): Promise<void> => {
      if (overtaken || !name.startsWith('publications_v')) return;
      overtaken = true;
      const newer = [
        aWrite('publications', 'p', 10n, aPublication({}, { title: 'newer' })),
        aWrite('publications', 'q', 10n, null),
      ];
      expect(await other_view.apply(await nextBatch(other_view, { checkpoint: 10n, writes: newer }))).toBe(
        'applied',
      );
    };
    crashAt(Number.POSITIVE_INFINITY, overtake);
    expect(await view.apply(batch)).toBe('applied');
    expect(overtaken).toBe(true);
    expect(await contents(view)).toMatchObject({
      checkpoint: 10n,
      revision: 3,
      title: 'newer',
      deleted: true,
    });
    expect((await view.get('publications', 'q'))?.document).toBeNull();
  });

  test('while it is pending, the generation equals nothing; afterwards it has grown', async () => {
    const store_id = [...'abcdefghij'].find((id) => partitionOf(id, PARTITIONS) === batch.partition)!;
    const generation = () => other_view.generation?.([store_id]);
    expect(await generation()).toBe(1);
    const meanwhile: unknown[] = [];
    crashAt(Number.POSITIVE_INFINITY, async (name) => {
      if (name.startsWith('publications_v')) meanwhile.push(await generation());
    });
    expect(await view.apply(batch)).toBe('applied');
    jest.restoreAllMocks();
    expect(meanwhile).toEqual([Number.NaN]);
    expect(await generation()).toBe(2);
  });

  test('is removed by a later batch of the partition', async () => {
    const ids = ['one', 'two', 'three'];
    for (const id of ids)
      await view.apply(
        await nextBatch(view, { checkpoint: 20n, writes: [aWrite('listings', id, 20n, listing)] }),
      );
    const { connection } = view as unknown as {
      connection: { collection(name: string): { countDocuments(): Promise<number> } };
    };
    expect(Number(await connection.collection(`journal_v${view.version}`).countDocuments())).toBe(1);
  });

  test('gives the documents of one clean fold, for crashes at any command', async () => {
    const jobs = fc.array(
      fc.record({
        partition: fc.nat(PARTITIONS - 1),
        reach: fc.integer({ min: 1, max: 30 }),
        crash_at: fc.integer({ min: 0, max: 16 }),
      }),
      { minLength: 5, maxLength: 15 },
    );
    await fc.assert(
      fc.asyncProperty(historyOf(60), jobs, async (steps, deliveries) => {
        const events = new MemoryEventStore();
        await play(events, steps);
        const end = BigInt(events.log.length);
        const versions = [await store.createVersion(1), await store.createVersion(1)];
        const [crashing, clean] = await Promise.all(versions.map(({ version }) => store.open(version)));
        for (const { partition, reach, crash_at } of deliveries) {
          const to = Number(await crashing!.checkpoint(partition)) + reach;
          crashAt(crash_at);
          const end_of_job = BigInt(Math.min(to, events.log.length));
          await foldBatch(crashing!, partition, events.log, end_of_job).catch((error) => {
            if (!(error instanceof Crash) && !isOutage(error)) throw error;
          });
          jest.restoreAllMocks();
        }
        for (let partition = 0; partition < PARTITIONS; partition++)
          for (const version of [crashing!, clean!]) await foldBatch(version, partition, events.log, end);
        await expectSameDocuments(crashing!, clean!);
        for (const { version } of versions) await store.drop(version);
      }),
      { ...cases(3), endOnFailure: true },
    );
  });
});
