import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const DIST = join(__dirname, '..', '..', '..');

/** Runs code in a program of its own that shows positions in the sources. Returns what it prints. */
function run(code: string): string {
  const traces = join(DIST, 'shared', 'kernel', 'stack-traces.js');
  return execFileSync(process.execPath, ['-r', traces, '-e', code], { cwd: DIST, encoding: 'utf8' });
}

test('a stack trace shows positions in the TypeScript sources', () => {
  const code = `
    try { require('./shared/kernel/config').parseConfig({ PORT: 'none' }); } catch (error) { console.log(error.stack); }`;
  const [head, first] = run(code).split('\n    at ');
  expect(head).toContain('PORT');
  expect(first).toMatch(/^(Object\.)?parseConfig \(.*\/shared\/kernel\/config\.ts:\d+:\d+\)$/);
});

test('code without a source map keeps its positions, and the name and message of an error are shown', () => {
  expect(run("console.log(new RangeError('too far').stack)")).toMatch(
    /^RangeError: too far\n {4}at \[eval\]:1:13/,
  );
});
