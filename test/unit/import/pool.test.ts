import { setImmediate as nextTurn } from 'node:timers/promises';
import { runPool } from '../../../services/import/pool';

test('starts all items in order, within the number and the length of the limits', async () => {
  const items = Array.from({ length: 100 }, (_, index) => ({
    index,
    length: index % 10 === 0 ? 30 : index % 7,
  }));
  const running = new Set<(typeof items)[number]>();
  const started: number[] = [];
  await runPool(items, { items_max: 8, length_max: 20, lengthOf: ({ length }) => length }, async (item) => {
    running.add(item);
    started.push(item.index);
    const length = [...running].reduce((sum, each) => sum + each.length, 0);
    expect(running.size).toBeLessThanOrEqual(8);
    // A single item may be longer than the limit.
    if (running.size > 1) expect(length).toBeLessThanOrEqual(20);
    for (let turn = 0; turn <= item.index % 3; turn++) await nextTurn();
    running.delete(item);
  });
  expect(started).toEqual(items.map(({ index }) => index));
});

test('after a failure it starts no more items, waits for the running ones, and rethrows the failure', async () => {
  let [started, ended] = [0, 0];
  const running = runPool(Array(100).keys(), { items_max: 10 }, async (index) => {
    started++;
    await nextTurn();
    ended++;
    if (index === 20) throw new Error('row 20');
  });
  await expect(running).rejects.toThrow('row 20');
  expect(ended).toBe(started);
  expect(started).toBeLessThan(50);
});
