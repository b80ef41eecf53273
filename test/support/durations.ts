import { appendFileSync } from 'node:fs';

/** Appends a row to the file that DURATIONS names (`.ci/durations.js`), if it names one. */
export function record(row: object): void {
  const file = process.env.DURATIONS;
  if (file) appendFileSync(file, `${JSON.stringify(row)}\n`);
}
