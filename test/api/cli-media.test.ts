import { pino } from 'pino';
import { openRuntime } from '../../services/boot/runtime';
import { FileBlobStore } from '../../shared/adapters/files/blob-store';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { chunks, uploadWithoutTask } from '../support/media';
import { flatPicture } from '../support/pictures';
import { withTempDir } from '../support/temp-dir';
import { expectFailure, InProcessCli } from './cli-run';

const DAY_MS = 24 * 3_600_000;

test('media sweep deletes unused files older than a day; a dry run only reports them', () =>
  withTempDir(async (folder) => {
    const cli = new InProcessCli(folder);
    const store = await cli.store(await cli.account());
    const runtime = await openRuntime(
      parseConfig({ DATA_DIR: folder }),
      pino({ level: 'silent' }),
      realSystem,
    );
    await uploadWithoutTask(runtime, store as never, await flatPicture('png', { width: 9, height: 9 }));
    await runtime.blobs.live.originals.put(chunks(Buffer.from('a young one')));
    await runtime.close();
    // Stores a file with a clock that is two days behind.
    const originals = await FileBlobStore.open({
      folder: `${folder}/live/media/originals`,
      now: () => Date.now() - 2 * DAY_MS,
    });
    await originals.put(chunks(Buffer.from('an old one')));
    await originals.close();

    const swept = { environment: 'live', area: 'originals', kept: 2, deleted: 1, deleted_bytes: 10 };
    const would = await cli.json('media', 'sweep', '--dry-run');
    expect(would.dry_run).toBe(true);
    expect(would.areas).toHaveLength(4);
    expect(would.areas[0]).toEqual(swept);
    const done = await cli.json('media', 'sweep', '--environment', 'live');
    expect(done.areas).toHaveLength(2);
    expect(done.areas[0]).toEqual(swept);
    const again = await cli.run('media', 'sweep', '--environment', 'live');
    expect(again.stdout).toMatch(/live +originals +2 +0 +0\n/);
    expectFailure(
      await cli.run('media', 'sweep', '--environment', 'both'),
      2,
      "argument 'both' is invalid. Allowed choices are live, test.",
    );
  }));
