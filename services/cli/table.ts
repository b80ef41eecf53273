export type Cell = string | number | bigint | boolean | null | undefined;

/** A plain title is a left-aligned column. */
export type Column = string | { readonly title: string; readonly align: 'left' | 'right' };

/** Returns a right-aligned column, for numbers. */
export const right = (title: string): Column => ({ title, align: 'right' });

/**
 * Renders a table: titles in upper case, columns padded and separated by two spaces. A missing value is rendered as
 * `-`.
 */
export function table(columns: readonly Column[], rows: readonly (readonly Cell[])[]): string {
  const aligned = columns.map((column) =>
    typeof column === 'string' ? { title: column, align: 'left' } : column,
  );
  const cells = [aligned.map(({ title }) => title.toUpperCase()), ...rows.map((row) => row.map(cellText))];
  const widths = aligned.map((_, index) => Math.max(...cells.map((row) => width(row[index] ?? ''))));
  const lines = cells.map((row) =>
    aligned
      .map(({ align }, index) => pad(row[index] ?? '', widths[index]!, align))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

/** Renders records as a table. The columns are the fields with these names. */
export function recordsTable<Name extends string>(
  names: readonly Name[],
  records: readonly { readonly [Field in Name]?: unknown }[],
): string {
  return table(
    names,
    records.map((record) => names.map((name) => record[name] as Cell)),
  );
}

/** Renders one `name  value` per line. A missing value is rendered as `-`. */
export function fieldsTable(fields: Readonly<Record<string, Cell>>): string {
  const names = Object.keys(fields);
  const name_width = Math.max(...names.map(width));
  return names.map((name) => `${pad(name, name_width, 'left')}  ${cellText(fields[name])}\n`).join('');
}

/** Replaces control and format characters: a name that a client chose could contain terminal escape sequences. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, '·');
}

const cellText = (value: Cell): string => printable(String(value ?? '-'));

const width = (text: string): number => [...text].length;

function pad(text: string, to: number, align: string): string {
  const gap = ' '.repeat(Math.max(0, to - width(text)));
  return align === 'left' ? text + gap : gap + text;
}
