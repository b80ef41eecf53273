/* Blocks of cells as spreadsheets put them on the clipboard: cells end with a tab, rows with a line break. */

/** Reads a block. A cell with a line break, a tab or a quote is in quotes, and its quotes are doubled. */
export function parseBlock(text: string): string[][] {
  const cells = /("(?:[^"]|"")*"(?=\t|\n|$)|[^\t\n]*)(\t|\n|$)/g;
  const rows: string[][] = [[]];
  const block = text.replace(/\r\n?/g, '\n').replace(/\n$/, '');
  for (const [, cell = '', end] of block.matchAll(cells)) {
    rows.at(-1)!.push(cell.startsWith('"') && cell.endsWith('"') && cell.length > 1 ? unquoted(cell) : cell);
    if (end === '\n') rows.push([]);
    else if (end === '') break;
  }
  return rows;
}

const unquoted = (cell: string): string => cell.slice(1, -1).replaceAll('""', '"');

export const writeBlock = (rows: readonly (readonly string[])[]): string =>
  rows.map((row) => row.map(quoted).join('\t')).join('\n');

const quoted = (cell: string): string => (/[\t\n"]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
