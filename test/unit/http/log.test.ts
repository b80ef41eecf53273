import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createLogger } from '../../../shared/kernel/log';

const KEY = `sk_live_${'a'.repeat(43)}`;
const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJ4In0.c2lnbmF0dXJl';

function logged(write: (log: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = [];
  write(createLogger({ level: 'trace', destination: { write: (line) => lines.push(line) } }));
  return lines.join('');
}

describe('secrets in log lines', () => {
  test.each([
    ['authorization', 'Basic x7x7x7'],
    ['x-api-key', 'x7x7x7'],
    ['token', 'x7x7x7'],
    ['access_token', 'x7x7x7'],
    ['JWT_SECRET', 'x7x7x7'],
    ['private_key', 'x7x7x7'],
    ['api_key', 'x7x7x7'],
    ['key', 'x7x7x7'],
    ['password', 'x7x7x7'],
    ['set-cookie', 'x7x7x7'],
  ])('the value of a field named %s is hidden at any depth', (name, value) => {
    const text = logged((log) => {
      log.info({ [name]: value }, 'top');
      log.info({ headers: { [name]: value }, list: [{ [name]: value }] }, 'nested');
      log.child({ [name]: value }).info('bound');
    });
    expect(text).not.toContain('x7x7x7');
    expect(text.trim().split('\n')).toHaveLength(3);
  });

  test.each([KEY, KEY.replace('sk_live', 'pk_test'), TOKEN, `Bearer ${'x'.repeat(40)}`])(
    '%s is hidden in any text',
    (secret) => {
      const text = logged((log) => {
        log.info(`asked with ${secret}`);
        log.info({ path: `/api/${secret}`, note: secret });
        log.error({ err: new Error(`bad ${secret}`) }, 'failed');
        log.error(new Error(`bad ${secret}`));
        log.info({ deep: { a: { b: { c: { d: { e: { f: { g: { note: secret } } } } } } } } });
        log.info('formatted %s', secret);
      });
      expect(text).not.toContain(secret.replace('Bearer ', ''));
      for (const line of text.trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
    },
  );

  test('other values are not changed', () => {
    const line = JSON.parse(
      logged((log) =>
        log.warn(
          { api_key_id: 'abc', key_type: 'public', partition_key: 'p', err: new Error('why') },
          'text',
        ),
      ),
    );
    expect(line).toMatchObject({
      level: 'warn',
      api_key_id: 'abc',
      key_type: 'public',
      partition_key: 'p',
      msg: 'text',
      err: { message: 'why' },
    });
  });
});

describe('errors without a message', () => {
  const message = (err: unknown): string =>
    JSON.parse(logged((log) => log.warn({ err }, 'failed'))).err.message;

  test('have that of their first part or cause, or else their code or name', () => {
    expect(message(new AggregateError([new Error('connect ECONNREFUSED')]))).toBe('connect ECONNREFUSED');
    expect(message(new Error('', { cause: new Error('no route') }))).toBe('no route');
    expect(message(Object.assign(new Error(''), { code: 'ECONNRESET' }))).toBe('ECONNRESET');
    expect(message(new TypeError(''))).toBe('TypeError');
    expect(message(new Error('too late', { cause: new Error('slow') }))).toBe('too late: slow');
  });
});

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
