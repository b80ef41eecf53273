import { createReadStream } from 'node:fs';
import type { FileType } from '../../shared/catalog/vocabulary';
import {
  assertHeader,
  type BrokenRow,
  type ColumnMapping,
  columnIndexes,
  type FileRecord,
  type FileRow,
  mapHeader,
  type RowFormat,
  rowReader,
} from './columns';
import { readCsv, separatorOf } from './csv';
import { readFeed } from './google-feed';
import { ImportFileError, readText } from './text-file';
import { packedFault, readWorkbook } from './workbook';

/** How files of these kinds begin: zip files, and workbooks that are old or encrypted. */
const ZIP = Buffer.from('PK\u0003\u0004');
const COMPOUND = Buffer.from('d0cf11e0a1b11ae1', 'hex');

/** Returns the type of a file by its first characters. Throws `ImportFileError` if the file cannot be read. */
export async function fileTypeOf(path: string): Promise<FileType> {
  const start = await startOf(path);
  if (start.subarray(0, ZIP.length).equals(ZIP)) return 'xlsx';
  if (start.equals(COMPOUND)) throw await packedFault(path);
  for await (const text of readText(path)) {
    if (/^\s*\{/.test(text)) return 'json';
    if (/^\s*</.test(text)) return 'xml';
    break;
  }
  return 'csv';
}

/** Returns the first bytes of a file, none if it cannot be read. */
async function startOf(path: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const stream = createReadStream(path, { end: COMPOUND.length - 1 });
  try {
    for await (const chunk of stream) chunks.push(chunk as Buffer);
  } catch {
    // Who reads the text then says why.
  }
  return Buffer.concat(chunks);
}

/** Returns what separates the values of CSV. Undefined for other files. */
export const separatorIn = async (path: string): Promise<string | undefined> =>
  (await fileTypeOf(path)) === 'csv' ? separatorOf(path) : undefined;

/**
 * Reads the records of a file. The first record is the header, with the names of the mapping (`mapHeader`). Throws
 * `ImportFileError` if the file cannot be read.
 */
export async function* readRecords(
  path: string,
  mapping: ColumnMapping = {},
): AsyncGenerator<FileRecord | BrokenRow> {
  const type = await fileTypeOf(path);
  // The names in a feed are those of the format.
  if (type === 'xml') return yield* readFeed(path);
  let has_header = false;
  for await (const read of type === 'xlsx' ? readWorkbook(path) : readCsv(path)) {
    if (!has_header && 'record' in read) assertHeader(read.record, path);
    if ('broken' in read) yield read;
    else yield has_header ? read : { ...read, record: mapHeader(read.record, mapping) };
    has_header = true;
  }
}

/**
 * Reads the rows after the header as `readRecords` does. Throws `ImportFileError` as `readRecords` does, and if the header
 * lacks the `required` column. Counts in `unused` as `rowReader` does.
 */
export async function* readRows<Column extends string>(
  path: string,
  format: RowFormat<Column>,
  mapping?: ColumnMapping,
  unused?: Map<string, number>,
): AsyncGenerator<FileRow<Column> | BrokenRow> {
  let toRow: ReturnType<typeof rowReader<Column>> | undefined;
  for await (const read of readRecords(path, mapping)) {
    if ('broken' in read) yield read;
    else if (toRow) yield toRow(read.record, read.line);
    else if (columnIndexes(read.record, format.columns).has(format.required))
      toRow = rowReader(read.record, format, unused);
    else {
      const [column] = format.columns[format.required];
      throw new ImportFileError(`The header has no column "${column}". Is the file ${format.name}?`);
    }
  }
}
