import { CheckpointWatch } from '../../shared/adapters/mongodb/lanes';
import { waitFor } from '../support/wait-for';

const LONG_MS = 120_000;

/** Two lanes somewhere else, and how often they were asked for. */
function startWatch() {
  const there = { positions: [0n, 0n], asked: 0 };
  const watch = new CheckpointWatch(async () => {
    there.asked++;
    return [...there.positions];
  });
  return { there, watch };
}

describe('who waits for a checkpoint in MongoDB', () => {
  test('is told of this process’ moves without asking', async () => {
    const { there, watch } = startWatch();
    watch.moved(0, 1n);
    for (let position = 2n; position < 200n; position++) {
      const waiting = [watch.wait(0, position, LONG_MS), watch.wait(0, position - 1n, LONG_MS)];
      watch.moved(0, position);
      expect(await Promise.all(waiting)).toEqual([true, true]);
    }
    expect(there.asked).toBe(0);
  });

  test('learns of other processes’ moves, also in a lane that this one moved last', async () => {
    const { there, watch } = startWatch();
    watch.moved(0, 5n);
    const waiting = [watch.wait(0, 8n, LONG_MS), watch.wait(1, 8n, LONG_MS)];
    there.positions = [8n, 8n];
    expect(await Promise.all(waiting)).toEqual([true, true]);
    // What was seen once need not be asked for again.
    const { asked } = there;
    expect(await watch.wait(1, 7n, LONG_MS)).toBe(true);
    expect(there.asked).toBe(asked);
  });

  test('asks about another lane at once, though one of its own is waited for', async () => {
    const { there, watch } = startWatch();
    watch.moved(0, 5n);
    const own = watch.wait(0, 6n, LONG_MS);
    const other = watch.wait(1, 9n, LONG_MS);
    await waitFor(() => there.asked > 2);
    there.positions = [5n, 9n];
    expect(await other).toBe(true);
    watch.moved(0, 6n);
    expect(await own).toBe(true);
  });
});
