import { CheckpointWatch } from '../../shared/adapters/checkpoint-watch';
import { bounded } from '../support/bounded';
import { waitFor } from '../support/wait-for';

const LONG_MS = 120_000;

/** Returns a watch over two partitions in memory, which counts the reads. */
function startWatch() {
  const store = { positions: [0n, 0n], reads: 0 };
  const watch = new CheckpointWatch(async () => {
    store.reads++;
    return [...store.positions];
  });
  return { store, watch: bounded(watch, 'watch') };
}

describe('waiting for a checkpoint', () => {
  test('resolves on reported moves without polling', async () => {
    const { store, watch } = startWatch();
    watch.reportMove(0, 1n);
    for (let position = 2n; position < 200n; position++) {
      const waiting = [watch.wait(0, position, LONG_MS), watch.wait(0, position - 1n, LONG_MS)];
      watch.reportMove(0, position);
      expect(await Promise.all(waiting)).toEqual([true, true]);
    }
    expect(store.reads).toBe(0);
  });

  test('finds unreported moves by polling, even in a partition whose last move was reported', async () => {
    const { store, watch } = startWatch();
    watch.reportMove(0, 5n);
    const waiting = [watch.wait(0, 8n, LONG_MS), watch.wait(1, 8n, LONG_MS)];
    store.positions = [8n, 8n];
    expect(await Promise.all(waiting)).toEqual([true, true]);
    // A position that was observed once needs no further read.
    const { reads } = store;
    expect(await watch.wait(1, 7n, LONG_MS)).toBe(true);
    expect(store.reads).toBe(reads);
  });

  test('polls for another partition at once while a partition with reported moves is awaited', async () => {
    const { store, watch } = startWatch();
    watch.reportMove(0, 5n);
    const own = watch.wait(0, 6n, LONG_MS);
    const other = watch.wait(1, 9n, LONG_MS);
    await waitFor(() => store.reads > 2);
    store.positions = [5n, 9n];
    expect(await other).toBe(true);
    watch.reportMove(0, 6n);
    expect(await own).toBe(true);
  });
});
