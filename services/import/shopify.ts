import type { Visibility } from '../../shared/catalog/vocabulary';
import { htmlToText } from './html-text';
import {
  type FailedRow,
  type ImageAddress,
  type ImportFile,
  ImportFileError,
  type ImportItem,
  type PublicationItem,
  statFile,
  type Warning,
} from './item';
import { parsePrice } from './price';
import { readRows, type ShopifyRow } from './shopify-rows';

/**
 * Opens a Shopify product export. Reads the file twice, so that memory does not grow with its size: first to find the
 * last row of each handle, then to return each product at its last row. The rows of a product need not be adjacent.
 * Throws `ImportFileError` if the file cannot be read, is empty, is not UTF-8 or has another header.
 */
export async function openShopifyFile(path: string, currency?: string): Promise<ImportFile> {
  const stats = await statFile(path);
  if (!stats.isFile() && !stats.isDirectory())
    throw new ImportFileError(
      `Cannot read ${path}: a Shopify export must be a file, because it is read twice.`,
    );
  const last_row = new Map<string, number>();
  let count = 0;
  const unused = new Map<string, number>();
  for await (const row of readRows(path, unused))
    if (!('broken' in row)) last_row.set(productKey(row), count++);
  if (count === 0) throw new ImportFileError(`The file ${path} has no rows after the header.`);
  return {
    total: last_row.size,
    unused_columns: Object.fromEntries(unused),
    items: () => foldFile(path, currency, last_row),
  };
}

async function* foldFile(
  path: string,
  currency: string | undefined,
  last_row: ReadonlyMap<string, number>,
): AsyncGenerator<ImportItem[]> {
  const open = new Map<string, ShopifyRow[]>();
  let count = 0;
  for await (const row of readRows(path)) {
    if ('broken' in row) {
      const reason = row.broken;
      yield [{ kind: 'failed', about: 'publication', line: row.line, external_id: null, reason }];
      continue;
    }
    const key = productKey(row);
    const rows = open.get(key) ?? [];
    rows.push(row);
    open.set(key, rows);
    if (last_row.get(key) !== count++) continue;
    open.delete(key);
    yield foldProduct(rows, currency);
  }
}

/** Rows with the same key belong to one product. A row without a handle has a key of its own. */
const productKey = (row: ShopifyRow): string => (row.handle === '' ? `\u0000${row.line}` : row.handle);

const QUANTITY = /^[+-]?\d{1,15}$/;

/** The variant in a row, or the reason why it is invalid. */
type Variant =
  | {
      readonly ok: true;
      /** Hundredths of the currency unit. */
      readonly amount: number;
      /** Null if Shopify does not track the quantity. */
      readonly quantity: number | null;
      /** Whether the quantity was below zero. */
      readonly oversold: boolean;
    }
  | { readonly ok: false; readonly reason: string };

/**
 * Combines the rows of one handle, in the order of the file, into a publication with the lowest price, the sum of the
 * quantities, and all images. The first row describes the product; the others are further variants and images. An
 * invalid variant is reported and left out. The product fails if it has no title or no variant with a price. A column
 * that the file does not have sets no field; an empty value clears its field.
 */
