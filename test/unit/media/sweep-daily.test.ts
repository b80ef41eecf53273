import type { Runtime } from '../../../services/boot/runtime';
import { sweepOnceADay } from '../../../services/media/stored-files';
import { CatalogError } from '../../../shared/kernel/errors';
import { type Harness, startHarness } from '../../support/harness';
import { chunks, hashOf } from '../../support/media';
import { waitFor } from '../../support/wait-for';

const TIMES = { retry_ms: 5, interval_ms: 3_600_000 };
const bytes = Buffer.from('an unused file');

let harness: Harness;
let runtime: Runtime;
beforeEach(async () => {
  harness = await startHarness();
  runtime = harness.service.runtime;
  await harness.newStore();
  await runtime.blobs.live.originals.put(chunks(bytes));
});
afterEach(() => harness.close());

/**
 * Starts the daily sweep of one process, with a clock two days ahead. Counts the reads of the log, one for each sweep, and
 * the reads of its head, of which each sweep makes at least one.
 */
function processOf(owner: string, head?: () => Promise<bigint>) {
  const stopping = new AbortController();
  const count = { sweeps: 0, heads: 0 };
  const live = Object.create(runtime.events.live) as Runtime['events']['live'];
  live.head = async () => {
    count.heads++;
    return head ? head() : runtime.events.live.head();
  };
  live.subscribe = (options) => {
    count.sweeps++;
    return runtime.events.live.subscribe(options);
  };
  const system = { ...runtime.system, now: () => Date.now() + 48 * 3_600_000 };
  const parts = { ...runtime, system, events: { ...runtime.events, live } };
  const ended = sweepOnceADay(parts, 'live', owner, stopping.signal, TIMES);
  const stop = async () => {
    stopping.abort();
    await ended;
  };
  return { count, stop };
}
const isGone = async () => (await runtime.blobs.live.originals.size(hashOf(bytes))) === undefined;

test('of two processes only one sweeps; after it stops, the other does', async () => {
  const one = processOf('one');
  await waitFor(isGone);
  const other = processOf('other');
  await runtime.blobs.live.originals.put(chunks(bytes));
  let lease_attempts = 0;
  const { lease } = runtime.viewStores.live;
  runtime.viewStores.live.lease = (...call) => {
    lease_attempts++;
    return lease.apply(runtime.viewStores.live, call);
  };
  await waitFor(() => lease_attempts >= 3, { what: 'the other process to try to take the lease' });
  expect([one.count.sweeps, other.count.sweeps]).toEqual([1, 0]);
  await one.stop();
  await waitFor(isGone);
  expect(other.count.sweeps).toBe(1);
  await other.stop();
});

test('retries while the log is unavailable and releases the lease in between', async () => {
  let unavailable = true;
  const one = processOf('one', async () => {
    if (unavailable) throw new CatalogError('unavailable');
    return runtime.events.live.head();
  });
  await waitFor(() => one.count.heads >= 2);
  expect(await isGone()).toBe(false);
  unavailable = false;
  await waitFor(isGone);
  await one.stop();
});
