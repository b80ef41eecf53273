import type { Publication } from '../../shared/catalog/publication/publication';
import type { PublicationId } from '../../shared/kernel/ids';
import { isSameValue } from '../../shared/kernel/same-value';
import type { PublicationPatch } from '../command/publication';
import { cleanCell, readRecords } from './csv';
import { RowError, type RowNote } from './item';
import { runPool } from './pool';
import { parsePrice } from './price';
import { type ImportReport, rejectionReason, Tally } from './report';
import { assertRows, ImportFileError } from './text-file';
import type { CatalogWriter } from './writer';

/*
 * Price lists (docs/import.md#price-lists): CSV files that change the prices and the stock of existing variants and
 * publications. A row names a variant by its SKU, or a publication by its external id.
 */

const KEYS = ['sku', 'external_id'] as const;
const VALUES = ['price', 'compare_at_price', 'quantity_available'] as const;
/** Removes a value. An empty cell keeps it. */
const NONE = 'none';
/** Publications that are read or written concurrently. */
const CONCURRENCY = 256;

type Key = (typeof KEYS)[number];

/** The fields that a row sets. */
interface Changes {
  readonly price_amount?: number;
  readonly compare_at_amount?: number | null;
  readonly quantity_available?: number | null;
}

interface PriceRow {
  readonly line: number;
  /** The value in the column `key` of the list. */
  readonly name: string;
  readonly changes: Changes;
}

export interface PriceList {
  /** The column that names what a row changes: the SKU of a variant, or the external id of a publication. */
  readonly key: Key;
  readonly rows: readonly PriceRow[];
  readonly failed: readonly RowNote[];
  readonly unused_columns: Readonly<Record<string, number>>;
}

export interface PriceRun {
  readonly writer: Pick<CatalogWriter, 'publicationNamed' | 'changePublication'>;
  /** Finds the publications of the store with a variant of this SKU. */
  readonly findBySku: (sku: string) => Promise<readonly PublicationId[]>;
  readonly dry_run: boolean;
  readonly on_progress?: (done: number) => void;
  readonly signal?: AbortSignal;
}

/**
 * Reads a price list. Throws `ImportFileError` if the file cannot be read, if its header lacks a required column, or if it
 * has more than `rows_max` rows.
 */
export async function openPriceList(path: string, rows_max?: number): Promise<PriceList> {
  const rows: PriceRow[] = [];
  const failed: RowNote[] = [];
  const unused: Record<string, number> = {};
  const lines = new Map<string, number>();
  let header: { readonly names: readonly string[]; readonly key: Key } | undefined;
  for await (const read of readRecords(path)) {
    if ('broken' in read) {
      failed.push({ line: read.line, external_id: null, reason: read.broken });
      continue;
    }
    const { record, line } = read;
    if (!header) {
      header = headerOf(record);
      continue;
    }
    assertRows(path, rows.length + failed.length + 1, rows_max);
    const { names, key } = header;
    const cells = new Map(names.map((name, index) => [name, cleanCell(record[index])]));
    for (const [name, cell] of cells)
      if (cell !== '' && name !== key && !isValue(name)) unused[name] = (unused[name] ?? 0) + 1;
    const name = cells.get(key)!;
    try {
      if (name === '') throw new RowError(`missing ${key}`);
      const earlier_line = lines.get(name);
      if (earlier_line !== undefined) throw new RowError(`duplicate of line ${earlier_line}`);
      lines.set(name, line);
      rows.push({ line, name, changes: changesOf(cells) });
    } catch (error) {
      if (!(error instanceof RowError)) throw error;
      failed.push({ line, external_id: name, reason: error.message });
    }
  }
  if (!header || rows.length + failed.length === 0)
    throw new ImportFileError(`The file ${path} has no rows after the header.`);
  return { key: header.key, rows, failed, unused_columns: unused };
}

function headerOf(record: readonly string[]): { names: string[]; key: Key } {
  const names = record.map((name) => cleanCell(name).toLowerCase());
  const key = KEYS.find((each) => names.includes(each));
  if (!key || !VALUES.some((each) => names.includes(each)))
    throw new ImportFileError(
      `The header needs a column "sku" or "external_id", and one of ${VALUES.map((each) => `"${each}"`).join(', ')}.`,
    );
  return { names, key };
}

