import { Cli } from '../api/cli-run';
import {
  createListing,
  createSecretKey,
  fetchToken,
  findMissingWrites,
  waitForWrites,
  waitUntilProjected,
} from '../support/merchant';
import { endAll, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { Ledger, write } from '../support/traffic';

afterEach(endAll);

const SETTINGS = {
  DEMO: 'off',
  RATE_LIMIT_SECRET: '1000000/100000000/1000000',
  RATE_LIMIT_AUTH: '1000/1000',
};

test('no acknowledged write is missing after the service was killed -9 during writes and started again', () =>
  withTempDir(async (folder) => {
    const settings = { ...SETTINGS, DATA_DIR: folder };
    const key = await createSecretKey(settings);
    const ledger = new Ledger();
    let listings: string[] | undefined;
    for (const writes of [40, 80]) {
      const running = await startProcess('services/boot/main.js', settings);
      const token = await fetchToken(running.url, key);
      listings ??= [await createListing(running.url, token, 'Tea')];
      const stopping = new AbortController();
      const options = { token, ledger, listings, signal: stopping.signal };
      const writers = ['a', 'b', 'c', 'd'].map((name) => write(name, running.url, options));
      await waitForWrites(ledger, writes);
      await running.end('SIGKILL');
      stopping.abort();
      await Promise.all(writers);
    }

    const running = await startProcess('services/boot/main.js', settings);
    const token = await fetchToken(running.url, key);
    await waitUntilProjected(running.url, token, ledger);
    expect(await findMissingWrites(running.url, token, ledger)).toEqual([]);
    expect(await running.end('SIGTERM')).toBe(0);
    const verified = await new Cli(folder, SETTINGS).run('projections', 'verify');
    expect(verified).toMatchObject({ code: 0, stderr: '' });
  }));
