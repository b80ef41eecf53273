import fc from 'fast-check';
import pino from 'pino';
import { LostRaceError } from '../../projections/engine/errors';
import { projectSpan } from '../../projections/engine/project';
import { VIEW_SCHEMA } from '../../projections/engine/versions';
import { projectWaiting, retry } from '../../projections/maintenance/parked';
import type { Position, RecordedEvent } from '../../shared/catalog/events/envelope';
import { laneOf } from '../../shared/catalog/events/lanes';
import { realSystem } from '../../shared/kernel/system';
import { cleanFold, documentsOf, eventsOf, expectTruth, foldBatch, LANES, now } from '../support/folding';
import {
  historyOf,
  listingCreated,
  listingId,
  mediaFailed,
  mediaId,
  mediaUploaded,
  onPublication,
  play,
  publicationCreated,
  publicationId,
  reviewPosted,
  shuffledHistoryOf,
  storeCreated,
  storeId,
} from '../support/history';
import { MemoryEventStore } from '../support/memory-event-store';
import { Crash, MemoryViewStore, MemoryViewVersion } from '../support/memory-view-store';

/** What happens next: some of a lane is projected, an event is made readable, or a parked stream is tried again. */
const actions = fc.array(
  fc.record({
    kind: fc.constantFrom('deliver', 'deliver', 'cure', 'retry', 'retry', 'retry'),
    lane: fc.integer({ min: 0, max: LANES - 1 }),
    reach: fc.integer({ min: 1, max: 60 }),
    pick: fc.nat(),
    crash_in: fc.oneof(
      fc.constant(Number.POSITIVE_INFINITY),
      fc.integer({ min: 0, max: 30 }),
      fc.integer({ min: 0, max: 5 }),
    ),
  }),
  { minLength: 20, maxLength: 80, size: 'max' },
);

/** Events that nobody can read, until they are cured. */
class Poison {
  private readonly events: MemoryEventStore;
  private readonly healthy = new Map<Position, RecordedEvent>();

  constructor(events: MemoryEventStore, picks: readonly number[]) {
    this.events = events;
    for (const pick of picks) {
      const event = events.log[pick % events.log.length]!;
      if (!this.healthy.has(event.position)) this.healthy.set(event.position, event);
      events.amend(event.position, { type: 'FromTheFuture' });
    }
  }

  cure(pick: number): void {
    const left = [...this.healthy];
    if (left.length === 0) return;
    const [position, event] = left[pick % left.length]!;
    this.events.amend(position, event);
    this.healthy.delete(position);
  }

  cureAll(): void {
    while (this.healthy.size > 0) this.cure(0);
  }
}

async function retryOne(version: MemoryViewVersion, events: MemoryEventStore, pick: number): Promise<void> {
  const parked = await version.parked();
  if (parked.length === 0) return;
  await projectWaiting({ events, system: realSystem }, version, parked[pick % parked.length]!, undefined);
}

const onlyFaults = (error: unknown): void => {
  if (!(error instanceof Crash || error instanceof LostRaceError)) throw error;
};

async function finish(version: MemoryViewVersion, events: MemoryEventStore): Promise<void> {
  version.crash_in = Number.POSITIVE_INFINITY;
  const end = BigInt(events.log.length);
  for (let lane = 0; lane < LANES; lane++) await foldBatch(version, lane, events.log, end);
  for (let pick = 0; (await version.parked()).length > 0; pick++) await retryOne(version, events, pick);
}

