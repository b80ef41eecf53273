import { join } from 'node:path';
import Database from 'libsql';
import { fetch } from '../support/fetch';
import { Fleet } from '../support/fleet';
import { listingCreated, publicationCreated, publicationId, storeCreated, storeId } from '../support/history';
import { createListing, createSecretKey, fetchToken } from '../support/merchant';
import { nextRelease } from '../support/next-release';
import { endAll } from '../support/processes';
import { openRealm, type TestRealm } from '../support/realm';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

type RealmModule = typeof import('../support/realm');
type VerifyModule = typeof import('../../projections/maintenance/verify');

let realm: TestRealm | undefined;
afterEach(async () => {
  await realm?.close();
  realm = undefined;
  await endAll();
});

test('a release that declares one more key serves the old documents and rebuilds them in the background', async () => {
  await withTempDir(async (folder) => {
    realm = await openRealm({ folder });
    const before = await realm.pipeline();
    await realm.append(storeCreated(0), listingCreated(0), publicationCreated(0), publicationCreated(1));
    await before.caughtUp();
    await realm.close();
    realm = undefined;

    const next = nextRelease(() => ({
      realm: require('../support/realm') as RealmModule,
      verify: require('../../projections/maintenance/verify') as VerifyModule,
    }));
    realm = await next.realm.openRealm({ folder });
    const old = await realm.active();
    const old_checkpoints = await old.checkpoints();
    const pipeline = await realm.pipeline();
    await realm.append(publicationCreated(2));
    await pipeline.caughtUp();
    // The rebuild has ended: only a version with the declared keys can catch up with the log.
    expect(await realm.views.versions()).toMatchObject([
      { version: 2, status: 'active', keys_differ: false },
      { version: 1, status: 'retired', keys_differ: true },
    ]);
    expect(await old.checkpoints()).toEqual(old_checkpoints);
    expect(await old.get('publications', publicationId(0))).toBeDefined();
    expect(await old.get('publications', publicationId(2))).toBeUndefined();
    expect(await withoutTrialField(realm)).toEqual([0, 1, 2].map(publicationId));
    expect(await next.verify.verify(realm.parts)).toMatchObject({ clean: true, version: 2 });
    const { versions } = await pipeline.status();
    expect(versions.map(({ version, fed }) => ({ version, fed }))).toEqual([
      { version: 2, fed: true },
      { version: 1, fed: false },
    ]);
  });
});

/** Returns the ids of the realm's publications that have no value of the new key. */
async function withoutTrialField(realm: TestRealm): Promise<string[]> {
  const where = { store_id: storeId(0), trial_field: null };
  const found = await (await realm.active()).find('publications', {
    where,
    order: [['id', 'asc']],
    limit: 9,
  });
  return found.map(({ id }) => id);
}

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
