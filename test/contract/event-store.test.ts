import { join } from 'node:path';
import { SqliteEventStore } from '../../shared/adapters/sqlite/event-store';
import { makeTempDir } from '../support/temp-dir';
import { eventStoreContract } from './event-store.contract';

eventStoreContract('SQLite', async () => {
  const folder = makeTempDir();
  const opened: SqliteEventStore[] = [];
  const openAnother = async (): Promise<SqliteEventStore> => {
    const store = await SqliteEventStore.open({ file: join(folder.path, 'events.sqlite') });
    opened.push(store);
    return store;
  };
  const dispose = async (): Promise<void> => {
    for (const store of opened) await store.close();
    folder.remove();
  };
  return { store: await openAnother(), openAnother, dispose };
});
