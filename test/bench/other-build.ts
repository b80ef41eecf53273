import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A built tree of the project. */
export interface Build {
  readonly name: string;
  /** The folder with `package.json` and `dist`. */
  readonly root: string;
}

const ROOT = join(__dirname, '..', '..', '..');
/** Written into `dist` when a build is complete. */
const BUILT_FILE = 'built';

export const THIS_BUILD: Build = { name: 'this', root: ROOT };

/** Checks out another commit below `folder` and builds it, unless an earlier run has done so. */
export function buildOf(ref: string, folder: string): Build {
  const commit = commitOf(ref);
  const build: Build = { name: commit.slice(0, 8), root: join(folder, commit) };
  if (existsSync(join(build.root, 'dist', BUILT_FILE))) return build;
  console.error(`building ${ref} in ${build.root}`);
  mkdirSync(folder, { recursive: true });
  run(ROOT, 'git', ['worktree', 'prune']);
  if (!existsSync(build.root)) run(ROOT, 'git', ['worktree', 'add', '--detach', build.root, commit]);
  addPackages(build);
  // Its types were checked when it was committed.
  run(build.root, process.execPath, [
    join('node_modules', 'typescript', 'bin', 'tsc'),
    '-p',
    'tsconfig.json',
    '--noCheck',
  ]);
  writeFileSync(join(build.root, 'dist', BUILT_FILE), '');
  return build;
}

function commitOf(ref: string): string {
  try {
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`];
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
  } catch {
    throw new Error(`Unknown commit: ${ref}. If this is a shallow clone, fetch it first.`);
  }
}

/** Links the packages of this tree if the other commit locks the same ones, and installs its own otherwise. */
function addPackages({ root }: Build): void {
  const packages = join(root, 'node_modules');
  if (existsSync(packages)) return;
  const lockOf = (tree: string): string => readFileSync(join(tree, 'package-lock.json'), 'utf8');
  if (lockOf(root) === lockOf(ROOT)) symlinkSync(join(ROOT, 'node_modules'), packages);
  else run(root, 'npm', ['ci', '--no-fund', '--no-audit']);
}

/** Runs a program to its end. Its output goes to stderr, because stdout has the table. */
function run(cwd: string, program: string, args: readonly string[]): void {
  execFileSync(program, args, { cwd, stdio: ['ignore', process.stderr.fd, 'inherit'] });
}

/** Returns the folder of a catalog whose log the build has written. Writes it unless an earlier run has done so. */
export function catalogOf({ root }: Build, size: number, folder: string): string {
  const main = join(root, 'dist', 'test', 'bench', 'main.js');
  const args = [main, '--generate', '--size', String(size), '--data', folder];
  return execFileSync(process.execPath, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim();
}
