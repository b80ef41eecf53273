import { join } from 'node:path';
import Database from 'libsql';
import { fetch } from '../support/fetch';
import { Fleet } from '../support/fleet';
import { createListing, createSecretKey, fetchToken } from '../support/merchant';
import { endAll } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

afterEach(endAll);

test('over HTTP, only a filter by a key that the documents lack returns 503, until they are rebuilt', async () => {
  await withTempDir(async (folder) => {
    const settings = { DEMO: 'off', DATA_DIR: folder };
    const key = await createSecretKey(settings);
    const fleet = new Fleet(settings);
    await fleet.start('command-1', 'query-1', 'worker-1');
    let token = await fetchToken(fleet.url('command-1'), key);
    const listing_id = await createListing(fleet.url('command-1'), token, 'Cups');
    const published = await fetch(`${fleet.url('command-1')}/api/publication`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ title: 'A cup', price_currency: 'EUR', price_amount: 100, quantity_available: 1, listing_id },
      }),
    });
    expect(published.status).toBe(201);
    await fleet.stop();

    // Simulates documents of a release that did not declare the key.
    const file = new Database(join(folder, 'live', 'views-v1.sqlite'));
    file.exec('ALTER TABLE publications DROP COLUMN key_in_stock');
    file.close();

    await fleet.start('query-1', 'command-1');
    token = await fetchToken(fleet.url('command-1'), key);
    const get = async (query: string) => {
      const url = `${fleet.url('query-1')}/api/publications${query}`;
      const reply = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
      const text = await reply.text();
      const { error } = JSON.parse(text) as { error?: { code: string } };
      return { status: reply.status, found: text.includes('"A cup"'), code: error?.code };
    };
    const found = { status: 200, found: true };
    for (let round = 0; round < 2; round++) {
      expect(await get('')).toMatchObject(found);
      expect(await get('?in_stock=true')).toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE' });
      expect(await get('?free_shipping=false')).toMatchObject({ status: 200 });
    }
    await fleet.start('worker-1');
    await waitFor(async () => (await get('?in_stock=true')).status === 200, { what: 'the rebuild' });
    expect(await get('?in_stock=true')).toMatchObject(found);
    expect(await get('')).toMatchObject(found);
    await fleet.stop();
    expect(fleet.faults).toEqual([]);
  });
});
