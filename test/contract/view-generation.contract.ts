import type { ViewVersion } from '../../shared/ports/view-store';
import { bounded } from '../support/bounded';
import { within } from '../support/wait-for';
import { aBatch, aPublication, aWrite, put } from './some-documents';
import type { ViewStoreUnderTest } from './view-store.contract';

/** Tests of the generation, by which a cache knows that documents have changed. */
export function viewGenerationContract(name: string, open: () => Promise<ViewStoreUnderTest>): void {
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
    const generationOf = async (reader: ViewVersion, ...partitions: number[]): Promise<number> =>
      (await reader.generation?.(partitions)) ?? Number.NaN;

    test('grows with each batch of one of its partitions that writes documents, for every process', async () => {
      const other = await openAgain();
      const before = [await generationOf(view, 0), await generationOf(other, 0)];
      await put(view, aWrite('publications', 'p', 1n, aPublication()));
      const created = await generationOf(view, 0);
      expect(created).toBeGreaterThan(before[0]!);
      expect(await generationOf(other, 0)).toBeGreaterThan(before[1]!);
      // A sweep changes documents and leaves the checkpoint where it is.
      const sweep = { from: 1n, to: 1n, phases: [[aWrite('publications', 'p', 2n, aPublication(), 1n)]] };
      expect(await other.apply(aBatch(sweep))).toBe('applied');
      const swept = await generationOf(view, 0);
      expect(swept).toBeGreaterThan(created);
      await put(other, aWrite('publications', 'p', 3n, null, 2n));
      expect(await generationOf(view, 0)).toBeGreaterThan(swept);
      expect(await generationOf(view, 0, 1)).toBeGreaterThan(await generationOf(view, 1));
    });

    test('stays the same if no document of its partitions changes', async () => {
      await put(view, aWrite('publications', 'p', 1n, aPublication()));
      const generation = await generationOf(view, 0);
      expect(generation).not.toBeNaN();
      await view.apply(aBatch({ from: 1n, to: 2n }));
      await view.advanceIdle([{ partition: 0, from: 2n, to: 5n }]);
      const lost = { from: 5n, to: 6n, phases: [[aWrite('publications', 'p', 6n, aPublication(), 4n)]] };
      expect(await view.apply(aBatch(lost))).toBe('lost_race');
      const elsewhere = { partition: 1, phases: [[aWrite('publications', 'q', 1n, aPublication())]] };
      expect(await view.apply(aBatch(elsewhere))).toBe('applied');
      expect(await generationOf(view, 0)).toBe(generation);
    });
  });
}
