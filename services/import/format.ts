import type { FileType, ImportFormat } from '../../shared/catalog/vocabulary';
import { shortenText } from '../../shared/kernel/text';
import {
  type ColumnMapping,
  cleanCell,
  columnIndexes,
  columnName,
  type KnownColumns,
  mapHeader,
} from './columns';
import { FEED } from './google';
import { type OtherCurrencies, otherPrice } from './price';
import { PRICE_COLUMNS } from './prices';
import { fileTypeOf, readRecords, separatorIn } from './records';
import { SHOPIFY_FILE } from './shopify';
import { ImportFileError } from './text-file';
import { TRANSLATIONS_FILE } from './translations';
import { WOOCOMMERCE_FILE } from './woocommerce';

const FORMATS: Readonly<Record<Exclude<ImportFormat, 'jsonl'>, KnownColumns<string>>> = {
  shopify: SHOPIFY_FILE,
  woocommerce: WOOCOMMERCE_FILE,
  google: FEED,
  prices: { columns: PRICE_COLUMNS },
  translations: TRANSLATIONS_FILE,
};

/** Returns the names of the columns that a format knows, none for JSON Lines. Those of attributes can have any name. */
const knownColumns = (format: ImportFormat): readonly string[] =>
  format === 'jsonl' ? [] : Object.values(FORMATS[format].columns).map(([name]) => name!);

/** Returns the names of the columns that can be used for a file: those of its format, and its own ones of attributes. */
export function knownColumnsOf({ format, columns }: DetectedFile): readonly string[] {
  const used = columns.flatMap(({ used_as }) => (used_as === null ? [] : [used_as]));
  return [...new Set([...knownColumns(format), ...used])];
}

function attributeIn(format: ImportFormat, name: string, store: OtherCurrencies = {}): string | undefined {
  if (format === 'jsonl') return undefined;
  const has_prices = format === 'shopify' || format === 'prices';
  return FORMATS[format].attributeOf?.(name) ?? (has_prices ? otherPrice(name, store) : undefined);
}

/** Throws `ImportFileError` if a column is to be used as one that the format does not know. */
export function assertKnownColumns(
  format: ImportFormat,
  mapping: ColumnMapping,
  store?: OtherCurrencies,
): void {
  const known = knownColumns(format);
  const isKnown = (name: string) => known.includes(name) || attributeIn(format, name, store) !== undefined;
  for (const [name, target] of Object.entries(mapping))
    if (target !== null && !isKnown(target))
      throw new ImportFileError(
        `The column “${name}” cannot be used as “${target}”: the format ${format} has no such column.`,
      );
}

/**
 * Returns the format that a file has by its first line. CSV with titles has products, but with codes and without handles it
 * is a price list. Throws `ImportFileError` if the file cannot be read.
 */
export async function formatOf(path: string, mapping?: ColumnMapping): Promise<ImportFormat> {
  const type = await fileTypeOf(path);
  if (type === 'json') return 'jsonl';
  if (type === 'xml') return 'google';
  for await (const read of readRecords(path, mapping)) {
    if ('broken' in read) break;
    if (columnIndexes(read.record, TRANSLATIONS_FILE.columns).has('default')) return 'translations';
    const { handle, title, sku, barcode } = SHOPIFY_FILE.columns;
    const has = columnIndexes(read.record, { handle, title, sku, barcode, external_id: ['external_id'] });
    if (isWooCommerce(read.record)) return 'woocommerce';
    if (isFeed(read.record)) return 'google';
    const has_code = has.has('sku') || has.has('barcode') || has.has('external_id');
    return has.has('title') && (has.has('handle') || !has_code) ? 'shopify' : 'prices';
  }
  return 'prices';
}

/** Returns whether a header has columns that only WooCommerce's files have. */
function isWooCommerce(header: readonly string[]): boolean {
  const { name, price, parent, in_stock, catalog, name1 } = WOOCOMMERCE_FILE.columns;
  const has = columnIndexes(header, { name, price, parent, in_stock, catalog, name1 });
  return has.has('name') && has.size > 1;
}

/** Returns whether a header has the columns that each feed must have. */
function isFeed(header: readonly string[]): boolean {
  const { id, title, availability, price } = FEED.columns;
  return columnIndexes(header, { id, title, availability, price }).size === 4;
}

/** The most characters of the name of a column that are shown. */
const NAME_LENGTH_MAX = 255;
/** The rows in which examples are looked for, how many each column has, and their most characters. */
const EXAMPLE_ROWS = 50;
const EXAMPLES_MAX = 3;
const EXAMPLE_LENGTH_MAX = 80;

/** A column of a file. */
interface DetectedColumn {
  readonly name: string;
  /** The name of the column of the format. Null if the column is not read. */
  readonly used_as: string | null;
  readonly examples: readonly string[];
}

/** How a file is read. */
export interface DetectedFile {
  readonly format: ImportFormat;
  readonly type: FileType;
  /** Missing for files that are no CSV. */
  readonly separator?: string;
  readonly encoding: 'utf-8';
  readonly columns: readonly DetectedColumn[];
}

/** Returns how a file is read, with examples from its first rows. Throws `ImportFileError` if it cannot be read. */
export async function detectFile(
  path: string,
  format: ImportFormat,
  mapping: ColumnMapping = {},
  store?: OtherCurrencies,
): Promise<DetectedFile> {
  const type = await fileTypeOf(path);
  if (format === 'jsonl') return { format, type, encoding: 'utf-8', columns: [] };
  const [header = [], ...rows] = await firstRecords(path);
  const { columns } = FORMATS[format];
  const names = new Map<number, string>();
  const mapped = mapHeader(header, mapping);
  for (const [index, name] of mapped.entries())
    if (attributeIn(format, cleanCell(name), store) !== undefined) names.set(index, cleanCell(name));
  for (const [column, index] of columnIndexes(mapped, columns)) names.set(index, columns[column]![0]!);
  const columnAt = (index: number): DetectedColumn => {
    const cells = rows.map((row) => shortenText(cleanCell(row[index]), EXAMPLE_LENGTH_MAX));
    const examples = [...new Set(cells)].filter((cell) => cell !== '').slice(0, EXAMPLES_MAX);
    const name = shortenText(columnName(header, index), NAME_LENGTH_MAX);
    return { name, used_as: names.get(index) ?? null, examples };
  };
  const separator = await separatorIn(path);
  return {
    format,
    type,
    ...(separator !== undefined && { separator }),
    encoding: 'utf-8',
    columns: header.map((_, index) => columnAt(index)),
  };
}

async function firstRecords(path: string): Promise<(readonly string[])[]> {
  const records: (readonly string[])[] = [];
  for await (const read of readRecords(path)) {
    if (!('broken' in read)) records.push(read.record);
    if (records.length > EXAMPLE_ROWS) break;
  }
  return records;
}
