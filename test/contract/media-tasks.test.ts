import { InProcessMediaTaskQueue } from '../../shared/adapters/in-process/media-tasks';
import type { MediaTask } from '../../shared/ports/media-tasks';
import { bounded } from '../support/bounded';
import { waitFor } from '../support/wait-for';
import { aTask, type MediaTasksUnderTest, mediaTasksContract } from './media-tasks.contract';

mediaTasksContract('in process', async () => {
  const reported: { message: string; task: MediaTask; attempt: number }[] = [];
  const tasks = new InProcessMediaTaskQueue({
    onError: (error, task, attempt) =>
      void reported.push({ message: (error as Error).message, task, attempt }),
    backoffMs: () => 5,
  });
  const under_test: MediaTasksUnderTest = { tasks, reported, dispose: () => tasks.close() };
  return under_test;
});

test('media tasks in process: without workers, the number of waiting tasks is bounded', async () => {
  const tasks = bounded(new InProcessMediaTaskQueue(), 'tasks');
  for (let n = 0; n < 12_000; n++) await tasks.add(aTask(n));
  let seen = 0;
  await tasks.work(async () => void seen++, 1);
  await waitFor(() => seen >= 10_000);
  await tasks.close();
  expect(seen).toBe(10_000);
});
