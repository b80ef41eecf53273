import { MongoClient } from 'mongodb';
import { MongoConnection } from '../../shared/adapters/mongodb/connection';
import { MongoViewStore } from '../../shared/adapters/mongodb/view-store';
import { aName, describeOn, ownDatabase } from '../support/real-servers';
import { waitFor } from '../support/wait-for';
import { viewGenerationContract } from './view-generation.contract';
import { viewStoreContract } from './view-store.contract';

describeOn('MONGODB_URL', 'on a real server', (server) => {
  const text_order = textOrderOf(server);
  const openOnServer = async () => {
    const url = ownDatabase(server);
    const database = url.pathname.slice(1);
    const opened: MongoViewStore[] = [];
    let now_ms = Date.parse('2026-01-31T12:00:00.000Z');
    const openAnother = async (partition_count = 8): Promise<MongoViewStore> => {
      const store = await MongoViewStore.open({
        url: url.href,
        realm: 'live',
        partition_count,
        now: () => now_ms,
      });
      opened.push(store);
      return store;
    };
    const advance = (ms: number): void => {
      now_ms += ms;
    };
    const dispose = async (): Promise<void> => {
      for (const store of opened) await store.close();
      const client = new MongoClient(server);
      await client.db(`${database}_live`).dropDatabase();
      await client.close();
    };
    return {
      store: await openAnother(),
      openAnother,
      advance,
      dispose,
      text_order: await text_order,
      list_length: 600,
    };
  };
  viewStoreContract('MongoDB', openOnServer);
  viewGenerationContract('MongoDB', 'partition', openOnServer);

  const reopened: MongoViewStore[] = [];
  afterEach(async () => {
    for (const store of reopened.splice(0)) await store.close();
  });

  test('versions are dropped at once, while the store that was just opened still creates missing indexes', async () => {
    const url = ownDatabase(server);
    const open = async (): Promise<MongoViewStore> => {
      const store = await MongoViewStore.open({ url: url.href, realm: 'live', partition_count: 8 });
      reopened.push(store);
      return store;
    };
    for (let round = 0; round < 5; round++) {
      const store = await open();
      const created = [
        await store.createVersion(1),
        await store.createVersion(1),
        await store.createVersion(1),
      ];
      const another = await open();
      await Promise.all(created.map(({ version }) => another.drop(version)));
      expect(await another.versions()).toEqual([]);
    }
    const client = new MongoClient(server);
    const database = client.db(`${url.pathname.slice(1)}_live`);
    const remaining = async (): Promise<string[]> => {
      const names = (await database.listCollections().toArray()).map(({ name }) => name);
      return names.filter((name) => name.includes('publications'));
    };
    // Creating an index makes a collection that was just dropped again. The store that does so drops it at its end.
    await waitFor(async () => (await remaining()).length === 0, { what: 'no collection' });
    await database.dropDatabase();
    await client.close();
  });

  test('a collection that another process has just dropped counts as dropped', async () => {
    const url = ownDatabase(server);
    const connection = new MongoConnection({ url: url.href, realm: 'live' });
    try {
      await connection.collection('publications_v1').insertOne({});
      await connection.dropCollection('publications_v1');
      await connection.dropCollection('publications_v1');
      expect(await connection.collectionNames()).toEqual([]);
    } finally {
      await connection.close();
    }
  });
});

/**
 * Returns how the server sorts texts. MongoDB sorts by code point; a stand-in written in Java sorts by UTF-16 code
 * unit.
 */
async function textOrderOf(server: string): Promise<'code_point' | 'code_unit'> {
  const client = new MongoClient(server);
  const texts = client.db(aName()).collection<{ _id: string }>('texts');
  await texts.insertMany([{ _id: '\u{1f600}' }, { _id: '\uffff' }]);
  const [first] = await texts.find({}, { sort: { _id: 1 } }).toArray();
  await texts.db.dropDatabase();
  await client.close();
  return first?._id === '\uffff' ? 'code_point' : 'code_unit';
}
