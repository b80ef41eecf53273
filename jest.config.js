const { existsSync, mkdirSync, readdirSync, readFileSync, statfsSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

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

const TESTS = join(__dirname, 'dist', 'test');
const TOGETHER = join(TESTS, 'together');
/** In how many parts the test files of a folder run. */
const PARTS = { api: 6, console: 2, contract: 2, fault: 6, unit: 4 };

/**
 * Writes test files that each run a part of a folder's test files in one process. Loading the product for each file anew was a
 * third of the tests' CPU time. Files that are as they should be are not touched, because another run may be reading them.
 */
function writeParts() {
  mkdirSync(TOGETHER, { recursive: true });
  for (const [folder, parts] of Object.entries(PARTS)) {
    // Before a new folder of tests is compiled, tools read these settings.
    if (!existsSync(join(TESTS, folder))) continue;
    const files = readdirSync(join(TESTS, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.js'))
      .map((file) => `${folder}/${file.slice(0, -'.test.js'.length)}`)
      .filter((file) => !new RegExp(ON_SERVERS).test(`test/${file}`))
      .sort();
    for (let part = 0; part < parts; part++) {
      const own = files.filter((_, n) => n % parts === part);
      const path = join(TOGETHER, `${folder}-${part + 1}.test.js`);
      const text = `require('../support/together').runTogether(${JSON.stringify(own, null, 2)});\n`;
      if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
    }
  }
}
if (existsSync(TESTS)) writeParts();

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
  testSequencer: '<rootDir>/.ci/sequencer.js',
  reporters: ['default', '<rootDir>/.ci/duration-reporter.js'],
  projects: [
    // Some files, chosen by their path: `npx jest dist/test/unit/command`.
    {
      ...compiled,
      displayName: 'files',
      testMatch: ['**/*.test.js'],
      testPathIgnorePatterns: [ON_SERVERS, TOGETHER],
    },
    // All of them.
    { ...compiled, displayName: 'embedded', testMatch: [`${TOGETHER}/*.test.js`] },
    {
      ...compiled,
      displayName: 'servers',
      testRegex: [`${ON_SERVERS}.*\\.test\\.js$`],
      globalSetup: '<rootDir>/dist/test/support/servers/global-setup.js',
      globalTeardown: '<rootDir>/dist/test/support/servers/global-teardown.js',
    },
  ],
};
