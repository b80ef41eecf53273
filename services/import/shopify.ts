import type { JsonObject } from '../../shared/catalog/events/envelope';
import { handleField } from '../../shared/catalog/input-rules';
import { parseBarcode } from '../../shared/catalog/publication/barcode';
import { HTML_MAX } from '../../shared/catalog/publication/fields';
import { NO_OPTION_VALUE } from '../../shared/catalog/shopify';
import type { Visibility } from '../../shared/catalog/vocabulary';
import { keyOfTexts } from '../../shared/kernel/same-value';
import { htmlToText } from './html-text';
import {
  type FailedRow,
  type ImageAddress,
  type ImportFile,
  type ImportItem,
  type PublicationItem,
  RowError,
  type Warning,
} from './item';
import { parsePrice } from './price';
import { readRows, type ShopifyRow } from './shopify-rows';
import { assertRows, ImportFileError } from './text-file';

/**
 * Opens a Shopify product export. Reads the file twice, so that memory does not grow with its size: first to find the
 * last row of each handle, then to return each product at its last row. The rows of a product need not be adjacent.
 * Throws `ImportFileError` if the file cannot be read, is empty, is not UTF-8, has another header or more than `rows_max`
 * rows.
 */
export async function openShopifyFile(
  path: string,
  currency?: string,
  rows_max?: number,
): Promise<ImportFile> {
  const last_row = new Map<string, number>();
  let count = 0;
  const unused = new Map<string, number>();
  for await (const row of readRows(path, unused))
    if (!('broken' in row)) {
      last_row.set(productKey(row), count++);
      assertRows(path, count, rows_max);
    }
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

/** More than the variants of a publication. A row beyond them may have an image. */
const PRODUCT_ROWS_MAX = 2_500;

const QUANTITY = /^[+-]?\d{1,15}$/;

/** A variant of the file. Its `fields` have the names of the interface. */
interface Variant {
  readonly row: ShopifyRow;
  /** Hundredths of the currency unit. */
  readonly amount: number;
  readonly compare_at: number | null;
  /** Below zero if more was sold than was in stock. Null if Shopify does not track the quantity. */
  readonly quantity: number | null;
  readonly fields: JsonObject;
}

/** Fields of a variant that a publication does not have. */
const OF_VARIANTS = ['sku', 'barcode', 'weight_grams'];

/**
 * Combines the rows of one handle, in the order of the file, into a publication with its variants, the lowest price, the
 * sum of the quantities, and all images. The first row describes the product; the others are further variants and images.
 * An invalid variant is reported and left out. A product with one variant has variants only if that has options or a field
 * that only variants have. The product fails if it has no title or no variant with a price. A column that the file does
 * not have sets no field; an empty value clears its field.
 */
export function foldProduct(rows: readonly ShopifyRow[], currency?: string): ImportItem[] {
  const first = rows[0]!;
  const external_id = first.handle || null;
  const failed = (row: ShopifyRow, about: FailedRow['about'], error: unknown): FailedRow => {
    if (!(error instanceof RowError)) throw error;
    return { kind: 'failed', about, line: row.line, external_id, reason: error.message };
  };
  const variants: Variant[] = [];
  const earlier: Earlier = { by_values: new Map(), by_sku: new Map() };
  const faults: FailedRow[] = [];
  const warnings: Warning[] = [];
  try {
    if (rows.length > PRODUCT_ROWS_MAX)
      throw new RowError(`more than ${PRODUCT_ROWS_MAX} rows of one handle`);
    if (first.handle === '') throw new RowError('missing handle');
    if (first.title === '') throw new RowError('missing title in the first row of the handle');
    const visibility = parseVisibility(first);
    const options = optionsOf(rows);
    for (const row of rows.filter((each) => each === first || isVariant(each)))
      try {
        const warn = (reason: string) =>
          warnings.push({ kind: 'warning', line: row.line, external_id, reason });
        variants.push(parseVariant(row, options, earlier, warn));
      } catch (error) {
        faults.push(failed(row, null, error));
      }
    if (variants.length === 0)
      throw new RowError(faults.find(({ line }) => line === first.line)?.reason ?? 'no variant with a price');
    const cheapest = variants.reduce((one, other) => (other.amount < one.amount ? other : one));
    const has_own = variants.some(({ fields }) => OF_VARIANTS.some((name) => fields[name] != null));
    const has_variants = options.length > 0 || (variants.length === 1 && has_own);
    const listed = has_variants ? variants : [];
    const is_handle = handleField.safeParse(first.handle).success;
    if (!is_handle)
      warnings.push({
        kind: 'warning',
        line: first.line,
        external_id,
        reason: 'the handle was left out: it has other characters than a–z, 0–9 and -',
      });
    const publication: PublicationItem = {
      kind: 'publication',
      line: first.line,
      external_id: first.handle,
      fields: {
        title: oneLine(first.title),
        ...(first.columns.has('body') && {
          // One that is refused for its length is not converted, because nested elements take long.
          description: first.body.length > 2 * HTML_MAX ? null : htmlToText(first.body),
          description_html: first.body === '' ? null : first.body,
        }),
        ...(is_handle && { handle: first.handle }),
        ...(visibility && { visibility }),
        ...labelsOf(first),
        price_amount: cheapest.amount,
        ...(first.columns.has('compare_at') && { compare_at_amount: cheapest.compare_at }),
        ...(currency !== undefined && { price_currency: currency }),
        ...(first.columns.has('quantity') && !has_variants && { quantity_available: sumTracked(variants) }),
        ...((has_variants || first.columns.has('option1')) && {
          options: options.map(({ name }) => ({ name })),
          variants: listed.map(({ fields }) => fields),
        }),
      },
      variant_images: listed.flatMap(({ row, fields }) =>
        row.variant_image === '' ? [] : { url: row.variant_image, option_values: optionValuesOf(fields) },
      ),
      ...parseListing(first),
      images: imagesOf(rows),
      reviews: [],
    };
    return [publication, ...faults, ...warnings];
  } catch (error) {
    const others = new RowError(`the product was not imported, see line ${first.line}`);
    return rows.map((row) =>
      row === first
        ? failed(first, 'publication', error)
        : (faults.find(({ line }) => line === row.line) ?? failed(row, null, others)),
    );
  }
}

/** Returns the vendor, the type, the tags and the texts for search engines, of the columns that the file has. */
function labelsOf(row: ShopifyRow): JsonObject {
  const { columns, vendor, type, seo_title, seo_description } = row;
  const seo = {
    ...(seo_title !== '' && { title: oneLine(seo_title) }),
    ...(seo_description !== '' && { description: oneLine(seo_description) }),
  };
  return {
    ...(columns.has('vendor') && { vendor: oneLine(vendor) || null }),
    ...(columns.has('type') && { product_type: oneLine(type) || null }),
    ...(columns.has('tags') && { tags: tagsOf(row) }),
    ...((columns.has('seo_title') || columns.has('seo_description')) && { seo }),
  };
}

const tagsOf = ({ tags }: ShopifyRow): string[] => [
  ...new Set(
    tags
      .split(',')
      .map((tag) => oneLine(tag).trim())
      .filter((tag) => tag !== ''),
  ),
];

/** Returns whether a row has a variant. Otherwise it only adds an image. */
function isVariant(row: ShopifyRow): boolean {
  const { option1, option2, option3, sku, tracker, quantity, price } = row;
  return [option1, option2, option3, sku, tracker, quantity, price].some((value) => value !== '');
}

interface FileOption {
  readonly column: 'option1' | 'option2' | 'option3';
  readonly name: string;
}

/** Returns the options that variants have values of. */
function optionsOf(rows: readonly ShopifyRow[]): FileOption[] {
  const first = rows[0]!;
  const columns = (['option1', 'option2', 'option3'] as const).filter((column) =>
    rows.some((row) => row[column] !== '' && row[column] !== NO_OPTION_VALUE),
  );
  return columns.map((column, index) => {
    const name = oneLine(first[`${column}_name`]);
    return { column, name: name === '' ? `Option ${index + 1}` : name };
  });
}

/** The rows of earlier variants of the product, by their option values and by their SKU. */
interface Earlier {
  readonly by_values: Map<string, ShopifyRow>;
  readonly by_sku: Map<string, ShopifyRow>;
}

/** The quotation mark before a number that spreadsheets would change. */
const withoutQuote = (text: string): string => text.replace(/^'/, '');

/**
 * Parses a variant, and adds it to `earlier`. A barcode with a wrong check digit and a SKU of an earlier variant are left
 * out with a warning.
 */
function parseVariant(
  row: ShopifyRow,
  options: readonly FileOption[],
  { by_values, by_sku }: Earlier,
  warn: (reason: string) => void,
): Variant {
  if (row.price === '') throw new RowError('missing price');
  const amount = parsePrice(row.price);
  const compare_at = row.compare_at === '' ? null : parsePrice(row.compare_at);
  if (row.quantity !== '' && !QUANTITY.test(row.quantity))
    throw new RowError(`quantity "${row.quantity.slice(0, 40)}": must be a whole number`);
  const sold_out = row.tracker === '' ? null : 0;
  const counted = row.quantity === '' ? sold_out : Number(row.quantity);
  const allow_backorder = ['continue', 'true'].includes(row.policy.toLowerCase());
  const is_oversold = (counted ?? 0) < 0 && !allow_backorder;
  if (is_oversold) warn(`quantity ${row.quantity} was imported as 0`);
  const quantity = is_oversold ? 0 : counted;

  const option_values = Object.fromEntries(
    options.map(({ column, name }) => [name, oneLine(row[column]) || NO_OPTION_VALUE]),
  );
  const values = keyOfTexts(option_values);
  const twin = by_values.get(values);
  if (twin && options.length > 0) throw new RowError(`the same option values as line ${twin.line}`);
  if (!twin) by_values.set(values, row);
  const sku = oneLine(withoutQuote(row.sku)) || null;
  const owner = sku === null ? undefined : by_sku.get(sku);
  if (owner) warn(`SKU ${sku} was left out: it is that of line ${owner.line}`);
  else if (sku !== null) by_sku.set(sku, row);
  const barcode = withoutQuote(row.barcode);
  const valid_barcode = barcode === '' ? null : (parseBarcode(barcode) ?? null);
  if (barcode !== '' && valid_barcode === null)
    warn(`barcode ${barcode.slice(0, 40)} was left out: its check digit is wrong`);
  const grams = Math.round(Number(row.grams));
  const { columns } = row;
  const fields: JsonObject = {
    option_values,
    price_amount: amount,
    ...(columns.has('sku') && { sku: owner ? null : sku }),
    ...(columns.has('barcode') && { barcode: valid_barcode }),
    ...(columns.has('compare_at') && { compare_at_amount: compare_at }),
    ...(columns.has('quantity') && { quantity_available: quantity }),
    ...(columns.has('policy') && { allow_backorder }),
    ...(columns.has('grams') && { weight_grams: grams > 0 ? grams : null }),
  };
  return { row, amount, compare_at, quantity, fields };
}

const optionValuesOf = ({ option_values }: JsonObject) => option_values as Record<string, string>;

/** Returns the sum of the tracked quantities, or null if none is tracked. An oversold variant counts as 0. */
function sumTracked(variants: readonly Variant[]): number | null {
  const counted = variants.flatMap(({ quantity }) => (quantity === null ? [] : Math.max(0, quantity)));
  return counted.length === 0 ? null : counted.reduce((sum, quantity) => sum + quantity, 0);
}

/**
 * Returns the visibility. A draft or archived product is private. Otherwise `Published` decides, and if it is empty,
 * `Status`. Undefined if both are empty.
 */
function parseVisibility(row: ShopifyRow): Visibility | undefined {
  const [status, published] = [row.status.toLowerCase(), row.published.toLowerCase()];
  if (status === 'draft' || status === 'archived' || published === 'false') return 'private';
  if (published === 'true' || (published === '' && status === 'active')) return 'public';
  if (published === '') return undefined;
  throw new RowError(`Published "${row.published.slice(0, 40)}": must be true or false`);
}

/**
 * Uses the product type as the name of the listing, or else the first tag. If both are empty, the product is in no
 * listing. Does not set the listing if the file does not have the columns that this takes.
 */
function parseListing(row: ShopifyRow): Pick<PublicationItem, 'listing'> {
  if (row.type !== '') return { listing: oneLine(row.type) };
  if (!row.columns.has('type') || !row.columns.has('tags')) return {};
  const [first] = tagsOf(row);
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