describe('a poisoned event', () => {
  test.each([
    ['with transactions', true],
    ['without transactions', false],
  ])('heals without a trace, whatever crashes on the way, in a store %s', async (_, transactions) => {
    const histories = fc.oneof(historyOf(100), shuffledHistoryOf(60));
    const picks = fc.array(fc.nat(), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(histories, picks, actions, async (steps, poisoned, given) => {
        const events = new MemoryEventStore();
        await play(events, steps);
        const poison = new Poison(events, poisoned);
        const version = new MemoryViewVersion(1, { lane_count: LANES, transactions });
        for (const { kind, lane, reach, pick, crash_in } of given) {
          version.crash_in = crash_in;
          const to = BigInt(Math.min(Number(await version.checkpoint(lane)) + reach, events.log.length));
          if (kind === 'cure') poison.cure(pick);
          if (kind === 'deliver') await foldBatch(version, lane, events.log, to).catch(onlyFaults);
          if (kind === 'retry') await retryOne(version, events, pick).catch(onlyFaults);
        }
        poison.cureAll();
        await finish(version, events);
        expect(await documentsOf(version)).toEqual(await documentsOf(await cleanFold(events.log)));
        await expectTruth(version, events.log);
      }),
      { numRuns: 40 },
    );
  });

  test('is not shown where it left, though a retry broke off and others went on before the next', async () => {
    const events = new MemoryEventStore();
    const made = Array.from({ length: 24 }, (_, n) => publicationCreated(n));
    await play(events, [storeCreated(0), listingCreated(0), listingCreated(1), ...made]);
    await play(events, [onPublication(20, 'PublicationMovedToListing', { listing_id: listingId(1) })]);
    const poison = new Poison(events, [events.log.length - 1]);
    const version = new MemoryViewVersion(1, { lane_count: LANES, transactions: false });
    const deliver = async (): Promise<void> => {
      for (let lane = 0; lane < LANES; lane++)
        await foldBatch(version, lane, events.log, await events.head());
    };
    await deliver();
    poison.cureAll();
    // Both listings are written, the publication is not.
    version.beforeWrite = ({ collection }) => {
      if (collection === 'publications') throw new Crash('crashed');
    };
    await expect(retryOne(version, events, 0)).rejects.toThrow(Crash);
    version.beforeWrite = () => {};
    // The listing takes in another for the one that goes, from documents that do not know of the move yet.
    await play(events, [onPublication(23, 'PublicationDeleted', {})]);
    await deliver();
    await retryOne(version, events, 0);
    expect(await documentsOf(version)).toEqual(await documentsOf(await cleanFold(events.log)));
  });

  test('that another operator has freed meanwhile is left alone', async () => {
    const events = new MemoryEventStore();
    await play(events, [storeCreated(0), listingCreated(0), publicationCreated(0), publicationCreated(1)]);
    const poison = new Poison(events, [2]);
    const version = new MemoryViewVersion(1, { lane_count: LANES });
    for (let lane = 0; lane < LANES; lane++) await foldBatch(version, lane, events.log, await events.head());
    poison.cureAll();
    const [shown] = await version.parked();
    const operator = () => projectWaiting({ events, system: realSystem }, version, shown!, undefined);
    expect(await operator()).toEqual({ projected: 1, parked: null });
    expect(await operator()).toEqual({ projected: 0, parked: null });
    expect(await documentsOf(version)).toEqual(await documentsOf(await cleanFold(events.log)));
  });

  test('of a listing is not lost to its store, wherever the retry that brings it in breaks off', async () => {
    const events = new MemoryEventStore();
    await play(events, [publicationCreated(40), listingCreated(3), publicationCreated(41)]);
    for (let crash_in = 0, whole = false; !whole; crash_in++) {
      const poison = new Poison(events, [1]);
      const version = new MemoryViewVersion(1, { lane_count: LANES, transactions: false });
      await foldBatch(version, laneOf(storeId(1), LANES), events.log, 3n);
      poison.cureAll();
      version.crash_in = crash_in;
      whole = await retryOne(version, events, 0).then(
        () => true,
        () => false,
      );
      await finish(version, events);
      expect(await documentsOf(version)).toEqual(await documentsOf(await cleanFold(events.log)));
    }
  });

  test('of another store changes nothing in the lane of the picture that it refers to', async () => {
    const events = new MemoryEventStore();
    const referring = [39, 42, 43].map((n) => publicationCreated(n, { media_ids: [mediaId(0)] }));
    await play(events, [mediaUploaded(0), ...referring, mediaFailed(0)]);
    const [own, others] = [laneOf(storeId(0), LANES), laneOf(storeId(1), LANES)];
    const poison = new Poison(events, [3]);
    const version = new MemoryViewVersion(1, { lane_count: LANES, transactions: false });
    await foldBatch(version, own, events.log, 1n);
    version.crash_in = 3;
    await expect(foldBatch(version, own, events.log, 5n)).rejects.toThrow(Crash);
    version.crash_in = Number.POSITIVE_INFINITY;
    await foldBatch(version, others, events.log, 5n);
    poison.cureAll();
    await retryOne(version, events, 0);
    await finish(version, events);
    expect(await documentsOf(version)).toEqual(await documentsOf(await cleanFold(events.log)));
  });

  test.each([
    ['with transactions', true],
    ['without transactions', false],
  ])(
    'is found where its document cannot be written, and counted once in the end, in a store %s',
    async (_, transactions) => {
      const events = new MemoryEventStore();
      const made = Array.from({ length: 24 }, (_, n) => publicationCreated(n));
      const reviews = [reviewPosted(1, 20, 5), reviewPosted(2, 21, 4)];
      await play(events, [storeCreated(0), listingCreated(0), ...made, ...reviews]);
      await play(events, [onPublication(20, 'PublicationVisibilityChanged', { visibility: 'private' })]);
      const views = new MemoryViewStore({ lane_count: LANES, transactions });
      const { version: number } = await views.createVersion(VIEW_SCHEMA);
      await views.activate(number);
      const version = await views.open(number);
      version.beforeWrite = ({ id }) => {
        if (id === publicationId(20)) throw new Error('document too large');
      };
      const lane = laneOf(storeId(0), LANES);
      const last = await events.head();
      const target = { version, lane, lane_count: LANES, events, now };
      await projectSpan(target, { prev: 0n, last, events: eventsOf(events.log, lane) });
      expect(await version.parked()).toMatchObject([{ revision: 0 }, { revision: 0 }]);
      version.beforeWrite = () => {};
      const parts = { events, views, system: realSystem, log: pino({ level: 'silent' }) };
      for (const { stream } of await version.parked())
        expect(await retry(parts, stream)).toMatchObject([{ parked: null }]);
      expect(await documentsOf(version)).toEqual(await documentsOf(await cleanFold(events.log)));
    },
  );

  test('heals while workers are at work, in a store without transactions', async () => {
    const picks = fc.array(fc.nat(), { minLength: 1, maxLength: 12 });
    const turns = fc.infiniteStream(fc.nat(3));
    // Without media: a retry that puts one on a publication and a worker that changes that very media write no
    // document in common, so neither learns of the other (docs/cli.md tells so, and `verify` finds it).
    const histories = historyOf(100).map((steps) => steps.filter(({ category }) => category !== 'media'));
    await fc.assert(
      fc.asyncProperty(histories, picks, actions, turns, async (steps, poisoned, given, pauses) => {
        const events = new MemoryEventStore();
        await play(events, steps);
        const poison = new Poison(events, poisoned);
        const version = new MemoryViewVersion(1, { lane_count: LANES, transactions: false });
        version.interleave = async () => {
          for (let turn = pauses.next().value ?? 0; turn > 0; turn--) await Promise.resolve();
        };
        const worker = async (): Promise<void> => {
          for (const { lane, reach } of given) {
            const to = BigInt(Math.min(Number(await version.checkpoint(lane)) + reach, events.log.length));
            await foldBatch(version, lane, events.log, to).catch(onlyFaults);
          }
        };
        const operator = async (): Promise<void> => {
          for (const { kind, pick } of given) {
            if (kind === 'cure') poison.cure(pick);
            else await retryOne(version, events, pick).catch(onlyFaults);
            await version.interleave();
          }
        };
        await Promise.all([worker(), operator()]);
        poison.cureAll();
        await finish(version, events);
        expect(await documentsOf(version)).toEqual(await documentsOf(await cleanFold(events.log)));
      }),
      { numRuns: 40 },
    );
  });
});
