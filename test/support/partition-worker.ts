import { BullmqJobQueue } from '../../shared/adapters/bullmq/job-queue';

/*
 * A worker process for tests: `node partition-worker.js <url> <prefix>`. Prints `<partition>:<prev>` when it begins a
 * job, and never finishes one.
 */
const [url = '', prefix = ''] = process.argv.slice(2);
const queue = new BullmqJobQueue({ url, prefix, realm: 'live', partition_count: 4 });
void queue.work(async ({ partition, prev }) => {
  process.stdout.write(`${partition}:${prev}\n`);
  await new Promise(() => {});
});
