import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sessions } from '../../../shared/http/sessions';
import { withTempDir } from '../../support/temp-dir';

test('a session is read with its cookie until it ends; a folder that cannot be read is an error, and no sign-out', () =>
  withTempDir(async (folder) => {
    const path = join(folder, 'sessions');
    const sessions = new Sessions(path);
    expect(await sessions.use('cookie')).toBeUndefined();
    const cookie = await sessions.begin('a token');
    expect(await sessions.use(cookie)).toBe('a token');
    const files = readdirSync(path).map((name) => name + readFileSync(join(path, name), 'latin1'));
    expect(files).toHaveLength(1);
    for (const secret of [cookie, 'a token']) expect(files[0]).not.toContain(secret);
    writeFileSync(join(path, readdirSync(path)[0]!), 'damaged');
    expect(await sessions.use(cookie)).toBeUndefined();
    await sessions.end(cookie);
    expect(await sessions.use(cookie)).toBeUndefined();
    writeFileSync(join(folder, 'file'), '');
    await expect(new Sessions(join(folder, 'file')).use('cookie')).rejects.toMatchObject({
      code: 'ENOTDIR',
    });
  }));
