import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { BullmqMediaTasks } from '../../shared/adapters/bullmq/media-tasks';
import type { MediaTask } from '../../shared/ports/media-tasks';
import { aName, describeOn } from '../support/real-servers';
import { type OwnServer, startOwnServer } from '../support/servers/own-server';
import { waitFor } from '../support/wait-for';
import { aTask, mediaTasksContract } from './media-tasks.contract';

const away = { condition: 'unavailable' };
const backoffMs = (): number => 5;

describeOn('REDIS_URL', 'on a real server', (url) => {
  mediaTasksContract('BullMQ', async () => {
    const told: { message: string; task: MediaTask; attempt: number }[] = [];
    const tasks = new BullmqMediaTasks({
      url,
      prefix: aName(),
      onError: (error, task, attempt) => void told.push({ message: (error as Error).message, task, attempt }),
      backoffMs,
    });
    return { tasks, told, dispose: () => tasks.close() };
  });

  test('a task of a process that is killed passes to another within some seconds', async () => {
    const prefix = aName();
    const tasks = new BullmqMediaTasks({ url, prefix, backoffMs });
    const script = join(__dirname, '../support/media-task-holder.js');
    const victim = spawn(process.execPath, [script, url, prefix], { stdio: ['ignore', 'pipe', 'inherit'] });
    await tasks.add(aTask(1));
    expect(String((await once(victim.stdout, 'data'))[0]).trim()).toBe(aTask(1).media_id);
    const seen: MediaTask[] = [];
    await tasks.work(async (task) => void seen.push(task), 1);
    victim.kill('SIGKILL');
    await waitFor(() => seen.length === 1, { what: 'the task being done elsewhere' });
    expect(seen).toEqual([aTask(1)]);
    await tasks.close();
  });

  test('what is done and what is given up leaves nothing in Redis but the queue itself', async () => {
    const prefix = aName();
    const tasks = new BullmqMediaTasks({ url, prefix, backoffMs });
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
    await waitFor(async () => (await redis.keys(`${prefix}:media:*-*-*`)).length === 0 && attempts > 10);
    expect(done).toBe(5);
    redis.disconnect();
    await tasks.close();
  });
});

describeOn('REDIS_URL', 'media tasks while Redis goes away and comes back', () => {
  let server: OwnServer;
  let producer: BullmqMediaTasks;
  let worker: BullmqMediaTasks;
  const seen = new Set<string>();

  const isDone = (task: MediaTask): boolean => seen.has(task.media_id);

  beforeAll(async () => {
    server = await startOwnServer('redis');
    producer = new BullmqMediaTasks({ url: server.url });
    worker = new BullmqMediaTasks({ url: server.url, backoffMs });
    await worker.work(async (task) => void seen.add(task.media_id), 2);
  });
  afterAll(async () => {
    await Promise.all([producer.close(), worker.close()]);
    await server.dispose();
  });

  test('an add is refused while it is killed; afterwards both sides go on by themselves', async () => {
    await producer.add(aTask(1));
    await waitFor(() => isDone(aTask(1)));
    await server.kill();
    await expect(producer.add(aTask(2))).rejects.toMatchObject(away);
    await server.start();
    await waitFor(() => producer.add(aTask(2)).then(() => true));
    await waitFor(() => isDone(aTask(2)), { what: 'the worker going on' });
  });

  test('an add is refused while it stays silent', async () => {
    await server.freeze();
    try {
      await expect(producer.add(aTask(3))).rejects.toMatchObject(away);
    } finally {
      await server.thaw();
    }
    await waitFor(() => producer.add(aTask(3)).then(() => true));
    await waitFor(() => isDone(aTask(3)));
  });

  test('where it is emptied, what is added again is done, a task that was running too', async () => {
    let letGo = (): void => {};
    const gate = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let begun = 0;
    const slow = new BullmqMediaTasks({ url: server.url, prefix: 'slow', backoffMs });
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
    await waitFor(() => begun === 2, { what: 'the task being given out again' });
    letGo();
    await slow.close();
    await producer.add(aTask(5));
    await waitFor(() => isDone(aTask(5)));
  });
});
