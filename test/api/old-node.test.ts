import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withTempDir } from '../support/temp-dir';

const PROGRAMS = ['dist/services/boot/main.js', 'dist/services/cli/main.js', 'services/boot/prepare.js'];

/** Makes Node.js report another version, and lack a function that versions before 20 do not have. */
const pretend = (version: string): string => `
Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });
if (${Number.parseInt(version, 10) < 20}) delete Array.prototype.toSpliced;
`;

async function runOn(version: string, program: string, args: readonly string[] = [], settings = {}) {
  return withTempDir(async (folder) => {
    const preload = join(folder, 'preload.js');
    writeFileSync(preload, pretend(version));
    // `prepare.js` would run npm. It runs this script instead, which does nothing.
    const npm_execpath = preload;
    const env = { ...process.env, npm_execpath, DATA_DIR: folder, PORT: '0', WORKER_PORT: '0', ...settings };
    return spawnSync(process.execPath, ['--require', preload, program, ...args], { encoding: 'utf8', env });
  });
}

test.each(PROGRAMS)('%s refuses Node.js 18 with one line', async (program) => {
  const { status, stdout, stderr } = await runOn('18.20.8', program, ['--help']);
  expect(stderr).toBe('catalog: Node.js 18.20.8 is too old. Install Node.js 20.19 or newer.\n');
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
});

test.each(['20.18.3', '20.9.0', '16.20.2'])('Node.js %s is refused', async (version) => {
  expect((await runOn(version, 'dist/services/boot/node-version.js')).status).toBe(1);
});

test.each(['20.19.0', '21.0.0', '22.4.1', '100.0.0'])('Node.js %s is accepted', async (version) => {
  expect(await runOn(version, 'dist/services/boot/node-version.js')).toMatchObject({ status: 0, stderr: '' });
});

test.each(['20.19.0', '22.11.0'])('Node.js %s cannot start several HTTP processes', async (version) => {
  const settings = { WORKERS: '2', DEMO: 'off' };
  const { status, stderr } = await runOn(version, 'dist/services/boot/main.js', [], settings);
  expect(stderr).toBe(
    `WORKERS above 1 needs Node.js 22.12 or newer, and this is ${version}. Install a newer one, or set WORKERS=1.\n`,
  );
  expect(status).toBe(1);
});
