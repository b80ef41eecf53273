import { BullmqMediaTaskQueue } from '../../shared/adapters/bullmq/media-tasks';

/* Takes a media task from the queue at a Redis URL and prefix, prints the media's id, and never finishes. */

async function main(): Promise<void> {
  const [url, prefix] = process.argv.slice(2) as [string, string];
  const tasks = new BullmqMediaTaskQueue({ url, prefix });
  await tasks.work(async ({ media_id }) => {
    process.stdout.write(`${media_id}\n`);
    await new Promise(() => {});
  }, 1);
}

void main();
