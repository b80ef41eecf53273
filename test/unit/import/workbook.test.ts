import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { detectFile, formatOf } from '../../../services/import/format';
import { readRecords } from '../../../services/import/records';
import { withTempDir } from '../../support/temp-dir';
import { workbookOf, zipOf } from '../../support/workbook';
import { itemsIn, notesIn, publicationsIn } from './some-catalog';

const rowsIn = (content: Uint8Array): Promise<[line: number, ...cells: string[]][]> =>
  withTempDir(async (folder) => {
    const path = join(folder, 'book');
    writeFileSync(path, content);
    const rows: [number, ...string[]][] = [];
    for await (const row of readRecords(path)) if ('record' in row) rows.push([row.line, ...row.record]);
    return rows;
  });

const STYLES =
  '<numFmts><numFmt numFmtId="164" formatCode="0000000000000"/><numFmt numFmtId="165" formatCode="dd/mm/yyyy"/>' +
  '<numFmt numFmtId="166" formatCode="[Red]0.00&quot; days&quot;"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>' +
  '<cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/><xf numFmtId="22"/></cellXfs>';
const number = (value: string, style = 0) => ({ xml: `<c s="${style}"><v>${value}</v></c>` });

test.each([
  ['a barcode', number('7750182003834'), '7750182003834'],
  ['a barcode in the form of an exponent', number('7.750182003834E12'), '7750182003834'],
  ['leading zeros by the format', number('90311017', 1), '0000090311017'],
  ['a price with the rest of a binary fraction', number('9.9000000000000004'), '9.9'],
  ['a price that a formula has computed', number('11.000000000000002'), '11'],
  ['a number with a word in its format', number('2.5', 3), '2.5'],
  ['a code that has lost digits', number('1.2345678901234567E+19'), '1.2345678901234567E+19'],
  ['a date', number('46353', 2), '2026-11-27'],
  ['a date with a time', number('46353.75', 4), '2026-11-27T18:00:00'],
  ['a truth value', { xml: '<c t="b"><v>1</v></c>' }, 'TRUE'],
  ['the result of a formula', { xml: '<c t="str"><f>A1&amp;"x"</f><v>ax</v></c>' }, 'ax'],
  ['a text in its cell', { xml: '<c t="inlineStr"><is><r><t>a</t></r><r><t> b</t></r></is></c>' }, 'a b'],
  ['a text with leading zeros', '007', '007'],
  ['a text with escaped characters', 'a_x000d_\n_x005F_x000D_', 'a\r\n_x000D_'],
])('%s is read as the text that is meant', async (_, cell, text) => {
  const rows = await rowsIn(workbookOf([[['A', 'B'], [cell]]], { styles: STYLES }));
  expect(rows).toEqual([
    [1, 'A', 'B'],
    [2, text],
  ]);
});

