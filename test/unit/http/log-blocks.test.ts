import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const LOG = JSON.stringify(join(__dirname, '../../../shared/kernel/log.js'));

/** What a process of its own that runs `script` with a `log` to standard error leaves there, as lines. */
function linesOf(script: string): string[] {
  const source = `const log = require(${LOG}).createLogger({ level: 'info', destination: 2 }); ${script}`;
  const { stderr } = spawnSync(process.execPath, ['-e', source], { encoding: 'utf8' });
  return stderr.split('\n').filter((line) => line.startsWith('{'));
}

const MANY = "for (let n = 0; n < 1000; n++) log.info({ n }, 'x'.repeat(n % 300));";
const numbers = (lines: readonly string[]): number[] => lines.map((line) => JSON.parse(line).n);
const ALL = Array.from({ length: 1000 }, (_, n) => n);

describe('lines that are written together', () => {
  test.each([
    ['runs out of work', ''],
    ['exits', 'process.exit(0);'],
    ['fails', "throw new Error('not caught');"],
    ['rejects', "Promise.reject(new Error('not caught'));"],
  ])('are all there, whole and in order, when the process %s', (_how, end) => {
    expect(numbers(linesOf(MANY + end))).toEqual(ALL);
  });

  test('do not wait where one of them is a warning', () => {
    const lines = linesOf("log.info({ n: 1 }); log.warn({ n: 2 }); process.kill(process.pid, 'SIGKILL');");
    expect(numbers(lines)).toEqual([1, 2]);
  });

  test('do not wait for others for ever', () => {
    const lines = linesOf(
      "log.info({ n: 1 }); setTimeout(() => process.kill(process.pid, 'SIGKILL'), 2_000);",
    );
    expect(numbers(lines)).toEqual([1]);
  });
});
