import { withoutRepair } from '../../projections/engine/repair';
import { LaneRun } from '../../projections/engine/run';
import { COLLECTION_NAMES, type CollectionName, type ViewDocument } from '../../shared/catalog/documents';
import type { RecordedEvent } from '../../shared/catalog/events/envelope';
import { laneOf } from '../../shared/catalog/events/lanes';
import { play, type Step } from './history';
import { MemoryEventStore } from './memory-event-store';
import { MemoryViewVersion } from './memory-view-store';
import { expectedOf } from './oracle';

export const LANES = 4;
export const now = (): number => Date.UTC(2026, 0, 1);

export const eventsOf = (log: readonly RecordedEvent[], lane: number): RecordedEvent[] =>
  log.filter(({ metadata }) => laneOf(metadata.partition_key, LANES) === lane);

/** One batch of one lane, from fresh reads: the lane's events in (checkpoint, to]. */
export async function foldBatch(
  version: MemoryViewVersion,
  lane: number,
  log: readonly RecordedEvent[],
  to: bigint,
  users_max = 3,
): Promise<void> {
  const { checkpoint, parked } = await version.lane(lane);
  if (checkpoint >= to) return;
  const run = new LaneRun({ version, lane, checkpoint, parked, poison: 'park', now, users_max });
  await run.take(eventsOf(log, lane).filter(({ position }) => position > checkpoint && position <= to));
  await run.flush(to);
}

/** Every event of every lane in batches of `size` log positions, without faults. */
export async function cleanFold(
  log: readonly RecordedEvent[],
  size = log.length,
): Promise<MemoryViewVersion> {
  const version = new MemoryViewVersion(1, { lane_count: LANES });
  for (let lane = 0; lane < LANES; lane++)
    for (let to = 0; to < log.length; ) {
      to = Math.min(log.length, to + size);
      await foldBatch(version, lane, log, BigInt(to));
    }
  return version;
}

/** One document after these events, folded in batches of one; undefined where there is none, null where it is deleted. */
export async function documentAfter(
  steps: readonly Step[],
  collection: CollectionName,
  id: string,
): Promise<ViewDocument | null | undefined> {
  const events = new MemoryEventStore();
  await play(events, steps);
  const version = await cleanFold(events.log, 1);
  return (await version.get(collection, id))?.document;
}

/** All documents, without positions and what retries keep in them. */
export async function documentsOf(version: MemoryViewVersion): Promise<Record<string, unknown>> {
  const all: Record<string, unknown> = {};
  for (const collection of COLLECTION_NAMES)
    for (const { id, document } of await version.scan(collection, { limit: 100_000 }))
      all[`${collection}/${id}`] = document && { ...document, state: withoutRepair(document.state) };
  return all;
}

/** Throws, by `expect`, unless the documents say what the whole log says at once. */
export async function expectTruth(version: MemoryViewVersion, log: readonly RecordedEvent[]): Promise<void> {
  const truth = expectedOf(log);
  // biome-ignore lint/suspicious/noExplicitAny: looked into freely
  const shown = async (collection: CollectionName, look: (document: any) => unknown) => {
    const found = await version.scan(collection, { limit: 100_000 });
    const ids = found.filter(({ document }) => document && Object.keys(document.body).length > 0);
    return new Map(ids.map(({ id, document }) => [id, look(document)]));
  };
  // biome-ignore lint/suspicious/noExplicitAny: looked into freely
  const bare = (entries: any) => entries.map(({ id, body }: any) => ({ id, body }));
  // biome-ignore lint/suspicious/noExplicitAny: looked into freely
  const bodies = (embeds: any) => embeds.map(({ body }: any) => body);
  const both = (entries: Record<'public' | 'private', unknown>) => ({
    public: bare(entries.public),
    private: bare(entries.private),
  });
  expect(
    await shown('publications', ({ body, keys, expansions: { listing, media }, state }) => ({
      body,
      media: bodies(media),
      listing_id: keys.listing_id,
      listing: listing && { visibility: listing.visibility, body: listing.body },
      reviews: { count: state.reviews.count, sum: state.reviews.sum },
    })),
  ).toEqual(truth.publications);
  expect(
    await shown('listings', ({ body, state, expansions }) => ({
      body,
      facets: state.facets,
      entries: both(expansions.publications),
      media: bodies(expansions.media),
    })),
  ).toEqual(truth.listings);
  expect(
    await shown('stores', ({ body, state: { facets, listings, media, payment_methods }, expansions }) => ({
      body,
      facets,
      listings,
      media,
      newest_media: bare(expansions.media),
      payment_methods,
      entries: both(expansions.listings),
    })),
  ).toEqual(truth.stores);
  expect(await shown('media', ({ body }) => body)).toEqual(truth.media);
  const uses = await version.scan('media_uses', { limit: 100_000 });
  expect(uses.flatMap(({ id, document }) => (document ? [id] : [])).sort()).toEqual(truth.media_uses);
}
