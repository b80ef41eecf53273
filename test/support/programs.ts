import { spawnSync } from 'node:child_process';
import { basename } from 'node:path';

const isInstalled = (program: string): boolean => spawnSync(program, ['--help']).error === undefined;

/** Returns whether the program is installed. If not, prints which program is missing for what. */
export function hasProgram(program: string, what: string): boolean {
  if (isInstalled(program)) return true;
  const file = basename(expect.getState().testPath ?? '');
  process.stderr.write(`skipped (no ${program}): ${file}: ${what}\n`);
  return false;
}

/** Defines `stories` if the program is installed. If not, skips the block and prints which program is missing. */
export function describeWithProgram(program: string, name: string, stories: () => void): void {
  if (hasProgram(program, name)) return void describe(name, stories);
  describe.skip(`${name} (skipped: no ${program})`, () => test('needs a program', () => {}));
}

/** Runs a program to its end. Throws with all that it printed if it fails. */
export function run(program: string, options: readonly string[], cwd = process.cwd()): string {
  const { status, stdout, stderr, error } = spawnSync(program, options, {
    cwd,
    encoding: 'utf8',
    timeout: 60_000,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ${options.join(' ')}: ${stderr}${stdout}`);
  return stdout + stderr;
}
