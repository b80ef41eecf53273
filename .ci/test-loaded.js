const { spawn, spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { cpus, tmpdir } = require('node:os');
const { join } = require('node:path');
const { parseArgs } = require('node:util');

/*
 * npm run test:loaded -- [--times N] [--only cpu|files]
 *
 * Runs the tests on the embedded default on a machine that is busy, to find those that fail by chance:
 *   cpu    beside four busy loops for each core
 *   files  with each operation on a file slowed (`slow-files.c`, which needs gcc)
 * Each way runs N times (default: 3), also after a failure. Ends with 1 if a run failed.
 */

const LOOPS_PER_CORE = 4;
/** With it, a commit of SQLite takes about 10 ms. */
const SLOW_FILES_US = 500;

/** Returns the exit code of the tests. */
function runTests(environment) {
  const { status } = spawnSync('npx', ['jest', '--selectProjects', 'embedded'], {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  });
  return status;
}

function besideBusyLoops() {
  const count = LOOPS_PER_CORE * cpus().length;
  const loops = Array.from({ length: count }, () => spawn(process.execPath, ['-e', 'for (;;);']));
  try {
    return runTests({});
  } finally {
    for (const loop of loops) loop.kill('SIGKILL');
  }
}

function withSlowFiles() {
  const folder = mkdtempSync(join(tmpdir(), 'catalog-slow-files-'));
  const library = join(folder, 'slow-files.so');
  try {
    const source = join(__dirname, 'slow-files.c');
    const compiled = spawnSync('gcc', ['-O2', '-shared', '-fPIC', '-o', library, source, '-ldl'], {
      stdio: 'inherit',
    });
    if (compiled.status !== 0) throw new Error('gcc is needed to slow file operations. Install it.');
    return runTests({ LD_PRELOAD: library, SLOW_FILES_US: String(SLOW_FILES_US) });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const WAYS = { cpu: besideBusyLoops, files: withSlowFiles };

const { values } = parseArgs({
  options: { times: { type: 'string', default: '3' }, only: { type: 'string' } },
});
const names = Object.keys(WAYS).filter((name) => values.only === undefined || values.only === name);
const outcomes = names.flatMap((name) =>
  Array.from({ length: Number(values.times) }, (_, n) => {
    const began_ms = Date.now();
    const is_green = WAYS[name]() === 0;
    return { name, n: n + 1, is_green, seconds: Math.round((Date.now() - began_ms) / 1000) };
  }),
);
for (const { name, n, is_green, seconds } of outcomes)
  console.log(`${is_green ? 'passed' : 'FAILED'}  ${name}, run ${n}: ${seconds} s`);
process.exitCode = outcomes.length > 0 && outcomes.every(({ is_green }) => is_green) ? 0 : 1;
