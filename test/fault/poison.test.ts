import fc from 'fast-check';
import pino from 'pino';
import { LostRaceError } from '../../projections/engine/errors';
import { projectJob } from '../../projections/engine/project';
import { VIEW_SCHEMA } from '../../projections/engine/versions';
import { projectWaiting, retry } from '../../projections/maintenance/dead-letters';
import { listingView } from '../../projections/views/listing';
import { publicationView } from '../../projections/views/publication';
import { type Position, type RecordedEvent, START, streamName } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import { CatalogError, UnstorableDocumentError } from '../../shared/kernel/errors';
import { realSystem } from '../../shared/kernel/system';
import { ALL_PARTS, type WriteBatch } from '../../shared/ports/view-store';
import { Crash, type FaultyVersion, openVersion, openViews } from '../support/faulty-views';
import {
  cleanFold,
  eventsOf,
  expectSameDocuments,
  expectTruth,
  foldBatch,
  now,
  PARTITIONS,
} from '../support/folding';
import {
  historyOf,
  listingCreated,
  listingId,
  mediaFailed,
  mediaId,
  mediaProcessed,
  mediaUploaded,
  onListing,
  onPublication,
  play,
  publicationCreated,
  publicationId,
  publicationsViewed,
  reviewPosted,
  type Step,
  shuffledHistoryOf,
  storeCreated,
  storeId,
} from '../support/history';
import { cases } from '../support/long';
import { MemoryEventStore } from '../support/memory-event-store';

/** Actions: project events of a partition, make a poison event readable, or retry a dead letter. */
const actions = fc.array(
  fc.record({
    kind: fc.constantFrom('deliver', 'deliver', 'restore', 'retry', 'retry', 'retry'),
    partition: fc.integer({ min: 0, max: PARTITIONS - 1 }),
    reach: fc.integer({ min: 1, max: 60 }),
    pick: fc.nat(),
    crash_in: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.integer({ min: 0, max: 3 })),
  }),
  { minLength: 20, maxLength: 80, size: 'max' },
);

/** Makes events unreadable until they are restored. */
class Poison {
  private readonly events: MemoryEventStore;
  private readonly originals = new Map<Position, RecordedEvent>();

  constructor(events: MemoryEventStore, picks: readonly number[]) {
    this.events = events;
    for (const pick of picks) {
      const event = events.log[pick % events.log.length]!;
      if (!this.originals.has(event.position)) this.originals.set(event.position, event);
      events.amend(event.position, { type: 'FromTheFuture' });
    }
  }

  restore(pick: number): void {
    const poisoned = [...this.originals];
    if (poisoned.length === 0) return;
    const [position, event] = poisoned[pick % poisoned.length]!;
    this.events.amend(position, event);
    this.originals.delete(position);
  }

  restoreAll(): void {
    while (this.originals.size > 0) this.restore(0);
  }
}

/** Two publications of a listing. */
const two = [storeCreated(0), listingCreated(0), publicationCreated(0), publicationCreated(1)];

/** Returns a log with these events, an empty version, and how the partition of the first store is projected. */
async function worldOf(...steps: readonly Step[]) {
  const events = new MemoryEventStore();
  await play(events, steps);
  const version = await openVersion();
  const partition = partitionOf(storeId(0), PARTITIONS);
  const target = { version, partition, partition_count: PARTITIONS, events, now };
  const project = async (): Promise<void> => {
    const job = { prev: START, last: await events.head(), events: eventsOf(events.log, partition) };
    await projectJob(target, job);
  };
  /** Projects the partitions of all stores. */
  const foldAll = async (): Promise<void> => {
    for (let each = 0; each < PARTITIONS; each++)
      await foldBatch(version, each, events.log, await events.head());
  };
  return { events, version, partition, project, foldAll };
}

/** Returns the partition's events in (prev, last]. */
function eventsBetween(
  { log }: MemoryEventStore,
  partition: number,
  prev: Position,
  last: Position,
): RecordedEvent[] {
  return eventsOf(log, partition).filter(({ position }) => position > prev && position <= last);
}

async function retryOne(version: FaultyVersion, events: MemoryEventStore, pick: number): Promise<void> {
  const dead_letters = await version.deadLetters();
  if (dead_letters.length === 0) return;
  await projectWaiting(
    { events, system: realSystem },
    version,
    dead_letters[pick % dead_letters.length]!,
    undefined,
  );
}

