import { openEventStore } from '../../../services/boot/open-adapters';
import { findPublication } from '../../../services/command/publication';
import { parseConfig } from '../../../shared/kernel/config';
import { realSystem } from '../../../shared/kernel/system';
import { ListingPicker, productAt } from '../../bench/catalog/product';
import { randomFrom, Zipf } from '../../bench/catalog/random';
import { publicationIdAt, readCatalog, writeCatalog } from '../../bench/catalog/write-log';
import { readLog } from '../../support/read-log';
import { withTempDir } from '../../support/temp-dir';

describe('the catalog of the benchmark', () => {
  test('is the same for the same size', async () => {
    await withTempDir((one) =>
      withTempDir(async (other) => {
        const catalog = await writeCatalog(one, 30);
        expect(await writeCatalog(other, 30)).toEqual(catalog);
        expect(await logOf(one)).toEqual(await logOf(other));
        expect(readCatalog(one, 30)).toMatchObject(catalog);
        expect(readCatalog(one, 31)).toBeUndefined();
      }),
    );
  });

  test('has the product that its index says', async () => {
    await withTempDir(async (folder) => {
      const { main } = await writeCatalog(folder, 30);
      const live = await openEventStore(parseConfig({ DATA_DIR: folder }), 'live');
      const deps = { system: realSystem, events: { live, test: live } };
      const stored = await findPublication(deps, 'live', publicationIdAt(main, 21));
      await live.close();
      expect(stored).toMatchObject({
        ...productAt(main.seed, 21, new ListingPicker(main.listing_ids)),
        store_id: main.id,
        version: 1,
      });
    });
  });
});

async function logOf(folder: string) {
  const live = await openEventStore(parseConfig({ DATA_DIR: folder }), 'live');
  const events = await readLog(live);
  await live.close();
  return events;
}

describe('Zipf', () => {
  test('draws rank r in proportion to 1 / (r + 1)', () => {
    const zipf = new Zipf(100);
    const random = randomFrom(1);
    const drawn = new Array<number>(100).fill(0);
    for (let n = 0; n < 100_000; n++) drawn[zipf.draw(random)]!++;
    for (const rank of [1, 3, 9]) expect((drawn[rank]! * (rank + 1)) / drawn[0]!).toBeCloseTo(1, 0);
    expect(drawn[99]).toBeGreaterThan(0);
  });

  test('draws every rank with the same probability if the exponent is 0', () => {
    const zipf = new Zipf(4, 0);
    expect([0, 0.25, 0.5, 0.999].map((value) => zipf.draw(() => value))).toEqual([0, 1, 2, 3]);
  });
});
