const { appendFileSync, readFileSync } = require('node:fs');
const { stripVTControlCharacters } = require('node:util');

/*
 * node .ci/durations.js FILE
 *
 * Prints how long each step, suite and test file of a CI run took, which waits were late, and what failed. FILE holds one JSON
 * object per line: `{step, seconds, cpu_seconds}`, `{file, project, seconds}`, `{file, project, tests}`,
 * `{late, what, seconds, load}` or `{failure, message}`.
 */

const SLOWEST_MAX = 15;

/** Of each failure, its first lines: the whole is in the output of its step. */
const FAILURE_LINES = 20;
const LINE_MAX = 200;

/** Appends rows to the file that the environment variable DURATIONS names, if it names one. */
function record(...rows) {
  const file = process.env.DURATIONS;
  if (file) appendFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

const parse = (text) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

const row = (seconds, text) => `${seconds.toFixed(1).padStart(8)} s  ${text}`;

/** Adds up the seconds and tests of the rows that `keyOf` gives the same key. */
function sums(rows, keyOf) {
  const all = new Map();
  for (const each of rows) {
    const key = keyOf(each);
    const sum = all.get(key) ?? { key, seconds: 0, tests: 0, files: new Set() };
    all.set(key, sum);
    sum.seconds += each.seconds ?? 0;
    sum.tests += each.tests ?? 0;
    sum.files.add(each.file);
  }
  return [...all.values()];
}

function suiteLines(rows) {
  return sums(rows, ({ file, project }) => `${project} ${file.split('/')[0]}`)
    .sort((one, other) => (one.key < other.key ? -1 : 1))
    .map(({ key, seconds, tests, files }) => row(seconds, `${key} (${files.size} files, ${tests} tests)`));
}

function slowestLines(rows) {
  return sums(rows, ({ file, project }) => `${project} ${file}`)
    .sort((one, other) => other.seconds - one.seconds)
    .slice(0, SLOWEST_MAX)
    .map(({ key, seconds, tests }) => row(seconds, `${key} (${tests} tests)`));
}

function stepLine({ step, seconds, cpu_seconds }) {
  return row(seconds, cpu_seconds === undefined ? step : `${step} (${cpu_seconds} CPU seconds)`);
}

/** Returns a line for each test that had late waits, with the longest of them. */
function lateLines(rows) {
  const longest = new Map();
  for (const each of rows) {
    const other = longest.get(each.late);
    const count = (other?.count ?? 0) + 1;
    longest.set(each.late, { ...(other?.seconds > each.seconds ? other : each), count });
  }
  return [...longest.values()].map(({ late, what, seconds, load, count }) => {
    const others = count > 1 ? `, and ${count - 1} more` : '';
    const text = `${late}: ${what} (load of the machine: ${load}${others})`;
    return row(seconds, text.replace(/\s+/g, ' '));
  });
}

function failureLines({ failure, message = '' }) {
  const lines = stripVTControlCharacters(message).split('\n').filter(Boolean).slice(0, FAILURE_LINES);
  return [`  ${failure}`, ...lines.map((line) => `    ${line.slice(0, LINE_MAX)}`)];
}

/** Returns the lines of a report on the rows. */
function report(rows) {
  const steps = rows.filter(({ step }) => step !== undefined);
  const files = rows.filter(({ file }) => file !== undefined);
  const late = rows.filter((each) => each.late !== undefined);
  const failures = rows.filter(({ failure }) => failure !== undefined);
  const lines = [];
  if (steps.length > 0) lines.push('steps', ...steps.map(stepLine));
  // Test files run side by side, so their sum is more than the time of their step.
  if (files.length > 0) lines.push('suites, the sum of their files', ...suiteLines(files));
  if (files.length > 0) lines.push('slowest test files', ...slowestLines(files));
  if (late.length > 0) lines.push('late: waits that took long, and succeeded', ...lateLines(late));
  if (failures.length > 0) lines.push('failed', ...failures.flatMap(failureLines));
  return lines;
}

module.exports = { parse, record, report };

if (require.main === module) console.log(report(parse(readFileSync(process.argv[2], 'utf8'))).join('\n'));
