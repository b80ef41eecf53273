import { readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { OTHER, STAGES, stageOf, stagesOf } from '../../bench/budget-stages';

const frame = (name: string, file = '') => ({ name, file });

describe('the stages of a read', () => {
  test('are those of the innermost function that a rule names', () => {
    const stack = [
      frame('get', 'node_modules/libsql/index.js'),
      frame('take', 'shared/http/rate-limit.js'),
      frame('serve', 'shared/http/pipeline.js'),
    ];
    expect(stageOf(stack)).toBe('SQLite');
    expect(stageOf(stack.slice(1))).toBe('limiter');
  });

  test('count native and unnamed functions as their caller', () => {
    const stack = [
      frame('writeBuffer'),
      frame('writeSync', 'node:fs'),
      frame('flush', 'shared/kernel/log.js'),
    ];
    expect(stageOf(stack)).toBe('log line');
  });

  test('have names for what V8 does outside of functions', () => {
    expect(stageOf([frame('(garbage collector)'), frame('serve', 'shared/http/pipeline.js')])).toBe(
      'garbage collection',
    );
    expect(stageOf([frame('(idle)'), frame('(root)')])).toBeUndefined();
    expect(stageOf([frame('strange', 'node:vm')])).toBe(OTHER);
  });

  test.each(STAGES.flatMap(({ of }) => of).filter((begin) => /^(shared|services)\//.test(begin)))(
    'name existing files: %s',
    (begin) => {
      const names = readdirSync(dirname(begin)).filter((name) => name.startsWith(basename(begin)));
      expect(names).not.toEqual([]);
    },
  );

  test('share the time between two moments', () => {
    const nodeOf = (id: number, functionName: string, url: string) => {
      return { id, callFrame: { functionName, url, lineNumber: 0 } };
    };
    const root = { ...nodeOf(1, '(root)', ''), children: [2, 3, 4] };
    const parts = [
      nodeOf(2, '(idle)', ''),
      nodeOf(3, 'find', 'file:///a/dist/services/edge/edge-cache.js'),
      nodeOf(4, 'all', '/a/dist/node_modules/libsql/index.js'),
    ];
    const samples = [4, 2, 3, 4, 3, 3];
    const profile = { nodes: [root, ...parts], samples, startTime: 1_000, timeDeltas: samples.map(() => 10) };
    const shares = stagesOf(profile, 1_015, 1_055);
    expect(shares.get('edge cache')).toBeCloseTo(2 / 3);
    expect(shares.get('SQLite')).toBeCloseTo(1 / 3);
    expect(shares.get('log line')).toBe(0);
  });
});
