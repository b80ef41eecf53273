import { unescapeFormula } from '../../shared/catalog/spreadsheet';
import { ImportFileError } from './text-file';

/*
 * The records of a file, of any format, and its columns.
 */

/** A record of a file, and the first of its lines. */
export interface FileRecord {
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

/** Control characters from spreadsheets and editors, such as vertical tabs. The command services would reject them. */
const CONTROLS = /(?![\t\n])\p{Cc}/gu;
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

/** Throws `ImportFileError` for a header that is longer than a report can show. */
export function assertHeader(header: readonly string[], path: string): void {
  if (header.length > COLUMNS_MAX)
    throw new ImportFileError(`The header of ${path} has more than ${COLUMNS_MAX} columns.`);
  const long = header.findIndex((name) => name.length > COLUMN_NAME_LENGTH_MAX);
  if (long !== -1)
    throw new ImportFileError(
      `The name of column ${long + 1} of ${path} has more than ${COLUMN_NAME_LENGTH_MAX} characters.`,
    );
}

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
  /** The values of further columns that are attributes, by the name of the attribute. */
  readonly attributes: readonly (readonly [name: string, value: string])[];
};

/** The columns that a format knows. */
export interface KnownColumns<Column extends string> {
  readonly columns: Columns<Column>;
  /** Returns the attribute that any other column has, undefined if the column is not read. */
  readonly attributeOf?: (name: string) => string | undefined;
}

/** How the rows of a format are read. */
export interface RowFormat<Column extends string> extends KnownColumns<Column> {
  /** The column without which a file has another format. */
  readonly required: NoInfer<Column>;
  /** What an error calls the file. */
  readonly name: string;
}

/**
 * Returns a function that converts a record to a row, by the names in the header. Adds to `unused` the number of rows that
 * have a value which is in none of the columns, by the name of its column.
 */
export function rowReader<Column extends string>(
  header: readonly string[],
  { columns: known, attributeOf }: KnownColumns<Column>,
  unused?: Map<string, number>,
): (record: readonly string[], line: number) => FileRow<Column> {
  const indexes = columnIndexes(header, known);
  const columns = new Set(indexes.keys());
  const attributes = header.flatMap((name, index) => {
    const is_known = [...indexes.values()].includes(index);
    const attribute = is_known ? undefined : attributeOf?.(cleanCell(name));
    return attribute === undefined ? [] : [[attribute, index] as const];
  });
  const stored = [...indexes.values(), ...attributes.map(([, index]) => index)];
  const all = Object.keys(known) as Column[];
  return (record, line) => {
    const values = Object.fromEntries(
      all.map((column) => [column, cleanCell(record[indexes.get(column) ?? -1])]),
    );
    if (unused) countUnused(unused, header, record, stored);
    return {
      ...(values as Record<Column, string>),
      line,
      columns,
      attributes: attributes.map(([name, index]) => [name, cleanCell(record[index])] as const),
    };
  };
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
