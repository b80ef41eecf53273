import { pipeline } from 'node:stream';
import { parse } from 'csv-parse';
import { unescapeFormula } from '../../shared/catalog/spreadsheet';
import { endLongTurn } from '../../shared/kernel/async';
import { ImportFileError, ROW_LENGTH_MAX, readText } from './text-file';

/** A record of a CSV file, and the first of its lines. */
interface CsvRecord {
  readonly record: readonly string[];
  readonly line: number;
}

/** Lines that cannot be split into rows. */
export interface BrokenRow {
  readonly line: number;
  /** The reason, for the report. */
  readonly broken: string;
  /** The last line. Null if the rest of the file was not read. */
  readonly to_line: number | null;
}

const COLUMNS_MAX = 1_000;
/** Reports name the columns. */
const COLUMN_NAME_LENGTH_MAX = 255;
/** The header and the line before it are at the beginning of the file. */
const HEAD_LENGTH_MAX = 1_000_000;

/** Control characters from spreadsheets and editors, such as vertical tabs. The command services would reject them. */
const CONTROLS = /(?![\t\n])\p{Cc}/gu;
const VISIBLE = /\S/;
/** A formula whose only purpose is that a spreadsheet shows the text as it is. */
const TEXT_FORMULA = /^="([^"]*)"$/;

/** Returns the text of a cell, without what a spreadsheet needs. */
export const cleanCell = (value = ''): string =>
  unescapeFormula(value.replace(CONTROLS, '').trim().replace(TEXT_FORMULA, '$1').trim());

/** The column of a format that a column of a file is used as, by the names of both. Null: the column is not read. */
export type ColumnMapping = Readonly<Record<string, string | null>>;

/** Returns the name of a column of a file. A column without one has its number. */
export const columnName = (header: readonly string[], index: number): string =>
  cleanCell(header[index]) || `column ${index + 1}`;

/**
 * Returns the header with the names that the mapping gives its columns. A column that is not read, or whose name another
 * column gets, has a name that no format knows.
 */
export function mapHeader(header: readonly string[], mapping: ColumnMapping): readonly string[] {
  const names = header.map((_, index) => columnName(header, index));
  const targets = names.map((name) => (Object.hasOwn(mapping, name) ? mapping[name] : undefined));
  const taken = new Set(targets.map((target) => target?.toLowerCase()));
  return names.map((name, index) => {
    const target = targets[index];
    if (target) return target;
    const is_ignored = target === null || taken.has(name.toLowerCase());
    return is_ignored ? `${name} (ignored)` : header[index]!;
  });
}

/** Columns, each with the names that it has in files. */
export type Columns<Column extends string> = Readonly<Record<Column, readonly string[]>>;

/** Returns the index of each column that the header has, by any of its names. Their case has no effect. */
export function columnIndexes<Column extends string>(
  header: readonly string[],
  columns: Columns<Column>,
): Map<Column, number> {
  const names = header.map((name) => cleanCell(name).toLowerCase());
  const indexes = (Object.entries(columns) as [Column, readonly string[]][]).map(([column, aliases]) => {
    const found = aliases.map((alias) => names.indexOf(alias.toLowerCase())).find((index) => index >= 0);
    return [column, found ?? -1] as const;
  });
  return new Map(indexes.filter(([, index]) => index >= 0));
}

/** A row's trimmed values by column; empty if the file does not have the column. */
export type FileRow<Column extends string> = Readonly<Record<Column, string>> & {
  /** The first line of the row. */
  readonly line: number;
  /** The columns of the file. */
  readonly columns: ReadonlySet<Column>;
};

/**
 * Returns a function that converts a record to a row, by the names in the header. Adds to `unused` the number of rows that
 * have a value which is in none of the columns, by the name of its column.
 */
