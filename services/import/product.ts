import type { JsonObject } from '../../shared/catalog/events/envelope';
import {
  ATTRIBUTE_LENGTH_MAX,
  ATTRIBUTE_NAME_MAX,
  ATTRIBUTE_TEXTS_MAX,
  ATTRIBUTES_MAX,
} from '../../shared/catalog/input-rules';
import type { Prices } from '../../shared/catalog/publication/currency-prices';
import { HTML_MAX } from '../../shared/catalog/publication/fields';
import { cheapestOf } from '../../shared/catalog/publication/variants';
import { keyOfTexts } from '../../shared/kernel/same-value';
import { shortenText } from '../../shared/kernel/text';
import { barcodeIn, skuIn } from './codes';
import type { BrokenRow } from './columns';
import { htmlToText } from './html-text';
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
import { assertRows, ImportFileError } from './text-file';

/*
 * Formats in which a product consists of several rows: groups the rows of a product, and makes a publication with variants
 * of them.
 */

interface Row {
  readonly line: number;
}

/** Reads the products of one file. */
export interface ProductReader<FileRow extends Row> {
  /** Reads the rows. Adds to `unused` the number of rows that have a value which is not imported, by the name of its column. */
  read(unused?: Map<string, number>): AsyncIterable<FileRow | BrokenRow>;
  /** Called for every row of the first reading. */
  note?(row: FileRow): void;
  /** Rows with the same key belong to one product. */
  keyOf(row: FileRow): string;
  /** Returns the final key for a key of `keyOf`, which may name a product in two ways. Called after the first reading. */
  productOf?(key: string): string;
  /** Returns what the rows of a product contain, in the order of the file. */
  fold(rows: readonly FileRow[], about: AboutFile): ImportItem[];
}

/** What the products of a file have in common. */
export interface AboutFile {
  /** Of all prices that name none. */
  readonly currency: string | undefined;
  /** Whether some lines of the file could not be read. */
  readonly is_partial: boolean;
  readonly skus: SkuOwners;
}

/** The SKUs that the products of a file have so far, each with the line of its variant and the name of its product. */
export type SkuOwners = Map<string, { readonly line: number; readonly name: string }>;

/**
 * Opens a file of products. Reads it twice, so that memory does not grow with its size: first to find the last row of each
 * product, then to return each product at its last row. The rows of a product need not be adjacent. Throws
 * `ImportFileError` if the file cannot be read, or if it has no rows or more than `rows_max`.
 */
export async function openProductFile<FileRow extends Row>(
  path: string,
  reader: ProductReader<FileRow>,
  currency?: string,
  rows_max?: number,
): Promise<ImportFile> {
  const last_rows = new Map<string, number>();
  const unused = new Map<string, number>();
  let count = 0;
  let broken: BrokenRow | undefined;
  for await (const row of reader.read(unused))
    if ('broken' in row) broken ??= row;
    else {
      reader.note?.(row);
      last_rows.set(reader.keyOf(row), count++);
      assertRows(path, count, rows_max);
    }
  if (count === 0 && broken)
    throw new ImportFileError(`No row of ${path} can be read. Line ${broken.line}: ${broken.broken}.`);
  if (count === 0) throw new ImportFileError(`The file ${path} has no rows after the header.`);
  const last_row = new Map<string, number>();
  for (const [key, index] of last_rows) {
    const product = reader.productOf?.(key) ?? key;
    last_row.set(product, Math.max(index, last_row.get(product) ?? 0));
  }
  const about = { currency, is_partial: broken !== undefined };
  return {
    total: last_row.size,
    unused_columns: Object.fromEntries(unused),
    items: () => foldFile(reader, last_row, { ...about, skus: new Map() }),
  };
}

