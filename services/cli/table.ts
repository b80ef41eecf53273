export type Cell = string | number | bigint | boolean | null | undefined;

/** A title alone is a column to the left. */
export type Column = string | { readonly title: string; readonly align: 'left' | 'right' };

/** Returns a column of numbers. */
export const right = (title: string): Column => ({ title, align: 'right' });

/** Titles in capitals above rows of padded cells, two spaces between columns; no value shows as `-`. Ends with a newline. */
export function table(columns: readonly Column[], rows: readonly (readonly Cell[])[]): string {
  const full = columns.map((column) =>
    typeof column === 'string' ? { title: column, align: 'left' } : column,
  );
  const cells = [full.map(({ title }) => title.toUpperCase()), ...rows.map((row) => row.map(cellText))];
  const widths = full.map((_, place) => Math.max(...cells.map((row) => width(row[place] ?? ''))));
  const lines = cells.map((row) =>
    full
      .map(({ align }, place) => pad(row[place] ?? '', widths[place]!, align))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

/** A table of records with their fields of these names as columns. */
export function recordsTable<Name extends string>(
  names: readonly Name[],
  records: readonly { readonly [Field in Name]?: unknown }[],
): string {
  return table(
    names,
    records.map((record) => names.map((name) => record[name] as Cell)),
  );
}

/** One `name  value` a line; a value that is not there shows as `-`. */
export function fieldsTable(fields: Readonly<Record<string, Cell>>): string {
  const names = Object.keys(fields);
  const wide = Math.max(...names.map(width));
  return names.map((name) => `${pad(name, wide, 'left')}  ${cellText(fields[name])}\n`).join('');
}

/** A name that someone chose must not steer the operator's terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, '·');
}

const cellText = (value: Cell): string => printable(String(value ?? '-'));

const width = (text: string): number => [...text].length;

function pad(text: string, to: number, align: string): string {
  const gap = ' '.repeat(Math.max(0, to - width(text)));
  return align === 'left' ? text + gap : gap + text;
}
