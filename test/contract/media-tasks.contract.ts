import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { MediaId, StoreId } from '../../shared/kernel/ids';
import {
  MEDIA_ATTEMPTS,
  type MediaTask,
  type MediaTaskQueue,
  TaskCrashError,
} from '../../shared/ports/media-tasks';
import { bounded } from '../support/bounded';
import { latch } from '../support/latch';
import { waitFor, within } from '../support/wait-for';

/** An empty queue whose back-off is a few milliseconds. */
export interface MediaTasksUnderTest {
  readonly tasks: MediaTaskQueue;
  /** The failed attempts that were reported with `onError`. */
  readonly reported: readonly { message: string; task: MediaTask; attempt: number }[];
  /** Opens another handle to what is stored, as a process does after a restart. */
  reopen(): MediaTaskQueue;
  /** Closes every handle and removes what was stored. */
  dispose(): Promise<void>;
}

/** Returns task `n` of a store. */
export const aTask = (
  n: number,
  environment: MediaTask['environment'] = 'live',
  store = 'one' as StoreId,
): MediaTask => ({
  environment,
  store_id: store,
  media_id: `0195e2a4-0000-7000-8000-${String(n).padStart(12, '0')}` as MediaId,
});

/** Tests what every media task queue guarantees (shared/ports/media-tasks.ts). */
export function mediaTasksContract(name: string, open: () => Promise<MediaTasksUnderTest>): void {
  describe(`media tasks on ${name}`, () => {
    let under_test: MediaTasksUnderTest;
    let tasks: MediaTaskQueue;

    beforeEach(async () => {
      under_test = await open();
      tasks = bounded(under_test.tasks, 'tasks');
    });
    afterEach(() => within(under_test.dispose(), 'everything under test to close'));

    /** Starts a worker that records its tasks. */
    async function recordTasks(concurrency = 1): Promise<{ seen: MediaTask[]; stop(): Promise<void> }> {
      const seen: MediaTask[] = [];
      const { stop } = await tasks.work(async (task) => void seen.push(task), concurrency);
      return { seen, stop };
    }

    test('a task reaches the handler unchanged, whether it was added before or after the worker started', async () => {
      await tasks.add(aTask(1));
      const { seen } = await recordTasks();
      await waitFor(() => seen.length === 1);
      await tasks.add(aTask(1, 'test'));
      await waitFor(() => seen.length === 2);
      expect(seen).toEqual([aTask(1), aTask(1, 'test')]);
    });

    test('the tasks of a store do not wait for all earlier tasks of another store', async () => {
      const [one, other] = ['one' as StoreId, 'other' as StoreId];
      for (let n = 0; n < 8; n++) await tasks.add(aTask(n, 'live', one));
      for (let n = 10; n < 12; n++) await tasks.add(aTask(n, 'live', other));
      const stores: StoreId[] = [];
      await tasks.work(async ({ store_id }) => {
        stores.push(store_id);
        await sleep(20);
      }, 1);
      await waitFor(() => stores.length === 10);
      expect(stores.lastIndexOf(other)).toBeLessThan(5);
      expect(stores[0]).toBe(one);
    });

    test('runs at most the allowed number of tasks at once', async () => {
      let running = 0;
      let most = 0;
      let done = 0;
      const gate = latch();
      await tasks.work(async () => {
        most = Math.max(most, ++running);
        await gate.opened;
        await nextTurn();
        running--;
        done++;
      }, 3);
      for (let n = 0; n < 9; n++) await tasks.add(aTask(n));
      await waitFor(() => running === 3);
      gate.open();
      await waitFor(() => done === 9);
      expect(most).toBe(3);
    });

    test('a waiting task that is added again runs once', async () => {
      for (let times = 0; times < 5; times++) await tasks.add(aTask(1));
      await tasks.add(aTask(2));
      const { seen, stop } = await recordTasks();
      await waitFor(() => seen.some(({ media_id }) => media_id === aTask(2).media_id));
      await stop();
      expect(seen).toHaveLength(2);
    });

    test('a completed task can be added again, and runs again', async () => {
      const { seen } = await recordTasks();
      for (let times = 1; times <= 3; times++) {
        await waitFor(async () => {
          await tasks.add(aTask(1));
          return seen.length >= times;
        });
      }
    });

    test('a failed task is retried while others run, and every failure is reported', async () => {
      const seen: MediaTask[] = [];
      let failures = 0;
      await tasks.work(async (task) => {
        if (task.media_id === aTask(1).media_id && failures < 3) throw new Error(`no ${++failures}`);
        seen.push(task);
      }, 1);
      await tasks.add(aTask(1));
      await tasks.add(aTask(2));
      await waitFor(() => seen.length === 2);
      const task = aTask(1);
      expect(under_test.reported).toEqual(
        [1, 2, 3].map((attempt) => ({ message: `no ${attempt}`, task, attempt })),
      );
    });

    test('a task that always fails is dropped after its last attempt, and can be added again', async () => {
      let broken = true;
      const seen: MediaTask[] = [];
      await tasks.work(async (task) => {
        if (broken && task.media_id === aTask(1).media_id) throw new Error('never');
        seen.push(task);
      }, 1);
      await tasks.add(aTask(1));
      await waitFor(() => under_test.reported.length === MEDIA_ATTEMPTS);
      broken = false;
      // If the task were retried once more, it would run before these.
      for (let n = 2; n < 20; n++) await tasks.add(aTask(n));
      await waitFor(() => seen.length === 18);
      expect(seen).not.toContainEqual(aTask(1));
      await waitFor(async () => {
        await tasks.add(aTask(1));
        return seen.some(({ media_id }) => media_id === aTask(1).media_id);
      });
      expect(under_test.reported).toHaveLength(MEDIA_ATTEMPTS);
    });

    test('the starts of a task that crashes are counted, also when it was dropped and added again', async () => {
      const seen: number[] = [];
      const crashing = await tasks.work(async (_, starts) => {
        seen.push(starts);
        throw new TaskCrashError('crashed');
      }, 1);
      await tasks.add(aTask(1));
      await waitFor(() => under_test.reported.length === MEDIA_ATTEMPTS);
      await waitFor(async () => {
        await tasks.add(aTask(1));
        return seen.length > MEDIA_ATTEMPTS;
      });
      await crashing.stop();
      expect(seen).toEqual(seen.map((_, index) => index + 1));
    });

    test('the count of starts survives a restart of the process, and ends when the task succeeds', async () => {
      const crashing = await tasks.work(async () => {
        throw new TaskCrashError('crashed');
      }, 1);
      await tasks.add(aTask(1));
      await waitFor(() => under_test.reported.length === 2);
      await crashing.stop();
      const crashes = under_test.reported.length;
      await tasks.close();

      const reopened = bounded(under_test.reopen(), 'reopened tasks');
      const seen: number[] = [];
      await reopened.work(async (_, starts) => void seen.push(starts), 1);
      await reopened.add(aTask(1));
      await waitFor(() => seen.length === 1);
      await waitFor(async () => {
        await reopened.add(aTask(1));
        return seen.length > 1;
      });
      await reopened.close();
      expect(seen.slice(0, 2)).toEqual([crashes + 1, 1]);
    });

    test('a failure other than a crash does not count as a start', async () => {
      const seen: number[] = [];
      await tasks.work(async (_, starts) => {
        seen.push(starts);
        throw new Error('unavailable');
      }, 1);
      await tasks.add(aTask(1));
      await waitFor(() => under_test.reported.length === MEDIA_ATTEMPTS);
      expect(seen).toEqual(seen.map(() => 1));
    });

    test('stop waits for running tasks and starts no more; the next worker continues', async () => {
      let begun = 0;
      let ended = 0;
      const gate = latch();
      const first = await tasks.work(async () => {
        begun++;
        await gate.opened;
        ended++;
      }, 2);
      for (let n = 0; n < 6; n++) await tasks.add(aTask(n));
      await waitFor(() => begun === 2);
      const ended_at_stop = first.stop().then(() => ended);
      for (let turns = 0; turns < 20; turns++) await nextTurn();
      gate.open();
      expect(await within(ended_at_stop, 'the worker to stop')).toBe(2);
      const { seen } = await recordTasks();
      await waitFor(() => seen.length === 4);
      expect(begun).toBe(2);
    });

    test('close lets running tasks finish; afterwards add and work are rejected', async () => {
      let begun = false;
      let ended = false;
      await tasks.work(async () => {
        begun = true;
        for (let turns = 0; turns < 20; turns++) await nextTurn();
        ended = true;
      }, 1);
      await tasks.add(aTask(1));
      await waitFor(() => begun);
      await tasks.close();
      expect(ended).toBe(true);
      await expect(tasks.add(aTask(2))).rejects.toMatchObject({ condition: 'unavailable' });
      await expect(tasks.work(async () => {}, 1)).rejects.toMatchObject({ condition: 'unavailable' });
    });
  });
}
