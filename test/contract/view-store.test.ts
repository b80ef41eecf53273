import { SqliteViewStore } from '../../shared/adapters/sqlite/view-store';
import { MemoryViewStore } from '../support/memory-view-store';
import { makeTempDir } from '../support/temp-dir';
import { viewSearchContract } from './view-search.contract';
import { viewStoreContract } from './view-store.contract';

viewStoreContract('SQLite', async () => {
  const folder = makeTempDir();
  const opened: SqliteViewStore[] = [];
  let now_ms = Date.parse('2026-01-31T12:00:00.000Z');
  const again = async (lane_count = 8): Promise<SqliteViewStore> => {
    const store = await SqliteViewStore.open({ folder: folder.path, lane_count, now: () => now_ms });
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
  return { store: await again(), again, advance, dispose };
});

// The store of other tests: what they rest on is that it searches as the real ones do.
viewSearchContract('memory', async () => {
  const store = new MemoryViewStore();
  return { store, again: async () => store, advance: () => {}, dispose: () => store.close() };
});
