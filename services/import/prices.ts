import { parseBarcode } from '../../shared/catalog/publication/barcode';
import { type Prices, patchedPrices } from '../../shared/catalog/publication/currency-prices';
import { withoutDerivedPrices } from '../../shared/catalog/publication/derived-prices';
import type { Publication } from '../../shared/catalog/publication/publication';
import { SHOPIFY_COLUMNS } from '../../shared/catalog/shopify';
import type { PublicationId } from '../../shared/kernel/ids';
import { isSameValue } from '../../shared/kernel/same-value';
import { runPool } from '../command/pool';
import type { PublicationPatch } from '../command/publication';
import { type ColumnMapping, cleanCell, columnIndexes, countUnused } from './columns';
import { handleOf } from './identity';
import { type FailedRow, RowError, type RowNote } from './item';
import { type OtherCurrencies, otherPrice, otherPrices, parsePrice, pricesKeeping } from './price';
import { readRecords } from './records';
import { type ImportReport, rejectionReason, Tally, type ValueChange } from './report';
import { assertRows, ImportFileError } from './text-file';
import type { CatalogWriter } from './writer';

/*
 * Price lists (docs/import.md#price-lists): CSV files that change the prices and the stock of existing variants and
 * publications. A row names a variant by its SKU, external id or barcode, or a publication by its external id or handle.
 */

/** The columns that name what a row changes. If a row has several of them, the first one counts. */
const KEYS = {
  sku: ['sku', ...SHOPIFY_COLUMNS.sku],
  external_id: ['external_id'],
  barcode: ['barcode', ...SHOPIFY_COLUMNS.barcode],
  handle: ['handle', ...SHOPIFY_COLUMNS.handle],
} as const;
const VALUES = {
  price: ['price', ...SHOPIFY_COLUMNS.price],
  compare_at_price: ['compare_at_price', ...SHOPIFY_COLUMNS.compare_at],
  quantity_available: ['quantity_available', ...SHOPIFY_COLUMNS.quantity],
} as const;
/** The first name of each column is the one of the documentation. */
export const PRICE_COLUMNS = { ...KEYS, ...VALUES };
/** Removes a value. An empty cell keeps it. */
const NONE = 'none';
/** Publications that are read or written concurrently. */
const CONCURRENCY = 256;

type Key = keyof typeof KEYS;
type Column = keyof typeof PRICE_COLUMNS;

/** The fields that a row sets. */
interface Changes {
  readonly price_amount?: number;
  readonly compare_at_amount?: number | null;
  readonly quantity_available?: number | null;
  /** As a patch. */
  readonly prices?: Prices;
}

interface PriceRow {
  readonly line: number;
  /** The column that names what the row changes, and its value. */
  readonly key: Key;
  readonly name: string;
  readonly changes: Changes;
}

export interface PriceList {
  readonly rows: readonly PriceRow[];
  readonly failed: readonly (RowNote & Pick<FailedRow, 'unread'>)[];
  readonly unused_columns: Readonly<Record<string, number>>;
}

export interface PriceRun {
  readonly writer: CatalogWriter;
  /** Finds the publications of the store with a variant of this SKU or barcode. */
  readonly findByCode: (key: 'sku' | 'barcode', code: string) => Promise<readonly PublicationId[]>;
  readonly dry_run: boolean;
  readonly lists_changes?: boolean | undefined;
  readonly on_progress?: (done: number) => void;
  readonly signal?: AbortSignal;
}

/**
 * Reads a price list. Throws `ImportFileError` if the file cannot be read, if its header lacks a required column, or if it
 * has more than `rows_max` rows.
 */
export async function openPriceList(
  path: string,
  rows_max?: number,
  mapping?: ColumnMapping,
  store: OtherCurrencies = {},
): Promise<PriceList> {
  const rows: PriceRow[] = [];
  const failed: PriceList['failed'][number][] = [];
  const unused = new Map<string, number>();
  const lines = new Map<string, number>();
  let header:
    | {
        readonly names: readonly string[];
        readonly indexes: ReadonlyMap<Column, number>;
        /** The columns of prices in other currencies, by what they are read as. */
        readonly others: readonly (readonly [name: string, index: number])[];
      }
    | undefined;
  for await (const read of readRecords(path, mapping)) {
    if ('broken' in read) {
      const { line, to_line, broken: reason } = read;
      failed.push({ line, external_id: null, reason, unread: { from_line: line, to_line } });
      continue;
    }
    const { record, line } = read;
    if (!header) {
      const others = record.flatMap((name, index) => {
        const read_as = otherPrice(cleanCell(name), store);
        return read_as === undefined ? [] : [[read_as, index] as const];
      });
      header = { names: record, indexes: columnsOf(record, others.length > 0), others };
      continue;
    }
    assertRows(path, rows.length + failed.length + 1, rows_max);
    const { names, indexes, others } = header;
    const cellOf: CellOf = (column) => cleanCell(record[indexes.get(column) ?? -1]);
    const keys = KEY_NAMES.filter((each) => indexes.has(each));
    const key = keys.find((each) => cellOf(each) !== '') ?? keys[0]!;
    const stored = [
      ...[key, ...VALUE_NAMES].map((column) => indexes.get(column)),
      ...others.map(([, at]) => at),
    ];
    const other_cells = others.map(([read_as, index]) => [read_as, cleanCell(record[index])] as const);
    countUnused(unused, names, record, stored);
    const name = cellOf(key);
    try {
      if (name === '') throw new RowError(`missing ${keys.join(', ')}`);
      const earlier_line = lines.get(key + name);
      if (earlier_line !== undefined) throw new RowError(`duplicate of line ${earlier_line}`);
      lines.set(key + name, line);
      rows.push({ line, key, name, changes: changesOf(cellOf, other_cells) });
    } catch (error) {
      if (!(error instanceof RowError)) throw error;
      failed.push({ line, external_id: name, reason: error.message });
    }
  }
  if (!header || rows.length + failed.length === 0)
    throw new ImportFileError(`The file ${path} has no rows after the header.`);
  return { rows, failed, unused_columns: Object.fromEntries(unused) };
}

