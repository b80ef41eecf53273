import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MediaId } from '../../shared/kernel/ids';
import { MEDIA_ATTEMPTS, type MediaTask, type MediaTasks } from '../../shared/ports/media-tasks';
import { waitFor } from '../support/wait-for';

/** An empty queue that backs off by some milliseconds only. */
export interface MediaTasksUnderTest {
  readonly tasks: MediaTasks;
  /** What it told of failed attempts. */
  readonly told: readonly { message: string; task: MediaTask; attempt: number }[];
  /** Closes every handle and removes what was stored. */
  dispose(): Promise<void>;
}

export const aTask = (n: number, environment: MediaTask['environment'] = 'live'): MediaTask => ({
  environment,
  media_id: `0195e2a4-0000-7000-8000-${String(n).padStart(12, '0')}` as MediaId,
});

/** What every adapter of the media tasks promises (shared/ports/media-tasks.ts). */
export function mediaTasksContract(name: string, open: () => Promise<MediaTasksUnderTest>): void {
  describe(`media tasks on ${name}`, () => {
    let given: MediaTasksUnderTest;
    let tasks: MediaTasks;

    beforeEach(async () => {
      given = await open();
      tasks = given.tasks;
    });
    afterEach(() => given.dispose());

    /** A worker that only remembers. */
    async function remember(at_once = 1): Promise<{ seen: MediaTask[]; stop(): Promise<void> }> {
      const seen: MediaTask[] = [];
      const { stop } = await tasks.work(async (task) => void seen.push(task), at_once);
      return { seen, stop };
    }

    test('a task reaches the handler as it was, whether it was added before or after the work began', async () => {
      await tasks.add(aTask(1));
      const { seen } = await remember();
      await waitFor(() => seen.length === 1);
      await tasks.add(aTask(1, 'test'));
      await waitFor(() => seen.length === 2);
      expect(seen).toEqual([aTask(1), aTask(1, 'test')]);
    });

    test('as many as are allowed run at once, and no more', async () => {
      let running = 0;
      let most = 0;
      let done = 0;
      let letGo = (): void => {};
      const gate = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      await tasks.work(async () => {
        most = Math.max(most, ++running);
        await gate;
        await nextTurn();
        running--;
        done++;
      }, 3);
      for (let n = 0; n < 9; n++) await tasks.add(aTask(n));
      await waitFor(() => running === 3);
      letGo();
      await waitFor(() => done === 9);
      expect(most).toBe(3);
    });

    test('what waits already is not done twice for being added twice', async () => {
      for (let times = 0; times < 5; times++) await tasks.add(aTask(1));
      await tasks.add(aTask(2));
      const { seen, stop } = await remember();
      await waitFor(() => seen.some(({ media_id }) => media_id === aTask(2).media_id));
      await stop();
      expect(seen).toHaveLength(2);
    });

    test('what was done can be added again, and is done again', async () => {
      const { seen } = await remember();
      for (let times = 1; times <= 3; times++) {
        await waitFor(async () => {
          await tasks.add(aTask(1));
          return seen.length >= times;
        });
      }
    });

    test('a task that fails is tried again while others go on, and every failure is told of', async () => {
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
      expect(given.told).toEqual([1, 2, 3].map((attempt) => ({ message: `no ${attempt}`, task, attempt })));
    });

    test('a task that fails every time is given up, and can be added again', async () => {
      let broken = true;
      const seen: MediaTask[] = [];
      await tasks.work(async (task) => {
        if (broken && task.media_id === aTask(1).media_id) throw new Error('never');
        seen.push(task);
      }, 1);
      await tasks.add(aTask(1));
      await waitFor(() => given.told.length === MEDIA_ATTEMPTS);
      broken = false;
      // Were it tried once more it would be done before these.
      for (let n = 2; n < 20; n++) await tasks.add(aTask(n));
      await waitFor(() => seen.length === 18);
      expect(seen).not.toContainEqual(aTask(1));
      await waitFor(async () => {
        await tasks.add(aTask(1));
        return seen.some(({ media_id }) => media_id === aTask(1).media_id);
      });
      expect(given.told).toHaveLength(MEDIA_ATTEMPTS);
    });

    test('a stop waits for what runs and takes nothing more; the next worker goes on', async () => {
      let begun = 0;
      let ended = 0;
      let letGo = (): void => {};
      const gate = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      const first = await tasks.work(async () => {
        begun++;
        await gate;
        ended++;
      }, 2);
      for (let n = 0; n < 6; n++) await tasks.add(aTask(n));
      await waitFor(() => begun === 2);
      let stopped = false;
      const stopping = first.stop().then(() => {
        stopped = true;
      });
      for (let turns = 0; turns < 20; turns++) await nextTurn();
      expect(stopped).toBe(false);
      letGo();
      await stopping;
      expect([begun, ended]).toEqual([2, 2]);
      const { seen } = await remember();
      await waitFor(() => seen.length === 4);
      expect(begun).toBe(2);
    });

    test('a close lets what runs finish; after it nothing is taken in charge', async () => {
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
