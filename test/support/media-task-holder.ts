import { BullmqMediaTasks } from '../../shared/adapters/bullmq/media-tasks';

/* A process that takes a media task from the Redis and the prefix that it is given, says so, and never gets it done. */

async function main(): Promise<void> {
  const [url, prefix] = process.argv.slice(2) as [string, string];
  const tasks = new BullmqMediaTasks({ url, prefix });
  await tasks.work(async ({ media_id }) => {
    process.stdout.write(`${media_id}\n`);
    await new Promise(() => {});
  }, 1);
}

void main();
