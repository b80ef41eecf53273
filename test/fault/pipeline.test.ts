import { setTimeout as sleep } from 'node:timers/promises';
import { VIEW_SCHEMA } from '../../projections/engine/versions';
import { parked, retry, skip } from '../../projections/maintenance/parked';
import { verify } from '../../projections/maintenance/verify';
import { InProcessJobQueue } from '../../shared/adapters/in-process/job-queue';
import { streamName } from '../../shared/catalog/events/envelope';
import { laneOf } from '../../shared/catalog/events/lanes';
import { CatalogError } from '../../shared/kernel/errors';
import type { JobQueue, LaneJob } from '../../shared/ports/job-queue';
import type { ViewStore, ViewVersion, WriteBatch } from '../../shared/ports/view-store';
import {
  listingCreated,
  listingId,
  onListing,
  onPublication,
  publicationCreated,
  publicationId,
  type Step,
  storeCreated,
  storeId,
} from '../support/history';
import { openRealm, type TestRealm } from '../support/realm';
import { waitFor } from '../support/wait-for';

let realm: TestRealm;
beforeEach(async () => {
  realm = await openRealm();
});
afterEach(() => realm.close());

const shop = [storeCreated(0), storeCreated(1), listingCreated(0), listingCreated(3)];
const publications = (from: number, to: number): Step[] =>
  Array.from({ length: to - from }, (_, n) => publicationCreated(from + n));
const priced = (n: number, price_amount: number): Step =>
  onPublication(n, 'PublicationPriced', { price_currency: 'USD', price_amount, price_active: true });

/** The realm's view store with another `apply`. */
function wrapVersions(
  apply: (opened: ViewVersion, batch: WriteBatch) => ReturnType<ViewVersion['apply']>,
): ViewStore {
  const open = async (version: number): Promise<ViewVersion> => {
    const opened = await realm.views.open(version);
    return Object.create(opened, { apply: { value: async (batch: WriteBatch) => apply(opened, batch) } });
  };
  return Object.create(realm.views, { open: { value: open } });
}

async function countOf(id: string): Promise<unknown> {
  const listing = await (await realm.active()).get('listings', id);
  return (listing?.document?.body.stats as { publication_count?: number } | undefined)?.publication_count;
}

