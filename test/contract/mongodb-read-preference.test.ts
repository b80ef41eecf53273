import { fetch } from '../support/fetch';
import { MAINS } from '../support/fleet';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { ownNames } from '../support/own-servers';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { describeOn } from '../support/real-servers';
import { ReplicaSet } from '../support/replica-set';

describeOn('MONGODB_URL', 'a query process that reads from a secondary that lags', (server) => {
  let set: ReplicaSet;
  let harness: Harness;
  let shop: Shop;
  let query: RunningProcess;

  beforeAll(async () => {
    const names = ownNames({ MONGODB_URL: server });
    const database = new URL(names.settings.MONGODB_URL!).pathname.slice(1);
    set = new ReplicaSet(server);
    const settings = { ...names.settings, MONGODB_URL: await set.listen(database) };
    harness = await startHarness({ servers: { ...names, settings } });
    shop = await harness.newShop();
    query = await startProcess(MAINS.query, {
      ...harness.settings,
      LOG_LEVEL: 'info',
      MONGODB_READ_PREFERENCE: 'secondaryPreferred',
    });
    await set.stopReplication(`${database}_live`);
  });
  afterAll(async () => {
    await query?.end('SIGTERM');
    endAll();
    await harness?.close();
    await set?.close();
  });

  const create = async (path: string, body: object): Promise<{ id: string; position: string }> => {
    const reply = await harness.request('POST', path, { token: shop.secret.token, body });
    expect(reply.status).toBe(201);
    return { id: reply.body.data.id, position: reply.headers.get('x-catalog-position')! };
  };
  const read = async (path: string, position?: string) => {
    const headers = {
      authorization: `Bearer ${shop.public.token}`,
      ...(position && { 'x-catalog-min-position': position }),
    };
    const response = await fetch(`${query.url}${path}`, { headers });
    return { status: response.status, body: JSON.parse(await response.text()) };
  };

  test('shows the writes up to the position that a read sends, in reads by id, lists and searches', async () => {
    const listing = await create('/api/listing', { name: 'Cups' });
    const fields = { title: 'Espresso cup', price_currency: 'USD', price_amount: 100 };
    const { id, position } = await create('/api/publication', { ...fields, listing_id: listing.id });

    const before = set.stale_reads;
    expect((await read(`/api/publication/${id}`)).status).toBe(404);
    expect(set.stale_reads).toBeGreaterThan(before);

    expect((await read(`/api/publication/${id}`, position)).body.data.title).toBe('Espresso cup');
    expect((await read(`/api/listing/${listing.id}`, position)).body.data.stats.publication_count).toBe(1);
    for (const path of ['/api/publications', '/api/store/search?q=espresso'])
      expect((await read(path, position)).body.data).toMatchObject([{ id }]);
    const { data } = (await read(`/api/listing/${listing.id}/publications`, position)).body;
    expect(data.others).toMatchObject([{ id }]);
  });
});
