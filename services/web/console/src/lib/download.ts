/** How long the browser may take to begin to save a file. */
const SAVE_MS = 60_000;

/** Saves a file through the browser, in its folder of downloads. */
export function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), SAVE_MS);
}

/** Returns the text of a CSV file for spreadsheets: with a byte order mark, and without texts that would run as formulas. */
export const csvOf = (rows: readonly (readonly (string | number | undefined)[])[]): string =>
  `\uFEFF${rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('')}`;

function cellOf(value: string | number | undefined = ''): string {
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return `"${text.replaceAll('"', '""')}"`;
}
