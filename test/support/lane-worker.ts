import { BullmqJobQueue } from '../../shared/adapters/bullmq/job-queue';

/*
 * A worker process for tests: `node lane-worker.js <url> <prefix>`. Prints `<lane>:<prev>` when it begins a job, and
 * never finishes one.
 */
const [url = '', prefix = ''] = process.argv.slice(2);
const queue = new BullmqJobQueue({ url, prefix, realm: 'live', lane_count: 4 });
void queue.work(async ({ lane, prev }) => {
  process.stdout.write(`${lane}:${prev}\n`);
  await new Promise(() => {});
});
