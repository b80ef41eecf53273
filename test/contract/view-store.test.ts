import { SqliteViewStore } from '../../shared/adapters/sqlite/view-store';
import { inFolder } from './in-folder';
import { viewGenerationContract } from './view-generation.contract';
import { viewStoreContract } from './view-store.contract';

const openOnSqlite = async () => {
  let now_ms = Date.parse('2026-01-31T12:00:00.000Z');
  const { openAnother, dispose } = inFolder((folder, partition_count: number = 8) =>
    SqliteViewStore.open({ folder, partition_count, now: () => now_ms }),
  );
  const advance = (ms: number): void => {
    now_ms += ms;
  };
  return { store: await openAnother(), openAnother, advance, dispose };
};

viewStoreContract('SQLite', openOnSqlite);
viewGenerationContract('SQLite', 'store', openOnSqlite);
