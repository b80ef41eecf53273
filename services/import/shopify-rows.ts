import { slugOf } from '../../shared/catalog/input-rules';
import { SHOPIFY_COLUMNS } from '../../shared/catalog/shopify';
import {
  type BrokenRow,
  type ColumnMapping,
  cleanCell,
  columnIndexes,
  countUnused,
  readRecords,
} from './csv';
import { ImportFileError } from './text-file';

type Column = keyof typeof SHOPIFY_COLUMNS;

/**
 * A row's trimmed values by column; empty if the file does not have the column. `line` is the first line of the row,
 * `columns` are the columns of the file.
 */
export type ShopifyRow = Readonly<Record<Column, string>> & {
  readonly line: number;
  readonly columns: ReadonlySet<Column>;
};

/**
 * Reads the rows after the header as `readRecords` does. A row without a handle gets one from its title. Without a title, and
 * in a file without handles, it belongs to the product of the row before it. Throws `ImportFileError` as `readRecords` does,
 * and for another header. Adds to `unused` the number of rows that have a value which is not imported, by the name of its
 * column.
 */
export async function* readRows(
  path: string,
  mapping?: ColumnMapping,
  unused?: Map<string, number>,
): AsyncGenerator<ShopifyRow | BrokenRow> {
  let toRow: ReturnType<typeof rowReader> | undefined;
  let before = '';
  for await (const read of readRecords(path, mapping)) {
    if ('broken' in read) yield read;
    else if (toRow) {
      const row = toRow(read.record, read.line);
      const continues = row.title === '' && !row.columns.has('handle');
      const handle = row.handle || slugOf(row.title) || (continues ? before : '');
      before = handle;
      yield { ...row, handle };
    } else toRow = rowReader(read.record, unused);
  }
}

/**
 * Returns a function that converts a record to a row, by the names in the header. Throws `ImportFileError` if the column of
 * titles is missing. Counts in `unused` as `readRows` does.
 */
export function rowReader(
  header: readonly string[],
  unused?: Map<string, number>,
): (record: readonly string[], line: number) => ShopifyRow {
  const indexes = columnIndexes(header, SHOPIFY_COLUMNS);
  if (!indexes.has('title'))
    throw new ImportFileError('The header has no column "Title". Is the file a Shopify product export?');
  const columns = new Set(indexes.keys());
  const stored = [...indexes.values()];
  const all = Object.keys(SHOPIFY_COLUMNS) as Column[];
  return (record, line) => {
    const values = Object.fromEntries(
      all.map((column) => [column, cleanCell(record[indexes.get(column) ?? -1])]),
    );
    const row: ShopifyRow = { ...(values as Record<Column, string>), line, columns };
    if (unused) countUnused(unused, header, record, stored);
    return row;
  };
}
