import type { Runtime } from '../../../services/boot/runtime';
import { sweepOnceADay } from '../../../services/media/sweep';
import { CatalogError } from '../../../shared/kernel/errors';
import { type Harness, startHarness } from '../../support/harness';
import { chunks, hashOf } from '../../support/media';
import { waitFor } from '../../support/wait-for';

const TIMES = { look_ms: 5, rest_ms: 3_600_000 };
const bytes = Buffer.from('of an upload that was refused');

let harness: Harness;
let runtime: Runtime;
beforeEach(async () => {
  harness = await startHarness();
  runtime = harness.service.runtime;
  await harness.newStore();
  await runtime.blobs.live.originals.put(chunks(bytes));
});
afterEach(() => harness.close());

/** The sweeps of one process, two days from now; `sweeps` counts those that read the log. */
function processOf(owner: string, head?: () => Promise<bigint>) {
  const stopping = new AbortController();
  const told = { sweeps: 0 };
  const live = Object.create(runtime.events.live) as Runtime['events']['live'];
  live.head = async () => {
    told.sweeps++;
    return head ? head() : runtime.events.live.head();
  };
  const system = { ...runtime.system, now: () => Date.now() + 48 * 3_600_000 };
  const parts = { ...runtime, system, events: { ...runtime.events, live } };
  const ended = sweepOnceADay(parts, 'live', owner, stopping.signal, TIMES);
  const stop = async () => {
    stopping.abort();
    await ended;
  };
  return { told, stop };
}
const isGone = async () => (await runtime.blobs.live.originals.size(hashOf(bytes))) === undefined;

test('of two processes one sweeps, once; where it ends, the other does', async () => {
  const one = processOf('one');
  await waitFor(isGone);
  const other = processOf('other');
  await runtime.blobs.live.originals.put(chunks(bytes));
  let asked = 0;
  const { lease } = runtime.viewStores.live;
  runtime.viewStores.live.lease = (...call) => {
    asked++;
    return lease.apply(runtime.viewStores.live, call);
  };
  await waitFor(() => asked >= 3, { what: 'the other to have asked for the lease' });
  expect([one.told.sweeps, other.told.sweeps]).toEqual([1, 0]);
  await one.stop();
  await waitFor(isGone);
  expect(other.told.sweeps).toBe(1);
  await other.stop();
});

test('a log that is away is tried again, and the lease is not kept meanwhile', async () => {
  let away = true;
  const one = processOf('one', async () => {
    if (away) throw new CatalogError('unavailable');
    return runtime.events.live.head();
  });
  await waitFor(() => one.told.sweeps >= 2);
  expect(await isGone()).toBe(false);
  away = false;
  await waitFor(isGone);
  await one.stop();
});
