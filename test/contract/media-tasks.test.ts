import { InProcessMediaTasks } from '../../shared/adapters/in-process/media-tasks';
import type { MediaTask } from '../../shared/ports/media-tasks';
import { waitFor } from '../support/wait-for';
import { aTask, type MediaTasksUnderTest, mediaTasksContract } from './media-tasks.contract';

mediaTasksContract('in process', async () => {
  const told: { message: string; task: MediaTask; attempt: number }[] = [];
  const tasks = new InProcessMediaTasks({
    onError: (error, task, attempt) => void told.push({ message: (error as Error).message, task, attempt }),
    backoffMs: () => 5,
  });
  const given: MediaTasksUnderTest = { tasks, told, dispose: () => tasks.close() };
  return given;
});

test('media tasks in process: where nobody works what is held stays bounded', async () => {
  const tasks = new InProcessMediaTasks();
  for (let n = 0; n < 12_000; n++) await tasks.add(aTask(n));
  let seen = 0;
  await tasks.work(async () => void seen++, 1);
  await waitFor(() => seen >= 10_000);
  await tasks.close();
  expect(seen).toBe(10_000);
});
