const { appendFileSync, readFileSync } = require('node:fs');
const { stripVTControlCharacters } = require('node:util');

/*
 * node .ci/durations.js FILE
 *
 * Prints how long each step and each suite of a CI run took, which test files took longest, and what failed. FILE holds one
 * JSON object per line: `{step, seconds}`, `{suite, file, seconds, tests}` or `{failure, message}`.
 */

const SLOWEST_MAX = 10;

/** Of each failure, its first lines: the whole is in the output of its step. */
const FAILURE_LINES = 20;
const FAILURE_LINE_MAX = 200;

/** Appends rows to the file that the environment variable DURATIONS names, if it names one. */
function record(...rows) {
  const file = process.env.DURATIONS;
  if (file) appendFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

const row = (seconds, text) => `${seconds.toFixed(1).padStart(8)} s  ${text}`;

function suiteLines(files) {
  const suites = new Map();
  for (const { suite, seconds, tests } of files) {
    const sum = suites.get(suite) ?? { files: 0, tests: 0, seconds: 0 };
    suites.set(suite, { files: sum.files + 1, tests: sum.tests + tests, seconds: sum.seconds + seconds });
  }
  return [...suites]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([suite, sum]) => row(sum.seconds, `${suite} (${sum.files} files, ${sum.tests} tests)`));
}

/** Returns the lines of a report on the rows. */
function report(rows) {
  const steps = rows.filter(({ step }) => step !== undefined);
  const files = rows.filter(({ file }) => file !== undefined);
  const slowest = [...files].sort((one, other) => other.seconds - one.seconds).slice(0, SLOWEST_MAX);
  const lines = [];
  if (steps.length > 0) lines.push('steps', ...steps.map(({ step, seconds }) => row(seconds, step)));
  // Test files run side by side, so their sum is more than the time of their step.
  if (files.length > 0) lines.push('suites, the sum of their files', ...suiteLines(files));
  if (slowest.length > 0)
    lines.push(
      'slowest test files',
      ...slowest.map(({ suite, file, seconds }) => row(seconds, `${suite}/${file}`)),
    );
  const failures = rows.filter(({ failure }) => failure !== undefined);
  if (failures.length > 0) lines.push('failed', ...failures.flatMap(failureLines));
  return lines;
}

function failureLines({ failure, message = '' }) {
  const lines = stripVTControlCharacters(message).split('\n').filter(Boolean).slice(0, FAILURE_LINES);
  return [`  ${failure}`, ...lines.map((line) => `    ${line.slice(0, FAILURE_LINE_MAX)}`)];
}

module.exports = { record, report };

if (require.main === module) {
  const lines = readFileSync(process.argv[2], 'utf8').trim().split('\n').filter(Boolean);
  console.log(report(lines.map((line) => JSON.parse(line))).join('\n'));
}
