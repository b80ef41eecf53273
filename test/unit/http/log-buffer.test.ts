import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const LOG = JSON.stringify(join(__dirname, '../../../shared/kernel/log.js'));

/** Runs `script` in a new process with a `log` that writes to standard error, and returns the log lines. */
function linesOf(script: string): string[] {
  const source = `const log = require(${LOG}).createLogger({ level: 'info', destination: 2 }); ${script}`;
  const { stderr } = spawnSync(process.execPath, ['-e', source], { encoding: 'utf8' });
  return stderr.split('\n').filter((line) => line.startsWith('{'));
}

const MANY = "for (let n = 0; n < 1000; n++) log.info({ n }, 'x'.repeat(n % 300));";
const numbers = (lines: readonly string[]): number[] => lines.map((line) => JSON.parse(line).n);
const ALL = Array.from({ length: 1000 }, (_, n) => n);

describe('buffered log lines', () => {
  test.each([
    ['runs out of work', ''],
    ['exits', 'process.exit(0);'],
    ['throws an uncaught error', "throw new Error('not caught');"],
    ['has an unhandled rejection', "Promise.reject(new Error('not caught'));"],
  ])('are all written, in order, when the process %s', (_name, end) => {
    expect(numbers(linesOf(MANY + end))).toEqual(ALL);
  });

  test('are written at once when a warning is logged', () => {
    const lines = linesOf("log.info({ n: 1 }); log.warn({ n: 2 }); process.kill(process.pid, 'SIGKILL');");
    expect(numbers(lines)).toEqual([1, 2]);
  });

  test('are written after a short delay', () => {
    const lines = linesOf(
      "log.info({ n: 1 }); setTimeout(() => process.kill(process.pid, 'SIGKILL'), 2_000);",
    );
    expect(numbers(lines)).toEqual([1]);
  });

  test('are not mixed with those of other processes that share a full pipe', () => {
    const script = `const log = require(${LOG}).createLogger({ level: 'info', destination: 2 }); ${MANY}`;
    // A slow reader, so that the pipe is full most of the time.
    const pipeline = '(for n in 1 2 3; do "$0" -e "$1" & done; wait) 2>&1 | dd bs=100 2>/dev/null';
    const { stdout } = spawnSync('sh', ['-c', pipeline, process.execPath, script], { encoding: 'utf8' });
    const lines = stdout.trimEnd().split('\n');
    expect(numbers(lines).sort((a, b) => a - b)).toEqual(ALL.flatMap((n) => [n, n, n]));
  });
});
