const { appendFileSync } = require('node:fs');
const { basename } = require('node:path');

/** Of the reports in one file the one that began last counts. */
const began_ms = Date.now();

/**
 * Writes what became of each test in test/contract to the file that CONTRACT_RESULTS names, a JSON line each:
 * `{began_ms, file, suites, test, status}`. Several runs may write to one file; `contract-table.js` reads it.
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