const ignoreInjectedFaults = (error: unknown): void => {
  if (!(error instanceof Crash || error instanceof LostRaceError)) throw error;
};

async function finish(version: FaultyVersion, events: MemoryEventStore): Promise<void> {
  version.crash_in = Number.POSITIVE_INFINITY;
  const end = BigInt(events.log.length);
  for (let partition = 0; partition < PARTITIONS; partition++)
    await foldBatch(version, partition, events.log, end);
  for (let pick = 0; (await version.deadLetters()).length > 0; pick++) await retryOne(version, events, pick);
}

describe('a poison event', () => {
  test('leaves no trace if two workers take the jobs, for crashes after any batch and lost jobs', async () => {
    const histories = fc.oneof(historyOf(100), shuffledHistoryOf(60));
    const picks = fc.array(fc.nat(), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(histories, picks, actions, async (steps, poisoned, chosen) => {
        const events = new MemoryEventStore();
        await play(events, steps);
        const poison = new Poison(events, poisoned);
        const version = await openVersion();
        const common = { version, partition_count: PARTITIONS, events, now };
        const dispatched = Array.from({ length: PARTITIONS }, () => START);
        for (const { kind, partition, reach, pick, crash_in } of chosen) {
          version.crash_in = crash_in;
          if (kind === 'restore') poison.restore(pick);
          if (kind === 'retry') await retryOne(version, events, pick).catch(ignoreInjectedFaults);
          const prev = dispatched[partition]!;
          const last = BigInt(Math.min(Number(prev) + reach, events.log.length));
          const is_lost = pick % 5 === 0;
          if (kind !== 'deliver' || last === prev) continue;
          dispatched[partition] = last;
          const job = { prev, last, events: eventsBetween(events, partition, prev, last) };
          const target = { ...common, partition };
          if (!is_lost) await projectJob(target, job).catch(ignoreInjectedFaults);
        }
        poison.restoreAll();
        await finish(version, events);
        await expectSameDocuments(version, await cleanFold(events.log));
        await expectTruth(version, events.log);
      }),
      cases(5, 100),
    );
  });

  test('of a stream of views holds up the views of its day only, and they count once after the retry', async () => {
    const first = [storeCreated(0), listingCreated(0), publicationCreated(0), publicationCreated(1)];
    const views = publicationsViewed([0, 1], [1, 2]);
    const next_day = { ...views, id: `${storeId(0)}-2026-01-02` };
    const hidden = onPublication(0, 'PublicationVisibilityChanged', { visibility: 'private' });
    const { events, version, foldAll } = await worldOf(...first, views, views, hidden, next_day);
    const poison = new Poison(events, [first.length]);
    await foldAll();
    const statsOf = async (n: number) =>
      (await version.get('publications', publicationId(n)))?.document?.body;
    expect(await statsOf(0)).toMatchObject({ visibility: 'private', stats: { view_count: 1 } });
    expect(await statsOf(1)).toMatchObject({ visibility: 'public', stats: { view_count: 2 } });
    expect((await version.deadLetters()).map(({ stream, revision }) => [stream, revision])).toEqual([
      [`live.views-${storeId(0)}-2026-01-01`, 0],
    ]);
    poison.restoreAll();
    await finish(version, events);
    expect(await statsOf(1)).toMatchObject({ stats: { view_count: 6 } });
    await expectSameDocuments(version, await cleanFold(events.log));
    await expectTruth(version, events.log);
  });

  test('that another operator has retried successfully is not projected again', async () => {
    const { events, version, foldAll } = await worldOf(...two);
    const poison = new Poison(events, [2]);
    await foldAll();
    poison.restoreAll();
    const [dead_letter] = await version.deadLetters();
    const operator = () => projectWaiting({ events, system: realSystem }, version, dead_letter!, undefined);
    expect(await operator()).toEqual({ projected: 1, dead_letter: null });
    expect(await operator()).toEqual({ projected: 0, dead_letter: null });
    await expectSameDocuments(version, await cleanFold(events.log));
  });

  test('of another store changes nothing in the partition of the media that it refers to', async () => {
    const referring = [39, 42, 43].map((n) => publicationCreated(n, { media_ids: [mediaId(0)] }));
    const { events, version, partition } = await worldOf(mediaUploaded(0), ...referring, mediaFailed(0));
    const poison = new Poison(events, [3]);
    await foldBatch(version, partition, events.log, 1n);
    version.crash_in = 0;
    await expect(foldBatch(version, partition, events.log, 5n)).rejects.toThrow(Crash);
    version.crash_in = Number.POSITIVE_INFINITY;
    await foldBatch(version, partitionOf(storeId(1), PARTITIONS), events.log, 5n);
    poison.restoreAll();
    await retryOne(version, events, 0);
    await finish(version, events);
    await expectSameDocuments(version, await cleanFold(events.log));
  });

  describe('of media that is retried while a worker projects a batch', () => {
    const media_ids = [mediaId(0)];
    const made_private = onPublication(0, 'PublicationVisibilityChanged', { visibility: 'private' });

    /**
     * Projects `before`, without the upload of media 0, whose stream waits. Then a worker projects `meanwhile`. A retry
     * of the media runs from start to end before or after the first write of the worker (`retry_at`).
     */
    async function afterRetry(
      before: readonly Step[],
      meanwhile: readonly Step[],
      retry_at: 'before' | 'after',
    ): Promise<{ readonly version: FaultyVersion; readonly log: readonly RecordedEvent[] }> {
      const made = [storeCreated(0), listingCreated(0), mediaUploaded(0)];
      const { events, version, partition, foldAll } = await worldOf(...made, ...before);
      const poison = new Poison(events, [2]);
      await foldAll();
      poison.restoreAll();
      await play(events, meanwhile);
      let retried = false;
      const apply = async (batch: WriteBatch): Promise<'applied' | 'lost_race'> => {
        if (retried) return version.apply(batch);
        retried = true;
        if (retry_at === 'before') await retryOne(version, events, 0);
        const outcome = await version.apply(batch);
        if (retry_at === 'after') await retryOne(version, events, 0);
        return outcome;
      };
      const worker: FaultyVersion = Object.create(version, { apply: { value: apply } });
      await foldBatch(worker, partition, events.log, await events.head(), 3).catch((error) => {
        if (!(error instanceof LostRaceError)) throw error;
      });
      expect(await version.deadLetters()).toEqual([]);
      await finish(version, events);
      return { version, log: events.log };
    }

    test('counts a publication that begins to use it', async () => {
      const uses_it = onPublication(0, 'PublicationMediaArranged', { media_ids });
      const { version, log } = await afterRetry([publicationCreated(0)], [uses_it], 'before');
      await expectSameDocuments(version, await cleanFold(log));
      await expectTruth(version, log);
    });

    test('does not stay public if the last public publication that uses it becomes private', async () => {
      // More publications use media 1 than are loaded at once. The sweep of its copies evicts publication 0, which is
      // read again after the retry. The media that waits is not.
      const also_uses_it = publicationCreated(0, { media_ids: [mediaId(0), mediaId(1)] });
      const others = [1, 2, 3].map((n) => publicationCreated(n, { media_ids: [mediaId(1)] }));
      const { version, log } = await afterRetry(
        [mediaUploaded(1), also_uses_it, ...others],
        [mediaProcessed(1), made_private],
        'after',
      );
      const media = await version.get('media', mediaId(0));
      expect(media?.document?.keys.visibility).toBe('private');
      await expectSameDocuments(version, await cleanFold(log));
    });
  });

  test('is found if its document cannot be written, and is counted once after a retry', async () => {
    const events = new MemoryEventStore();
    const created = Array.from({ length: 24 }, (_, n) => publicationCreated(n));
    const reviews = [reviewPosted(1, 20, 5), reviewPosted(2, 21, 4)];
    await play(events, [storeCreated(0), listingCreated(0), ...created, ...reviews]);
    await play(events, [onPublication(20, 'PublicationVisibilityChanged', { visibility: 'private' })]);
    const views = await openViews();
    const { version: number } = await views.createVersion(VIEW_SCHEMA);
    await views.activate(number);
    const version = await views.open(number);
    version.beforeWrite = ({ id }) => {
      if (id === publicationId(20)) throw new UnstorableDocumentError('document too large');
    };
    const partition = partitionOf(storeId(0), PARTITIONS);
    const last = await events.head();
    const target = { version, partition, partition_count: PARTITIONS, events, now };
    await projectJob(target, { prev: 0n, last, events: eventsOf(events.log, partition) });
    expect(await version.deadLetters()).toMatchObject([{ revision: 0 }, { revision: 0 }]);
    version.beforeWrite = () => {};
    const parts = { events, views, system: realSystem, log: pino({ level: 'silent' }) };
    for (const { stream } of await version.deadLetters())
      expect(await retry(parts, { stream })).toMatchObject([{ dead_letter: null }]);
    await expectSameDocuments(version, await cleanFold(events.log));
  });

  test('leaves no trace after a retry while workers run', async () => {
    const picks = fc.array(fc.nat(), { minLength: 1, maxLength: 12 });
    const turns = fc.infiniteStream(fc.nat(3));
    await fc.assert(
      fc.asyncProperty(historyOf(100), picks, actions, turns, async (steps, poisoned, chosen, pauses) => {
        const events = new MemoryEventStore();
        await play(events, steps);
        const poison = new Poison(events, poisoned);
        const version = await openVersion();
        version.interleave = async () => {
          for (let turn = pauses.next().value ?? 0; turn > 0; turn--) await Promise.resolve();
        };
        const worker = async (): Promise<void> => {
          for (const { partition, reach } of chosen) {
            const to = BigInt(
              Math.min(Number(await version.checkpoint(partition)) + reach, events.log.length),
            );
            await foldBatch(version, partition, events.log, to).catch(ignoreInjectedFaults);
          }
        };
        const operator = async (): Promise<void> => {
          for (const { kind, pick } of chosen) {
            if (kind === 'restore') poison.restore(pick);
            else await retryOne(version, events, pick).catch(ignoreInjectedFaults);
            await version.interleave();
          }
        };
        await Promise.all([worker(), operator()]);
        poison.restoreAll();
        await finish(version, events);
        await expectSameDocuments(version, await cleanFold(events.log));
      }),
      cases(5, 100),
    );
  });
});

