import { MongoClient } from 'mongodb';
import { MongoViewStore } from '../../shared/adapters/mongodb/view-store';
import type { ViewStore } from '../../shared/ports/view-store';
import { nextRelease } from '../support/next-release';
import { describeOn, ownDatabase } from '../support/real-servers';
import { changedKeysContract } from './changed-keys.contract';

type Mongo = typeof import('../../shared/adapters/mongodb/view-store');

describeOn('MONGODB_URL', 'on a real server', (server) => {
  /** Removes the keys from the list of versions, because earlier releases did not store them there. */
  const removeListedKeys = async (database: string): Promise<void> => {
    const client = new MongoClient(server);
    const meta = client
      .db(`${database}_live`)
      .collection<{ _id: string; versions: { keys?: object }[] }>('meta');
    const list = await meta.findOne({ _id: 'versions' });
    const versions = (list?.versions ?? []).map(({ keys: _, ...info }) => info);
    await meta.updateOne({ _id: 'versions' }, { $set: { versions } });
    await client.close();
  };

  describe.each([
    ['keys listed with the version', false],
    ['keys read from the documents', true],
  ])('%s', (_, unlisted) => {
    changedKeysContract('MongoDB', async () => {
      const url = ownDatabase(server);
      const database = url.pathname.slice(1);
      const options = { url: url.href, realm: 'live' } as const;
      const opened: ViewStore[] = [];
      const keep = async (opening: Promise<ViewStore>): Promise<ViewStore> => {
        const store = await opening;
        opened.push(store);
        return store;
      };
      const next = nextRelease(() => require('../../shared/adapters/mongodb/view-store') as Mongo);
      let removed = !unlisted;
      return {
        today: () => keep(MongoViewStore.open(options)),
        next: async () => {
          if (!removed) await removeListedKeys(database);
          removed = true;
          return keep(next.MongoViewStore.open(options));
        },
        dispose: async () => {
          for (const store of opened) await store.close();
          const client = new MongoClient(server);
          await client.db(`${database}_live`).dropDatabase();
          await client.close();
        },
      };
    });
  });
});
