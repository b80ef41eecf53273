import { join } from 'node:path';
import Database from 'libsql';
import { lostRecordsStories } from '../support/lost-records';

lostRecordsStories('SQLite', async () => ({
  lose: async ({ data_dir }) => {
    const file = new Database(join(data_dir, 'idempotency.sqlite'));
    file.exec('DELETE FROM operations');
    file.close();
  },
}));
