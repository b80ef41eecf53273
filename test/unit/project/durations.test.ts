import { resolve } from 'node:path';

const { report } = require(resolve('.ci/durations.js')) as { report(rows: readonly object[]): string[] };

test('the report sums the files of each suite and lists the slowest first', () => {
  const rows = [
    { step: 'install', seconds: 39 },
    { suite: 'embedded unit', file: 'kernel/async', seconds: 0.25, tests: 12 },
    { suite: 'embedded api', file: 'errors', seconds: 4, tests: 47 },
    { suite: 'embedded unit', file: 'images/render', seconds: 6.5, tests: 38 },
  ];
  expect(report(rows)).toEqual([
    'steps',
    '    39.0 s  install',
    'suites, the sum of their files',
    '     4.0 s  embedded api (1 files, 47 tests)',
    '     6.8 s  embedded unit (2 files, 50 tests)',
    'slowest test files',
    '     6.5 s  embedded unit/images/render',
    '     4.0 s  embedded api/errors',
    '     0.3 s  embedded unit/kernel/async',
  ]);
});
