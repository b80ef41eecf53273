const { execFileSync, spawnSync } = require('node:child_process');
const { randomInt } = require('node:crypto');
const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join, relative } = require('node:path');
const { parseArgs } = require('node:util');

/*
 * npm run test:long -- [--minutes N] [--seed N] [FILE…]
 *
 * Runs the test files that use `test/support/long.ts`, or those given, at length. Takes them two at a time, in a random order
 * and each time with a new seed, until the minutes are over (default: 10). `--seed` gives the first seed. Ends with the number
 * of random histories and cases. Ends with 1 at the first failure, and prints the command that repeats it.
 */
const MINUTES = 10;
const AT_ONCE = 2;
const SEEDS = 2 ** 31;
const ROOT = join(__dirname, '..');
const JEST = require.resolve('jest/bin/jest');

const { values, positionals } = parseArgs({
  options: { minutes: { type: 'string' }, seed: { type: 'string' } },
  allowPositionals: true,
});
const minutes = Number(values.minutes ?? MINUTES);
const first_seed = Number(values.seed ?? randomInt(1, SEEDS));
if (!(minutes > 0) || !Number.isInteger(first_seed))
  throw new Error('Invalid option: expected `npm run test:long -- --minutes 5 --seed 1`.');

/** Returns the test files that use `long.ts`, in an order that depends on the seed. */
function findFiles() {
  const long = join(ROOT, 'dist/test/support/long.js');
  const options = ['--selectProjects', 'files', '--listTests', '--findRelatedTests', long];
  const output = execFileSync(process.execPath, [JEST, ...options], { cwd: ROOT, encoding: 'utf8' });
  const files = output.split('\n').filter((line) => line.endsWith('.test.js'));
  const start = first_seed % files.length;
  return [...files.slice(start), ...files.slice(0, start)].map((file) => relative(ROOT, file));
}

const end_ms = Date.now() + minutes * 60_000;
const folder = mkdtempSync(join(tmpdir(), 'catalog-long-'));
const runs_file = join(folder, 'runs');
writeFileSync(runs_file, '');
const files = positionals.length > 0 ? positionals : findFiles();
let seed = first_seed;
let is_green = true;
for (let at = 0; is_green && (at === 0 || Date.now() < end_ms); at += AT_ONCE) {
  const some = files.slice(at % files.length, (at % files.length) + AT_ONCE);
  const command = `npm run test:long -- --seed ${seed} ${some.join(' ')}`;
  console.log(command);
  const env = { ...process.env, TEST_LONG: '1', TEST_SEED: String(seed), TEST_RUNS_FILE: runs_file };
  const options = ['-w', String(AT_ONCE), '--selectProjects', 'files', '--runTestsByPath', ...some];
  const { status } = spawnSync(process.execPath, [JEST, ...options], { cwd: ROOT, stdio: 'inherit', env });
  is_green = status === 0;
  if (!is_green) console.log(`Failed. To repeat it: ${command}`);
  seed = (seed % SEEDS) + 1;
}
const histories = readFileSync(runs_file, 'utf8')
  .split('\n')
  .reduce((sum, line) => sum + Number(line), 0);
rmSync(folder, { recursive: true });
console.log(`${histories} random histories and cases ran, with the seeds from ${first_seed} to ${seed - 1}.`);
process.exitCode = is_green ? 0 : 1;
