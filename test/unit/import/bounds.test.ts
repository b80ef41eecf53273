import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ImportItem } from '../../../services/import/item';
import { openJsonlFile, parseJsonLine } from '../../../services/import/jsonl';
import { openPriceList } from '../../../services/import/prices';
import { openShopifyFile } from '../../../services/import/shopify';
import { withTempDir } from '../../support/temp-dir';

const times = <Value>(count: number, value: (n: number) => Value) =>
  Array.from({ length: count }, (_, n) => value(n));
const reasons = (items: readonly ImportItem[]) =>
  items.map((item) => ('reason' in item ? item.reason : item.kind));
const lineWith = (fields: object) =>
  reasons(parseJsonLine(JSON.stringify({ external_id: 'tea', title: 'Tea', price: 1, ...fields }), 1, 'USD'));

test.each([
  ['images', { images: times(251, () => 1) }, 'images: must be at most 250 items'],
  ['reviews', { reviews: times(1_001, () => 1) }, 'reviews: must be at most 1000 items'],
  ['values', { attributes: { a: times(100_001, () => 1) } }, 'The line has more than 100000 values'],
])('refuses a line with too many %s for one reason', (_, fields, reason) => {
  expect(lineWith(fields)).toEqual([reason]);
});

test('refuses a line that is nested too deep', () => {
  const deep = `{"external_id":"tea","attributes":${'['.repeat(40)}${']'.repeat(40)}}`;
  expect(reasons(parseJsonLine(deep, 1))).toEqual(['The line is nested deeper than 32 levels']);
});

test('accepts as many images and reviews as a line may have', () => {
  const images = times(250, (n) => `https://cdn.example/${n}.jpg`);
  const reviews = times(1_000, () => ({ rating: 5, author_name: 'Ana' }));
  expect(lineWith({ images, reviews })).toEqual(['publication']);
});

test('refuses a product of more rows than variants, and imports the others', () =>
  withTempDir(async (folder) => {
    const path = join(folder, 'export.csv');
    const rows = times(2_501, (n) => `shirt,${n === 0 ? 'Shirt' : ''},1,${n}`);
    writeFileSync(path, ['Handle,Title,Variant Price,Option1 Value', ...rows, 'tea,Tea,2,'].join('\n'));
    const { items } = await openShopifyFile(path, 'USD');
    const products: (readonly ImportItem[])[] = [];
    for await (const product of items()) products.push(product);
    const [shirt, tea] = products;
    expect(reasons(shirt!)[0]).toBe('more than 2500 rows of one handle');
    expect(tea).toMatchObject([{ kind: 'publication', external_id: 'tea' }]);
  }));

describe('a file may have a number of rows, which', () => {
  const product = (name: string) => `{"external_id":"${name}","title":"Tea"}`;
  const open: [string, (path: string, rows_max: number) => Promise<unknown>, string[]][] = [
    ['JSON Lines', (path, max) => openJsonlFile(path, 'USD', max), times(3, (n) => product(`tea-${n}`))],
    [
      'a product export',
      (path, max) => openShopifyFile(path, 'USD', max),
      ['Handle,Title,Variant Price', ...times(3, (n) => `tea-${n},Tea,1`)],
    ],
    ['a price list', openPriceList, ['sku,price', ...times(3, (n) => `tea-${n},1`)]],
  ];

  test.each(open)('%s must not exceed, whatever its line breaks are', (_, openFile, lines) =>
    withTempDir(async (folder) => {
      const path = join(folder, 'file');
      for (const line_break of ['\n', '\r\n', '\r']) {
        writeFileSync(path, lines.join(line_break));
        await expect(openFile(path, 2)).rejects.toThrow('has more than 2 rows. Split it');
        await openFile(path, 3);
      }
    }),
  );

  test('line breaks in values do not count towards', () =>
    withTempDir(async (folder) => {
      const path = join(folder, 'file');
      writeFileSync(path, 'Handle,Title,Body (HTML),Variant Price\ntea,Tea,"a\nb\nc\nd",1\n');
      expect((await openShopifyFile(path, 'USD', 1)).total).toBe(1);
    }));
});