export function rowReader<Column extends string>(
  header: readonly string[],
  known: Columns<Column>,
  unused?: Map<string, number>,
): (record: readonly string[], line: number) => FileRow<Column> {
  const indexes = columnIndexes(header, known);
  const columns = new Set(indexes.keys());
  const stored = [...indexes.values()];
  const all = Object.keys(known) as Column[];
  return (record, line) => {
    const values = Object.fromEntries(
      all.map((column) => [column, cleanCell(record[indexes.get(column) ?? -1])]),
    );
    if (unused) countUnused(unused, header, record, stored);
    return { ...(values as Record<Column, string>), line, columns };
  };
}

/**
 * Reads the rows after the header as `readRecords` does. Throws `ImportFileError` as `readRecords` does, and if the header
 * lacks the `required` column. Counts in `unused` as `rowReader` does.
 */
export async function* readRows<Column extends string>(
  path: string,
  { columns, required, name }: { columns: Columns<Column>; required: NoInfer<Column>; name: string },
  mapping?: ColumnMapping,
  unused?: Map<string, number>,
): AsyncGenerator<FileRow<Column> | BrokenRow> {
  let toRow: ReturnType<typeof rowReader<Column>> | undefined;
  for await (const read of readRecords(path, mapping)) {
    if ('broken' in read) yield read;
    else if (toRow) yield toRow(read.record, read.line);
    else if (columnIndexes(read.record, columns).has(required))
      toRow = rowReader(read.record, columns, unused);
    else {
      const column = columns[required][0];
      throw new ImportFileError(`The header has no column "${column}". Is the file ${name}?`);
    }
  }
}

/** Counts in `unused`, by the name of its column, each value of a record that is in none of the `stored` columns. */
export function countUnused(
  unused: Map<string, number>,
  header: readonly string[],
  record: readonly string[],
  stored: readonly (number | undefined)[],
): void {
  for (const [index, value] of record.entries()) {
    if (stored.includes(index) || cleanCell(value) === '') continue;
    const name = columnName(header, index);
    unused.set(name, (unused.get(name) ?? 0) + 1);
  }
}

/** What separates the values of a file, and how many lines are before the header. */
interface Dialect {
  readonly delimiter: string;
  readonly skipped: number;
}

/** Says what separates the values: an instruction for Excel, not a row. */
const SEPARATOR_LINE = /^"?sep=([,;\t|])"?\n/i;

/** Returns the separator that the first line names, or else the one that the header has most often. */
function dialectOf(head: string): Dialect {
  const named = SEPARATOR_LINE.exec(head)?.[1];
  if (named !== undefined) return { delimiter: named, skipped: 1 };
  const header = (/\S.*/.exec(head)?.[0] ?? '').replace(/"[^"]*"/g, '');
  const countOf = (delimiter: string): number => header.split(delimiter).length;
  const delimiter = [',', ';', '\t'].reduce((one, other) => (countOf(other) > countOf(one) ? other : one));
  return { delimiter, skipped: 0 };
}

/** Reads the beginning of a text, at least up to the end of its first line that is not blank. */
async function readHead(text: AsyncGenerator<string>): Promise<string> {
  let head = '';
  while (!head.trimStart().includes('\n') && head.length < HEAD_LENGTH_MAX) {
    const { value, done } = await text.next();
    if (done) break;
    head += value;
  }
  return head;
}

/** Returns what separates the values of a CSV file. Throws `ImportFileError` if the file cannot be read. */
export async function separatorOf(path: string): Promise<string> {
  const text = readText(path);
  const { delimiter } = dialectOf(await readHead(text));
  await text.return(undefined);
  return delimiter;
}

/**
 * Reads the records of a CSV file, without blank lines and without lines of separators only. The first record is the header,
 * with the names of the mapping (`mapHeader`). The values are separated by commas, semicolons or tabs (`dialectOf`). Returns a
 * `BrokenRow` for lines that a missing quote has joined, and ends with one if a quote is never closed. Throws
 * `ImportFileError` if the file cannot be read, is empty or is not UTF-8, or if a quote in its header is not closed.
 */
