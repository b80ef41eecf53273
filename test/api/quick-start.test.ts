import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { startAllInOne } from '../../services/boot/all-in-one';
import { ensureDemo } from '../../services/demo/ensure';
import { parseConfig } from '../../shared/kernel/config';
import { environmentWithoutServers } from '../support/own-servers';
import { describeWithProgram } from '../support/programs';
import { withTempDir } from '../support/temp-dir';

/** The commands of docs/quick-start.md, without the one that starts the service. */
const [start, ...commands] = [
  ...readFileSync('docs/quick-start.md', 'utf8').matchAll(/^```sh\n([\s\S]*?)^```/gm),
].map(([, block]) => block!);

const MAIN = join(__dirname, '..', '..', 'services', 'cli', 'main.js');
/** Stands for `npx catalog`, which works only in the folder of the project. */
const NPX = `npx() { shift; "${process.execPath}" "${MAIN}" "$@"; }\n`;

describeWithProgram('curl', 'the commands of the quick start', () => {
  test('work one after another on a new demo', () =>
    withTempDir(async (folder) => {
      expect(start).toBe('npm run up\n');
      const DATA_DIR = join(folder, 'data');
      const config = parseConfig({ DATA_DIR, PORT: '0', LOG_LEVEL: 'silent' });
      const service = await startAllInOne(config, pino({ level: 'silent' }));
      try {
        await ensureDemo(service.runtime, config);
        expect(await service.pipelines.caughtUp(10_000)).toBe(true);
        writeFileSync(join(folder, 'products.csv'), 'Handle,Title,Variant Price\nmug,Blue mug,12\n');
        const script = NPX + commands.join('').replace('http://127.0.0.1:8080', service.url);
        const env = { ...environmentWithoutServers(), DATA_DIR };
        const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
          ...{ cwd: folder, env },
        });
        // Two pages, the new publication, a page with it, a key, and the report of an import.
        expect(stdout.match(/"code":\d+/g)).toEqual(['"code":200', '"code":200', '"code":201', '"code":200']);
        expect(stdout).toContain('Taza Amancay');
        expect(stdout.split('Green tea, 100 g')).toHaveLength(3);
        expect(stdout).toMatch(/sk_live_/);
        expect(stdout).toMatch(/^publications +1 /m);
      } finally {
        await service.close();
      }
    }));
});
