import fc from 'fast-check';
import { LostRaceError } from '../../projections/engine/errors';
import { useId } from '../../projections/engine/reverse-index';
import type { RecordedEvent } from '../../shared/catalog/events/envelope';
import { laneOf } from '../../shared/catalog/events/lanes';
import { cleanFold, documentsOf, expectTruth, foldBatch, LANES } from '../support/folding';
import {
  historyOf,
  listingCreated,
  mediaId,
  mediaUploaded,
  onListing,
  onPublication,
  play,
  publicationCreated,
  publicationId,
  type Step,
  shuffledHistoryOf,
  storeCreated,
  storeId,
} from '../support/history';
import { MemoryEventStore } from '../support/memory-event-store';
import { Crash, MemoryViewVersion } from '../support/memory-view-store';

async function logOf(steps: readonly Step[]): Promise<readonly RecordedEvent[]> {
  const events = new MemoryEventStore();
  await play(events, steps);
  return events.log;
}

/** A delivery: how many positions beyond the lane's checkpoint it reaches, and after how many writes it dies. */
const deliveries = fc.array(
  fc.record({
    lane: fc.integer({ min: 0, max: LANES - 1 }),
    reach: fc.integer({ min: 1, max: 60 }),
    crash_in: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.integer({ min: 0, max: 40 })),
  }),
  { maxLength: 60, size: 'max' },
);

async function deliver(
  version: MemoryViewVersion,
  log: readonly RecordedEvent[],
  lane: number,
  reach: number,
): Promise<void> {
  const to = Number(await version.checkpoint(lane)) + reach;
  await foldBatch(version, lane, log, BigInt(Math.min(to, log.length)));
}

async function deliverTheRest(version: MemoryViewVersion, log: readonly RecordedEvent[]): Promise<void> {
  version.crash_in = Number.POSITIVE_INFINITY;
  for (let lane = 0; lane < LANES; lane++) await foldBatch(version, lane, log, BigInt(log.length));
}

