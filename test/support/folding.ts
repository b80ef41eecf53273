import { projectJob } from '../../projections/engine/project';
import { PartitionRun } from '../../projections/engine/run';
import { COLLECTION_NAMES, type CollectionName, type ViewDocument } from '../../shared/catalog/documents';
import type { RecordedEvent } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import { ALL_PARTS, type ViewVersion } from '../../shared/ports/view-store';
import { expectEqual } from './expect-equal';
import { type FaultyVersion, openVersion, PARTITIONS } from './faulty-views';
import { play, type Step } from './history';
import { MemoryEventStore } from './memory-event-store';
import { expectedOf } from './oracle';

export { PARTITIONS };
export const now = (): number => Date.UTC(2026, 0, 1);

export const eventsOf = (log: readonly RecordedEvent[], partition: number): RecordedEvent[] =>
  log.filter(({ metadata }) => partitionOf(metadata.partition_key, PARTITIONS) === partition);

/** Projects one batch of a partition from fresh reads: its events in (checkpoint, to]. */
export async function foldBatch(
  version: ViewVersion,
  partition: number,
  log: readonly RecordedEvent[],
  to: bigint,
  embedding_max = 3,
): Promise<void> {
  const state = await version.partition(partition);
  if (state.checkpoint >= to) return;
  const run = new PartitionRun(state, { version, partition, poison: 'dead_letter', now, embedding_max });
  await run.take(eventsOf(log, partition).filter(({ position }) => position <= to));
  await run.flush(to);
}

/** Projects all events of all partitions without faults, in batches of `size` events. */
export async function cleanFold(log: readonly RecordedEvent[], size = log.length): Promise<FaultyVersion> {
  const version = await openVersion();
  for (let partition = 0; partition < PARTITIONS; partition++)
    for (let to = 0; to < log.length; ) {
      to = Math.min(log.length, to + size);
      await foldBatch(version, partition, log, log[to - 1]!.position);
    }
  return version;
}

/**
 * Returns one document after these events, projected in batches of one. Undefined if it does not exist, null if it
 * was deleted.
 */
export async function documentAfter(
  steps: readonly Step[],
  collection: CollectionName,
  id: string,
): Promise<ViewDocument | null | undefined> {
  const events = new MemoryEventStore();
  await play(events, steps);
  const version = await cleanFold(events.log, 1);
  return (await version.get(collection, id, ALL_PARTS))?.document;
}

/** Documents that a test expects, by collection and id. Null: deleted. Undefined: it never existed. Others may have more fields. */
export type SomeDocuments = {
  readonly [Name in CollectionName]?: Readonly<Record<string, object | null | undefined>>;
};

/**
 * The story of a projection: `await given(…steps).when(steps).then(documents)`. The steps of `when` are one job of the
 * queue. `times: 2` delivers it twice, as the queue does after a crash, and fails unless the repetition changes nothing.
 */
export const given = (...before: readonly Step[]) => ({
  when: (steps: readonly Step[], { times = 1 }: { readonly times?: number } = {}) => ({
    // biome-ignore lint/suspicious/noThenProperty: the last word of the story; nothing awaits the object itself
    then: async (expected: SomeDocuments): Promise<void> => {
      const events = new MemoryEventStore();
      await play(events, before);
      const version = await cleanFold(events.log, 1);
      const prev = await events.head();
      await play(events, steps);
      const job = { prev, last: await events.head() };
      const deliver = async (): Promise<void> => {
        for (let partition = 0; partition < PARTITIONS; partition++) {
          const own = eventsOf(events.log, partition).filter(({ position }) => position > prev);
          const target = { version, partition, partition_count: PARTITIONS, events, now };
          await projectJob(target, { ...job, events: own });
        }
      };
      await deliver();
      const first = await documentsOf(version);
      for (let delivery = 2; delivery <= times; delivery++) await deliver();
      expectEqual(await documentsOf(version), first);
      for (const [collection, documents] of Object.entries(expected))
        for (const [id, wanted] of Object.entries(documents)) {
          const found = (await version.get(collection as CollectionName, id, ALL_PARTS))?.document;
          if (wanted) expect(found).toMatchObject(wanted);
          else expect(found).toBe(wanted);
        }
    },
  }),
});