describe('a pipeline', () => {
  test('makes the first version on an empty store, and brings what is appended into the documents', async () => {
    const pipeline = await realm.pipeline();
    await realm.append(...shop, ...publications(0, 30));
    await pipeline.caughtUp();
    expect(await countOf(listingId(0))).toBe(30);
    await realm.append(onPublication(3, 'PublicationDeleted', {}));
    await pipeline.caughtUp();
    expect(await countOf(listingId(0))).toBe(29);
    expect(await verify(realm.parts)).toMatchObject({ clean: true, undecided: 0 });
  });

  test('projects what was in the log before it began', async () => {
    await realm.append(...shop, ...publications(0, 44));
    const pipeline = await realm.pipeline();
    await pipeline.caughtUp();
    expect(await countOf(listingId(0))).toBe(40);
  });

  test('brings every lane to the head of the log, soon after it moved', async () => {
    const pipeline = await realm.pipeline();
    const position = await realm.append(...shop);
    const version = await realm.active();
    const arrived = await Promise.all(
      Array.from({ length: realm.views.lane_count }, (_, lane) => version.waitFor(lane, position, 60_000)),
    );
    expect(arrived).not.toContain(false);
    const status = await pipeline.status();
    expect(status).toMatchObject({ head: position, lag: 0n });
    expect(status.versions).toMatchObject([{ status: 'active', fed: true, parked: [] }]);
  });

  test('goes on in another process when the one that feeds stops', async () => {
    const times = { lease_ttl_ms: 2_000 };
    const first = await realm.pipeline({ times });
    const second = await realm.pipeline({ times });
    await realm.append(...shop, ...publications(0, 5));
    await first.caughtUp();
    await first.stop();
    await realm.append(...publications(5, 9));
    await second.caughtUp();
    expect(await countOf(listingId(0))).toBe(9);
  });

  test('feeds a version in waiting before the active one, which does not wait for it where it fails', async () => {
    const lane = laneOf(storeId(0), realm.views.lane_count);
    const applied: number[] = [];
    let failing = false;
    const watched = wrapVersions(async (opened, batch) => {
      if (failing && opened.version === 2) throw new Error('disk of the second version');
      if (batch.lane === lane && batch.phases.length > 0) applied.push(opened.version);
      return opened.apply(batch);
    });
    const pipeline = await realm.pipeline({ views: watched });
    await realm.append(...shop);
    await pipeline.caughtUp();
    const { version } = await realm.views.createVersion(VIEW_SCHEMA);
    await realm.views.setStatus(version, 'following');
    const second = await realm.views.open(version);
    // What begins to follow is fed soon, in every lane, whichever events come.
    const head = await realm.events.head();
    let stores = 0;
    await waitFor(async () => {
      await realm.append(storeCreated(++stores));
      return (await second.checkpoints()).every((checkpoint) => checkpoint >= head);
    });
    applied.length = 0;
    await realm.append(publicationCreated(1));
    await pipeline.caughtUp();
    expect(new Set(applied)).toEqual(new Set([1, 2]));
    expect(applied.at(-1)).toBe(1);
    failing = true;
    await realm.append(publicationCreated(2));
    await pipeline.caughtUp();
    expect(await countOf(listingId(0))).toBe(2);
    // What it has missed is read from the log with its next job.
    failing = false;
    await realm.append(publicationCreated(3));
    await pipeline.caughtUp();
    expect((await second.get('listings', listingId(0)))!.document!.body.stats).toMatchObject({
      publication_count: 3,
    });
  });

  test('does no harm with two feeders at once', async () => {
    // The second process thinks that it holds the lease, too.
    const lenient = Object.create(realm.views, { lease: { value: async () => true } }) as ViewStore;
    const first = await realm.pipeline();
    const second = await realm.pipeline({ views: lenient });
    await realm.append(...shop);
    for (let n = 0; n < 40; n += 4) await realm.append(...publications(n, n + 4), priced(n, 7));
    await Promise.all([first.caughtUp(), second.caughtUp()]);
    expect(await countOf(listingId(0))).toBe(40);
    expect(await verify(realm.parts)).toMatchObject({ clean: true });
  });
});

/** A queue that loses jobs, gives them twice, or lets one pass another. */
class FaultyQueue implements JobQueue {
  private readonly queue = new InProcessJobQueue();
  private readonly fault: (count: number) => 'lose' | 'twice' | 'late' | undefined;
  private readonly late: LaneJob[] = [];
  private count = 0;

  constructor(fault: (count: number) => 'lose' | 'twice' | 'late' | undefined) {
    this.fault = fault;
  }

  async enqueue(job: LaneJob): Promise<void> {
    const fault = this.fault(this.count++);
    if (fault === 'lose') return;
    if (fault === 'late') {
      this.late.push(job);
      return;
    }
    await this.queue.enqueue(job);
    if (fault === 'twice') await this.queue.enqueue(job);
    for (const passed of this.late.splice(0)) await this.queue.enqueue(passed);
  }

  depth = (lane: number): Promise<number> => this.queue.depth(lane);
  work: JobQueue['work'] = (handler) => this.queue.work(handler);
  close = (): Promise<void> => this.queue.close();
}

describe('a queue may', () => {
  test.each([
    ['lose every third job', (count: number) => (count % 3 === 2 ? ('lose' as const) : undefined)],
    ['lose everything at first', (count: number) => (count < 25 ? ('lose' as const) : undefined)],
    ['give every job twice', () => 'twice' as const],
    ['let jobs pass each other', (count: number) => (count % 2 === 0 ? ('late' as const) : undefined)],
  ])('%s, and nothing is missing in the end', async (_, fault) => {
    const pipeline = await realm.pipeline({ queue: new FaultyQueue(fault), times: { watch_ms: 50 } });
    await realm.append(...shop);
    for (let n = 0; n < 44; n += 4) {
      await realm.append(...publications(n, n + 4), priced(n, 7));
      await sleep(2);
    }
    await pipeline.caughtUp();
    expect(await countOf(listingId(0))).toBe(40);
    expect(await verify(realm.parts)).toMatchObject({ clean: true });
  });
});

