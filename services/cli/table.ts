export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

/** Titles in capitals above rows of padded cells, two spaces between columns. Ends with a newline. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const cells = [
    columns.map((column) => column.title.toUpperCase()),
    ...rows.map((row) => row.map(printable)),
  ];
  const widths = columns.map((_, place) => Math.max(...cells.map((row) => width(row[place] ?? ''))));
  const lines = cells.map((row) =>
    columns
      .map(({ align = 'left' }, place) => pad(row[place] ?? '', widths[place]!, align))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

/** One `name  value` a line; a value that is not there shows as `-`. */
export function fieldsTable(
  fields: Readonly<Record<string, string | number | boolean | null | undefined>>,
): string {
  const names = Object.keys(fields);
  const wide = Math.max(...names.map(width));
  return names
    .map((name) => `${pad(name, wide, 'left')}  ${printable(String(fields[name] ?? '-'))}\n`)
    .join('');
}

/** A name that someone chose must not steer the operator's terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, '·');
}

const width = (text: string): number => [...text].length;

function pad(text: string, to: number, align: 'left' | 'right'): string {
  const gap = ' '.repeat(Math.max(0, to - width(text)));
  return align === 'left' ? text + gap : gap + text;
}
