import { benchServers } from './servers';
import { benchSingleProcess } from './single-process';

/**
 * Entry point of `npm run bench`, and `npm run bench -- --servers`. Measures the service against a baseline, that is,
 * minimal Express routes or loops on the same stores. Both run on the same machine, in alternating rounds. Compare the ratios; the absolute figures depend on the machine.
 */
async function main(): Promise<void> {
  const [flag, ...more] = process.argv.slice(2);
  if (more.length > 0 || (flag !== undefined && flag !== '--servers')) {
    console.error('usage: npm run bench [-- --servers]');
    process.exitCode = 2;
  } else if (flag === '--servers') {
    process.exitCode = await benchServers();
  } else {
    await benchSingleProcess();
  }
}

void main();