async function* foldFile<FileRow extends Row>(
  reader: ProductReader<FileRow>,
  last_row: ReadonlyMap<string, number>,
  about: AboutFile,
): AsyncGenerator<ImportItem[]> {
  const open = new Map<string, FileRow[]>();
  let count = 0;
  for await (const row of reader.read()) {
    if ('broken' in row) {
      const { broken: reason, line, to_line } = row;
      const unread = { from_line: line, to_line };
      yield [{ kind: 'failed', about: 'publication', line, external_id: null, reason, unread }];
      continue;
    }
    const key = reader.keyOf(row);
    const product = reader.productOf?.(key) ?? key;
    const rows = open.get(product) ?? [];
    rows.push(row);
    open.set(product, rows);
    if (last_row.get(product) !== count++) continue;
    open.delete(product);
    yield reader.fold(rows, about);
  }
}

/** More than the variants of a publication. A row beyond them may have an image. */
const PRODUCT_ROWS_MAX = 2_500;

const QUANTITY = /^[+-]?\d{1,15}$/;
/** A comma is not accepted: `1,800` means 1800 in one country and 1.8 in another. */
const GRAMS = /^\d{1,9}(\.\d{1,6})?$/;

type Warn = (reason: string) => void;

/**
 * The texts of a variant in a file. Undefined: the file does not have the column, and the field does not change. An empty
 * text clears the field, but a price must not be empty.
 */
export interface VariantTexts {
  readonly line: number;
  readonly option_values: OptionValues;
  readonly price?: string | undefined;
  readonly compare_at?: string | undefined;
  /** In other currencies. */
  readonly prices?: () => Prices | undefined;
  readonly sale_price?: string | undefined;
  /** Null: the stock is not counted. */
  readonly quantity?: string | null | undefined;
  readonly allow_backorder?: boolean | undefined;
  readonly sku?: string | undefined;
  readonly barcode?: string | undefined;
  /** In grams. */
  readonly weight?: string | undefined;
  readonly external_id?: string | undefined;
  readonly attributes?: JsonObject | null;
  /** The address of the picture, or an empty text. */
  readonly image: string;
  /** Of the row, if it may differ from that of the product. */
  readonly title?: string;
}

/** A product of a file. `fields` are those of the publication that do not follow from its variants. */
export interface ProductTexts extends Pick<PublicationItem, 'handle_of_new' | 'listing' | 'other_listings'> {
  readonly fields: JsonObject & { readonly title: string };
  /** The names of the options. */
  readonly options: readonly string[];
  /** Whether the file says that a product without options has none. */
  readonly has_options: boolean;
  readonly variants: readonly VariantTexts[];
  readonly images: readonly ImageAddress[] | undefined;
  /** The listings of the product that have more than a name. */
  readonly listings?: readonly ImportItem[];
}

