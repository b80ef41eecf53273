// Suites that need servers. They have a set-up of their own, which runs only if one of them does.
const ON_SERVERS = 'test/(contract/(eventstoredb|mongodb|bullmq|redis)|fault/(servers|processes-on-servers))';

// The tests run compiled, as what ships does: `npm test` builds first.
const compiled = {
  roots: ['<rootDir>/dist/test'],
  transform: {},
  testEnvironment: 'node',
};

module.exports = {
  // Reached only where something is broken: no test is to fail because the machine is busy.
  testTimeout: 300_000,
  maxWorkers: 2,
  reporters: ['default', '<rootDir>/.ci/contract-reporter.js'],
  projects: [
    {
      ...compiled,
      displayName: 'embedded',
      testMatch: ['**/*.test.js'],
      testPathIgnorePatterns: [ON_SERVERS],
    },
    {
      ...compiled,
      displayName: 'servers',
      testRegex: [`${ON_SERVERS}.*\\.test\\.js$`],
      globalSetup: '<rootDir>/dist/test/support/servers/global-setup.js',
      globalTeardown: '<rootDir>/dist/test/support/servers/global-teardown.js',
    },
  ],
};