describe('however events are delivered, the documents are those of one clean fold', () => {
  test('in batches of any size, they are what the whole log says at once', async () => {
    await fc.assert(
      fc.asyncProperty(historyOf(120), fc.integer({ min: 1, max: 80 }), async (steps, size) => {
        const log = await logOf(steps);
        const version = await cleanFold(log, size);
        await expectTruth(version, log);
        expect(await documentsOf(version)).toEqual(await documentsOf(await cleanFold(log)));
      }),
      { numRuns: 40 },
    );
  });

  test('even where things come before what they belong to', async () => {
    await fc.assert(
      fc.asyncProperty(shuffledHistoryOf(60), fc.integer({ min: 1, max: 80 }), async (steps, size) => {
        const log = await logOf(steps);
        const version = await cleanFold(log, size);
        await expectTruth(version, log);
        expect(await documentsOf(version)).toEqual(await documentsOf(await cleanFold(log)));
      }),
      { numRuns: 40 },
    );
  });

  test.each([
    ['with transactions', true],
    ['without transactions', false],
  ])('with crashes at any write and repeats in other batches, in a store %s', async (_, transactions) => {
    const histories = fc.oneof(historyOf(120), shuffledHistoryOf(60));
    await fc.assert(
      fc.asyncProperty(histories, deliveries, async (steps, given) => {
        const log = await logOf(steps);
        const version = new MemoryViewVersion(1, { lane_count: LANES, transactions });
        for (const { lane, reach, crash_in } of given) {
          version.crash_in = crash_in;
          await deliver(version, log, lane, reach).catch((error) => {
            if (!(error instanceof Crash)) throw error;
          });
        }
        await deliverTheRest(version, log);
        expect(await documentsOf(version)).toEqual(await documentsOf(await cleanFold(log)));
      }),
      { numRuns: 40 },
    );
  });

  test('of a listing with more publications than are changed at once, whatever write of it dies', async () => {
    const many = Array.from({ length: 1_040 }, (_, n) => ({
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
    const lane = laneOf(storeId(0), LANES);
    const version = new MemoryViewVersion(1, { lane_count: LANES, transactions: false });
    await foldBatch(version, lane, log, end - 3n);
    for (const to of [end - 1n, end]) {
      for (const crash_in of [300, 510, 511, 900]) {
        version.crash_in = crash_in;
        await foldBatch(version, lane, log, to).catch(() => undefined);
      }
      version.crash_in = Number.POSITIVE_INFINITY;
      await foldBatch(version, lane, log, to);
      expect(await documentsOf(version)).toEqual(
        await documentsOf(await cleanFold(log.slice(0, Number(to)))),
      );
    }
  });

  test('of a picture that becomes one that many show, wherever the batch breaks off', async () => {
    const shown = Array.from({ length: 6 }, (_, n) => publicationCreated(n, { media_ids: [mediaId(0)] }));
    const moved = onPublication(0, 'PublicationMovedToListing', { listing_id: null });
    const log = await logOf([storeCreated(0), listingCreated(0), ...shown, mediaUploaded(0), moved]);
    const truth = await documentsOf(await cleanFold(log));
    const lane = laneOf(storeId(0), LANES);
    const to = BigInt(log.length);
    for (let crash_in = 0, whole = false; !whole; crash_in++) {
      const version = new MemoryViewVersion(1, { lane_count: LANES, transactions: false });
      version.crash_in = crash_in;
      whole = await foldBatch(version, lane, log, to).then(
        () => true,
        () => false,
      );
      version.crash_in = Number.POSITIVE_INFINITY;
      await foldBatch(version, lane, log, to);
      expect(await documentsOf(version)).toEqual(truth);
    }
  });

  test('with two workers in one lane at once, in a store without transactions', async () => {
    await fc.assert(
      fc.asyncProperty(
        historyOf(100),
        deliveries,
        fc.infiniteStream(fc.nat(3)),
        async (steps, given, turns) => {
          const log = await logOf(steps);
          const version = new MemoryViewVersion(1, { lane_count: LANES, transactions: false });
          version.interleave = async () => {
            for (let turn = turns.next().value ?? 0; turn > 0; turn--) await Promise.resolve();
          };
          const worker = async (mine: typeof given): Promise<void> => {
            for (const { lane, reach } of mine)
              await deliver(version, log, lane, reach).catch((error) => {
                if (!(error instanceof LostRaceError)) throw error;
              });
          };
          const half = given.length >> 1;
          await Promise.all([worker(given.slice(0, half)), worker(given.slice(half))]);
          await deliverTheRest(version, log);
          expect(await documentsOf(version)).toEqual(await documentsOf(await cleanFold(log)));
        },
      ),
      { numRuns: 40 },
    );
  });

  test('a worker that is behind brings back no use of a media that one further on has ended', async () => {
    const created = publicationCreated(0, { listing_id: null, media_ids: [mediaId(0)] });
    const deleted = onPublication(0, 'PublicationDeleted', {});
    const log = await logOf([storeCreated(0), mediaUploaded(0), created, deleted]);
    const lane = laneOf(storeId(0), LANES);
    const version = new MemoryViewVersion(1, { lane_count: LANES, transactions: false });
    await foldBatch(version, lane, log, 2n);
    let behind: Promise<void> | undefined;
    version.interleave = async () => {
      const use = await version.get('media_uses', useId(mediaId(0), publicationId(0)));
      if (behind || use === undefined) return;
      version.beforeWrite = ({ collection }) => {
        if (collection === 'publications') throw new Crash('crashed');
      };
      behind = foldBatch(version, lane, log, 3n);
      await expect(behind).rejects.toBeInstanceOf(Crash);
      version.beforeWrite = () => {};
    };
    await foldBatch(version, lane, log, 4n);
    expect(behind).toBeDefined();
    await deliverTheRest(version, log);
    expect(await documentsOf(version)).toEqual(await documentsOf(await cleanFold(log)));
  });
});
