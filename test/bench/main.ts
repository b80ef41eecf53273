import { join } from 'node:path';
import { readCatalog, writeCatalog } from './catalog/write-log';
import { benchServers } from './servers';
import { benchSingleProcess } from './single-process';
import { benchTraces } from './traces';

const USAGE = `usage: npm run bench [-- --servers | --traces]
       npm run bench -- --generate --size N --data DIR`;

/**
 * Entry point of `npm run bench`. Measures the service
 * against a baseline, that is, minimal Express routes or loops on the same stores, or the service with other settings.
 * Both run on the same machine, in alternating rounds. Compare the ratios; the absolute figures depend on the machine.
 */
async function main(): Promise<void> {
  const [flag, ...more] = process.argv.slice(2);
  if (flag === '--generate' && more[0] === '--size' && more[2] === '--data' && more.length === 4) {
    await generate(Number(more[1]), more[3]!);
  } else if (more.length > 0 || (flag !== undefined && flag !== '--servers' && flag !== '--traces')) {
    console.error(USAGE);
    process.exitCode = 2;
  } else if (flag === '--servers') {
    process.exitCode = await benchServers();
  } else if (flag === '--traces') {
    await benchTraces();
  } else {
    await benchSingleProcess();
    await benchTraces();
  }
}

/** Writes the catalog of a size below the folder, unless it is there already. */
async function generate(size: number, base: string): Promise<void> {
  const folder = join(base, folderName(size));
  if (!readCatalog(folder, size)) await writeCatalog(folder, size);
  console.log(folder);
}

/** `1000` → `1k`, `1000000` → `1m`. */
function folderName(size: number): string {
  if (size % 1_000_000 === 0) return `${size / 1_000_000}m`;
  return size % 1_000 === 0 ? `${size / 1_000}k` : String(size);
}

void main();