/** Returns the cell of the row in a column; empty if the file does not have the column. */
type CellOf = (column: Column) => string;

const KEY_NAMES = Object.keys(KEYS) as Key[];
const VALUE_NAMES = Object.keys(VALUES) as (keyof typeof VALUES)[];

function columnsOf(record: readonly string[], has_others: boolean): Map<Column, number> {
  const indexes = columnIndexes<Column>(record, PRICE_COLUMNS);
  const hasOne = (names: readonly Column[]): boolean => names.some((name) => indexes.has(name));
  if (hasOne(KEY_NAMES) && (has_others || hasOne(VALUE_NAMES))) return indexes;
  const listed = (names: readonly string[]): string => names.map((each) => `"${each}"`).join(', ');
  throw new ImportFileError(
    `The header needs one of the columns ${listed(KEY_NAMES)}, and one of ${listed(VALUE_NAMES)}.`,
  );
}

function changesOf(cellOf: CellOf, others: readonly (readonly [string, string])[]): Changes {
  const [price, compare_at, quantity] = [
    cellOf('price'),
    cellOf('compare_at_price'),
    cellOf('quantity_available'),
  ];
  if (quantity !== '' && quantity !== NONE && !/^\d{1,9}$/.test(quantity))
    throw new RowError(`quantity_available "${quantity.slice(0, 40)}": must be a whole number`);
  // An empty cell keeps the price, `none` removes it.
  const filled = others
    .filter(([, cell]) => cell !== '')
    .map(([name, cell]) => [name, cell === NONE ? '' : cell] as const);
  return {
    ...(price !== '' && { price_amount: parsePrice(price) }),
    ...(compare_at !== '' && { compare_at_amount: compare_at === NONE ? null : parsePrice(compare_at) }),
    ...(quantity !== '' && { quantity_available: quantity === NONE ? null : Number(quantity) }),
    ...(filled.length > 0 && { prices: { ...otherPrices(filled) } }),
  };
}

/**
 * Writes a price list into a store, with one write for all rows of a publication. Reports rows that cannot be written, and
 * continues. Throws other errors, for example if the log cannot be reached; repeating the import then completes it. The
 * report counts publications.
 */
export async function importPrices(list: PriceList, run: PriceRun): Promise<ImportReport> {
  const { writer, signal } = run;
  const tally = new Tally(run.dry_run, run.lists_changes);
  const fail = ({ line, name }: PriceRow, reason: string): void =>
    tally.fail(null, { line, external_id: name, reason });
  let done = 0;
  const addDone = (count: number): void => {
    done += count;
    run.on_progress?.(done);
  };
  for (const row of list.failed) tally.fail(null, row);
  addDone(list.failed.length);
  const by_publication = new Map<PublicationId, PriceRow[]>();
  const find = async (row: PriceRow): Promise<void> => {
    const found = await publicationsOf(row, run);
    const [id] = found;
    if (id === undefined || found.length > 1) {
      const subject = found.length === 0 ? 'the store has no' : 'several publications have the';
      fail(row, `${subject} ${row.key} "${row.name}"`);
      return addDone(1);
    }
    const rows = by_publication.get(id) ?? [];
    rows.push(row);
    by_publication.set(id, rows);
  };
  await runPool(list.rows, CONCURRENCY, find, signal);
  const write = async ([id, found]: [PublicationId, PriceRow[]]): Promise<void> => {
    // The look-ups end in any order.
    const rows = found.toSorted((a, b) => a.line - b.line);
    let refused: [PriceRow, string][] = [];
    let priced: PricedRow[] = [];
    try {
      const { changed, value } = await writer.changePublication(id, async (publication) => {
        refused = [];
        priced = [];
        return patchOf(publication, rows, {
          refuse: (row, reason) => refused.push([row, reason]),
          price: (row) => priced.push(row),
        });
      });
      if (refused.length < rows.length) tally.count('publications', changed ? 'updated' : 'unchanged');
      for (const { row, price_amount, changes, others } of priced)
        tally.addPrices(
          { line: row.line, external_id: row.name },
          { ...value, price_amount },
          changes,
          others,
        );
    } catch (error) {
      const reason = rejectionReason(error);
      if (reason === undefined) throw error;
      refused = rows.map((row) => [row, reason]);
    }
    for (const [row, reason] of refused) fail(row, reason);
    addDone(rows.length);
  };
  await runPool(by_publication, CONCURRENCY, write, signal);
  const { unused_columns } = list;
  return tally.report({ complete: signal?.aborted !== true, unused_columns });
}