/** Returns all documents without their positions. */
async function documentsOf(version: ViewVersion): Promise<Record<string, unknown>> {
  const all: Record<string, unknown> = {};
  for (const collection of COLLECTION_NAMES)
    for (const { id, document } of await version.scan(collection, { limit: 100_000 }))
      all[`${collection}/${id}`] = document;
  return all;
}

/** Fails the test unless both versions have the same documents. */
export async function expectSameDocuments(one: ViewVersion, other: ViewVersion): Promise<void> {
  expectEqual(await documentsOf(one), await documentsOf(other));
}

/** Fails the test unless the documents match those computed from the whole log at once. */
export async function expectTruth(version: ViewVersion, log: readonly RecordedEvent[]): Promise<void> {
  const truth = expectedOf(log);
  // biome-ignore lint/suspicious/noExplicitAny: looked into freely
  const storedDocuments = async (collection: CollectionName, select: (document: any) => unknown) => {
    const found = await version.scan(collection, { limit: 100_000 });
    const ids = found.filter(({ document }) => document && Object.keys(document.body).length > 0);
    return new Map(ids.map(({ id, document }) => [id, select(document)]));
  };
  // biome-ignore lint/suspicious/noExplicitAny: looked into freely
  const idsAndBodies = (entries: any) => entries.map(({ id, body }: any) => ({ id, body }));
  // biome-ignore lint/suspicious/noExplicitAny: looked into freely
  const bodies = (embeds: any) => embeds.map(({ body }: any) => body);
  const ofBothVisibilities = (entries: Record<'public' | 'private', unknown>) => ({
    public: idsAndBodies(entries.public),
    private: idsAndBodies(entries.private),
  });
  expectEqual(
    await storedDocuments(
      'publications',
      ({ body, keys, expansions: { listing, listings, media, variants }, state, words, units }) => ({
        body,
        labels: words.filter((word: string) => word.startsWith('==')),
        media: bodies(media),
        variants,
        listing_id: keys.listing_id,
        listings: listings.map(({ id }: { id: string }) => id),
        due_at: keys.due_at,
        units: units.map((unit: object) => JSON.stringify(unit)).sort(),
        listing: listing && { visibility: listing.visibility, body: listing.body },
        reviews: { count: state.reviews.count, sum: state.reviews.sum },
      }),
    ),
    truth.publications,
  );
  expectEqual(
    await storedDocuments('listings', ({ body, keys, state, expansions }) => ({
      body,
      facets: state.facets,
      children: state.children,
      parent_id: keys.parent_id,
      entries: ofBothVisibilities(expansions.publications),
      media: bodies(expansions.media),
    })),
    truth.listings,
  );
  expectEqual(
    await storedDocuments(
      'stores',
      ({ body, state: { facets, listings, media, payment_methods }, expansions }) => ({
        body,
        facets,
        listings,
        media,
        newest_media: ofBothVisibilities(expansions.media),
        payment_methods,
        entries: ofBothVisibilities(expansions.listings),
      }),
    ),
    truth.stores,
  );
  expectEqual(
    await storedDocuments('media', ({ body, keys: { visibility, in_use }, state: { uses } }) => ({
      body,
      visibility,
      in_use,
      uses,
    })),
    truth.media,
  );
  expectEqual(await storedDocuments('names', ({ body }) => body.owner_id), truth.names);
  expectEqual(
    await storedDocuments('reviews', ({ body, keys: { publication_id } }) => ({
      publication_id,
      shown: body.status,
    })),
    truth.reviews,
  );
  const uses = await version.scan('media_uses', { limit: 100_000 });
  expect(uses.flatMap(({ id, document }) => (document ? [id] : [])).sort()).toEqual(truth.media_uses);
  const places = await version.scan('places', { limit: 100_000 });
  expect(places.flatMap(({ id, document }) => (document ? [id] : [])).sort()).toEqual(truth.places);
}
