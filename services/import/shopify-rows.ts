import { type BrokenRow, cleanCell, readRecords } from './csv';
import { ImportFileError } from './text-file';

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