const isValue = (name: string): boolean => (VALUES as readonly string[]).includes(name);

function changesOf(cells: ReadonlyMap<string, string>): Changes {
  const [price = '', compare_at = '', quantity = ''] = VALUES.map((name) => cells.get(name));
  if (quantity !== '' && quantity !== NONE && !/^\d{1,9}$/.test(quantity))
    throw new RowError(`quantity_available "${quantity.slice(0, 40)}": must be a whole number`);
  return {
    ...(price !== '' && { price_amount: parsePrice(price) }),
    ...(compare_at !== '' && { compare_at_amount: compare_at === NONE ? null : parsePrice(compare_at) }),
    ...(quantity !== '' && { quantity_available: quantity === NONE ? null : Number(quantity) }),
  };
}

/**
 * Writes a price list into a store, with one write for all rows of a publication. Reports rows that cannot be written, and
 * continues. Throws other errors, for example if the log cannot be reached; repeating the import then completes it. The
 * report counts publications.
 */
export async function importPrices(list: PriceList, run: PriceRun): Promise<ImportReport> {
  const { writer, findBySku, signal } = run;
  const { key } = list;
  const tally = new Tally();
  const fail = ({ line, name }: PriceRow, reason: string): void =>
    tally.fail(null, { line, external_id: name, reason });
  for (const row of list.failed) tally.fail(null, row);
  const by_publication = new Map<PublicationId, PriceRow[]>();
  const find = async (row: PriceRow): Promise<void> => {
    const found =
      key === 'sku'
        ? await findBySku(row.name)
        : [await writer.publicationNamed(row.name)].filter((id) => id !== undefined);
    const [id] = found;
    if (id === undefined) return fail(row, `the store has no ${key} "${row.name}"`);
    if (found.length > 1) return fail(row, `several publications have the ${key} "${row.name}"`);
    const rows = by_publication.get(id) ?? [];
    rows.push(row);
    by_publication.set(id, rows);
  };
  await runPool(list.rows, CONCURRENCY, find, signal);
  let done = list.failed.length;
  const write = async ([id, rows]: [PublicationId, PriceRow[]]): Promise<void> => {
    let refused: [PriceRow, string][] = [];
    try {
      const changed = await writer.changePublication(id, (publication) => {
        refused = [];
        return patchOf(publication, key, rows, (row, reason) => refused.push([row, reason]));
      });
      if (refused.length < rows.length) tally.count('publications', changed ? 'updated' : 'unchanged');
    } catch (error) {
      const reason = rejectionReason(error);
      if (reason === undefined) throw error;
      refused = rows.map((row) => [row, reason]);
    }
    for (const [row, reason] of refused) fail(row, reason);
    done += rows.length;
    run.on_progress?.(done);
  };
  await runPool(by_publication, CONCURRENCY, write, signal);
  const { unused_columns } = list;
  return tally.report({ dry_run: run.dry_run, complete: signal?.aborted !== true, unused_columns });
}

/** Returns the patch with the changes of the rows. Calls `refuse` for a row that names nothing, or several variants. */
function patchOf(
  publication: Publication,
  key: Key,
  rows: readonly PriceRow[],
  refuse: (row: PriceRow, reason: string) => void,
): PublicationPatch {
  const variants = [...publication.variants];
  const indexes = new Map<string | null, number[]>();
  for (const [index, { sku }] of variants.entries())
    indexes.set(sku, [...(sku === null ? [] : (indexes.get(sku) ?? [])), index]);
  let patch: PublicationPatch = {};
  for (const row of rows) {
    const { name, changes } = row;
    if (key === 'external_id') {
      if (variants.length === 0) patch = { ...patch, ...changes };
      else refuse(row, 'the publication has variants: name them by their SKU');
      continue;
    }
    const [index = -1, ...others] = indexes.get(name) ?? [];
    if (index === -1) refuse(row, `the publication has no variant with the SKU "${name}" any more`);
    else if (others.length > 0) refuse(row, `several variants have the SKU "${name}"`);
    else variants[index] = { ...variants[index]!, ...changes };
  }
  return isSameValue(variants, publication.variants) ? patch : { ...patch, variants };
}
