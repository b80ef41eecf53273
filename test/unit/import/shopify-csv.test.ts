import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ImportItem } from '../../../services/import/item';
import { openShopifyFile } from '../../../services/import/shopify';
import { withTempDir } from '../../support/temp-dir';

async function read(content: string | Buffer): Promise<{ total: number | null; items: ImportItem[] }> {
  return withTempDir(async (folder) => {
    const path = join(folder, 'export.csv');
    writeFileSync(path, content);
    const file = await openShopifyFile(path, 'USD');
    const items: ImportItem[] = [];
    for await (const step of file.items()) items.push(...step);
    return { total: file.total, items };
  });
}

const summaries = (items: readonly ImportItem[]): unknown[] =>
  items.map((item) => [item.kind, item.line, 'external_id' in item ? item.external_id : null]);

test('reads a byte order mark, quoted newlines, CRLF and blank lines, and counts lines as an editor does', async () => {
  const { total, items } = await read(
    '\uFEFFHandle,Title,Body (HTML),Variant Price\r\n' +
      'a,"Quoted ""A""","<p>one\r\ntwo</p>\r\n<p>three</p>",1.00\r\n' +
      '\r\n' +
      'b,B,,x\r\n' +
      'c,C,,3\r\n',
  );
  expect(total).toBe(3);
  expect(summaries(items)).toEqual([
    ['publication', 2, 'a'],
    ['failed', 6, 'b'],
    ['publication', 7, 'c'],
  ]);
  expect(items[0]).toMatchObject({
    fields: {
      title: 'Quoted "A"',
      description_html: '<p>one\ntwo</p>\n<p>three</p>',
      description: 'one two\n\nthree',
    },
  });
});

test('combines the rows of a handle into one product even if they are not adjacent', async () => {
  const { total, items } = await read('Handle,Title,Variant Price\na,A,5\nb,B,2\na,,4\n');
  expect(total).toBe(2);
  expect(summaries(items)).toEqual([
    ['publication', 3, 'b'],
    ['publication', 2, 'a'],
  ]);
  expect(items[1]).toMatchObject({ fields: { price_amount: 400 } });
});

test('reports each row without a handle', async () => {
  const { items } = await read('Handle,Title,Variant Price\n,A,5\n,B,2\n');
  expect(summaries(items)).toEqual([
    ['failed', 2, null],
    ['failed', 3, null],
  ]);
});

test('accepts rows with too few or too many values', async () => {
  const { items } = await read('Handle,Title,Variant Price\na,A\nb,B,2,extra\n');
  expect(summaries(items)).toEqual([
    ['failed', 2, 'a'],
    ['publication', 3, 'b'],
  ]);
});

test('reports a quote that is never closed, and imports the rows before it', async () => {
  const { items } = await read('Handle,Title,Variant Price\na,A,1\nb,"B,2\nc,C,3\n');
  expect(summaries(items)).toEqual([
    ['publication', 2, 'a'],
    ['failed', 3, null],
  ]);
});

test('counts a CRLF that is split between two chunks as one line break', async () => {
  // The file is read in chunks of 64 KiB. The first one ends between \r and \n.
  const head = 'Handle,Title,Variant Price\r\na,';
  const title = 'x'.repeat(65_536 - head.length - ',1'.length - 1);
  const { items } = await read(`${head}${title},1\r\nb,,2\r\n`);
  expect(summaries(items)).toEqual([
    ['publication', 2, 'a'],
    ['failed', 3, 'b'],
  ]);
});

test.each([
  ['', 'is empty'],
  ['\n\n', 'is empty'],
  ['Handle,Title,Variant Price\n', 'no rows after the header'],
  ['name,price\nx,1\n', 'no column "Handle"'],
  [Buffer.from('Handle,Title,Variant Price\na,caf\xe9,1\n', 'latin1'), 'not UTF-8'],
])('refuses an invalid file (%#)', async (content, message) => {
  await expect(read(content)).rejects.toThrow(message);
});

test('refuses a missing file and a folder', async () => {
  await expect(openShopifyFile('/nowhere/export.csv', 'USD')).rejects.toThrow('does not exist');
  await withTempDir((folder) => expect(openShopifyFile(folder, 'USD')).rejects.toThrow('it is a folder'));
});
