import { join } from 'node:path';
import { SqliteEventStore } from '../../shared/adapters/sqlite/event-store';
import { eventStoreContract } from './event-store.contract';
import { inFolder } from './in-folder';

eventStoreContract('SQLite', async () => {
  const { openAnother, dispose } = inFolder((folder) =>
    SqliteEventStore.open({ file: join(folder, 'events.sqlite') }),
  );
  return { store: await openAnother(), openAnother, dispose };
});
