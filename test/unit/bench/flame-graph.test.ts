import { flameGraph, foldedStacks } from '../../bench/flame-graph';

const frame = (functionName: string, url = '') => ({ functionName, url, lineNumber: 9 });
const profile = {
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 4] },
    { id: 2, callFrame: frame('serve', 'file:///app/dist/a<b.js'), children: [3] },
    { id: 3, callFrame: frame('', 'file:///app/dist/b.js') },
    { id: 4, callFrame: frame('(idle)') },
  ],
  samples: [2, 3, 4, 3],
  timeDeltas: [100, 200, 5_000, 300],
};

test('merges samples of the same stack and leaves out idle time', () => {
  expect(foldedStacks(profile).split('\n')).toEqual([
    'serve a<b.js:10 100',
    'serve a<b.js:10;(anonymous) b.js:10 500',
  ]);
});

test('draws each function as wide as its share of the time', () => {
  const svg = flameGraph(profile);
  expect(svg).toContain('<title>serve a&lt;b.js:10 100.0 %</title><rect x="0.0" y="17" width="1600.0"');
  expect(svg).toContain('<title>(anonymous) b.js:10 83.3 %</title><rect x="0.0" y="34" width="1333.3"');
});
