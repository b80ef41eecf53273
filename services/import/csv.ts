import { pipeline } from 'node:stream';
import { parse } from 'csv-parse';
import { ImportFileError, ROW_LENGTH_MAX, readText } from './text-file';

/** The file cannot be split into rows from `line` on. */
export interface BrokenRow {
  readonly line: number;
  /** The reason, for the report. */
  readonly broken: string;
}

const COLUMNS_MAX = 1_000;

/** Control characters from spreadsheets and editors, such as vertical tabs. The command services would reject them. */
const CONTROLS = /(?![\t\n])\p{Cc}/gu;

export const cleanCell = (value = ''): string => value.replace(CONTROLS, '').trim();

/**
 * Reads the records of a CSV file, the header first, without blank lines. `line` is the first line of the record. Ends with
 * a `BrokenRow` if a quote is never closed. Throws `ImportFileError` if the file cannot be read, is empty or is not UTF-8.
 */
export async function* readRecords(
  path: string,
): AsyncGenerator<{ readonly record: readonly string[]; readonly line: number } | BrokenRow> {
  const parser = parse({
    info: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: ROW_LENGTH_MAX,
  });
  pipeline(readText(path), parser, () => {
    // The error is ignored here, because the loop below throws it, too.
  });
  let end_line = 0;
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: string[];
      info: { lines: number };
    }>) {
      if (end_line === 0 && record.length > COLUMNS_MAX)
        throw new ImportFileError(`The header of ${path} has more than ${COLUMNS_MAX} columns.`);
      // `lines` is the record's last line. Subtracting the newlines within its values gives the first line.
      yield { record, line: info.lines - newlinesIn(record) };
      end_line = info.lines;
    }
  } catch (error) {
    const { code } = error as { code?: unknown };
    const broken =
      code === 'CSV_MAX_RECORD_SIZE'
        ? 'the row is longer than 4 MB, or a quote is never closed; the rest of the file was not read'
        : 'a quote is opened and never closed';
    if (code !== 'CSV_MAX_RECORD_SIZE' && code !== 'CSV_QUOTE_NOT_CLOSED') throw error;
    if (end_line > 0) yield { line: end_line + 1, broken };
  }
  if (end_line === 0) throw new ImportFileError(`The file ${path} is empty.`);
}

const newlinesIn = (record: readonly string[]): number =>
  record.reduce((sum, value) => sum + value.split('\n').length - 1, 0);
