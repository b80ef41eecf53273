import { progressBar, renderProgress } from '../../../services/cli/progress';
import { fieldsTable, right, table } from '../../../services/cli/table';

test('columns are as wide as their widest cell, and numbers are right-aligned', () => {
  const text = table(
    ['name', right('count')],
    [
      ['Cerámica', '7'],
      ['Té', '1234'],
    ],
  );
  expect(text).toBe(['NAME      COUNT', 'Cerámica      7', 'Té         1234', ''].join('\n'));
});

test('replaces control characters in names', () => {
  expect(fieldsTable({ name: 'a\u001b[31mb\nc', none: null })).toBe('name  a·[31mb·c\nnone  -\n');
});

test('a progress line shows share, speed and remaining time', () => {
  expect(renderProgress('import', { done: 500, total: 1000 }, 2_000)).toBe(
    'import  [############------------]   50%  500/1,000  250/s  ETA 2 s',
  );
  expect(renderProgress('import', { done: 10, total: 100_000 }, 1_000)).toContain('ETA 2 h 46 min');
  expect(renderProgress('import', { done: 0, total: 10 }, 0)).toContain('ETA -');
});

test('a bar redraws at most ten times per second and at its end, and only on a terminal', () => {
  const drawn: string[] = [];
  let now_ms = 0;
  const screen = { isTTY: true, write: (text: string) => drawn.push(text) };
  const bar = progressBar('x', screen, () => now_ms);
  for (; now_ms <= 1_000; now_ms += 10) bar.show({ done: now_ms / 10, total: 1_000 });
  expect(drawn).toHaveLength(11);
  bar.show({ done: 1_000, total: 1_000 });
  expect(drawn).toHaveLength(12);

  const silent: string[] = [];
  const hidden = progressBar('x', { write: (text) => silent.push(text) });
  hidden.show({ done: 1, total: 2 });
  hidden.clear();
  expect(silent).toEqual([]);
});
