import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { environmentWithoutServers } from '../support/own-servers';
import { withTempDir } from '../support/temp-dir';
import { within } from '../support/wait-for';

const ROOT = join(__dirname, '..', '..');
/** Runs a program as process 1 of a name space of its own, as in a container. Ends it together with `unshare`. */
const AS_FIRST_PROCESS = ['--pid', '--fork', '--kill-child'];

function mayUnshare(): boolean {
  try {
    execFileSync('unshare', [...AS_FIRST_PROCESS, 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const testInContainer = mayUnshare() ? test : test.skip;

testInContainer(
  'as the first process of a container, the service ends at a SIGTERM while it loads its modules',
  () =>
    withTempDir(async (folder) => {
      const preload = join(ROOT, 'test', 'support', 'stop-while-loading.js');
      const main = join(ROOT, 'services', 'boot', 'main.js');
      const child = spawn('unshare', [...AS_FIRST_PROCESS, process.execPath, '--require', preload, main], {
        env: { ...environmentWithoutServers(), PORT: '0', WORKER_PORT: '0', DEMO: 'off', DATA_DIR: folder },
        stdio: 'ignore',
      });
      try {
        expect(await within(once(child, 'exit'), 'the end')).toEqual([0, null]);
      } finally {
        child.kill('SIGKILL');
      }
    }),
);
