// The tests run compiled, as what ships does: `npm test` builds first.
module.exports = {
  roots: ['<rootDir>/dist/test'],
  testMatch: ['**/*.test.js'],
  transform: {},
  testEnvironment: 'node',
  // A MongoDB-protocol server made for tests is slow.
  testTimeout: process.env.MONGODB_URL ? 120_000 : 30_000,
  maxWorkers: 2,
};