/** Finds the publications that have what the row names: none, one, or several, because barcodes are not unique. */
async function publicationsOf(
  { key, name }: PriceRow,
  { writer, findByCode }: PriceRun,
): Promise<readonly PublicationId[]> {
  const only = (id: PublicationId | undefined) => (id === undefined ? [] : [id]);
  switch (key) {
    case 'handle':
      return only(await writer.publicationOfHandle(handleOf(name)));
    case 'external_id': {
      const id = await writer.publicationNamed(name);
      return only(id ?? (await writer.publicationOfVariant('external_id', name))?.id);
    }
    default:
      return findByCode(key, name);
  }
}

/** What a row changes, and the price of the variant or publication afterwards. */
interface PricedRow {
  readonly row: PriceRow;
  readonly price_amount: number;
  readonly changes: readonly ValueChange[];
  /** The names of other fields that it changes. */
  readonly others: readonly string[];
}

/**
 * Returns the patch with the changes of the rows, which are sorted by line. Calls `refuse` for a row that names nothing,
 * or several variants, and `price` for the others.
 */
function patchOf(
  with_derived: Publication,
  rows: readonly PriceRow[],
  {
    refuse,
    price,
  }: {
    readonly refuse: (row: PriceRow, reason: string) => void;
    readonly price: (row: PricedRow) => void;
  },
): PublicationPatch {
  // A price that is set is not made from the one that was derived.
  const publication = withoutDerivedPrices(with_derived);
  const variants = [...publication.variants];
  /** The line that has changed a variant or, with -1, the publication. */
  const lines = new Map<number, number>();
  let patch: PublicationPatch = {};
  for (const row of rows) {
    const { key, name, line, changes } = row;
    const [index, ...others] = indexesOf(publication, row);
    const is_code = key === 'sku' || key === 'barcode';
    const earlier_line = lines.get(index ?? -1);
    if (index === undefined && is_code)
      refuse(row, `the publication has no variant with the ${key} "${name}" any more`);
    else if (index === undefined && variants.length > 0) refuse(row, NO_VARIANT);
    else if (others.length > 0) refuse(row, `several variants have the ${key} "${name}"`);
    else if (earlier_line !== undefined) refuse(row, `the same as line ${earlier_line}`);
    else {
      lines.set(index ?? -1, line);
      price(pricedRow(row, index === undefined ? publication : variants[index]!));
      const before = index === undefined ? publication : variants[index]!;
      const { prices } = changes;
      const changed = { ...changes, ...(prices && { prices: pricesKeeping(before.prices, prices) }) };
      if (index === undefined) patch = { ...patch, ...changed };
      else variants[index] = { ...variants[index]!, ...changed };
    }
  }
  return isSameValue(variants, publication.variants) ? patch : { ...patch, variants };
}

type Priced = Pick<Publication, keyof Changes>;

function pricedRow(row: PriceRow, before: Priced): PricedRow {
  const { prices, ...own } = row.changes;
  const fields = Object.keys(own) as (keyof typeof own)[];
  const after = { ...before, ...own };
  const changes = fields
    .map((field) => ({ field, before: before[field], after: after[field] }))
    .filter((change) => change.before !== change.after);
  const others = prices && patchedPrices(before.prices, pricesKeeping(before.prices, prices));
  const is_same = prices === undefined || isSameValue(others, before.prices);
  return { row, price_amount: after.price_amount, changes, others: is_same ? [] : ['prices'] };
}

const NO_VARIANT = 'the publication has several variants: name them by SKU, barcode or external id';

/** Returns the indexes of the variants that a row names. The name of a publication names its only variant. */
function indexesOf({ variants }: Publication, { key, name }: PriceRow): readonly number[] {
  const code = key === 'barcode' ? (parseBarcode(name) ?? name) : name;
  const found: number[] = [];
  for (const [index, variant] of variants.entries())
    if (key !== 'handle' && variant[key] === code) found.push(index);
  const is_of_publication = key === 'handle' || key === 'external_id';
  return found.length === 0 && is_of_publication && variants.length === 1 ? [0] : found;
}