describe('a failure that says nothing about the event', () => {
  test.each([
    ['an outage', () => new CatalogError('unavailable')],
    ['an error that nobody knows', () => new Error('code 99999')],
    ['a defect of the service', () => new TypeError('x is not a function')],
  ])('is never taken for poison: %s', async (_, fault) => {
    const { events, version, partition, project } = await worldOf(...two);
    version.beforeWrite = ({ collection }) => {
      if (collection === 'publications') throw fault();
    };
    for (let attempt = 0; attempt < 3; attempt++) await expect(project()).rejects.toThrow(fault());
    expect(await version.deadLetters()).toEqual([]);
    expect(await version.checkpoint(partition)).toBe(0n);

    version.beforeWrite = () => {};
    await project();
    expect(await version.deadLetters()).toEqual([]);
    await finish(version, events);
    await expectSameDocuments(version, await cleanFold(events.log));
  });
});

describe('a view that throws', () => {
  afterEach(() => jest.restoreAllMocks());

  test('moves the stream of its event to the dead-letter list, also if the event is swept', async () => {
    const renamed = onListing(0, 'ListingDescribed', { name: 'Renamed', description: null });
    const refused = onListing(0, 'ListingDescribed', { name: 'Refused', description: null });
    const { version, project } = await worldOf(...two, renamed, refused, publicationCreated(2));
    const { fold } = listingView;
    jest.spyOn(listingView, 'fold').mockImplementation((before, event, context) => {
      if (JSON.stringify(event.data).includes('Refused')) throw new Error('this name has no fold');
      return fold(before, event, context);
    });

    await project();

    expect(await version.deadLetters()).toMatchObject([{ revision: 2, reason: 'this name has no fold' }]);
    const publications = await version.getMany('publications', [0, 1, 2].map(publicationId), ALL_PARTS);
    expect(publications.map(({ document }) => document?.expansions.listing)).toMatchObject(
      Array.from({ length: 3 }, () => ({ body: { name: 'Renamed' } })),
    );
  });

  test('while an embedded copy is updated moves the stream of the event to the list, not its neighbours', async () => {
    const renamed = onListing(0, 'ListingDescribed', { name: 'Renamed', description: null });
    const { events, version, partition, project } = await worldOf(...two, renamed, publicationCreated(2));
    jest.spyOn(publicationView, 'derive').mockImplementation((document) => {
      if (document.expansions.listing?.body.name === 'Renamed') throw new Error('no such name');
      return document;
    });

    await project();

    const listing_stream = streamName('live', 'listing', listingId(0));
    expect(await version.deadLetters()).toMatchObject([{ stream: listing_stream, revision: 1 }]);
    expect((await version.get('publications', publicationId(2)))?.document).not.toBeNull();
    expect(await version.checkpoint(partition)).toBe(await events.head());
  });
});
