import { benchServers } from './servers';
import { benchSingleProcess } from './single-process';
import { benchTraces } from './traces';

/**
 * Entry point of `npm run bench`, `npm run bench -- --servers` and `npm run bench -- --traces`. Measures the service
 * against a baseline, that is, minimal Express routes or loops on the same stores, or the service with other settings.
 * Both run on the same machine, in alternating rounds. Compare the ratios; the absolute figures depend on the machine.
 */
async function main(): Promise<void> {
  const [flag, ...more] = process.argv.slice(2);
  if (more.length > 0 || (flag !== undefined && flag !== '--servers' && flag !== '--traces')) {
    console.error('usage: npm run bench [-- --servers | --traces]');
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

void main();
