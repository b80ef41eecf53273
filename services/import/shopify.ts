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
 * A Shopify product export. It is read twice, so that any size fits in memory: once for where each handle's last row
 * is, once to give each product as soon as it is whole, wherever its rows stand.
 * Throws `ImportFileError` where the file cannot be read, is empty, is not UTF-8 or has another header.
 */
export async function openShopifyFile(path: string, currency: string): Promise<ImportFile> {
  const found = await statFile(path);
  if (!found.isFile() && !found.isDirectory())
    throw new ImportFileError(`${path}: must be a file, for it is read twice`);
  const last_row = new Map<string, number>();
  let count = 0;
  for await (const row of readRows(path)) if (!('broken' in row)) last_row.set(keyOf(row), count++);
  if (count === 0) throw new ImportFileError(`${path} has a header and no rows`);
  return { total: last_row.size, items: () => foldFile(path, currency, last_row) };
}

async function* foldFile(
  path: string,
  currency: string,
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
    const key = keyOf(row);
    const rows = open.get(key) ?? [];
    rows.push(row);
    open.set(key, rows);
    if (last_row.get(key) !== count++) continue;
    open.delete(key);
    yield foldProduct(rows, currency);
  }
}

/** A row without a handle belongs to no other. */
const keyOf = (row: ShopifyRow): string => (row.handle === '' ? `\u0000${row.line}` : row.handle);

const QUANTITY = /^[+-]?\d{1,15}$/;

/** What one row says as a variant: what it costs and how many there are; null where it is not counted. */
type Variant =
  | {
      readonly ok: true;
      readonly amount: number;
      readonly quantity: number | null;
      readonly oversold: boolean;
    }
  | { readonly ok: false; readonly reason: string };

/**
 * The rows of one handle, in the file's order, to one publication: lowest price, quantities summed, images in order.
 * The first row speaks for the product; the others are further variants and images. A row that is no good is reported
 * and the others are taken; a product that has no title, or no variant with a price, is not taken at all.
 */
export function foldProduct(rows: readonly ShopifyRow[], currency: string): ImportItem[] {
  const first = rows[0]!;
  const note = (row: ShopifyRow, reason: string) => ({
    line: row.line,
    external_id: first.handle || null,
    reason,
  });
  const failed = (row: ShopifyRow, reason: string, about: FailedRow['about']): FailedRow => ({
    kind: 'failed',
    about,
    ...note(row, reason),
  });
  const refuse = (reason: string, reported: readonly FailedRow[] = []): ImportItem[] => [
    failed(first, reason, 'publication'),
    ...rows
      .slice(1)
      .map(
        (row) =>
          reported.find((fault) => fault.line === row.line) ??
          failed(row, `its product was not taken, see line ${first.line}`, null),
      ),
  ];
  if (first.handle === '') return refuse('no handle');
  if (first.title === '') return refuse('no title in the first row of its handle');
  const visibility = visibilityOf(first);
  if (!visibility.ok) return refuse(visibility.reason);

  const faults: FailedRow[] = [];
  const warnings: Warning[] = [];
  const variants: Extract<Variant, { ok: true }>[] = [];
  for (const row of rows.filter((each) => each === first || isVariant(each))) {
    const variant = variantOf(row);
    if (!variant.ok) faults.push(failed(row, variant.reason, null));
    else variants.push(variant);
    if (variant.ok && variant.oversold)
      warnings.push({ kind: 'warning', ...note(row, `quantity ${row.quantity} was taken as 0`) });
  }
  if (variants.length === 0) {
    const own = faults.find((fault) => fault.line === first.line);
    return refuse(own?.reason ?? 'no variant with a price', faults);
  }
  const publication: PublicationItem = {
    kind: 'publication',
    line: first.line,
    external_id: first.handle,
    fields: {
      title: oneLine(first.title),
      description: htmlToText(first.body),
      description_html: first.body === '' ? null : first.body,
      ...(visibility.value === undefined ? {} : { visibility: visibility.value }),
      price_amount: Math.min(...variants.map((variant) => variant.amount)),
      price_currency: currency,
      quantity_available: sumOf(variants.map((variant) => variant.quantity)),
    },
    ...listingOf(first),
    images: imagesOf(rows),
    reviews: [],
  };
  return [publication, ...faults, ...warnings];
}

/** A row that has an image and nothing of a variant is an image's only. */
function isVariant(row: ShopifyRow): boolean {
  return [row.option, row.sku, row.tracker, row.quantity, row.price].some((value) => value !== '');
}

function variantOf(row: ShopifyRow): Variant {
  if (row.price === '') return { ok: false, reason: 'no price' };
  const price = parsePrice(row.price);
  if (!price.ok) return price;
  if (row.quantity === '')
    return { ok: true, amount: price.amount, quantity: row.tracker === '' ? null : 0, oversold: false };
  if (!QUANTITY.test(row.quantity))
    return { ok: false, reason: `quantity "${row.quantity.slice(0, 40)}" is no whole number` };
  // Shopify counts below zero what was sold beyond the stock; there is none to sell then.
  const quantity = Number(row.quantity);
  return { ok: true, amount: price.amount, quantity: Math.max(0, quantity), oversold: quantity < 0 };
}

/** Null where no variant is counted. */
function sumOf(quantities: readonly (number | null)[]): number | null {
  const counted = quantities.filter((quantity) => quantity !== null);
  return counted.length === 0 ? null : counted.reduce((sum, quantity) => sum + quantity, 0);
}

/** A draft or archived product is not for sale whatever `Published` says. An empty `Published` says nothing. */
function visibilityOf(
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
      return { ok: false, reason: `Published "${row.published.slice(0, 40)}" is neither true nor false` };
  }
}

/** The product type, or else the first tag; a product with neither says nothing of a listing. */
function listingOf(row: ShopifyRow): Pick<PublicationItem, 'listing'> {
  const name =
    row.type ||
    row.tags
      .split(',')
      .map((tag) => tag.trim())
      .find((tag) => tag !== '');
  return name ? { listing: oneLine(name) } : {};
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
