import { exitCodeOf } from '../../../services/cli/invocation';
import { buildProgram } from '../../../services/cli/program';

const ID = '01890a5d-ac96-774b-bcce-b302099a8057';

/** Parses a command line that is wrong. Returns what commander prints on standard error, and the exit code. */
async function fail(args: readonly string[]): Promise<[stderr: string, exit_code: number]> {
  let stderr = '';
  const write = jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    stderr += text;
    return true;
  });
  try {
    const error = await buildProgram()
      .parseAsync(args, { from: 'user' })
      .then(
        () => new Error('the command line was accepted'),
        (reason: unknown) => reason,
      );
    return [stderr, exitCodeOf(error)];
  } finally {
    write.mockRestore();
  }
}

const USAGE = (command: string): string => `Run "catalog ${command} --help" for usage.`;

test.each([
  ['account create', `Missing required option --name <name>. ${USAGE('account create')}`],
  ['account create --name', `Option --name <name> needs a value. ${USAGE('account create')}`],
  ['account suspend', `Missing required argument <id>. ${USAGE('account suspend')}`],
  ['account creat', `Unknown command "creat". Did you mean create? ${USAGE('account')}`],
  ['account xyz', `Unknown command "xyz". ${USAGE('account')}`],
  ['account list --jso', `Unknown option --jso. Did you mean --json? ${USAGE('account list')}`],
  ['account list --xyz', `Unknown option --xyz. ${USAGE('account list')}`],
  ['account list a b', `Too many arguments: expected 0, got 2. ${USAGE('account list')}`],
  ['projections verify --realm x', 'Invalid --realm "x": expected one of control, live, test.'],
  [`store status ${ID} x`, 'Invalid status "x": expected one of active, inactive, suspended.'],
])('catalog %s: %s', async (line, message) => {
  expect(await fail(line.split(' '))).toEqual([`catalog: ${message}\n`, 2]);
});
