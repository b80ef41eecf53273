import { renameSync, writeFileSync } from 'node:fs';

/*
 * Preloaded into a process that runs with `--expose-gc`. On SIGUSR2 it collects garbage and writes to the file
 * `MEMORY_REPORT_FILE` the number of the report and the bytes that are still used.
 */
let reports = 0;
process.on('SIGUSR2', () => {
  const file = process.env.MEMORY_REPORT_FILE!;
  for (let times = 0; times < 3; times++) globalThis.gc!();
  const { heapUsed, external } = process.memoryUsage();
  writeFileSync(`${file}.new`, `${++reports} ${heapUsed + external}`);
  renameSync(`${file}.new`, file);
});