/** A variant of the file. Its `fields` have the names of the interface. */
interface Variant {
  readonly texts: VariantTexts;
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
 * Makes a publication with its variants, the lowest price and all images of the rows of a product. `describe` reads the
 * product. It throws `RowError` for an invalid product, of which no row is imported then. An invalid variant is reported and
 * not written. A product with one variant has variants only if that has options or a field that only variants have. The
 * product fails if it has no variant with a price. Adds the SKUs of the product to `about.skus`.
 */
export function foldRows<FileRow extends Row>(
  rows: readonly FileRow[],
  name: string,
  { currency, is_partial, skus }: AboutFile,
  describe: (warn: (row: Row, reason: string) => void) => ProductTexts,
): ImportItem[] {
  const first = rows[0]!;
  const external_id = name || null;
  const failed = ({ line }: Row, about: FailedRow['about'], error: unknown): FailedRow => {
    if (!(error instanceof RowError)) throw error;
    return { kind: 'failed', about, line, external_id, reason: error.message };
  };
  const variants: Variant[] = [];
  const unread_variants: OptionValues[] = [];
  const by_values = new Map<string, Row>();
  const faults: FailedRow[] = [];
  const warnings: Warning[] = [];
  const warn = ({ line }: Row, reason: string) =>
    warnings.push({ kind: 'warning', line, external_id, reason });
  try {
    if (rows.length > PRODUCT_ROWS_MAX)
      throw new RowError(`more than ${PRODUCT_ROWS_MAX} rows of one ${external_id ? 'handle' : 'product'}`);
    const product = describe(warn);
    const { title } = product.fields;
    for (const texts of product.variants) {
      const values = keyOfTexts(texts.option_values);
      const twin = by_values.get(values);
      const report: RowReport = {
        warn: (reason) => warn(texts, reason),
        fail: (reason) => faults.push(failed(texts, null, new RowError(reason))),
      };
      try {
        if (twin) throw new RowError(`the same handle and option values as line ${twin.line}`);
        by_values.set(values, texts);
        variants.push(parseVariant(texts, name, skus, report));
        if (texts.title && oneLine(texts.title) !== title)
          report.warn(
            `title "${shortenText(texts.title, 40)}" was left out: line ${first.line} has the title`,
          );
      } catch (error) {
        faults.push(failed(texts, null, error));
        if (!twin) unread_variants.push(texts.option_values);
      }
    }
    if (variants.length === 0)
      throw new RowError(faults.find(({ line }) => line === first.line)?.reason ?? 'no variant with a price');
    const { fields: cheapest } = cheapestOf(variants);
    const has_variants = product.options.length > 0 || variants.some(hasOwn);
    const listed = has_variants ? variants : [];
    const publication: PublicationItem = {
      kind: 'publication',
      line: first.line,
      external_id: name,
      fields: {
        ...(currency !== undefined && { price_currency: currency }),
        ...product.fields,
        ...only(cheapest, 'price_amount', 'compare_at_amount'),
        ...(has_variants && 'sale_price_amount' in cheapest && { sale_price_amount: null }),
        // The stock is below zero only with a backorder, which only a variant has.
        ...(!has_variants && only(cheapest, 'sale_price_amount', 'quantity_available', 'prices')),
        ...((has_variants || product.has_options) && {
          options: product.options.map((option) => ({ name: option })),
          variants: listed.map(({ fields }) => fields),
        }),
      },
      ...((has_variants || is_partial) && { unread_variants: is_partial ? 'unknown' : unread_variants }),
      variant_images: listed.flatMap(({ texts: { image, option_values } }) =>
        image === '' ? [] : { url: image, option_values },
      ),
      ...(product.handle_of_new && { handle_of_new: product.handle_of_new }),
      ...(product.listing !== undefined && { listing: product.listing }),
      ...(product.other_listings && { other_listings: product.other_listings }),
      images: product.images,
      reviews: [],
    };
    return [...(product.listings ?? []), publication, ...faults, ...warnings];
  } catch (error) {
    const others = new RowError(`the product was not imported, see line ${first.line}`);
    return rows.map((row) => {
      if (row === first) return failed(first, 'publication', error);
      const fault = faults.find(({ line }) => line === row.line);
      return fault ?? failed(row, null, others);
    });
  }
}

/** Adds a note about a row to the report. */
interface RowReport {
  /** A value of the row is imported with a change. */
  readonly warn: Warn;
  /** A value of the row is not imported. The other values are. */
  readonly fail: Warn;
}

/**
 * Parses a variant, and adds its SKU to `skus`. A SKU of an earlier variant is left out with a warning, and a weight that is no
 * number with a fault.
 */
function parseVariant(
  texts: VariantTexts,
  name: string,
  skus: SkuOwners,
  { warn, fail }: RowReport,
): Variant {
  const { line, option_values, price, compare_at, sale_price, allow_backorder, weight, external_id } = texts;
  if (price === '') throw new RowError('missing price');
  const amount = price === undefined ? undefined : parsePrice(price);
  const compare_at_amount = compare_at ? parsePrice(compare_at) : null;
  const sale_amount = sale_price ? parsePrice(sale_price) : null;
  const is_sale = sale_amount === null || sale_amount <= (amount ?? 0);
  if (!is_sale) fail(`sale price ${sale_price}: must not be above the price`);
  const quantity = quantityIn(texts, warn);
  const prices = texts.prices?.();

  const sku = texts.sku === undefined ? undefined : skuIn(texts.sku, warn);
  const owner = sku ? skus.get(sku) : undefined;
  if (owner) warn(`SKU ${sku} was left out: it is that of line ${owner.line}`);
  else if (sku) skus.set(sku, { line, name });
  const barcode = texts.barcode === undefined ? undefined : barcodeIn(texts.barcode, warn);
  const is_weight = weight === undefined || weight === '' || GRAMS.test(weight);
  if (!is_weight) fail(`weight "${shortenText(weight, 40)}": must be a number of grams, without a comma`);
  // A SKU of another product does not clear the one that the variant has.
  const has_sku = sku !== undefined && (owner === undefined || owner.name === name);
  const fields: JsonObject = {
    option_values,
    ...(amount !== undefined && { price_amount: amount }),
    ...(has_sku && { sku: owner ? null : sku }),
    ...(barcode !== undefined && { barcode }),
    ...(compare_at !== undefined && { compare_at_amount }),
    ...(prices !== undefined && { prices: prices as JsonObject }),
    ...(sale_price !== undefined && is_sale && { sale_price_amount: sale_amount }),
    ...(quantity !== undefined && { quantity_available: quantity }),
    ...(allow_backorder !== undefined && { allow_backorder }),
    ...(weight !== undefined && is_weight && { weight_grams: Math.round(Number(weight)) || null }),
    ...(external_id && { external_id }),
    ...(texts.attributes !== undefined && { attributes: texts.attributes }),
  };
  return { texts, price_amount: amount ?? 0, fields };
}

/** Returns the quantity, null if the stock is not counted. Warns if it is oversold. */
function quantityIn({ quantity, allow_backorder }: VariantTexts, warn: Warn): number | null | undefined {
  if (quantity === undefined || quantity === null) return quantity;
  if (quantity !== '' && !QUANTITY.test(quantity))
    throw new RowError(`quantity "${shortenText(quantity, 40)}": must be a whole number`);
  const is_oversold = Number(quantity) < 0 && !allow_backorder;
  if (is_oversold) warn(`quantity ${quantity} was imported as 0`);
  return is_oversold ? 0 : Number(quantity);
}

export const oneLine = (text: string): string => text.replace(/\s+/g, ' ');

/** Returns the description of a product. One that is refused for its length is not converted, because nested elements take long. */
export const descriptionOf = (html: string): JsonObject => ({
  description: html.length > 2 * HTML_MAX ? null : htmlToText(html),
  description_html: html === '' ? null : html,
});

const GRAMS_PER_UNIT = { g: 1, kg: 1_000, lb: 453.592_37, oz: 28.349_523_125 } as const;
export type WeightUnit = keyof typeof GRAMS_PER_UNIT;

/** Returns a weight in grams. A text that is no number is returned as it is. */
export function gramsIn(weight: string, unit: WeightUnit): string {
  const grams = Math.round(Number(weight) * GRAMS_PER_UNIT[unit]);
  return weight === '' || Number.isNaN(grams) ? weight : String(grams);
}

/** Returns the words of a list, each once. */
export const wordsIn = (texts: readonly string[]): string[] => [
  ...new Set(texts.map((text) => oneLine(text).trim()).filter((text) => text !== '')),
];

/** Returns the addresses in a list. A comma within an address does not end it. */
export const addressesIn = (cell: string): string[] => wordsIn(cell.split(/,(?=\s*(?:https?:|\/\/))|[\n|]/i));

/** Returns attributes as a publication stores them, null if there are none. Warns about attributes that are too long or too many. */
export function attributesOf(
  values: readonly (readonly [name: string, value: string | readonly string[]])[],
  warn: Warn,
): JsonObject | null {
  const stored = new Map<string, string | string[]>();
  for (const [name, value] of values) {
    const texts = wordsIn([value].flat());
    if (texts.length === 0) continue;
    const is_short = name.length <= ATTRIBUTE_NAME_MAX && texts.length <= ATTRIBUTE_TEXTS_MAX;
    const fits = is_short && texts.every((text) => text.length <= ATTRIBUTE_LENGTH_MAX);
    if (!fits) warn(`attribute ${shortenText(name, 40)} was left out: it is too long`);
    else if (stored.size === ATTRIBUTES_MAX)
      warn(`attribute ${name} was left out: a product has at most ${ATTRIBUTES_MAX}`);
    else stored.set(oneLine(name), texts.length === 1 ? texts[0]! : texts);
  }
  return stored.size === 0 ? null : Object.fromEntries(stored);
}
