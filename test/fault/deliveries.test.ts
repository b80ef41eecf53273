import fc from 'fast-check';
import { LostRaceError } from '../../projections/engine/errors';
import type { RecordedEvent } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import { Crash, type FaultyVersion, openVersion } from '../support/faulty-views';
import { cleanFold, expectSameDocuments, expectTruth, foldBatch, PARTITIONS } from '../support/folding';
import {
  historyOf,
  listingCreated,
  mediaDeleted,
  mediaId,
  mediaProcessed,
  mediaUploaded,
  onListing,
  onPublication,
  play,
  publicationCreated,
  publicationId,
  publicationsViewed,
  type Step,
  shuffledHistoryOf,
  storeCreated,
  storeId,
} from '../support/history';
import { cases, IS_LONG } from '../support/long';
import { MemoryEventStore } from '../support/memory-event-store';

const countedOnce = (n: number): [n: number, views: number] => [n, 1];

async function logOf(steps: readonly Step[]): Promise<readonly RecordedEvent[]> {
  const events = new MemoryEventStore();
  await play(events, steps);
  return events.log;
}

/** A failure ends the run at once: to look for a smaller history takes minutes. */
const RUNS = { ...cases(5, 100), endOnFailure: true };

/** Deliveries: the number of positions after the partition's checkpoint, and the number of batches before a crash. */
const deliveries = fc.array(
  fc.record({
    partition: fc.integer({ min: 0, max: PARTITIONS - 1 }),
    reach: fc.integer({ min: 1, max: 60 }),
    crash_in: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.integer({ min: 0, max: 3 })),
  }),
  { maxLength: 60, size: 'max' },
);

async function deliver(
  version: FaultyVersion,
  log: readonly RecordedEvent[],
  partition: number,
  reach: number,
): Promise<void> {
  const to = Number(await version.checkpoint(partition)) + reach;
  await foldBatch(version, partition, log, BigInt(Math.min(to, log.length)));
}

async function deliverTheRest(version: FaultyVersion, log: readonly RecordedEvent[]): Promise<void> {
  version.crash_in = Number.POSITIVE_INFINITY;
  for (let partition = 0; partition < PARTITIONS; partition++)
    await foldBatch(version, partition, log, BigInt(log.length));
}

