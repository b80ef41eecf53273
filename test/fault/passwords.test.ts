import { Cli, InProcessCli } from '../api/cli-run';
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

/** Returns what a service prints and answers that cannot reach its servers. */
async function outputOfService(addresses: Addresses): Promise<string> {
  return withTempDir(async (folder) => {
    const running = await startProcess(
      'services/boot/main.js',
      { ...DEBUG, ...addresses, DATA_DIR: folder },
      { keep_output: true },
    );
    const [ready, metrics] = await Promise.all(
      ['/health/ready', '/metrics'].map(async (path) => (await fetch(`${running.url}${path}`)).text()),
    );
    expect(ready).toContain('waiting_for');
    expect(metrics).toContain('catalog_ready 0');
    await running.end('SIGTERM');
    expect(running.output()).toContain('"level":"debug"');
    return running.output() + ready + metrics;
  });
}

async function outputOfCommand(command: string, addresses: Addresses): Promise<string> {
  return withTempDir(async (folder) => {
    const { stdout, stderr } = await new Cli(folder, { ...DEBUG, ...addresses }).run(...command.split(' '));
    expect(stdout + stderr).not.toBe('');
    return stdout + stderr;
  });
}

// At the same time, because each waits for time limits of the clients.
test('neither the service nor a command prints a password of servers that it cannot reach', async () => {
  const refusing = addressesOf('127.0.0.1');
  // `outage-causes.test.ts` has every server without a host and every server that does not run.
  const { REDIS_URL } = addressesOf('no-such-host.invalid');
  const outputs = await Promise.all([
    outputOfService({ ...refusing, REDIS_URL }),
    ...COMMANDS.map((command) => outputOfCommand(command, refusing)),
  ]);
  for (const output of outputs) expect(output).not.toContain(PASSWORD);
});

/** Addresses that only their client refuses. `test/unit/kernel/config.test.ts` has the others. */
test('an address that is refused ends a process and a command, which name the reason without the password', () =>
  withTempDir(async (folder) => {
    await new InProcessCli(folder, DEBUG).account();
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
      const { code, stdout, stderr } = await new InProcessCli(folder, environment).run('account', 'list');
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
