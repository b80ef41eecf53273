import { join } from 'node:path';
import { benchAgainst } from './against';
import { benchBudget } from './budget';
import { readCatalog, writeCatalog } from './catalog/write-log';
import { benchEmbedded } from './embedded';
import { type BenchOptions, folderName, parseOptions, USAGE } from './options';
import { benchServers } from './servers';
import { benchTraces } from './traces';

/**
 * Entry point of `npm run bench` (docs/performance.md). Measures the service against fixed answers, against raw work on
 * the same stores, or against itself with other settings. All sides run on the same machine, in alternating rounds.
 * Compare the ratios; the absolute figures depend on the machine.
 */
async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2));
  if (!options) {
    console.error(USAGE);
    process.exitCode = 2;
    return;
  }
  if (options.mode === 'servers') process.exitCode = await benchServers();
  else if (options.mode === 'traces') await benchTraces();
  else if (options.mode === 'budget') await benchBudget(options);
  else if (options.mode === 'generate') await generate(options);
  else if (options.against !== undefined) process.exitCode = await benchAgainst(options, options.against);
  else await benchEmbedded(options);
}

/** Writes the catalog of a size, unless it is there already. Prints its folder. */
async function generate({ size, data }: BenchOptions): Promise<void> {
  const folder = join(data, folderName(size));
  if (!readCatalog(folder, size)) await writeCatalog(folder, size);
  console.log(folder);
}

main().catch((error: unknown) => {
  console.error(error);
  // The exit code 1 says that the service has become dearer.
  process.exitCode = 2;
});