describe('the documents equal those of one clean fold of the log', () => {
  test('for batches of any size, crashes after any batch, redelivery, and children that come before their parents', async () => {
    const histories = fc.oneof(historyOf(120), shuffledHistoryOf(60));
    await fc.assert(
      fc.asyncProperty(histories, deliveries, async (steps, jobs) => {
        const log = await logOf(steps);
        const version = await openVersion();
        for (const { partition, reach, crash_in } of jobs) {
          version.crash_in = crash_in;
          await deliver(version, log, partition, reach).catch((error) => {
            if (!(error instanceof Crash)) throw error;
          });
        }
        await deliverTheRest(version, log);
        await expectTruth(version, log);
        await expectSameDocuments(version, await cleanFold(log));
      }),
      RUNS,
    );
  });

  test('for a crash during the sweep of a listing with more publications than one chunk', async () => {
    const many = Array.from({ length: 510 }, (_, n) => ({
      ...publicationCreated(0),
      id: publicationId(100 + n),
    }));
    const log = await logOf([
      storeCreated(0),
      listingCreated(0),
      ...many,
      onListing(0, 'ListingDescribed', { name: 'Once', description: null }),
      onListing(0, 'ListingVisibilityChanged', { visibility: 'private' }),
      onListing(0, 'ListingDeleted', {}),
    ]);
    const end = BigInt(log.length);
    const partition = partitionOf(storeId(0), PARTITIONS);
    const version = await openVersion();
    await foldBatch(version, partition, log, end - 3n);
    for (const to of [end - 1n, end]) {
      for (const crash_in of [0, 1]) {
        version.crash_in = crash_in;
        await foldBatch(version, partition, log, to).catch(() => undefined);
      }
      version.crash_in = Number.POSITIVE_INFINITY;
      await foldBatch(version, partition, log, to);
      await expectSameDocuments(version, await cleanFold(log.slice(0, Number(to))));
    }
  });

  test('for views of more publications than are changed at once, and a crash on the way', async () => {
    const ids = Array.from({ length: 2_010 }, (_, n) => 100 + n);
    const created = ids.map((n) => ({ ...publicationCreated(0), id: publicationId(n) }));
    const viewed = Array.from({ length: 11 }, (_, event) => ({
      ...publicationsViewed([0, 1]),
      data: publicationsViewed(...ids.slice(200 * event, 200 * event + 200).map(countedOnce)).data,
    }));
    const log = await logOf([storeCreated(0), listingCreated(0), ...created, ...viewed]);
    const end = BigInt(log.length);
    const partition = partitionOf(storeId(0), PARTITIONS);
    const version = await openVersion();
    await foldBatch(version, partition, log, end - 11n);
    const apply = jest.spyOn(version, 'apply');
    version.crash_in = 0;
    await expect(foldBatch(version, partition, log, end)).rejects.toThrow(Crash);
    version.crash_in = Number.POSITIVE_INFINITY;
    await foldBatch(version, partition, log, end);
    const writes = apply.mock.calls.map(([batch]) => batch.writes.length);
    // 2,000 publications before the crash, and the others.
    expect(writes.length).toBe(2);
    // A portion also has the listing and the store.
    expect(Math.max(...writes)).toBeLessThanOrEqual(2_002);
    await expectTruth(version, log);
  });

  test('for a crash after any batch of a media document that becomes crowded within the batch', async () => {
    const shown = Array.from({ length: 6 }, (_, n) => publicationCreated(n, { media_ids: [mediaId(0)] }));
    const moved = onPublication(0, 'PublicationMovedToListing', { listing_id: null });
    const log = await logOf([storeCreated(0), listingCreated(0), ...shown, mediaUploaded(0), moved]);
    const expected = await cleanFold(log);
    const partition = partitionOf(storeId(0), PARTITIONS);
    const to = BigInt(log.length);
    for (let crash_in = 0, completed = false; !completed; crash_in++) {
      const version = await openVersion();
      version.crash_in = crash_in;
      completed = await foldBatch(version, partition, log, to).then(
        () => true,
        () => false,
      );
      version.crash_in = Number.POSITIVE_INFINITY;
      await foldBatch(version, partition, log, to);
      await expectSameDocuments(version, expected);
    }
  });

  test.each([
    ['few enough to update them together', 3],
    ['too many by then', 0],
  ])(
    'for a crash after any batch of media and what uses them, redelivered one by one: %s',
    async (_, max) => {
      const log = await logOf([
        ...[storeCreated(0), listingCreated(0), mediaUploaded(0)],
        ...[0, 1].map((n) => publicationCreated(n, { media_ids: [mediaId(0), mediaId(1)] })),
        ...[mediaProcessed(0), mediaUploaded(1)],
        onPublication(0, 'PublicationVisibilityChanged', { visibility: 'private' }),
        onPublication(1, 'PublicationMediaArranged', { media_ids: [mediaId(1)] }),
        ...[mediaProcessed(1), mediaDeleted(0)],
        onListing(0, 'ListingMediaArranged', { media_ids: [mediaId(1)] }),
        onPublication(1, 'PublicationDeleted', {}),
      ]);
      const expected = await cleanFold(log);
      await expectTruth(expected, log);
      const partition = partitionOf(storeId(0), PARTITIONS);
      const end = log.length;
      for (let from = 2; from < end; from += IS_LONG ? 1 : 3)
        for (let crash_in = 0, completed = false; !completed; crash_in++) {
          const version = await openVersion();
          await foldBatch(version, partition, log, BigInt(from));
          version.crash_in = crash_in;
          completed = await foldBatch(version, partition, log, BigInt(end)).then(
            () => true,
            () => false,
          );
          version.crash_in = Number.POSITIVE_INFINITY;
          for (let to = from + 1; to <= end; to++) await foldBatch(version, partition, log, BigInt(to), max);
          await expectSameDocuments(version, expected);
        }
    },
  );

  test('for two workers in one partition at once', async () => {
    await fc.assert(
      fc.asyncProperty(
        historyOf(100),
        deliveries,
        fc.infiniteStream(fc.nat(3)),
        async (steps, jobs, turns) => {
          const log = await logOf(steps);
          const version = await openVersion();
          version.interleave = async () => {
            for (let turn = turns.next().value ?? 0; turn > 0; turn--) await Promise.resolve();
          };
          const worker = async (own_jobs: typeof jobs): Promise<void> => {
            for (const { partition, reach } of own_jobs)
              await deliver(version, log, partition, reach).catch((error) => {
                if (!(error instanceof LostRaceError)) throw error;
              });
          };
          const half = jobs.length >> 1;
          await Promise.all([worker(jobs.slice(0, half)), worker(jobs.slice(half))]);
          await deliverTheRest(version, log);
          await expectSameDocuments(version, await cleanFold(log));
        },
      ),
      RUNS,
    );
  });
});
