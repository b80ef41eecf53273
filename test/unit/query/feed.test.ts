import { randomUUID } from 'node:crypto';
import { allChangesOf, type KeyNames, type Page } from '../../../services/query/change-collector';
import { Feed } from '../../../services/query/feed';
import { streamName } from '../../../shared/catalog/events/envelope';
import { BEGINNING, type Place } from '../../../shared/ports/log-offset';
import { listingCreated, onListing, type Step, storeCreated, storeId } from '../../support/history';
import { MemoryEventStore } from '../../support/memory-event-store';
import { waitFor } from '../../support/wait-for';

/** The number of the first listing. */
const LISTING = 10;
const FIRST_EVENT: Place = { position: 1n, event_id: '' };
const deps = { control_view: { current: async () => undefined } } as unknown as KeyNames;

/** A log, and the feed of one of its stores. All events have the same time. */
class FeedWorld {
  readonly events = new MemoryEventStore();
  readonly feed: Feed;

  constructor(readonly store_id = storeId(0)) {
    this.feed = new Feed(deps, this.events, allChangesOf(store_id));
  }

  /** Appends the events of one stream with one write. */
  async write(...steps: readonly Step[]): Promise<void> {
    const { category, id } = steps[0]!;
    const stream = streamName('live', category, id);
    const metadata = { occurred_at: '2026-01-01T00:00:00.000Z', source: 'system' } as const;
    const events = steps.map(({ type, data, store_id }) => ({
      ...{ id: randomUUID(), type, schema_version: 1, data },
      metadata: { ...metadata, partition_key: store_id },
    }));
    const { length } = this.events.log.filter((event) => event.stream === stream);
    await this.events.append(stream, length - 1, events);
  }

  async createListings(count: number): Promise<void> {
    for (let n = 0; n < count; n++) await this.write(listingCreated(LISTING + n));
  }

  /** Returns the pages from the beginning to the end of the log. */
  async pages(): Promise<Page[]> {
    const pages: Page[] = [];
    for (let place: Place = BEGINNING; !pages.at(-1)?.is_up_to_date; place = pages.at(-1)!.next)
      pages.push(await this.feed.read(place));
    return pages;
  }
}

const renamed = onListing(LISTING, 'ListingDescribed', { name: 'Teas', description: null });
const hidden = onListing(LISTING, 'ListingVisibilityChanged', { visibility: 'private' });
const changesOf = ({ entries }: Page) =>
  entries.map(({ type, resource_id, changed }) => [type, resource_id, Object.keys(changed)]);

describe('a full page of changes', () => {
  test('contains the rest of its last write, also if the next batch of the log has it', async () => {
    const world = new FeedWorld();
    const other = onListing(3, 'ListingDescribed', { name: 'Pots', description: null });
    for (let n = 0; n < 400; n++) await world.write(other);
    await world.createListings(99);
    await world.write(renamed, hidden);
    const pages = await world.pages();
    expect(pages.map(({ entries }) => entries.length)).toEqual([100, 0]);
    expect(changesOf(pages[0]!).at(-1)).toEqual(['listing.updated', renamed.id, ['name', 'visibility']]);
  });

  test('ends at the first event of another write, and the next page begins there', async () => {
    const world = new FeedWorld();
    await world.createListings(99);
    await world.write(renamed);
    const next = listingCreated(LISTING + 99);
    await world.write(next);
    await world.write(hidden);
    const pages = await world.pages();
    expect(changesOf(pages[0]!).at(-1)).toEqual(['listing.updated', renamed.id, ['name']]);
    expect(changesOf(pages[1]!)).toMatchObject([
      ['listing.created', next.id, {}],
      ['listing.updated', hidden.id, ['visibility']],
    ]);
  });

  test('contains the rest of its last write, also if it is made of the newest changes', async () => {
    const world = new FeedWorld();
    await world.write(storeCreated(0));
    const { changes, release } = world.feed.follow();
    const pageOfNewest = () => changes.pageAfter(FIRST_EVENT, allChangesOf(world.store_id));
    try {
      await waitFor(pageOfNewest, { what: 'the log' });
      await world.createListings(99);
      await world.write(renamed, onListing(LISTING, 'ListingDeleted', {}));
      const page = await waitFor(() => {
        const found = pageOfNewest();
        return found && found.entries.length >= 100 && found;
      });
      expect(changesOf(page).slice(99)).toEqual([
        ['listing.updated', renamed.id, ['name']],
        ['listing.deleted', renamed.id, []],
      ]);
    } finally {
      release();
    }
  });
});

test('all stores that are followed share the states of 100 streams', async () => {
  const world = new FeedWorld();
  const stores = [0, 1, 2].map((n) => allChangesOf(storeId(n)));
  const holds = stores.map((store) => new Feed(deps, world.events, store).follow());
  const { changes } = holds[0]!;
  const hasKept = (change: Step): boolean => {
    const page = changes.pageAfter(FIRST_EVENT, allChangesOf(change.store_id));
    return page?.entries.at(-1)?.resource_id === change.id;
  };
  try {
    await world.write(storeCreated(0));
    await waitFor(() => changes.pageAfter(FIRST_EVENT, stores[0]!), { what: 'the log' });
    const listings = Array.from({ length: 180 }, (_, n) => ({
      ...listingCreated(LISTING + n),
      store_id: stores[Math.floor(n / 60)]!.store_id,
    }));
    for (const listing of listings) await world.write(listing);
    await waitFor(() => hasKept(listings.at(-1)!));
    const read = jest.spyOn(world.events, 'readStream');
    await world.write(renamed);
    await waitFor(
      () => changes.pageAfter(FIRST_EVENT, stores[0]!)?.entries.at(-1)?.type === 'listing.updated',
    );
    expect(read).toHaveBeenCalled();
  } finally {
    for (const { release } of holds) release();
  }
});
