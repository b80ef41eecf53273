import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { parse } from 'csv-parse';
import { fileError, ImportFileError } from './item';

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
const LINE_END = /\r\n?/g;

/** Far beyond a product's largest row; what is longer is a quote that was never closed. */
const ROW_BYTES_MAX = 4_000_000;

/** A row's values by column, trimmed; `line` is where the row begins. */
export type ShopifyRow = Readonly<Record<Column, string>> & { readonly line: number };

/** From `line` on, the file cannot be told apart into rows. */
export interface Break {
  readonly line: number;
  readonly broken: string;
}

/**
 * The file's rows after its header, blank lines left out; a quote that is never closed ends them. Throws
 * `ImportFileError` where the file cannot be read, is empty, is not UTF-8 or has another header.
 */
export async function* readRows(path: string): AsyncGenerator<ShopifyRow | Break> {
  const parser = parse({
    info: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: ROW_BYTES_MAX,
  });
  pipeline(readText(path), parser, () => {
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
    const { code } = error as { code?: unknown };
    const broken =
      code === 'CSV_MAX_RECORD_SIZE'
        ? 'a row of more than 4 MB begins here, or a quote that is never closed; what follows is not read'
        : 'a quote is opened here and never closed';
    if (code !== 'CSV_MAX_RECORD_SIZE' && code !== 'CSV_QUOTE_NOT_CLOSED') throw fileError(error, path);
    if (toRow) yield { line: end_line + 1, broken };
  }
  if (!toRow) throw new ImportFileError(`${path} is empty`);
}

/** The file's text without its byte order mark, every kind of line end as `\n`: lines are those that an editor shows. */
async function* readText(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let held = '';
  try {
    for await (const chunk of createReadStream(path)) {
      const text = held + decoder.decode(chunk as Buffer, { stream: true });
      // The half of a line end waits for the other.
      held = text.endsWith('\r') ? '\r' : '';
      yield text.slice(0, text.length - held.length).replace(LINE_END, '\n');
    }
    yield (held + decoder.decode()).replace(LINE_END, '\n');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error;
    throw new ImportFileError(`${path} is not UTF-8 text`);
  }
}

const newlinesIn = (record: readonly string[]): number =>
  record.reduce((sum, value) => sum + value.split('\n').length - 1, 0);

/** Turns records into rows by the header's names, whatever their order. Throws `ImportFileError` on a wrong header. */
export function rowReader(
  header: readonly string[],
): (record: readonly string[], line: number) => ShopifyRow {
  const names = header.map((name) => name.trim().toLowerCase());
  const columns = Object.entries(COLUMNS) as [Column, readonly string[]][];
  const places = columns.map(([column, aliases]) => {
    const place = aliases.map((alias) => names.indexOf(alias.toLowerCase())).find((index) => index >= 0);
    return [column, place ?? -1] as const;
  });
  const missing = places.filter(([column, place]) => place < 0 && REQUIRED.includes(column));
  if (missing.length > 0) {
    const titles = missing.map(([column]) => `"${COLUMNS[column][0]}"`).join(', ');
    throw new ImportFileError(`no column ${titles} in the header: is it a Shopify product export?`);
  }
  return (record, line) => {
    const clean = (value = ''): string => value.replace(CONTROLS, '').trim();
    const values = Object.fromEntries(places.map(([column, place]) => [column, clean(record[place])]));
    return { ...(values as Record<Column, string>), line };
  };
}
