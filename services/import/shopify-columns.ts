import { ImportFileError } from './item';

/** What is read of a product export, and every name that Shopify gave the column over the years. */
const COLUMNS = {
  handle: ['Handle', 'URL handle'],
  title: ['Title'],
  body: ['Body (HTML)', 'Body HTML', 'Description'],
  type: ['Type', 'Custom Product Type'],
  tags: ['Tags'],
  published: ['Published', 'Published on online store'],
  status: ['Status'],
  option: ['Option1 Value', 'Option1 value'],
  sku: ['Variant SKU', 'SKU'],
  tracker: ['Variant Inventory Tracker', 'Inventory tracker'],
  quantity: ['Variant Inventory Qty', 'Inventory quantity'],
  price: ['Variant Price', 'Price'],
  image: ['Image Src', 'Product image URL'],
  image_alt: ['Image Alt Text', 'Image alt text'],
  variant_image: ['Variant Image', 'Variant image URL'],
} as const;

type Column = keyof typeof COLUMNS;
const REQUIRED: readonly Column[] = ['handle', 'title', 'price'];

/** What spreadsheets and editors leave behind (vertical tabs, form feeds); no text of the service may hold it. */
const CONTROLS = /(?![\t\n])\p{Cc}/gu;

/** A row's values by column, trimmed; `line` is where the row begins. */
export type ShopifyRow = Readonly<Record<Column, string>> & { readonly line: number };

/** Turns records into rows by the header's names, whatever their order. Throws `ImportFileError` on a wrong header. */
export function rowReader(
  header: readonly string[],
): (record: readonly string[], line: number) => ShopifyRow {
  const names = header.map((name) => name.trim().toLowerCase());
  const places = new Map<Column, number>();
  for (const [column, aliases] of Object.entries(COLUMNS) as [Column, readonly string[]][]) {
    const place = aliases.map((alias) => names.indexOf(alias.toLowerCase())).find((index) => index >= 0);
    if (place !== undefined) places.set(column, place);
  }
  const missing = REQUIRED.filter((column) => !places.has(column)).map((column) => `"${COLUMNS[column][0]}"`);
  if (missing.length > 0)
    throw new ImportFileError(
      `no column ${missing.join(', ')} in the header: is it a Shopify product export?`,
    );
  const value = (record: readonly string[], column: Column): string => {
    const place = places.get(column);
    return place === undefined ? '' : (record[place] ?? '').replace(CONTROLS, '').trim();
  };
  const columns = Object.keys(COLUMNS) as Column[];
  return (record, line) => {
    const values = Object.fromEntries(columns.map((column) => [column, value(record, column)]));
    return { ...(values as Record<Column, string>), line };
  };
}
