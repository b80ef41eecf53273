import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { publicationIdOf } from '../../../services/import/identity';
import { importPrices, openPriceList } from '../../../services/import/prices';
import { latch } from '../../support/latch';
import { withTempDir } from '../../support/temp-dir';
import { withShop } from './some-catalog';

test('the progress of a price list reaches its rows, and each row that changes something is listed', () =>
  withShop((shop) =>
    withTempDir(async (folder) => {
      await shop.runShopify([
        'Handle,Title,Option1 Value,Variant SKU,Price',
        'tee,Tee,S,T-S,5',
        'tee,,M,T-M,6',
      ]);
      const path = join(folder, 'prices.csv');
      writeFileSync(path, ['sku,price', 'T-S,7', 'T-M,8', 'gone,1', 'T-M,many'].join('\n'));
      const list = await openPriceList(path);
      const is_second_found = latch();
      const progress: number[] = [];
      const report = await importPrices(list, {
        writer: shop.dryWriter(),
        findByCode: async (_key, code) => {
          if (code === 'T-S') await is_second_found.opened;
          if (code === 'T-M') setImmediate(is_second_found.open);
          return code === 'gone' ? [] : [publicationIdOf(shop.store, 'tee', 1)];
        },
        dry_run: true,
        on_progress: (done) => progress.push(done),
      });
      expect(report.preview).toMatchObject([
        { line: 2, external_id: 'T-S' },
        { line: 3, external_id: 'T-M' },
      ]);
      expect(progress.at(-1)).toBe(4);
      expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    }),
  ));
