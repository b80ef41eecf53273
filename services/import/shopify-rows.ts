import { SHOPIFY_COLUMNS } from '../../shared/catalog/shopify';
import { type BrokenRow, cleanCell, columnIndexes, readRecords } from './csv';
import { ImportFileError } from './text-file';

type Column = keyof typeof SHOPIFY_COLUMNS;
const REQUIRED: readonly Column[] = ['handle', 'title', 'price'];

/**
 * A row's trimmed values by column; empty if the file does not have the column. `line` is the first line of the row,
 * `columns` are the columns of the file.
 */
export type ShopifyRow = Readonly<Record<Column, string>> & {
  readonly line: number;
  readonly columns: ReadonlySet<Column>;
};

/**
 * Reads the rows after the header, without blank lines. Ends with a `BrokenRow` if a quote is never closed. Throws
 * `ImportFileError` as `readRecords` does, and for another header. Adds to `unused` the number of rows that have a value
 * which is not imported, by the name of its column.
 */
export async function* readRows(
  path: string,
  unused?: Map<string, number>,
): AsyncGenerator<ShopifyRow | BrokenRow> {
  let toRow: ReturnType<typeof rowReader> | undefined;
  for await (const read of readRecords(path)) {
    if ('broken' in read) yield read;
    else if (toRow) yield toRow(read.record, read.line);
    else toRow = rowReader(read.record, unused);
  }
}

/**
 * Returns a function that converts a record to a row, by the names in the header. Throws `ImportFileError` if a required
 * column is missing. Counts in `unused` as `readRows` does.
 */
export function rowReader(
  header: readonly string[],
  unused?: Map<string, number>,
): (record: readonly string[], line: number) => ShopifyRow {
  const indexes = columnIndexes(header, SHOPIFY_COLUMNS);
  const missing = REQUIRED.filter((column) => !indexes.has(column));
  if (missing.length > 0) {
    const titles = missing.map((column) => `"${SHOPIFY_COLUMNS[column][0]}"`).join(', ');
    throw new ImportFileError(`The header has no column ${titles}. Is the file a Shopify product export?`);
  }
  const columns = new Set(indexes.keys());
  const stored = new Set(indexes.values());
  const all = Object.keys(SHOPIFY_COLUMNS) as Column[];
  return (record, line) => {
    const values = Object.fromEntries(
      all.map((column) => [column, cleanCell(record[indexes.get(column) ?? -1])]),
    );
    const row: ShopifyRow = { ...(values as Record<Column, string>), line, columns };
    if (unused)
      for (const [index, value] of record.entries()) {
        if (stored.has(index) || cleanCell(value) === '') continue;
        const name = header[index]?.trim() || `column ${index + 1}`;
        unused.set(name, (unused.get(name) ?? 0) + 1);
      }
    return row;
  };
}
