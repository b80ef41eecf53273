import { readdirSync } from 'node:fs';
import { InProcessMediaTaskQueue } from '../../shared/adapters/in-process/media-tasks';
import type { MediaTask } from '../../shared/ports/media-tasks';
import { bounded } from '../support/bounded';
import { makeTempDir, withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';
import { aTask, type MediaTasksUnderTest, mediaTasksContract } from './media-tasks.contract';

mediaTasksContract('in process', async () => {
  const folder = makeTempDir();
  const reported: { message: string; task: MediaTask; attempt: number }[] = [];
  const open = () =>
    new InProcessMediaTaskQueue({
      folder: folder.path,
      onError: (error, task, attempt) =>
        void reported.push({ message: (error as Error).message, task, attempt }),
      backoffMs: () => 5,
    });
  const tasks = open();
  const dispose = async (): Promise<void> => {
    await tasks.close();
    folder.remove();
  };
  const under_test: MediaTasksUnderTest = { tasks, reported, reopen: open, dispose };
  return under_test;
});

test('media tasks in process: without workers, the number of waiting tasks is bounded', () =>
  withTempDir(async (folder) => {
    const tasks = bounded(new InProcessMediaTaskQueue({ folder }), 'tasks');
    for (let n = 0; n < 12_000; n++) await tasks.add(aTask(n));
    let seen = 0;
    await tasks.work(async () => void seen++, 1);
    await waitFor(() => seen >= 10_000);
    await tasks.close();
    expect(seen).toBe(10_000);
  }));

test('media tasks in process: completed tasks leave no file', () =>
  withTempDir(async (folder) => {
    const tasks = bounded(new InProcessMediaTaskQueue({ folder }), 'tasks');
    const found: string[][] = [];
    await tasks.work(async () => void found.push(readdirSync(folder)), 1);
    await tasks.add(aTask(1));
    await tasks.add(aTask(2));
    await waitFor(() => found.length === 2);
    await tasks.close();
    expect(found).toEqual([1, 2].map((n) => [`live-${aTask(n).media_id}`]));
    expect(readdirSync(folder)).toEqual([]);
  }));
