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
  test.each(['all', 'command', 'query', 'worker'])('%s never prints a password', async (main) => {
    await withTempDir(async (folder) => {
      const process = await startProcess(
        `services/boot/main.js ${main}`,
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
    });
  });

  test.each(COMMANDS)('catalog %s never prints a password', async (command) => {
    await withTempDir(async (folder) => {
      const cli = new Cli(folder, { ...DEBUG, ...addresses });
      const { stdout, stderr } = await cli.run(...command.split(' '));
      expect(stdout + stderr).not.toBe('');
      expect(stdout + stderr).not.toContain(PASSWORD);
    });
  });
});

describe('an address that is refused', () => {
  const { EVENTSTORE_URL, REDIS_URL, MONGODB_URL } = addressesOf('127.0.0.1');
  const REFUSED: [setting: string, url: string, expected: string][] = [
    ['EVENTSTORE_URL', `${EVENTSTORE_URL}&tlsVerifyCert=false`, 'tlsVerifyCert to be true'],
    ['EVENTSTORE_URL', `${EVENTSTORE_URL}&retries=5`, 'no option retries'],
    [
      'EVENTSTORE_URL',
      `${EVENTSTORE_URL}&tlsCAFile=/no/such/ca.crt`,
      'tlsCAFile: /no/such/ca.crt does not exist',
    ],
    ['EVENTSTORE_URL', `${EVENTSTORE_URL}&tlsCAFile=${__filename}`, 'is not a certificate in PEM'],
    ['REDIS_URL', `${REDIS_URL},127.0.0.1:2`, 'a number of a database'],
    ['MONGODB_URL', `${MONGODB_URL}&retries=5`, 'retries'],
    ['MONGODB_URL', MONGODB_URL.replace('mongodb', 'mongodb+srv'), 'port'],
  ];

  test.each(REFUSED)(
    '%s=%s ends every process and command, which name the reason',
    async (setting, url, expected) => {
      await withTempDir(async (folder) => {
        const environment = { ...DEBUG, [setting]: url };
        const started = startProcess('services/boot/main.js command', { ...environment, DATA_DIR: folder });
        const failure = await started.then(
          () => 'started',
          (error: Error) => error.message,
        );
        const { code, stdout, stderr } = await new Cli(folder, environment).run('account', 'list');
        expect(code).toBe(1);
        for (const text of [failure, stderr]) {
          expect(text).toContain(`Invalid ${setting}`);
          expect(text).toContain(expected);
        }
        expect(failure + stdout + stderr).not.toContain(PASSWORD);
      });
    },
  );
});
