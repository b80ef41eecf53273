const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { parse, record, report } = require('./durations');

/** A run of fewer test files is somebody's look at a few tests. */
const FILES_MIN = 50;

/**
 * Notes how long each test file took and which tests failed, in the file that DURATIONS names. If it names none, the tests of
 * this run get a file of their own (`test/support/together.ts`, `wait-for.ts`), and a run of all tests prints the report.
 */
module.exports = class DurationReporter {
  constructor() {
    if (process.env.DURATIONS) return;
    this.folder = mkdtempSync(join(tmpdir(), 'catalog-durations-'));
    process.env.DURATIONS = join(this.folder, 'rows.jsonl');
  }

  onTestResult({ context }, result) {
    const { testFilePath, perfStats, testResults, testExecError, failureMessage } = result;
    const [, folder, name] = /[\\/]test[\\/](\w+)[\\/](.*)\.test\.js$/.exec(testFilePath) ?? [];
    const project = context.config.displayName?.name ?? '';
    const fileOf = ({ ancestorTitles }) => (folder === 'together' ? ancestorTitles[0] : `${folder}/${name}`);
    const rows = testResults
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map((each) => ({ file: fileOf(each), project, tests: 1 }));
    // Files that run together note their own time.
    if (folder !== 'together')
      rows.push({ file: `${folder}/${name}`, project, seconds: (perfStats.end - perfStats.start) / 1000 });
    const failed = testResults.filter(({ status }) => status === 'failed');
    for (const each of failed)
      rows.push({
        failure: `${project} ${fileOf(each)}: ${each.fullName}`,
        message: each.failureMessages[0],
      });
    if (testExecError || (failed.length === 0 && failureMessage))
      rows.push({ failure: `${project} ${folder}/${name}`, message: failureMessage ?? '' });
    record(...rows);
  }

  onRunComplete() {
    if (!this.folder) return;
    const rows = parse(readFileSync(process.env.DURATIONS, 'utf8'));
    rmSync(this.folder, { recursive: true });
    // In watch mode, the next run gets a file of its own.
    delete process.env.DURATIONS;
    const files = new Set(rows.map(({ file }) => file).filter(Boolean));
    if (files.size >= FILES_MIN) console.log(`\n${report(rows).join('\n')}`);
  }
};
