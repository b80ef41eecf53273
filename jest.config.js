const { statfsSync } = require('node:fs');

/*
 * The tests' data folders are in memory if there is room, because SQLite waits for the disk at each commit. That would be
 * a third of the tests' time. Set TEST_DATA_DIR to put them elsewhere.
 */
const MEMORY = '/dev/shm';
const ROOM_BYTES_MIN = 2 * 1024 ** 3;
function hasRoom(folder) {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= ROOM_BYTES_MIN;
  } catch {
    return false;
  }
}
if (!process.env.TEST_DATA_DIR && hasRoom(MEMORY)) process.env.TEST_DATA_DIR = MEMORY;

// Suites that need servers. Their global setup runs only if one of them runs.
const ON_SERVERS = 'test/(contract/(eventstoredb|mongodb|bullmq|redis)|fault/(servers|processes-on-servers))';

// The tests run the compiled code, which is also what ships: `npm test` builds first.
const compiled = {
  // Includes the product's code, so that `npm run test:watch` notices its changes.
  roots: ['<rootDir>/dist'],
  transform: {},
  testEnvironment: 'node',
};

module.exports = {
  // The last resort: each wait of a test has a shorter limit of its own and says what it waited for (`wait-for.ts`).
  testTimeout: 900_000,
  maxWorkers: 2,
  reporters: ['default', '<rootDir>/.ci/duration-reporter.js'],
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