test.each([
  ['an error', '<c t="e"><f>1/0</f><v>#DIV/0!</v></c>', /the cell B2 has the error #DIV\/0!/],
  ['a formula without a result', '<c><f>A1</f><v></v></c>', /the cell B2 has a formula without a result/],
])('a row with %s fails, and the others are imported', async (_, xml, reason) => {
  const header = ['Handle', 'Vendor', 'Title', 'Variant Price'];
  const empty = { xml: '<c t="str"><f>A1</f><v></v></c>' };
  const book = workbookOf([
    [header, ['tea', { xml }, 'Tea', '5'], ['mate', 'A', 'Mate', '5'], ['cup', empty, 'Cup', '5']],
  ]);
  const { items } = await itemsIn(book);
  expect(publicationsIn(items).map(({ fields }) => fields.title)).toEqual(['Mate', 'Cup']);
  expect(notesIn(items)).toEqual([expect.stringMatching(reason)]);
});

test('the first visible sheet with a header is read, without what is above it', async () => {
  const data = [
    ['Products of 2026'],
    [],
    ['', 'Title', 'Price'],
    ['', 'Tea', '5'],
    ['', ' ', ''],
    ['', '', '6'],
  ];
  const book = workbookOf([[['Hidden', 'sheet']], [['Read me']], data, [['Other', 'sheet']]], {
    states: ['hidden'],
  });
  expect(await rowsIn(book)).toEqual([
    [3, '', 'Title', 'Price'],
    [4, '', 'Tea', '5'],
    [6, '', '', '6'],
  ]);
  expect(await rowsIn(workbookOf([[], [['Title'], ['Tea']]]))).toEqual([
    [1, 'Title'],
    [2, 'Tea'],
  ]);
  const old = workbookOf([[['A', 'B'], [number('44891', 2)]]], { styles: STYLES, is_1904: true });
  expect(await rowsIn(old)).toContainEqual([2, '2026-11-27']);
});

test('a workbook of any format is as its CSV', async () => {
  const text = readFileSync('test/fixtures/imports/woocommerce.csv', 'utf8');
  const csv = await itemsIn(text);
  const book = await itemsIn(workbookOf([parse(text) as string[][]]));
  expect(book.format).toBe('woocommerce');
  expect(book.file.unused_columns).toEqual(csv.file.unused_columns);
  expect(book.items).toEqual(csv.items);
  const table = [
    ['id', 'title', 'availability', 'price'],
    ['tea', 'Tea', 'in stock', '5 USD'],
  ];
  expect(await itemsIn(workbookOf([table]))).toMatchObject({
    format: 'google',
    items: [{ external_id: 'tea' }],
  });
  const mapped = await itemsIn(
    workbookOf([
      [
        ['Nombre', 'Precio', 'Día'],
        ['Té', '5', number('46353', 2)],
      ],
    ]),
    {
      Nombre: 'Title',
      Precio: 'Variant Price',
      Día: 'Tags',
    },
  );
  expect(publicationsIn(mapped.items)[0]!.fields).toMatchObject({ title: 'Té', price_amount: 500 });
  expect(notesIn(mapped.items)).toEqual([]);
});

test('the type of a file and its columns are detected', () =>
  withTempDir(async (folder) => {
    const path = join(folder, 'prices.xlsx');
    writeFileSync(
      path,
      workbookOf([
        [
          ['sku', 'price'],
          ['T-1', number('5')],
        ],
      ]),
    );
    expect(await formatOf(path)).toBe('prices');
    expect(await detectFile(path, 'prices')).toEqual({
      format: 'prices',
      type: 'xlsx',
      encoding: 'utf-8',
      columns: [
        { name: 'sku', used_as: 'sku', examples: ['T-1'] },
        { name: 'price', used_as: 'price', examples: ['5'] },
      ],
    });
  }));

/** Makes a workbook with empty rows after its first row. */
const withRows = (rows: number): Buffer =>
  workbookOf([[['Title', 'Variant Price', { xml: `<c/></row>${'<row/>'.repeat(rows)}<row>` }]]]);
const COMPOUND = Buffer.from('d0cf11e0a1b11ae1', 'hex');
test.each([
  [
    'a protected workbook',
    Buffer.concat([COMPOUND, Buffer.from('..EncryptedPackage', 'utf16le')]),
    /protected by a password/,
  ],
  ['an old workbook', COMPOUND, /old workbook \(\.xls\)/],
  ['another zip file', zipOf({ 'a.txt': 'a' }), /no workbook/],
  ['a part of a workbook', workbookOf([[['A', 'B']]]).subarray(0, 400), /damaged workbook/],
  ['a workbook without rows', workbookOf([[[]]]), /no rows in its sheets/],
  ['a workbook of a header', workbookOf([[['Title', 'Variant Price']]]), /no rows after the header/],
  ['a sheet of too many rows', withRows(1_048_576), /a sheet of more than 1,048,576 rows/],
  ['a sheet of nothing else', withRows(2_000_000), /not a workbook that a program has written/],
  [
    'too long a value',
    workbookOf([[[{ xml: `<c a="${'x'.repeat(200_000)}"/>` }]]]),
    /a value, .* than 64 kB/,
  ],
  ['too long a cell', workbookOf([[['Title', 'x'.repeat(40_000)]]]), /more than 32,767 characters/],
])('%s is refused', (_, content, reason) => expect(itemsIn(content)).rejects.toThrow(reason));

test('a workbook that is too large unpacked is refused before it is unpacked', async () => {
  const large = workbookOf([[['Title', 'Price']]]);
  // The size in the directory of the zip file, of the last part.
  const at = large.lastIndexOf(Buffer.from('PK\u0001\u0002'));
  large.writeUInt32LE(2_000_000_000, at + 24);
  await expect(itemsIn(large)).rejects.toThrow(/more than 500 MB unpacked/);
  // A wrong size does not help.
  large.writeUInt32LE(10, at + 24);
  await expect(itemsIn(large)).rejects.toThrow(/damaged workbook: too many bytes/);
});

test('a workbook is refused if all of its sheets are too large, or its list of sheets', async () => {
  const sheets = workbookOf([[[]], [['Title', 'Price']]]);
  sheets.writeUInt32LE(499_999_900, sheets.lastIndexOf(Buffer.from('PK\u0001\u0002')) + 24);
  await expect(itemsIn(sheets)).rejects.toThrow(/the file has more than 500 MB unpacked/);
  const list = `<workbook>${'<sheet/>'.repeat(3_000_000)}</workbook>`;
  const refused = expect(itemsIn(zipOf({ 'xl/workbook.xml': list }))).rejects;
  await refused.toThrow(/the part xl\/workbook.xml has more than 20 MB unpacked/);
});
