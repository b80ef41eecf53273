import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withTempDir } from '../support/temp-dir';
import { CLIENT_TYPES, EDITS, type Edit } from './edits';

/*
 * Shows how many edits a new field needs. In a copy of the sources, applies the edits of `edits.ts`: publications get a
 * `trial_field`, in three product files. The copy then compiles and passes `story.ts`. If any one edit is left out, the
 * compiler or the story reports it. Run by `npm run test:field`.
 */

const ROOT = join(__dirname, '..', '..', '..');
const FILES_MAX = 3;

/** The first step that fails, with its output. */
type Failure = { readonly step: string; readonly output: string } | undefined;

/** Includes `dist`, so that unchanged files need not be compiled again. */
const COPIED = [
  '.ci',
  'services',
  'shared',
  'projections',
  'test',
  'dist',
  'package.json',
  'tsconfig.json',
  'tsconfig.client.json',
  // `npm run generate` writes its tables.
  'docs/feeds.md',
];

function copyTree(tree: string): void {
  for (const name of COPIED) cpSync(join(ROOT, name), join(tree, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
}

/** Restores the sources of the copy and applies these edits. */
function apply(tree: string, edits: readonly Edit[]): void {
  for (const { file } of Object.values(EDITS)) cpSync(join(ROOT, file), join(tree, file));
  for (const { file, before, added } of edits) {
    const lines = readFileSync(join(tree, file), 'utf8').split('\n');
    const index = lines.findIndex((line) => line.includes(before));
    if (index === -1) throw new Error(`${file} has no line with ${before}`);
    lines.splice(index, 0, ...added.trimEnd().split('\n'));
    writeFileSync(join(tree, file), lines.join('\n'));
  }
}

function run(tree: string, steps: readonly (readonly [step: string, ...command: string[]])[]): Failure {
  for (const [step, command, ...args] of steps) {
    const { status, stdout, stderr } = spawnSync(command!, args, { cwd: tree, encoding: 'utf8' });
    if (status !== 0) return { step, output: `${stdout}${stderr}` };
  }
  return undefined;
}

const TSC = join('node_modules', '.bin', 'tsc');
const COMPILE = ['the compiler, as in `npm run check`', TSC, '-p', 'tsconfig.json'] as const;
const STORY = ['the story', process.execPath, '--enable-source-maps', 'dist/test/field/story.js'] as const;
const GENERATE = ['`npm run generate`', process.execPath, '.ci/generate.js'] as const;
const CLIENT = ["the client's types", TSC, '-p', 'tsconfig.client.json', '--noEmit'] as const;

function checkAllEdits(tree: string): boolean {
  const edits = Object.values(EDITS);
  const files = new Set(edits.map(({ file }) => file));
  apply(tree, edits);
  const failure = run(tree, [COMPILE, STORY, GENERATE]) ?? checkClientTypes(tree);
  console.log(
    `With ${edits.length} edits in ${files.size} files: ${failure ? `${failure.step} fails` : 'everything passes'}`,
  );
  if (failure) console.error(failure.output);
  return failure === undefined && files.size <= FILES_MAX;
}

function checkClientTypes(tree: string): Failure {
  const file = join(tree, 'shared/client/trial-field-types.ts');
  writeFileSync(file, CLIENT_TYPES);
  const failure = run(tree, [CLIENT]);
  rmSync(file);
  return failure;
}

function checkEachIsNeeded(tree: string): boolean {
  const names = Object.keys(EDITS) as (keyof typeof EDITS)[];
  const detected = names.map((omitted) => {
    apply(
      tree,
      names.filter((name) => name !== omitted).map((name) => EDITS[name]),
    );
    const failure = run(tree, [COMPILE, STORY]);
    const first = failure?.output
      .split('\n')
      .find((line) => /error/i.test(line))
      ?.slice(0, 160);
    console.log(`Without ${omitted}: ${failure ? `${failure.step} fails: ${first}` : 'NOTHING FAILS'}`);
    return failure !== undefined;
  });
  return detected.every(Boolean);
}

withTempDir(async (tree) => {
  copyTree(tree);
  const is_complete = checkAllEdits(tree);
  if (!is_complete || !checkEachIsNeeded(tree)) process.exitCode = 1;
});
