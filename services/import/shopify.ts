import type { JsonObject } from '../../shared/catalog/events/envelope';
import { HANDLE_MAX, handleSpelling, slugOf } from '../../shared/catalog/input-rules';
import { HTML_MAX } from '../../shared/catalog/publication/fields';
import { cheapestOf } from '../../shared/catalog/publication/variants';
import { NO_OPTION_VALUE } from '../../shared/catalog/shopify';
import type { Visibility } from '../../shared/catalog/vocabulary';
import { keyOfTexts } from '../../shared/kernel/same-value';
import { shortenText } from '../../shared/kernel/text';
import { barcodeIn, skuIn } from './codes';
import type { ColumnMapping } from './csv';
import { htmlToText } from './html-text';
import { handleOf } from './identity';
import {
  type FailedRow,
  type ImageAddress,
  type ImportFile,
  type ImportItem,
  type OptionValues,
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
  mapping?: ColumnMapping,
): Promise<ImportFile> {
  const last_row = new Map<string, number>();
  let count = 0;
  const unused = new Map<string, number>();
  let is_partial = false;
  for await (const row of readRows(path, mapping, unused))
    if ('broken' in row) is_partial = true;
    else {
      last_row.set(productKey(row), count++);
      assertRows(path, count, rows_max);
    }
  if (count === 0) throw new ImportFileError(`The file ${path} has no rows after the header.`);
  return {
    total: last_row.size,
    unused_columns: Object.fromEntries(unused),
    items: () => foldFile(readRows(path, mapping), last_row, { currency, is_partial, skus: new Map() }),
  };
}

async function* foldFile(
  read_rows: ReturnType<typeof readRows>,
  last_row: ReadonlyMap<string, number>,
  about: AboutFile,
): AsyncGenerator<ImportItem[]> {
  const open = new Map<string, ShopifyRow[]>();
  let count = 0;
  for await (const row of read_rows) {
    if ('broken' in row) {
      const { broken: reason, line, to_line } = row;
      const unread = { from_line: line, to_line };
      yield [{ kind: 'failed', about: 'publication', line, external_id: null, reason, unread }];
      continue;
    }
    const key = productKey(row);
    const rows = open.get(key) ?? [];
    rows.push(row);
    open.set(key, rows);
    if (last_row.get(key) !== count++) continue;
    open.delete(key);
    yield foldProduct(rows, about);
  }
}

/** Rows with the same key belong to one product. A row without a handle has a key of its own. */
const productKey = (row: ShopifyRow): string =>
  row.handle === '' ? `\u0000${row.line}` : handleOf(row.handle) || row.handle;

const NO_HANDLE = 'missing handle, and the title has no letter and no digit to make one from';

/** More than the variants of a publication. A row beyond them may have an image. */
const PRODUCT_ROWS_MAX = 2_500;

const QUANTITY = /^[+-]?\d{1,15}$/;
/** A comma is not accepted: `1,800` means 1800 in one country and 1.8 in another. */
const GRAMS = /^\d{1,9}(\.\d{1,6})?$/;

/** The SKUs that the products of a file have so far, each with the row of its variant. */
type SkuOwners = Map<string, Pick<ShopifyRow, 'line' | 'handle'>>;

interface AboutFile {
  /** Of all prices. */
  readonly currency: string | undefined;
  /** Whether some lines of the file could not be read. */
  readonly is_partial: boolean;
  readonly skus: SkuOwners;
}

/** A variant of the file. Its `fields` have the names of the interface. */
interface Variant {
  readonly row: ShopifyRow;
  readonly option_values: OptionValues;
  /** Hundredths of the currency unit, 0 if the file has no prices. */
  readonly price_amount: number;
  readonly fields: JsonObject;
}

/** Returns the values of these names, as far as the fields have them. */
const only = (fields: JsonObject, ...names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));

/** Returns whether a variant has a field that a publication does not have. */
const hasOwn = ({ fields }: Variant): boolean =>
  ['sku', 'barcode', 'weight_grams'].some((name) => fields[name] != null) || fields.allow_backorder === true;

/**
 * Combines the rows of one handle, in the order of the file, into a publication with its variants, the lowest price and
 * all images. The first row describes the product; the others are further variants and images. An invalid variant is
 * reported and not written. A product with one variant has variants only if that has options or a field that only
 * variants have. The product fails if it has no title or no variant with a price. A column that the file does not have
 * sets no field; an empty value clears its field. Adds the SKUs of the product to `skus`.
 */