export function foldProduct(rows: readonly ShopifyRow[], currency?: string): ImportItem[] {
  const first = rows[0]!;
  const noteOf = (row: ShopifyRow, reason: string) => ({
    line: row.line,
    external_id: first.handle || null,
    reason,
  });
  const failed = (row: ShopifyRow, reason: string, about: FailedRow['about']): FailedRow => ({
    kind: 'failed',
    about,
    ...noteOf(row, reason),
  });
  const failProduct = (reason: string, reported_rows: readonly FailedRow[] = []): ImportItem[] => [
    failed(first, reason, 'publication'),
    ...rows
      .slice(1)
      .map(
        (row) =>
          reported_rows.find((fault) => fault.line === row.line) ??
          failed(row, `the product was not imported, see line ${first.line}`, null),
      ),
  ];
  if (first.handle === '') return failProduct('missing handle');
  if (first.title === '') return failProduct('missing title in the first row of the handle');
  const visibility = parseVisibility(first);
  if (!visibility.ok) return failProduct(visibility.reason);

  const faults: FailedRow[] = [];
  const warnings: Warning[] = [];
  const variants: Extract<Variant, { ok: true }>[] = [];
  for (const row of rows.filter((each) => each === first || isVariant(each))) {
    const variant = parseVariant(row);
    if (!variant.ok) faults.push(failed(row, variant.reason, null));
    else variants.push(variant);
    if (variant.ok && variant.oversold)
      warnings.push({ kind: 'warning', ...noteOf(row, `quantity ${row.quantity} was imported as 0`) });
  }
  if (variants.length === 0) {
    const own = faults.find((fault) => fault.line === first.line);
    return failProduct(own?.reason ?? 'no variant with a price', faults);
  }
  const publication: PublicationItem = {
    kind: 'publication',
    line: first.line,
    external_id: first.handle,
    fields: {
      title: oneLine(first.title),
      ...(first.columns.has('body') && {
        description: htmlToText(first.body),
        description_html: first.body === '' ? null : first.body,
      }),
      ...(visibility.value === undefined ? {} : { visibility: visibility.value }),
      price_amount: Math.min(...variants.map((variant) => variant.amount)),
      ...(currency !== undefined && { price_currency: currency }),
      ...(first.columns.has('quantity') && {
        quantity_available: sumTracked(variants.map((variant) => variant.quantity)),
      }),
    },
    ...parseListing(first),
    images: imagesOf(rows),
    reviews: [],
  };
  return [publication, ...faults, ...warnings];
}

/** Returns whether a row has a variant. Otherwise it only adds an image. */
function isVariant(row: ShopifyRow): boolean {
  return [row.option, row.sku, row.tracker, row.quantity, row.price].some((value) => value !== '');
}

function parseVariant(row: ShopifyRow): Variant {
  if (row.price === '') return { ok: false, reason: 'missing price' };
  const price = parsePrice(row.price);
  if (!price.ok) return price;
  if (row.quantity === '')
    return { ok: true, amount: price.amount, quantity: row.tracker === '' ? null : 0, oversold: false };
  if (!QUANTITY.test(row.quantity))
    return { ok: false, reason: `quantity "${row.quantity.slice(0, 40)}": must be a whole number` };
  // A negative quantity in Shopify means that more was sold than was in stock.
  const quantity = Number(row.quantity);
  return { ok: true, amount: price.amount, quantity: Math.max(0, quantity), oversold: quantity < 0 };
}

/** Returns the sum of the tracked quantities, or null if none is tracked. */
function sumTracked(quantities: readonly (number | null)[]): number | null {
  const counted = quantities.filter((quantity) => quantity !== null);
  return counted.length === 0 ? null : counted.reduce((sum, quantity) => sum + quantity, 0);
}

/**
 * Returns the visibility. A draft or archived product is private. Otherwise `Published` decides, and if it is empty,
 * `Status`. Undefined if both are empty.
 */
function parseVisibility(
  row: ShopifyRow,
): { ok: true; value: Visibility | undefined } | { ok: false; reason: string } {
  const status = row.status.toLowerCase();
  if (status === 'draft' || status === 'archived') return { ok: true, value: 'private' };
  switch (row.published.toLowerCase()) {
    case 'true':
      return { ok: true, value: 'public' };
    case 'false':
      return { ok: true, value: 'private' };
    case '':
      return { ok: true, value: status === 'active' ? 'public' : undefined };
    default:
      return { ok: false, reason: `Published "${row.published.slice(0, 40)}": must be true or false` };
  }
}

/**
 * Uses the product type as the name of the listing, or else the first tag. If both are empty, the product is in no
 * listing. Does not set the listing if the file does not have the columns that this takes.
 */
function parseListing(row: ShopifyRow): Pick<PublicationItem, 'listing'> {
  if (row.type !== '') return { listing: oneLine(row.type) };
  if (!row.columns.has('type') || !row.columns.has('tags')) return {};
  const tags = row.tags.split(',').map((tag) => tag.trim());
  const first = tags.find((tag) => tag !== '');
  return { listing: first === undefined ? null : oneLine(first) };
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ');

function imagesOf(rows: readonly ShopifyRow[]): ImageAddress[] {
  const images = new Map<string, ImageAddress>();
  const add = (url: string, alt: string): void => {
    if (url !== '' && !images.has(url)) images.set(url, { url, alt: alt === '' ? null : alt });
  };
  for (const row of rows) add(row.image, row.image_alt);
  for (const row of rows) add(row.variant_image, '');
  return [...images.values()];
}
