const { spawnSync } = require('node:child_process');
const { randomInt } = require('node:crypto');
const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { parseArgs } = require('node:util');

/*
 * Runs the tests that use `test/support/long.ts` at length, with a new seed each round, until the minutes are over.
 * `--minutes 5` or TEST_MINUTES=5 sets them. With TEST_SEED it runs one round, of this seed. Jest gets the other arguments.
 */
const MINUTES = 10;

const { values, tokens } = parseArgs({
  options: { minutes: { type: 'string' } },
  strict: false,
  tokens: true,
});
const minutes = Number(values.minutes ?? process.env.TEST_MINUTES ?? MINUTES);
if (!(minutes > 0))
  throw new Error('Invalid minutes: expected a number above 0, as in `npm run test:long -- --minutes 5`.');
const ofMinutes = tokens.filter((token) => token.kind === 'option' && token.name === 'minutes');
const argumentsOfJest = process.argv
  .slice(2)
  .filter(
    (_, index) =>
      !ofMinutes.some((token) => index === token.index || (!token.inlineValue && index === token.index + 1)),
  );

const end_ms = Date.now() + minutes * 60_000;
const folder = mkdtempSync(join(tmpdir(), 'catalog-long-'));
const runs_file = join(folder, 'runs');
writeFileSync(runs_file, '');
let rounds = 0;
let failed_seed;
do {
  const seed = process.env.TEST_SEED ?? String(randomInt(1, 2 ** 31));
  rounds += 1;
  console.log(`Round ${rounds}: TEST_SEED=${seed}`);
  const { status } = spawnSync(
    process.execPath,
    [
      require.resolve('jest/bin/jest'),
      ...['--selectProjects', 'embedded'],
      ...argumentsOfJest,
      ...['--findRelatedTests', join(__dirname, '..', 'dist', 'test', 'support', 'long.js')],
    ],
    { stdio: 'inherit', env: { ...process.env, TEST_LONG: '1', TEST_SEED: seed, TEST_RUNS_FILE: runs_file } },
  );
  if (status !== 0) failed_seed = seed;
} while (failed_seed === undefined && process.env.TEST_SEED === undefined && Date.now() < end_ms);

const histories = readFileSync(runs_file, 'utf8')
  .split('\n')
  .reduce((sum, line) => sum + Number(line), 0);
rmSync(folder, { recursive: true });
console.log(`${histories} random histories and cases ran. Rounds: ${rounds}.`);
if (failed_seed !== undefined) {
  console.log(`Failed. Repeat this round with TEST_SEED=${failed_seed} npm run test:long`);
  process.exitCode = 1;
}
