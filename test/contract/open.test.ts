import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  openBlobStore,
  openEventStore,
  openJobQueue,
  openRateLimiter,
  openViewStore,
} from '../../services/boot/open-adapters';
import { ENVIRONMENTS, REALMS } from '../../shared/catalog/realm';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { BLOB_AREAS } from '../../shared/ports/blob-store';
import { withTempDir } from '../support/temp-dir';

test('without servers, all stores open in one folder with a folder per realm, readable by the owner only', async () => {
  await withTempDir(async (folder) => {
    const data = join(folder, 'deep', 'data');
    const config = parseConfig({ DATA_DIR: data });
    // Opens concurrently, like processes that start at the same time.
    const opened = await Promise.all([
      ...[...REALMS, ...REALMS].flatMap((realm) => [
        openEventStore(config, realm),
        openViewStore(config, realm),
        openJobQueue(config, realm, { partition_count: 8 }),
      ]),
      ...[...ENVIRONMENTS, ...ENVIRONMENTS].flatMap((environment) =>
        BLOB_AREAS.map((area) => openBlobStore(config, environment, area)),
      ),
      openRateLimiter(config, realSystem),
      openRateLimiter(config, realSystem),
    ]);
    for (const one of opened) await one.close();
    for (const path of [data, ...REALMS.map((realm) => join(data, realm))])
      expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(
      readdirSync(data)
        .filter((name) => !name.startsWith('limits'))
        .sort(),
    ).toEqual([...REALMS].sort());
    for (const realm of REALMS)
      expect(readdirSync(join(data, realm))).toEqual(
        expect.arrayContaining(['events.sqlite', 'views.sqlite']),
      );
  });
});
