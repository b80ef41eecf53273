import { pipeline } from 'node:stream';
import { parse } from 'csv-parse';
import { ImportFileError, ROW_LENGTH_MAX, readText } from './text-file';

/** The columns that an import reads, each with the names that Shopify has given it over the years. */
const COLUMNS = {
  handle: ['Handle', 'URL handle'],
  title: ['Title'],
  body: ['Body (HTML)', 'Body HTML', 'Description'],
  type: ['Type', 'Custom Product Type'],
  tags: ['Tags'],
  vendor: ['Vendor'],
  seo_title: ['SEO Title', 'SEO title'],
  seo_description: ['SEO Description', 'SEO description'],
  published: ['Published', 'Published on online store'],
  status: ['Status'],
  option1_name: ['Option1 Name'],
  option1: ['Option1 Value'],
  option2_name: ['Option2 Name'],
  option2: ['Option2 Value'],
  option3_name: ['Option3 Name'],
  option3: ['Option3 Value'],
  sku: ['Variant SKU', 'SKU'],
  barcode: ['Variant Barcode', 'Barcode'],
  grams: ['Variant Grams', 'Weight value (grams)'],
  policy: ['Variant Inventory Policy', 'Continue selling when out of stock'],
  compare_at: ['Variant Compare At Price', 'Compare-at price'],
  tracker: ['Variant Inventory Tracker', 'Inventory tracker'],
  quantity: ['Variant Inventory Qty', 'Inventory quantity'],
  price: ['Variant Price', 'Price'],
  image: ['Image Src', 'Product image URL'],
  image_alt: ['Image Alt Text', 'Image alt text'],
  variant_image: ['Variant Image', 'Variant image URL'],
} as const;

type Column = keyof typeof COLUMNS;
const REQUIRED: readonly Column[] = ['handle', 'title', 'price'];
/** Columns that only identify something. Their values are not stored. */
const NOT_STORED: readonly Column[] = ['handle'];

/** Control characters from spreadsheets and editors, such as vertical tabs. The command services would reject them. */
const CONTROLS = /(?![\t\n])\p{Cc}/gu;

/**
 * A row's trimmed values by column; empty if the file does not have the column. `line` is the first line of the row,
 * `columns` are the columns of the file.
 */
export type ShopifyRow = Readonly<Record<Column, string>> & {
  readonly line: number;
  readonly columns: ReadonlySet<Column>;
};

/** The file cannot be split into rows from `line` on. */
export interface BrokenRow {
  readonly line: number;
  /** The reason, for the report. */
  readonly broken: string;
}

/**
 * Reads the rows after the header, without blank lines. Ends with a `BrokenRow` if a quote is never closed. Throws
 * `ImportFileError` if the file cannot be read, is empty, is not UTF-8 or has another header. Adds to `unused` the number
 * of rows that have a value which is not imported, by the name of its column.
 */
export async function* readRows(
  path: string,
  unused?: Map<string, number>,
): AsyncGenerator<ShopifyRow | BrokenRow> {
  const parser = parse({
    info: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: ROW_LENGTH_MAX,
  });
  pipeline(readText(path), parser, () => {
    // The error is ignored here, because the loop below throws it, too.
  });
  let toRow: ReturnType<typeof rowReader> | undefined;
  let end_line = 0;
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: string[];
      info: { lines: number };
    }>) {
      // `lines` is the record's last line. Subtracting the newlines within its values gives the first line.
      const line = info.lines - newlinesIn(record);
      end_line = info.lines;
      if (toRow) yield toRow(record, line);
      else toRow = rowReader(record, unused);
    }
  } catch (error) {
    const { code } = error as { code?: unknown };
    const broken =
      code === 'CSV_MAX_RECORD_SIZE'
        ? 'the row is longer than 4 MB, or a quote is never closed; the rest of the file was not read'
        : 'a quote is opened and never closed';
    if (code !== 'CSV_MAX_RECORD_SIZE' && code !== 'CSV_QUOTE_NOT_CLOSED') throw error;
    if (toRow) yield { line: end_line + 1, broken };
  }
  if (!toRow) throw new ImportFileError(`The file ${path} is empty.`);
}

const newlinesIn = (record: readonly string[]): number =>
  record.reduce((sum, value) => sum + value.split('\n').length - 1, 0);

/**
 * Returns a function that converts a record to a row, by the names in the header. Throws `ImportFileError` if a required
 * column is missing. Counts in `unused` as `readRows` does.
 */
export function rowReader(
  header: readonly string[],
  unused?: Map<string, number>,
): (record: readonly string[], line: number) => ShopifyRow {
  const names = header.map((name) => name.trim().toLowerCase());
  const known = Object.entries(COLUMNS) as [Column, readonly string[]][];
  const indexes = known.map(([column, aliases]) => {
    const index = aliases.map((alias) => names.indexOf(alias.toLowerCase())).find((found) => found >= 0);
    return [column, index ?? -1] as const;
  });
  const missing = indexes.filter(([column, index]) => index < 0 && REQUIRED.includes(column));
  if (missing.length > 0) {
    const titles = missing.map(([column]) => `"${COLUMNS[column][0]}"`).join(', ');
    throw new ImportFileError(`The header has no column ${titles}. Is the file a Shopify product export?`);
  }
  const found = new Map(indexes.filter(([, index]) => index >= 0));
  const columns = new Set(found.keys());
  const stored = new Set([...found].flatMap(([column, index]) => (NOT_STORED.includes(column) ? [] : index)));
  return (record, line) => {
    const clean = (value = ''): string => value.replace(CONTROLS, '').trim();
    const values = Object.fromEntries(indexes.map(([column, index]) => [column, clean(record[index])]));
    const row: ShopifyRow = { ...(values as Record<Column, string>), line, columns };
    if (unused)
      for (const [index, value] of record.entries()) {
        if (stored.has(index) || clean(value) === '') continue;
        const name = header[index]?.trim() || `column ${index + 1}`;
        unused.set(name, (unused.get(name) ?? 0) + 1);
      }
    return row;
  };
}
