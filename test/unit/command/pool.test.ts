import { setImmediate as nextTurn } from 'node:timers/promises';
import { runPool } from '../../../services/command/pool';

test('starts all items in order, and no more than the limit at the same time', async () => {
  let running = 0;
  const started: number[] = [];
  await runPool(Array(100).keys(), 8, async (index) => {
    started.push(index);
    expect(++running).toBeLessThanOrEqual(8);
    for (let turn = 0; turn <= index % 3; turn++) await nextTurn();
    running--;
  });
  expect(started).toEqual([...Array(100).keys()]);
});

test('after a failure it starts no more items, waits for the running ones, and rethrows the failure', async () => {
  let [started, ended] = [0, 0];
  const running = runPool(Array(100).keys(), 10, async (index) => {
    started++;
    await nextTurn();
    ended++;
    if (index === 20) throw new Error('row 20');
  });
  await expect(running).rejects.toThrow('row 20');
  expect(ended).toBe(started);
  expect(started).toBeLessThan(50);
});
