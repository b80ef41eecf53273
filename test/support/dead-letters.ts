import { type StreamName, streamName } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import { nextBatch } from '../contract/some-documents';
import type { Harness } from './harness';
import { waitFor } from './wait-for';

/** An id, apart from its last digit. */
const UNREADABLE = '01890000-0000-7000-8000-00000000000';

/** Appends an event that no worker can read, as one of a later release would be. `n`: a digit. */
export async function appendUnreadable(harness: Harness, store_id: string, n: number): Promise<StreamName> {
  const stream = streamName('live', 'listing', `${UNREADABLE}${n}`);
  const metadata = {
    occurred_at: new Date().toISOString(),
    partition_key: store_id,
    store_id,
    source: 'system' as const,
  };
  await harness.service.runtime.events.live.append(stream, -1, [
    { id: `${UNREADABLE}${n}`, type: 'OfALaterRelease', schema_version: 1, data: { n }, metadata },
  ]);
  return stream;
}

/** Puts a stream whose first event can be projected on the dead-letter list, as if it had failed earlier. */
export async function addDeadLetter(harness: Harness, store_id: string, stream: StreamName, reason: string) {
  const { events, viewStores } = harness.service.runtime;
  const [first] = await events.live.readStream(stream);
  await harness.settled();
  const active = (await viewStores.live.versions()).find(({ status }) => status === 'active')!;
  const version = await viewStores.live.open(active.version);
  const partition = partitionOf(store_id, viewStores.live.partition_count);
  const { position, revision } = first!;
  const letter = { stream, partition, revision, position, reason, failed_at: '2026-01-01T00:00:00Z' };
  // Workers may win the race.
  await waitFor(async () => {
    const batch = await nextBatch(version, { partition, dead_letters: [letter] });
    return (await version.apply(batch)) === 'applied';
  });
  return letter;
}
