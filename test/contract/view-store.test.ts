import { SqliteViewStore } from '../../shared/adapters/sqlite/view-store';
import { makeTempDir } from '../support/temp-dir';
import { viewGenerationContract } from './view-generation.contract';
import { viewStoreContract } from './view-store.contract';

const openOnSqlite = async () => {
  const folder = makeTempDir();
  const opened: SqliteViewStore[] = [];
  let now_ms = Date.parse('2026-01-31T12:00:00.000Z');
  const openAnother = async (partition_count = 8): Promise<SqliteViewStore> => {
    const store = await SqliteViewStore.open({ folder: folder.path, partition_count, now: () => now_ms });
    opened.push(store);
    return store;
  };
  const advance = (ms: number): void => {
    now_ms += ms;
  };
  const dispose = async (): Promise<void> => {
    for (const store of opened) await store.close();
    folder.remove();
  };
  return { store: await openAnother(), openAnother, advance, dispose };
};

viewStoreContract('SQLite', openOnSqlite);
viewGenerationContract('SQLite', 'store', openOnSqlite);
