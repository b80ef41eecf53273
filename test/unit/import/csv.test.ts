import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BrokenRow, cleanCell } from '../../../services/import/columns';
import { readRecords } from '../../../services/import/records';
import { withTempDir } from '../../support/temp-dir';

type Read = { readonly record: readonly string[]; readonly line: number } | BrokenRow;

const read = (content: string): Promise<Read[]> =>
  withTempDir(async (folder) => {
    const path = join(folder, 'file.csv');
    writeFileSync(path, content);
    const found: Read[] = [];
    for await (const each of readRecords(path)) found.push(each);
    return found;
  });

const HEADER = { record: ['Handle', 'Title', 'Price'], line: 1 };

test.each([
  ['commas', 'Handle,Title,Price\na,"A; b",5\n', 1],
  ['semicolons', 'Handle;Title;Price\r\na;"A; b";5\r\n', 1],
  ['tabs', 'Handle\tTitle\tPrice\na\tA; b\t5\n', 1],
  ['semicolons, which the first line names', 'sep=;\r\nHandle;Title;Price\r\na;"A; b";5\r\n', 2],
  ['commas, which the first line names', '\uFEFF"sep=,"\nHandle,Title,Price\na,A; b,5\n', 2],
  ['commas, after blank lines', '\n \nHandle,Title,Price\na,A; b,5', 3],
])('reads values that are separated by %s', async (_name, content, line) => {
  expect(await read(content)).toEqual([
    { ...HEADER, line },
    { record: ['a', 'A; b', '5'], line: line + 1 },
  ]);
});

test('a comma in the name of a column does not separate the values of a file with semicolons', async () => {
  const content = 'Handle;Title;"Price, net, EUR"\na;A;5\n';
  expect((await read(content))[1]).toEqual({ record: ['a', 'A', '5'], line: 2 });
});

test.each([',,\n', ', ,\t\n', '"","",""\n'])('leaves out the row %j, and counts its line', async (row) => {
  expect(await read(`Handle,Title,Price\n${row}a,A,5\n`)).toEqual([
    HEADER,
    { record: ['a', 'A', '5'], line: 3 },
  ]);
});

test('says from which line on nothing was read, if a quote is never closed', async () => {
  expect(await read('Handle,Title,Price\na,A,5\nb,"12"" board,5\nc,C,5\n')).toEqual([
    HEADER,
    { record: ['a', 'A', '5'], line: 2 },
    {
      line: 3,
      broken: 'a quote is opened and never closed; nothing was read from this line on',
      to_line: null,
    },
  ]);
});

const FOREIGN = 'a quote is opened and not closed, so that the text up to a later quote was one value';

test.each([
  ['the next row has quotes, too', 'b,"12"" board,5\nc,"C ""one""",5\n', 4],
  ['a later row has quotes', 'b,"B,5\nc,C,5\n"d","D",5\n', 5],
  ['the same row has quotes', 'b,"B,"5"\n', 3],
])('says which lines were not read, if a quote is not closed and %s', async (_name, rows, to_line) => {
  expect(await read(`Handle,Title,Price\na,A,5\n${rows}z,Z,5\n`)).toEqual([
    HEADER,
    { record: ['a', 'A', '5'], line: 2 },
    { line: 3, broken: FOREIGN, to_line },
    { record: ['z', 'Z', '5'], line: to_line + 1 },
  ]);
});

test.each([
  ['is never closed', 'a,A,5\n', 'a quote is opened and never closed'],
  ['is closed by a quote of the next row', '"a","A",5\nb,B,6\n', FOREIGN],
])('names the header as the fault, if a quote in it %s', async (_name, rows, reason) => {
  await expect(read(`Handle,"Title,Price\n${rows}`)).rejects.toThrow(
    new RegExp(`^The header of .*file\\.csv cannot be read: ${reason}\\.$`),
  );
});

test('reads quotes within values', async () => {
  const rows = ['a,12" board,5', 'b,"<p class=""x"">B</p>\n<p>two</p>",5', 'c,"C ""one"", two",5', 'd,"",5'];
  expect((await read(['Handle,Title,Price', ...rows].join('\n'))).slice(1)).toEqual([
    { record: ['a', '12" board', '5'], line: 2 },
    { record: ['b', '<p class="x">B</p>\n<p>two</p>', '5'], line: 3 },
    { record: ['c', 'C "one", two', '5'], line: 5 },
    { record: ['d', '', '5'], line: 6 },
  ]);
});

test.each([
  ['="007"', '007'],
  ['=" 4006381333931 "', '4006381333931'],
  ['="a"&"b"', '="a"&"b"'],
  [' a\u000b ', 'a'],
])('cleans the cell %j', (cell, text) => {
  expect(cleanCell(cell)).toBe(text);
});