export function foldProduct(
  rows: readonly ShopifyRow[],
  { currency, is_partial, skus }: AboutFile,
): ImportItem[] {
  const first = rows[0]!;
  const external_id = first.handle || null;
  const failed = (row: ShopifyRow, about: FailedRow['about'], error: unknown): FailedRow => {
    if (!(error instanceof RowError)) throw error;
    return { kind: 'failed', about, line: row.line, external_id, reason: error.message };
  };
  const variants: Variant[] = [];
  const unread_variants: OptionValues[] = [];
  const by_values = new Map<string, ShopifyRow>();
  const faults: FailedRow[] = [];
  const warnings: Warning[] = [];
  const warn = ({ line }: ShopifyRow, reason: string) =>
    warnings.push({ kind: 'warning', line, external_id, reason });
  try {
    if (rows.length > PRODUCT_ROWS_MAX)
      throw new RowError(`more than ${PRODUCT_ROWS_MAX} rows of one handle`);
    if (first.handle === '') throw new RowError(first.title === '' ? 'missing handle and title' : NO_HANDLE);
    if (first.title === '') throw new RowError('missing title in the first row of the handle');
    const visibility = parseVisibility(first, (reason) => warn(first, reason));
    const options = optionsOf(rows);
    for (const row of rows.filter((each) => each === first || isVariant(each))) {
      const option_values = optionValuesOf(row, options);
      const values = keyOfTexts(option_values);
      const twin = by_values.get(values);
      const report: RowReport = {
        warn: (reason) => warn(row, reason),
        fail: (reason) => faults.push(failed(row, null, new RowError(reason))),
      };
      try {
        if (twin) throw new RowError(`the same handle and option values as line ${twin.line}`);
        by_values.set(values, row);
        variants.push(parseVariant(row, option_values, skus, report));
        if (row !== first && row.title !== '' && row.title !== first.title)
          report.warn(`title "${shortenText(row.title, 40)}" was left out: line ${first.line} has the title`);
      } catch (error) {
        faults.push(failed(row, null, error));
        if (!twin) unread_variants.push(option_values);
      }
    }
    if (variants.length === 0)
      throw new RowError(faults.find(({ line }) => line === first.line)?.reason ?? 'no variant with a price');
    const { fields: cheapest } = cheapestOf(variants);
    const has_variants = options.length > 0 || variants.some(hasOwn);
    const listed = has_variants ? variants : [];
    const handle = handleOf(first.handle) || slugOf(first.title);
    const change = handle === '' ? 'left out' : `imported as ${handle}`;
    if (handle !== handleSpelling(first.handle.slice(0, HANDLE_MAX + 1)))
      warn(first, `handle ${shortenText(first.handle, 40)} was ${change}`);
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
        ...(handle !== '' && { handle }),
        ...(visibility && { visibility }),
        ...labelsOf(first),
        ...only(cheapest, 'price_amount', 'compare_at_amount'),
        ...(currency !== undefined && { price_currency: currency }),
        // Below zero only with a backorder, which only a variant has.
        ...(!has_variants && only(cheapest, 'quantity_available')),
        ...((has_variants || first.columns.has('option1')) && {
          options: options.map(({ name }) => ({ name })),
          variants: listed.map(({ fields }) => fields),
        }),
      },
      ...((has_variants || is_partial) && { unread_variants: is_partial ? 'unknown' : unread_variants }),
      variant_images: listed.flatMap(({ row, option_values }) =>
        row.variant_image === '' ? [] : { url: row.variant_image, option_values },
      ),
      ...parseListing(first),
      images: imagesOf(rows),
      reviews: [],
    };
    return [publication, ...faults, ...warnings];
  } catch (error) {
    const others = new RowError(`the product was not imported, see line ${first.line}`);
    return rows.map((row) => {
      if (row === first) return failed(first, 'publication', error);
      const fault = faults.find(({ line }) => line === row.line);
      return fault ?? failed(row, null, others);
    });
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
  const { option1, option2, option3, sku, tracker, quantity, price, title, image } = row;
  const has_only_title = title !== '' && image === '';
  return (
    has_only_title || [option1, option2, option3, sku, tracker, quantity, price].some((value) => value !== '')
  );
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

const optionValuesOf = (row: ShopifyRow, options: readonly FileOption[]): OptionValues =>
  Object.fromEntries(options.map(({ column, name }) => [name, oneLine(row[column]) || NO_OPTION_VALUE]));

/** Adds a note about a row to the report. */
interface RowReport {
  /** A value of the row is imported with a change. */
  readonly warn: (reason: string) => void;
  /** A value of the row is not imported. The other values are. */
  readonly fail: (reason: string) => void;
}

/**
 * Parses a variant, and adds its SKU to `skus`. A SKU of an earlier variant is left out with a warning, and a weight that is no
 * number with a fault.
 */
function parseVariant(
  row: ShopifyRow,
  option_values: OptionValues,
  skus: SkuOwners,
  { warn, fail }: RowReport,
): Variant {
  const { columns } = row;
  if (row.price === '' && columns.has('price')) throw new RowError('missing price');
  const amount = columns.has('price') ? parsePrice(row.price) : undefined;
  const compare_at = row.compare_at === '' ? null : parsePrice(row.compare_at);
  if (row.quantity !== '' && !QUANTITY.test(row.quantity))
    throw new RowError(`quantity "${shortenText(row.quantity, 40)}": must be a whole number`);
  const allow_backorder = ['continue', 'true'].includes(row.policy.toLowerCase());
  const counted = quantityOf(row);
  const is_oversold = (counted ?? 0) < 0 && !allow_backorder;
  if (is_oversold) warn(`quantity ${row.quantity} was imported as 0`);
  const quantity = is_oversold ? 0 : counted;

  const sku = skuIn(row.sku, warn);
  const owner = sku ? skus.get(sku) : undefined;
  if (owner) warn(`SKU ${sku} was left out: it is that of line ${owner.line}`);
  else if (sku) skus.set(sku, { line: row.line, handle: row.handle });
  const barcode = barcodeIn(row.barcode, warn);
  const is_weight = row.grams === '' || GRAMS.test(row.grams);
  if (!is_weight) fail(`weight "${shortenText(row.grams, 40)}": must be a number of grams, without a comma`);
  // A SKU of another product does not clear the one that the variant has.
  const has_sku =
    columns.has('sku') && sku !== undefined && (owner === undefined || owner.handle === row.handle);
  const fields: JsonObject = {
    option_values,
    ...(amount !== undefined && { price_amount: amount }),
    ...(has_sku && { sku: owner ? null : sku }),
    ...(columns.has('barcode') && barcode !== undefined && { barcode }),
    ...(columns.has('compare_at') && { compare_at_amount: compare_at }),
    ...(columns.has('quantity') && { quantity_available: quantity }),
    ...(columns.has('policy') && { allow_backorder }),
    ...(columns.has('grams') && is_weight && { weight_grams: Math.round(Number(row.grams)) || null }),
  };
  return { row, option_values, price_amount: amount ?? 0, fields };
}

/**
 * Returns the quantity, null if it is not tracked: if the tracker is blank, or if the file has no column of trackers and
 * the quantity is blank.
 */
function quantityOf({ columns, tracker, quantity }: ShopifyRow): number | null {
  if (tracker === '' && (columns.has('tracker') || quantity === '')) return null;
  return Number(quantity);
}

/** Whether a product of Shopify with this status is in lists. */
const IS_LISTED: Readonly<Record<string, boolean>> = {
  active: true,
  unlisted: false,
  draft: false,
  archived: false,
};

/**
 * Returns the visibility. A draft, archived or unlisted product is private. Otherwise `Published` decides, and if it is
 * empty, `Status`. Undefined if both are empty. Throws `RowError` for another word, so that nothing becomes public by it.
 */
function parseVisibility(row: ShopifyRow, warn: (reason: string) => void): Visibility | undefined {
  const [status, published] = [row.status.toLowerCase(), row.published.toLowerCase()];
  if (status !== '' && !Object.hasOwn(IS_LISTED, status))
    throw new RowError(
      `Status "${shortenText(row.status, 40)}": must be ${Object.keys(IS_LISTED).join(', ')}, or empty`,
    );
  if (!['true', 'false', ''].includes(published))
    throw new RowError(`Published "${shortenText(row.published, 40)}": must be true or false`);
  if (status === 'unlisted') warn('the product was imported as private, because it is unlisted');
  if (published === 'false' || IS_LISTED[status] === false) return 'private';
  return published === 'true' || status === 'active' ? 'public' : undefined;
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

/** Returns the images by their position; those without one come last, in the order of the rows. */
function imagesOf(rows: readonly ShopifyRow[]): ImageAddress[] | undefined {
  const { columns } = rows[0]!;
  if (!columns.has('image') && !columns.has('variant_image')) return undefined;
  const images = new Map<string, ImageAddress>();
  const positioned = rows.map((row) => ({ row, position: Number(row.image_position) || Infinity }));
  positioned.sort((a, b) => (a.position === b.position ? 0 : a.position - b.position));
  for (const { row } of positioned)
    if (row.image !== '' && !images.has(row.image)) {
      const alt = columns.has('image_alt') ? row.image_alt || null : undefined;
      images.set(row.image, { url: row.image, alt });
    }
  for (const { variant_image: url } of rows) if (url !== '' && !images.has(url)) images.set(url, { url });
  return [...images.values()];
}
