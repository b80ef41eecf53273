import { pipeline } from 'node:stream';
import { parse } from 'csv-parse';
import { endLongTurn } from '../../shared/kernel/async';
import type { BrokenRow, FileRecord } from './columns';
import { ImportFileError, ROW_LENGTH_MAX, readText } from './text-file';

/** The header and the line before it are at the beginning of the file. */
const HEAD_LENGTH_MAX = 1_000_000;

const VISIBLE = /\S/;

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
 * Reads the records of a CSV file, without blank lines and without lines of separators only. The first record is the
 * header. The values are separated by commas, semicolons or tabs (`dialectOf`). Returns a
 * `BrokenRow` for lines that a missing quote has joined, and ends with one if a quote is never closed. Throws
 * `ImportFileError` if the file cannot be read, is empty or is not UTF-8, or if a quote in its header is not closed.
 */
export async function* readCsv(path: string): AsyncGenerator<FileRecord | BrokenRow> {
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
        yield { record, line };
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
