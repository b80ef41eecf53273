import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { BullmqMediaTaskQueue } from '../../shared/adapters/bullmq/media-tasks';
import type { MediaTask } from '../../shared/ports/media-tasks';
import { aName, describeOn } from '../support/real-servers';
import { type OwnServer, startOwnServer } from '../support/servers/own-server';
import { waitFor, within } from '../support/wait-for';
import { aTask, mediaTasksContract } from './media-tasks.contract';

const unavailable = { condition: 'unavailable' };
const backoffMs = (): number => 5;

describeOn('REDIS_URL', 'on a real server', (url) => {
  mediaTasksContract('BullMQ', async () => {
    const reported: { message: string; task: MediaTask; attempt: number }[] = [];
    const prefix = aName();
    const open = () =>
      new BullmqMediaTaskQueue({
        url,
        prefix,
        onError: (error, task, attempt) =>
          void reported.push({ message: (error as Error).message, task, attempt }),
        backoffMs,
      });
    const tasks = open();
    return { tasks, reported, reopen: open, dispose: () => tasks.close() };
  });

  test('the task of a killed process moves to another within seconds', async () => {
    const prefix = aName();
    const tasks = new BullmqMediaTaskQueue({ url, prefix, backoffMs });
    const script = join(__dirname, '../support/media-task-holder.js');
    const victim = spawn(process.execPath, [script, url, prefix], { stdio: ['ignore', 'pipe', 'inherit'] });
    await tasks.add(aTask(1));
    const [printed] = await within(once(victim.stdout, 'data'), 'the process to take its first job');
    expect(String(printed).trim()).toBe(aTask(1).media_id);
    const seen: [MediaTask, number][] = [];
    await tasks.work(async (...call) => void seen.push(call), 1);
    victim.kill('SIGKILL');
    await waitFor(() => seen.length === 1, { what: 'the other process to run the task' });
    expect(seen).toEqual([[aTask(1), 2]]);
    await tasks.close();
  });

  test('completed and failed tasks leave nothing in Redis except the queue itself', async () => {
    const prefix = aName();
    const tasks = new BullmqMediaTaskQueue({ url, prefix, backoffMs });
    let attempts = 0;
    let done = 0;
    await tasks.work(async ({ environment }) => {
      attempts++;
      if (environment === 'test') throw new Error('never');
      done++;
    }, 2);
    for (let n = 0; n < 5; n++) await tasks.add(aTask(n));
    await tasks.add(aTask(1, 'test'));
    const redis = new Redis(url);
    await waitFor(async () => (await redis.keys(`${prefix}:media*:*-*-*-*-*`)).length === 0 && attempts > 10);
    expect(done).toBe(5);
    redis.disconnect();
    await tasks.close();
  });
});

describeOn('REDIS_URL', 'media tasks while Redis stops and restarts', () => {
  let server: OwnServer;
  let producer: BullmqMediaTaskQueue;
  let worker: BullmqMediaTaskQueue;
  const seen = new Set<string>();

  const isDone = (task: MediaTask): boolean => seen.has(task.media_id);

  beforeAll(async () => {
    server = await startOwnServer('redis');
    producer = new BullmqMediaTaskQueue({ url: server.url });
    worker = new BullmqMediaTaskQueue({ url: server.url, backoffMs });
    await worker.work(async (task) => void seen.add(task.media_id), 2);
  });
  afterAll(async () => {
    await Promise.all([producer.close(), worker.close()]);
    await server.dispose();
  });

  test('add fails while Redis is stopped; afterwards producer and worker continue on their own', async () => {
    await producer.add(aTask(1));
    await waitFor(() => isDone(aTask(1)));
    await server.kill();
    await expect(within(producer.add(aTask(2)), 'the add to fail')).rejects.toMatchObject(unavailable);
    await server.start();
    await waitFor(() => producer.add(aTask(2)).then(() => true));
    await waitFor(() => isDone(aTask(2)), { what: 'the worker to continue' });
  });

  test('add fails while Redis does not answer', async () => {
    await server.freeze();
    try {
      await expect(within(producer.add(aTask(3)), 'the add to fail')).rejects.toMatchObject(unavailable);
    } finally {
      await server.thaw();
    }
    await waitFor(() => producer.add(aTask(3)).then(() => true));
    await waitFor(() => isDone(aTask(3)));
  });

  test('after Redis loses its data, added tasks run, even one that is already running', async () => {
    let openGate = (): void => {};
    const gate = new Promise<void>((resolve) => {
      openGate = resolve;
    });
    let begun = 0;
    const slow = new BullmqMediaTaskQueue({ url: server.url, prefix: 'slow', backoffMs });
    await slow.work(async () => {
      begun++;
      await gate;
    }, 2);
    await slow.add(aTask(4));
    await waitFor(() => begun === 1);
    const redis = new Redis(server.url);
    await redis.flushall();
    redis.disconnect();
    await slow.add(aTask(4));
    await waitFor(() => begun === 2, { what: 'the task to be assigned again' });
    openGate();
    await within(slow.close(), 'the tasks to close');
    await producer.add(aTask(5));
    await waitFor(() => isDone(aTask(5)));
  });
});
