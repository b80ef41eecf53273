import { exitCodeOf } from '../../../services/cli/invocation';
import { buildProgram } from '../../../services/cli/program';

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

test.each([
  ['account create', "Required option '--name <name>' not specified."],
  ['account create --name', "Option '--name <name>' argument missing."],
  ['account suspend', "Missing required argument 'id'."],
  ['account creat', "Unknown command 'creat' (Did you mean create?)."],
  ['account list --jso', "Unknown option '--jso' (Did you mean --json?)."],
  ['account list a b', "Too many arguments for 'list'. Expected 0 arguments but got 2."],
  [
    'projections verify --realm x',
    "Option '--realm <realm>' argument 'x' is invalid. Allowed choices are control, live, test.",
  ],
])('catalog %s: %s', async (line, message) => {
  const [noun, verb] = line.split(' ');
  const command = `catalog ${noun}${verb === 'creat' ? '' : ` ${verb}`}`;
  expect(await fail(line.split(' '))).toEqual([
    `catalog: ${message} Run "${command} --help" for usage.\n`,
    2,
  ]);
});
