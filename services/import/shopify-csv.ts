import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { parse } from 'csv-parse';
import { decodeText } from './decode-text';
import { fileError, type ImportFile, ImportFileError, type ImportItem } from './item';
import { foldProduct } from './shopify';
import { rowReader, type ShopifyRow } from './shopify-columns';

/** Far beyond a product's largest row; what is longer is a quote that was never closed. */
const ROW_BYTES_MAX = 4_000_000;

/** From `line` on, the file cannot be told apart into rows. */
interface Break {
  readonly line: number;
  readonly broken: string;
}

/**
 * A Shopify product export. It is read twice, so that any size fits in memory: once for where each handle's last row
 * is, once to give each product as soon as it is whole, wherever its rows stand.
 * Throws `ImportFileError` where the file cannot be read, is empty, is not UTF-8 or has another header.
 */
export async function openShopifyFile(path: string, currency: string): Promise<ImportFile> {
  const found = await stat(path).catch((error: unknown) => {
    throw fileError(error, path);
  });
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

/** The file's rows after its header, blank lines left out; a quote that is never closed ends them. */
async function* readRows(path: string): AsyncGenerator<ShopifyRow | Break> {
  const parser = parse({
    info: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: ROW_BYTES_MAX,
  });
  pipeline(createReadStream(path), decodeText(path), parser, () => {
    // The loop below throws the same error.
  });
  let toRow: ReturnType<typeof rowReader> | undefined;
  let end_line = 0;
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: string[];
      info: { lines: number };
    }>) {
      // `lines` is where the record ends; the newlines within its values are the lines before.
      const line = info.lines - newlinesIn(record);
      end_line = info.lines;
      if (toRow) yield toRow(record, line);
      else toRow = rowReader(record);
    }
  } catch (error) {
    if (!isUnclosedQuote(error)) throw fileError(error, path);
    if (toRow) yield { line: end_line + 1, broken: breakOf(error) };
  }
  if (!toRow) throw new ImportFileError(`${path} is empty`);
}

const newlinesIn = (record: readonly string[]): number =>
  record.reduce((sum, value) => sum + value.split('\n').length - 1, 0);

function breakOf(error: unknown): string {
  return (error as { code?: unknown }).code === 'CSV_MAX_RECORD_SIZE'
    ? 'a row of more than 4 MB begins here, or a quote that is never closed; what follows is not read'
    : 'a quote is opened here and never closed';
}

function isUnclosedQuote(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return code === 'CSV_QUOTE_NOT_CLOSED' || code === 'CSV_MAX_RECORD_SIZE';
}
