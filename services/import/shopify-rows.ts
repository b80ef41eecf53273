import { SHOPIFY_COLUMNS } from '../../shared/catalog/shopify';
import { type BrokenRow, cleanCell, readRecords } from './csv';
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
  const names = header.map((name) => name.trim().toLowerCase());
  const known = Object.entries(SHOPIFY_COLUMNS) as [Column, readonly string[]][];
  const indexes = known.map(([column, aliases]) => {
    const index = aliases.map((alias) => names.indexOf(alias.toLowerCase())).find((found) => found >= 0);
    return [column, index ?? -1] as const;
  });
  const missing = indexes.filter(([column, index]) => index < 0 && REQUIRED.includes(column));
  if (missing.length > 0) {
    const titles = missing.map(([column]) => `"${SHOPIFY_COLUMNS[column][0]}"`).join(', ');
    throw new ImportFileError(`The header has no column ${titles}. Is the file a Shopify product export?`);
  }
  const found = new Map(indexes.filter(([, index]) => index >= 0));
  const columns = new Set(found.keys());
  const stored = new Set(found.values());
  return (record, line) => {
    const values = Object.fromEntries(indexes.map(([column, index]) => [column, cleanCell(record[index])]));
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
