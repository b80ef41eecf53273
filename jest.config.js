// The tests run compiled, as what ships does: `npm test` builds first.
module.exports = {
  roots: ['<rootDir>/dist/test'],
  testMatch: ['**/*.test.js'],
  transform: {},
  testEnvironment: 'node',
  // Reached only where something is broken: no test is to fail because the machine is busy.
  testTimeout: 300_000,
  maxWorkers: 2,
  reporters: ['default', '<rootDir>/.ci/contract-reporter.js'],
};
