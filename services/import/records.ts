import {
  type BrokenRow,
  type ColumnMapping,
  type Columns,
  columnIndexes,
  type FileRecord,
  type FileRow,
  mapHeader,
  rowReader,
} from './columns';
import { readCsv, separatorOf } from './csv';
import { readFeed } from './google-feed';
import { ImportFileError, readText } from './text-file';

/** How the content of a file is encoded. */
type Encoding = 'csv' | 'json' | 'xml';

/** Returns the encoding of a file by its first characters. Throws `ImportFileError` if the file cannot be read. */
export async function encodingOf(path: string): Promise<Encoding> {
  for await (const text of readText(path)) {
    if (/^\s*\{/.test(text)) return 'json';
    if (/^\s*</.test(text)) return 'xml';
    break;
  }
  return 'csv';
}

/** Returns what separates the values of CSV. Undefined for other files. */
export const separatorIn = async (path: string): Promise<string | undefined> =>
  (await encodingOf(path)) === 'csv' ? separatorOf(path) : undefined;

/**
 * Reads the records of a file. The first record is the header, with the names of the mapping (`mapHeader`). Throws
 * `ImportFileError` if the file cannot be read.
 */
export async function* readRecords(
  path: string,
  mapping: ColumnMapping = {},
): AsyncGenerator<FileRecord | BrokenRow> {
  // The names in a feed are those of the format.
  if ((await encodingOf(path)) === 'xml') return yield* readFeed(path);
  let has_header = false;
  for await (const read of readCsv(path)) {
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
  { columns, required, name }: { columns: Columns<Column>; required: NoInfer<Column>; name: string },
  mapping?: ColumnMapping,
  unused?: Map<string, number>,
): AsyncGenerator<FileRow<Column> | BrokenRow> {
  let toRow: ReturnType<typeof rowReader<Column>> | undefined;
  for await (const read of readRecords(path, mapping)) {
    if ('broken' in read) yield read;
    else if (toRow) yield toRow(read.record, read.line);
    else if (columnIndexes(read.record, columns).has(required))
      toRow = rowReader(read.record, columns, unused);
    else {
      const column = columns[required][0];
      throw new ImportFileError(`The header has no column "${column}". Is the file ${name}?`);
    }
  }
}
