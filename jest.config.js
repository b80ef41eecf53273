// The tests run compiled, as what ships does: `npm test` builds first.
module.exports = {
  roots: ['<rootDir>/dist/test'],
  testMatch: ['**/*.test.js'],
  transform: {},
  testEnvironment: 'node',
  testTimeout: 30_000,
  maxWorkers: 2,
};