describe('an event that cannot be projected', () => {
  const broken = streamName('live', 'publication', publicationId(1));

  test('parks its stream only, and waits there with what came after it', async () => {
    const pipeline = await realm.pipeline();
    await realm.append(...shop, ...publications(0, 3));
    await realm.appendRaw(broken, storeId(0), 'PublicationTeleported', {});
    await realm.append(priced(1, 777), priced(0, 555), publicationCreated(4));
    await pipeline.caughtUp();
    const version = await realm.active();
    expect((await version.get('publications', publicationId(0)))!.document!.body.price_amount).toBe(555);
    expect((await version.get('publications', publicationId(1)))!.document!.body.price_amount).toBe(1001);
    expect(await countOf(listingId(0))).toBe(4);
    expect(await parked(realm.parts)).toMatchObject([
      { stream: broken, revision: 1, reason: expect.stringContaining('PublicationTeleported') },
    ]);
    expect(await verify(realm.parts)).toMatchObject({ clean: true });
  });

  test('stays parked by a retry that changes nothing, and is left out by a skip', async () => {
    const pipeline = await realm.pipeline();
    await realm.append(...shop, ...publications(0, 3));
    await realm.appendRaw(broken, storeId(0), 'PublicationTeleported', {});
    await realm.append(onPublication(1, 'PublicationVisibilityChanged', { visibility: 'private' }));
    await pipeline.caughtUp();
    expect(await retry(realm.parts, broken)).toMatchObject([{ projected: 0, parked: { revision: 1 } }]);
    expect(await countOf(listingId(0))).toBe(3);
    expect(await skip(realm.parts, broken)).toMatchObject([{ projected: 1, parked: null }]);
    expect(await parked(realm.parts)).toEqual([]);
    expect(await countOf(listingId(0))).toBe(2);
    await realm.append(onPublication(1, 'PublicationVisibilityChanged', { visibility: 'public' }));
    await pipeline.caughtUp();
    expect(await countOf(listingId(0))).toBe(3);
  });

  test('is no matter of a store that fails: nothing is parked, and all goes on when it works again', async () => {
    let down = false;
    let refused = 0;
    const shaky = wrapVersions((opened, batch) => {
      if (down) refused++;
      if (down) throw new CatalogError('unavailable');
      return opened.apply(batch);
    });
    const pipeline = await realm.pipeline({ views: shaky });
    await realm.append(...shop, ...publications(0, 3));
    await pipeline.caughtUp();
    down = true;
    await realm.append(
      ...publications(3, 6),
      onListing(0, 'ListingDescribed', { name: 'B', description: null }),
    );
    await waitFor(() => refused > 3);
    down = false;
    await pipeline.caughtUp();
    expect(await parked(realm.parts)).toEqual([]);
    expect(await countOf(listingId(0))).toBe(6);
  });

  test('is found among others when its document cannot be written', async () => {
    const refusing = wrapVersions((opened, batch) => {
      const refused = batch.phases.flat().some(({ document }) => document?.body.title === 'too big');
      if (refused) throw new Error('document too large');
      return opened.apply(batch);
    });
    await realm.append(
      ...shop,
      ...publications(0, 2),
      publicationCreated(2, { title: 'too big' }),
      publicationCreated(3),
    );
    const pipeline = await realm.pipeline({ views: refusing });
    await pipeline.caughtUp();
    const stream = streamName('live', 'publication', publicationId(2));
    expect(await parked(realm.parts)).toMatchObject([
      { stream, reason: 'cannot be written: document too large' },
    ]);
    expect(await countOf(listingId(0))).toBe(3);
    // With a store that takes it, a retry counts it once.
    expect(await retry(realm.parts, stream)).toMatchObject([{ projected: 1, parked: null }]);
    await waitFor(async () => (await countOf(listingId(0))) === 4);
    expect(await verify(realm.parts)).toMatchObject({ clean: true });
  });
});
