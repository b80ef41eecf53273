import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sessions } from '../../../services/web/console/sign-in';
import { withTempDir } from '../../support/temp-dir';

test('a folder of sessions that cannot be read is an error, and no sign-out', () =>
  withTempDir(async (folder) => {
    const path = join(folder, 'sessions');
    const sessions = new Sessions(path);
    expect(await sessions.has('cookie')).toBe(false);
    await sessions.begin('cookie');
    expect(await sessions.has('cookie')).toBe(true);
    writeFileSync(join(folder, 'file'), '');
    await expect(new Sessions(join(folder, 'file')).has('cookie')).rejects.toMatchObject({ code: 'ENOTDIR' });
  }));
