import { SqliteViewStore } from '../../shared/adapters/sqlite/view-store';
import type { ViewStore } from '../../shared/ports/view-store';
import { nextRelease } from '../support/next-release';
import { changedKeysContract } from './changed-keys.contract';
import { inFolder } from './in-folder';

type Sqlite = typeof import('../../shared/adapters/sqlite/view-store');

changedKeysContract('SQLite', async () => {
  const next = nextRelease(() => require('../../shared/adapters/sqlite/view-store') as Sqlite);
  const { openAnother, dispose } = inFolder(
    (folder, release: Pick<Sqlite, 'SqliteViewStore'>): Promise<ViewStore> =>
      release.SqliteViewStore.open({ folder }),
  );
  return { today: () => openAnother({ SqliteViewStore }), next: () => openAnother(next), dispose };
});
