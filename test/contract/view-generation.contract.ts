import { PARTITION_COUNT, partitionOf } from '../../shared/catalog/events/partitions';
import type { ViewVersion } from '../../shared/ports/view-store';
import { bounded } from '../support/bounded';
import { within } from '../support/wait-for';
import { aBatch, aPublication, aWrite, nextBatch, put } from './some-documents';
import type { ViewStoreUnderTest } from './view-store.contract';

/** Two stores of partition 0. */
const [SHOP, NEIGHBOUR] = Array.from({ length: 100 }, (_, n) => `store-${n}`).filter(
  (store_id) => partitionOf(store_id, PARTITION_COUNT) === 0,
) as [string, string];

/**
 * Tests of the generation, by which a cache knows that documents have changed. `of`: whether the store counts the batches
 * of each store, or those of its whole partition.
 */
export function viewGenerationContract(
  name: string,
  of: 'store' | 'partition',
  open: () => Promise<ViewStoreUnderTest>,
): void {
  describe(`the generation on ${name}`, () => {
    let under_test: ViewStoreUnderTest;
    let view: ViewVersion;

    beforeEach(async () => {
      under_test = await open();
      const opened = await under_test.store.open((await under_test.store.createVersion(1)).version);
      view = bounded(opened, 'view');
    });
    afterEach(() => within(under_test.dispose(), 'everything under test to close'));

    const openAgain = async (): Promise<ViewVersion> =>
      bounded(await (await under_test.openAnother()).open(view.version), 'view of another process');
    const generationOf = async (reader: ViewVersion, ...stores: string[]): Promise<number> =>
      (await reader.generation?.(stores)) ?? Number.NaN;
    const publicationOf = (store_id: string) => aPublication({ store_id });

    test('grows with each batch that writes documents of one of its stores, for every process', async () => {
      const other = await openAgain();
      const before = [await generationOf(view, SHOP), await generationOf(other, SHOP)];
      await put(view, aWrite('publications', 'p', 1n, publicationOf(SHOP)));
      const created = await generationOf(view, SHOP);
      expect(created).toBeGreaterThan(before[0]!);
      expect(await generationOf(other, SHOP)).toBeGreaterThan(before[1]!);
      // A sweep changes documents and leaves the checkpoint where it is.
      const sweep = { writes: [aWrite('publications', 'p', 2n, publicationOf(SHOP))] };
      expect(await other.apply(await nextBatch(other, sweep))).toBe('applied');
      const swept = await generationOf(view, SHOP);
      expect(swept).toBeGreaterThan(created);
      await put(other, aWrite('publications', 'p', 3n, null));
      const removed = await generationOf(view, SHOP);
      expect(removed).toBeGreaterThan(swept);
      const both = await generationOf(view, SHOP, NEIGHBOUR);
      await put(view, aWrite('publications', 'q', 4n, publicationOf(NEIGHBOUR)));
      expect(await generationOf(view, SHOP, NEIGHBOUR)).toBeGreaterThan(both);
      const stored = await generationOf(view, SHOP);
      const keys = {
        account_id: 'a',
        status: 'active',
        created_at: '2026-01-31T12:00:00.000Z',
        name_fold: 's',
      };
      const store = { ...aPublication(), keys };
      await put(other, aWrite('stores', SHOP, 5n, store));
      expect(await generationOf(view, SHOP)).toBeGreaterThan(stored);
    });

    test('stays the same if no document of its stores changes', async () => {
      await put(view, aWrite('publications', 'p', 1n, publicationOf(SHOP)));
      const generation = await generationOf(view, SHOP);
      expect(generation).not.toBeNaN();
      await view.advanceIdle([{ partition: 0, from: 1n, to: 5n }]);
      const lost = { checkpoint: 6n, writes: [aWrite('publications', 'p', 6n, publicationOf(SHOP))] };
      expect(await view.apply(aBatch(lost))).toBe('lost_race');
      const elsewhere = { partition: 1, writes: [aWrite('publications', 'q', 1n, publicationOf('another'))] };
      expect(await view.apply(aBatch(elsewhere))).toBe('applied');
      expect(await generationOf(view, SHOP)).toBe(generation);
      if (of === 'partition') return;
      await put(view, aWrite('publications', 'r', 6n, publicationOf(NEIGHBOUR)));
      await view.apply(await nextBatch(view, { checkpoint: 7n }));
      expect(await generationOf(view, SHOP)).toBe(generation);
    });
  });
}
