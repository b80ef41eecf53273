import { once } from 'node:events';
import { CatalogClient } from '../../shared/client';
import { fetch } from '../support/fetch';
import { createKeys, withRuntime } from '../support/merchant';
import { preload } from '../support/preload';
import { endAll, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { waitFor, within } from '../support/wait-for';

afterEach(endAll);

const COUNT = 120;
const MAIN = 'services/boot/main.js';

test('a process that is killed while publications follow a rule is continued by the next one', () =>
  withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder, RATE_LIMIT_SECRET: '1000000/100000000/1000000' };
    const { secret } = await createKeys(settings);
    const clientOf = ({ url }: { url: string }) => new CatalogClient({ baseUrl: url, apiKey: secret, fetch });
    const dying = await startProcess(MAIN, {
      ...settings,
      NODE_OPTIONS: preload('die-after-append'),
      DIE_AFTER_APPENDS: String(2 * COUNT + COUNT / 2),
    });
    const client = clientOf(dying);
    await client.store.update({ currencies: ['PEN', 'EUR'] });
    const bodyOf = (n: number) => ({ title: `Tea ${n}`, price_currency: 'PEN', price_amount: 3_400 });
    const items = Array.from({ length: COUNT }, (_, n) => ({ action: 'create' as const, body: bodyOf(n) }));
    // A busy machine may refuse to check all of them at once.
    for (let start = 0; start < COUNT; start += 40)
      await client.publications.batch({ items: items.slice(start, start + 40) });
    const exited = once(dying.child, 'exit');
    const derived = { percent: 25.5, ending: 99 };
    await client.store.update({ markets: [{ handle: 'eu', currency: 'EUR', countries: ['DE'], derived }] });
    expect(await within(exited, 'the end')).toEqual([null, 'SIGKILL']);

    const followed = await withRuntime(settings, async ({ events }) => {
      const all = await events.live.readBackwards(10 * COUNT);
      return all.filter(({ type }) => type === 'PublicationPriceRulesSet').length;
    });
    expect([followed > 0, followed < COUNT]).toEqual([true, true]);

    const next = clientOf(await startProcess(MAIN, settings));
    await waitFor(async () => {
      const all = await next.publications.list({ limit: 50 }).all();
      return all.length === COUNT && all.every(({ prices }) => prices?.EUR?.price_amount === 899);
    });
    const histories = await Promise.all(
      (await next.publications.list().all()).map(({ id }) => next.publications.history(id).all()),
    );
    expect(histories.map((changes) => changes.length)).toEqual(Array(COUNT).fill(2));
  }));