export async function* readRecords(
  path: string,
  mapping: ColumnMapping = {},
): AsyncGenerator<CsvRecord | BrokenRow> {
  const text = readText(path);
  const head = await readHead(text);
  const { delimiter, skipped } = dialectOf(head);
  const parser = parse({
    delimiter,
    info: true,
    raw: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    from_line: 1 + skipped,
    max_record_size: ROW_LENGTH_MAX,
  });
  pipeline(startingWith(head, text), parser, () => {
    // The error is ignored here, because the loop below throws it, too.
  });
  let end_line = 0;
  let has_header = false;
  try {
    for await (const { record, info, raw } of parser as AsyncIterable<{
      record: string[];
      info: { lines: number };
      raw: string;
    }>) {
      if (!has_header) assertHeader(record, path);
      // A row may have 4 MB: it is parsed, searched for quotes and used in a turn each.
      await endLongTurn();
      // `lines` is the record's last line. Subtracting the newlines within its values gives the first line.
      const line = info.lines - newlinesIn(record);
      const is_broken = hasForeignQuote(raw, delimiter);
      await endLongTurn();
      end_line = info.lines;
      if (is_broken && !has_header) throw brokenHeader(path, FOREIGN_QUOTE);
      if (is_broken) yield { line, broken: FOREIGN_QUOTE, to_line: end_line };
      else if (record.some((value) => VISIBLE.test(value))) {
        yield { record: has_header ? record : mapHeader(record, mapping), line };
        has_header = true;
      }
    }
  } catch (error) {
    const { code } = error as { code?: unknown };
    const reason =
      code === 'CSV_MAX_RECORD_SIZE'
        ? 'the row is longer than 4 MB, or a quote is never closed'
        : 'a quote is opened and never closed';
    if (code !== 'CSV_MAX_RECORD_SIZE' && code !== 'CSV_QUOTE_NOT_CLOSED') throw error;
    if (!has_header) throw brokenHeader(path, reason);
    const broken = `${reason}; nothing was read from this line on`;
    yield { line: end_line + 1, broken, to_line: null };
  }
  if (!has_header) throw new ImportFileError(`The file ${path} is empty.`);
}

function assertHeader(header: readonly string[], path: string): void {
  if (header.length > COLUMNS_MAX)
    throw new ImportFileError(`The header of ${path} has more than ${COLUMNS_MAX} columns.`);
  const long = header.findIndex((name) => name.length > COLUMN_NAME_LENGTH_MAX);
  if (long !== -1)
    throw new ImportFileError(
      `The name of column ${long + 1} of ${path} has more than ${COLUMN_NAME_LENGTH_MAX} characters.`,
    );
}

const brokenHeader = (path: string, reason: string): ImportFileError =>
  new ImportFileError(`The header of ${path} cannot be read: ${reason}.`);

async function* startingWith(head: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield head;
  yield* rest;
}

const newlinesIn = (record: readonly string[]): number =>
  record.reduce((sum, value) => sum + value.split('\n').length - 1, 0);

const FOREIGN_QUOTE = 'a quote is opened and not closed, so that the text up to a later quote was one value';

/**
 * Returns whether a quoted value of the record contains the beginning of another one: a quote after a separator. The quote
 * that closes the value is then missing, and the record may consist of several rows.
 */
function hasForeignQuote(raw: string, delimiter: string): boolean {
  const separator = delimiter.charCodeAt(0);
  // `charCodeAt` returns NaN before the beginning and after the end.
  const isEnd = (code: number): boolean => code === separator || code === NEWLINE || Number.isNaN(code);
  let is_open = false;
  for (let at = raw.indexOf('"'); at >= 0 && at < raw.length; at++) {
    if (raw.charCodeAt(at) !== QUOTE) continue;
    const [is_first, after] = [isEnd(raw.charCodeAt(at - 1)), raw.charCodeAt(at + 1)];
    if (!is_open) is_open = is_first;
    else if (after === QUOTE) at++;
    else if (!isEnd(after) && is_first) return true;
    // The parser, too, goes on without quotes after a quote within the value.
    else is_open = false;
  }
  return false;
}

const QUOTE = '"'.charCodeAt(0);
const NEWLINE = '\n'.charCodeAt(0);
