const { record, report } = require('./durations');

/** A run of fewer test files is somebody's look at a few tests. */
const FILES_MIN = 50;

/**
 * Notes how long each test file took and which tests failed, in the file that DURATIONS names. If it names none, prints the
 * report after a run of all tests.
 */
module.exports = class DurationReporter {
  rows = [];

  onTestResult({ context }, result) {
    const { testFilePath, perfStats, numPassingTests, numFailingTests } = result;
    const [, folder, file] = /[\\/]test[\\/](\w+)[\\/](.*)\.test\.js$/.exec(testFilePath) ?? [];
    const project = context.config.displayName?.name ?? '';
    this.rows.push({
      suite: `${project} ${folder}`,
      file,
      seconds: (perfStats.end - perfStats.start) / 1000,
      tests: numPassingTests + numFailingTests,
    });
    const failed = result.testResults.filter(({ status }) => status === 'failed');
    for (const { fullName, failureMessages } of failed)
      this.rows.push({ failure: `${project} ${folder}/${file}: ${fullName}`, message: failureMessages[0] });
    if (result.testExecError || (failed.length === 0 && result.failureMessage))
      this.rows.push({ failure: `${project} ${folder}/${file}`, message: result.failureMessage ?? '' });
  }

  onRunComplete() {
    if (process.env.DURATIONS) record(...this.rows);
    else if (this.rows.length >= FILES_MIN) console.log(`\n${report(this.rows).join('\n')}`);
  }
};
