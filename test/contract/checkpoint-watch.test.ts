import { CheckpointWatch } from '../../shared/adapters/checkpoint-watch';
import { bounded } from '../support/bounded';

const LONG_MS = 120_000;

describe('waiting for a checkpoint', () => {
  test('resolves at a move that is reported, or that is found by polling, and polls only for waiters', async () => {
    const store = { positions: [0n, 0n], reads: 0 };
    const read = async () => {
      store.reads++;
      return [...store.positions];
    };
    const watch = bounded(new CheckpointWatch(read), 'watch');
    watch.reportMove(0, 1n);
    expect(await watch.wait(0, 1n, LONG_MS)).toBe(true);
    expect(store.reads).toBe(0);
    const waiting = [watch.wait(0, 8n, LONG_MS), watch.wait(1, 8n, LONG_MS), watch.wait(1, 9n, 50)];
    watch.reportMove(0, 8n);
    expect(await waiting[0]).toBe(true);
    store.positions = [1n, 8n];
    expect(await Promise.all(waiting)).toEqual([true, true, false]);
    const { reads } = store;
    expect(await watch.wait(1, 7n, LONG_MS)).toBe(true);
    expect(store.reads).toBe(reads);
    watch.close();
    expect(await watch.wait(1, 9n, LONG_MS)).toBe(false);
    expect(store.reads).toBe(reads);
  });
});
