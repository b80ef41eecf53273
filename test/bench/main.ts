import { benchEmbedded } from './embedded';
import { benchServers } from './servers';

/**
 * `npm run bench`, or `npm run bench -- --servers`: the service beside bare loops that do only what must be done, on the
 * same machine in the same run, in turns. What counts is the ratio; the absolute figures are this machine's at this moment.
 */
async function main(): Promise<void> {
  const [flag, ...more] = process.argv.slice(2);
  if (more.length > 0 || (flag !== undefined && flag !== '--servers')) {
    console.error('usage: npm run bench [-- --servers]');
    process.exitCode = 2;
  } else if (flag === '--servers') {
    process.exitCode = await benchServers();
  } else {
    await benchEmbedded();
  }
}

void main();
