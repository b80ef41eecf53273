import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  hasCatalog,
  openBlobStore,
  openEventStore,
  openIdempotencyStore,
  openJobQueue,
  openRateLimiter,
  openViewStore,
} from '../../services/boot/open-adapters';
import { IDEMPOTENCY_FILE } from '../../shared/adapters/sqlite/idempotency-store';
import { LIST_FILE } from '../../shared/adapters/sqlite/view-store';
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
      expect(readdirSync(join(data, realm))).toEqual(expect.arrayContaining(['events.sqlite', LIST_FILE]));
  });
});

test('in a folder that others may read, only the owner can read the files with data, also those that exist', async () => {
  await withTempDir(async (folder) => {
    chmodSync(folder, 0o755);
    const config = parseConfig({ DATA_DIR: folder });
    const open = async () =>
      Promise.all([
        openRateLimiter(config, realSystem),
        openIdempotencyStore(config),
        openEventStore(config, 'live'),
      ]);
    const files = ['limits.sqlite', IDEMPOTENCY_FILE, 'live/events.sqlite'];
    const paths = files.flatMap((file) => ['', '-wal', '-shm'].map((suffix) => join(folder, file + suffix)));
    const modesOf = (): string[] => paths.map((path) => (statSync(path).mode & 0o777).toString(8));
    const first = await open();
    expect(modesOf()).toEqual(paths.map(() => '600'));
    // As files of earlier releases are.
    for (const path of paths) chmodSync(path, 0o644);
    const second = await open();
    expect(modesOf()).toEqual(paths.map(() => '600'));
    for (const one of [...first, ...second]) await one.close();
  });
});

test('a folder that may not be read is not taken for one without a catalog', async () => {
  await withTempDir(async (folder) => {
    chmodSync(folder, 0o000);
    const is_root = process.getuid!() === 0;
    const NOBODY = 65_534;
    if (is_root) process.seteuid!(NOBODY);
    try {
      expect(() => hasCatalog(parseConfig({ DATA_DIR: folder }))).toThrow(
        `Not permitted to read the folder ${folder}. Run the command as the user of the service.`,
      );
    } finally {
      if (is_root) process.seteuid!(0);
      chmodSync(folder, 0o700);
    }
  });
});

test.each(['', 'sub'])('a DATA_DIR that is or is in a file is refused with one line: "/%s"', async (name) => {
  await withTempDir(async (folder) => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const config = parseConfig({ DATA_DIR: join(file, name) });
    await expect(openEventStore(config, 'live')).rejects.toThrow(
      `Cannot create the folder ${join(file, name)}: it is a file, or in one. Set DATA_DIR to a folder.`,
    );
  });
});
