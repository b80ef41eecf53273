const { appendFileSync } = require('node:fs');
const { basename } = require('node:path');

/** If a test file ran several times, the report of the latest run counts. */
const began_ms = Date.now();

/**
 * Appends the outcome of each test in test/contract to the file that CONTRACT_RESULTS names, one JSON object per
 * line: `{began_ms, file, suites, test, status}`. Several runs may write to one file, which `contract-table.js`
 * reads.
 */
module.exports = class ContractReporter {
  onTestResult(_test, { testFilePath, testResults }) {
    const file = process.env.CONTRACT_RESULTS;
    if (!file || !/[\\/]test[\\/]contract[\\/]/.test(testFilePath)) return;
    const lines = testResults.map(({ ancestorTitles, title, status }) =>
      JSON.stringify({
        began_ms,
        file: basename(testFilePath, '.test.js'),
        suites: ancestorTitles,
        test: title,
        status,
      }),
    );
    appendFileSync(file, lines.map((line) => `${line}\n`).join(''));
  }
};
