import { Cli } from '../api/cli-run';
import { endAll, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';

/** Tests that no output of any process contains the password of a server, whatever is wrong with its address. */

const PASSWORD = 'hunter2hunter2';
const SETTINGS = ['EVENTSTORE_URL', 'REDIS_URL', 'MONGODB_URL'] as const;
type Addresses = Record<(typeof SETTINGS)[number], string>;

/** Addresses with a password, of servers that do not run: nothing listens on port 1. */
const addressesOf = (host: string): Addresses => ({
  EVENTSTORE_URL: `esdb://reader:${PASSWORD}@${host}:1?tls=true`,
  REDIS_URL: `rediss://reader:${PASSWORD}@${host}:1/0`,
  MONGODB_URL: `mongodb://reader:${PASSWORD}@${host}:1/catalog?tls=true&authSource=admin`,
});

const DEBUG = { LOG_LEVEL: 'debug', DEMO: 'off' };
const COMMANDS = ['config', 'account list', 'projections status'];

afterEach(endAll);

describe.each([
  ['whose server does not run', addressesOf('127.0.0.1')],
  ['whose host does not exist', addressesOf('no-such-host.invalid')],
])('with addresses %s', (_name, addresses) => {
  test('the service never prints a password', () =>
    withTempDir(async (folder) => {
      const process = await startProcess(
        'services/boot/main.js',
        { ...DEBUG, ...addresses, DATA_DIR: folder },
        { keep_output: true },
      );
      const texts = await Promise.all(
        ['/health/ready', '/metrics'].map(async (path) => (await fetch(`${process.url}${path}`)).text()),
      );
      expect(texts[0]).toContain('waiting_for');
      expect(texts[1]).toContain('catalog_ready 0');
      await process.end('SIGTERM');
      expect(process.output()).toContain('"level":"debug"');
      expect(process.output() + texts.join('')).not.toContain(PASSWORD);
    }));
});

test('no command prints a password of a server that does not run', () =>
  withTempDir(async (folder) => {
    const cli = new Cli(folder, { ...DEBUG, ...addressesOf('127.0.0.1') });
    const run = (command: string) => cli.run(...command.split(' '));
    for (const { stdout, stderr } of await Promise.all(COMMANDS.map(run))) {
      expect(stdout + stderr).not.toBe('');
      expect(stdout + stderr).not.toContain(PASSWORD);
    }
  }));

/** Addresses that only their client refuses. `test/unit/kernel/config.test.ts` has the others. */
test('an address that is refused ends a process and a command, which name the reason without the password', () =>
  withTempDir(async (folder) => {
    await new Cli(folder, DEBUG).account();
    const { EVENTSTORE_URL, MONGODB_URL } = addressesOf('127.0.0.1');
    const refused: [setting: string, url: string, expected: string][] = [
      [
        'EVENTSTORE_URL',
        `${EVENTSTORE_URL}&tlsCAFile=/no/such/ca.crt`,
        'tlsCAFile: /no/such/ca.crt does not exist',
      ],
      ['EVENTSTORE_URL', `${EVENTSTORE_URL}&tlsCAFile=${__filename}`, 'is not a certificate in PEM'],
      ['MONGODB_URL', `${MONGODB_URL}&retries=5`, 'retries'],
      ['MONGODB_URL', MONGODB_URL.replace('mongodb', 'mongodb+srv'), 'port'],
    ];
    const failures = refused.map(async ([setting, url], index) => {
      const environment = { ...DEBUG, [setting]: url };
      if (index === 0) {
        const started = startProcess('services/boot/main.js command', { ...environment, DATA_DIR: folder });
        return started.then(
          () => 'started',
          (error: Error) => error.message,
        );
      }
      const { code, stdout, stderr } = await new Cli(folder, environment).run('account', 'list');
      expect([code, stdout]).toEqual([1, '']);
      return stderr;
    });
    for (const [index, failure] of (await Promise.all(failures)).entries()) {
      const [setting, , expected] = refused[index]!;
      expect(failure).toContain(`Invalid ${setting}`);
      expect(failure).toContain(expected);
      expect(failure).not.toContain(PASSWORD);
    }
  }));
