import { SqliteViewStore } from '../../shared/adapters/sqlite/view-store';
import type { ViewStore } from '../../shared/ports/view-store';
import { nextRelease } from '../support/next-release';
import { makeTempDir } from '../support/temp-dir';
import { changedKeysContract } from './changed-keys.contract';

type Sqlite = typeof import('../../shared/adapters/sqlite/view-store');

changedKeysContract('SQLite', async () => {
  const folder = makeTempDir();
  const opened: ViewStore[] = [];
  const keep = async (opening: Promise<ViewStore>): Promise<ViewStore> => {
    const store = await opening;
    opened.push(store);
    return store;
  };
  const next = nextRelease(() => require('../../shared/adapters/sqlite/view-store') as Sqlite);
  return {
    today: () => keep(SqliteViewStore.open({ folder: folder.path })),
    next: () => keep(next.SqliteViewStore.open({ folder: folder.path })),
    dispose: async () => {
      for (const store of opened) await store.close();
      folder.remove();
    },
  };
});
