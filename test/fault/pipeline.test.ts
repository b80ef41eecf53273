import { VIEW_SCHEMA } from '../../projections/engine/versions';
import {
  type DeadLetterInVersion,
  deadLetters,
  groupDeadLetters,
  retry,
  skip,
} from '../../projections/maintenance/dead-letters';
import { verify } from '../../projections/maintenance/verify';
import { publicationView } from '../../projections/views/publication';
import { InProcessJobQueue } from '../../shared/adapters/in-process/job-queue';
import { streamName } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import { CatalogError, UnstorableDocumentError } from '../../shared/kernel/errors';
import type { JobQueue, PartitionJob } from '../../shared/ports/job-queue';
import type { ViewStore, ViewVersion, WriteBatch } from '../../shared/ports/view-store';
import { type Foreign, type OpenLog, openEventStoreDbLog, openSqliteLog } from '../support/foreign-events';
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

/** Returns the realm's view store with `apply` replaced. */
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
  test('creates the first version in an empty store and projects appended events', async () => {
    const pipeline = await realm.pipeline();
    await realm.append(...shop, ...publications(0, 30));
    await pipeline.caughtUp();
    expect(await countOf(listingId(0))).toBe(30);
    await realm.append(onPublication(3, 'PublicationDeleted', {}));
    await pipeline.caughtUp();
    expect(await countOf(listingId(0))).toBe(29);
    expect(await verify(realm.parts)).toMatchObject({ clean: true, undecided: 0 });
  });

  test('projects events that were in the log before it started', async () => {
    await realm.append(...shop, ...publications(0, 44));
    const pipeline = await realm.pipeline();
    await pipeline.caughtUp();
    expect(await countOf(listingId(0))).toBe(40);
  });

  test('advances every partition to the head of the log soon after the head moved', async () => {
    const pipeline = await realm.pipeline();
    const position = await realm.append(...shop);
    const version = await realm.active();
    const reached = await Promise.all(
      Array.from({ length: realm.views.partition_count }, (_, partition) =>
        version.waitFor(partition, position, 60_000),
      ),
    );
    expect(reached).not.toContain(false);
    const status = await pipeline.status();
    expect(status).toMatchObject({ head: position, lag: 0n });
    expect(status.versions).toMatchObject([{ status: 'active', fed: true, dead_letters: [] }]);
  });

  test('continues in another process when the process with the dispatcher stops', async () => {
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

  test('projects into a following version before the active one, which continues if the other fails', async () => {
    const partition = partitionOf(storeId(0), realm.views.partition_count);
    const applied: number[] = [];
    let failing = false;
    const watched = wrapVersions(async (opened, batch) => {
      if (failing && opened.version === 2) throw new Error('disk of the second version');
      if (batch.partition === partition && batch.writes.length > 0) applied.push(opened.version);
      return opened.apply(batch);
    });
    const pipeline = await realm.pipeline({ views: watched });
    await realm.append(...shop);
    await pipeline.caughtUp();
    const { version } = await realm.views.createVersion(VIEW_SCHEMA);
    await realm.views.setStatus(version, 'following');
    const second = await realm.views.open(version);
    // A version that becomes `following` soon receives events in every partition.
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
    // With its next job, the following version reads the missed event from the log.
    failing = false;
    await realm.append(publicationCreated(3));
    await pipeline.caughtUp();
    expect((await second.get('listings', listingId(0)))!.document!.body.stats).toMatchObject({
      publication_count: 3,
    });
  });

  test('projects each event once with two dispatchers at once', async () => {
    // The second process gets the lease although the first process has it.
    const always_granting = Object.create(realm.views, { lease: { value: async () => true } }) as ViewStore;
    const first = await realm.pipeline();
    const second = await realm.pipeline({ views: always_granting });
    await realm.append(...shop);
    for (let n = 0; n < 40; n += 4) await realm.append(...publications(n, n + 4), priced(n, 7));
    await Promise.all([first.caughtUp(), second.caughtUp()]);
    expect(await countOf(listingId(0))).toBe(40);
    expect(await verify(realm.parts)).toMatchObject({ clean: true });
  });
});

/** A queue that loses, duplicates or reorders jobs. */
class FaultyQueue implements JobQueue {
  private readonly queue = new InProcessJobQueue();
  private readonly fault: (count: number) => 'lose' | 'duplicate' | 'delay' | undefined;
  private readonly delayed: PartitionJob[] = [];
  count = 0;

  constructor(fault: (count: number) => 'lose' | 'duplicate' | 'delay' | undefined) {
    this.fault = fault;
  }

  async enqueue(job: PartitionJob): Promise<void> {
    const fault = this.fault(this.count++);
    if (fault === 'lose') return;
    if (fault === 'delay') {
      this.delayed.push(job);
      return;
    }
    await this.queue.enqueue(job);
    if (fault === 'duplicate') await this.queue.enqueue(job);
    for (const delayed of this.delayed.splice(0)) await this.queue.enqueue(delayed);
  }

  depth = (partition: number): Promise<number> => this.queue.depth(partition);
  work: JobQueue['work'] = (handler) => this.queue.work(handler);
  close = (): Promise<void> => this.queue.close();
}

describe('every event is projected once if the queue', () => {
  test.each([
    ['loses every third job', (count: number) => (count % 3 === 2 ? ('lose' as const) : undefined)],
    ['loses all of the first 25 jobs', (count: number) => (count < 25 ? ('lose' as const) : undefined)],
    ['delivers every job twice', () => 'duplicate' as const],
    ['reorders jobs', (count: number) => (count % 2 === 0 ? ('delay' as const) : undefined)],
  ])('%s', async (_, fault) => {
    const queue = new FaultyQueue(fault);
    const pipeline = await realm.pipeline({ queue, times: { watch_ms: 50 } });
    await realm.append(...shop);
    for (let n = 0; n < 44; n += 4) {
      await realm.append(...publications(n, n + 4), priced(n, 7));
      await waitFor(() => queue.count > n / 4, { what: 'the next job' });
    }
    await pipeline.caughtUp();
    expect(await countOf(listingId(0))).toBe(40);
    expect(await verify(realm.parts)).toMatchObject({ clean: true });
  });
});

describe('an event that cannot be projected', () => {
  const broken = streamName('live', 'publication', publicationId(1));

  test('moves only its own stream to the dead-letter list, where later events of the stream wait', async () => {
    const pipeline = await realm.pipeline();
    await realm.append(...shop, ...publications(0, 3));
    await realm.appendRaw(broken, storeId(0), 'PublicationTeleported', {});
    await realm.append(priced(1, 777), priced(0, 555), publicationCreated(4));
    await pipeline.caughtUp();
    const version = await realm.active();
    expect((await version.get('publications', publicationId(0)))!.document!.body.price_amount).toBe(555);
    expect((await version.get('publications', publicationId(1)))!.document!.body.price_amount).toBe(1001);
    expect(await countOf(listingId(0))).toBe(4);
    expect(await deadLetters(realm.parts)).toMatchObject([
      { stream: broken, revision: 1, reason: expect.stringContaining('PublicationTeleported') },
    ]);
    expect(await verify(realm.parts)).toMatchObject({ clean: true });
  });

  test('remains a dead letter after a retry that fails again, and is left out by a skip', async () => {
    const pipeline = await realm.pipeline();
    await realm.append(...shop, ...publications(0, 3));
    await realm.appendRaw(broken, storeId(0), 'PublicationTeleported', {});
    await realm.append(onPublication(1, 'PublicationVisibilityChanged', { visibility: 'private' }));
    await pipeline.caughtUp();
    expect(await retry(realm.parts, { stream: broken })).toMatchObject([
      { projected: 0, dead_letter: { revision: 1 } },
    ]);
    expect(await countOf(listingId(0))).toBe(3);
    expect(await skip(realm.parts, { stream: broken })).toMatchObject([{ projected: 1, dead_letter: null }]);
    expect(await deadLetters(realm.parts)).toEqual([]);
    expect(await countOf(listingId(0))).toBe(2);
    await realm.append(onPublication(1, 'PublicationVisibilityChanged', { visibility: 'public' }));
    await pipeline.caughtUp();
    expect(await countOf(listingId(0))).toBe(3);
  });

  test('is counted with others of its kind, which are retried or skipped at once', async () => {
    const fold = jest.spyOn(publicationView, 'fold').mockImplementation((_before, _event, { id }) => {
      throw new TypeError(`cannot read the size of ${id}`);
    });
    const pipeline = await realm.pipeline();
    await realm.append(...shop, ...publications(2, 5));
    await pipeline.caughtUp();
    fold.mockRestore();
    await realm.append(...publications(0, 2));
    await realm.appendRaw(broken, storeId(0), 'PublicationTeleported', {});
    await pipeline.caughtUp();
    const [views, unknown, ...others] = groupDeadLetters(await deadLetters(realm.parts));
    expect(others).toEqual([]);
    const first = streamName('live', 'publication', publicationId(2));
    expect(views).toMatchObject({
      count: 3,
      first: {
        stream: first,
        cause: expect.stringMatching(/^TypeError at projections\/engine\/fold\.[jt]s:\d+$/),
      },
    });
    expect(unknown).toMatchObject({
      count: 1,
      first: {
        stream: broken,
        cause: expect.stringMatching(/^UnreadableEventError at shared\/catalog\/events\/codec/),
      },
    });

    const retried = await retry(realm.parts, views!);
    expect(retried).toMatchObject(Array(3).fill({ projected: 1, dead_letter: null }));
    expect(retried[0]!.stream).toBe(first);
    expect(await countOf(listingId(0))).toBe(5);
    expect(await skip(realm.parts, unknown!)).toMatchObject([{ stream: broken, dead_letter: null }]);
    expect(await deadLetters(realm.parts)).toEqual([]);
  });

  test('is not reported for an outage of the view store, and projection continues after the outage', async () => {
    let down = false;
    let refused = 0;
    const failing = wrapVersions((opened, batch) => {
      if (down) refused++;
      if (down) throw new CatalogError('unavailable');
      return opened.apply(batch);
    });
    const pipeline = await realm.pipeline({ views: failing });
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
    expect(await deadLetters(realm.parts)).toEqual([]);
    expect(await countOf(listingId(0))).toBe(6);
  });

  test('is found among the events of a batch if its document cannot be written', async () => {
    const refusing = wrapVersions((opened, batch) => {
      const refused = batch.writes.some(({ document }) => document?.body.title === 'too big');
      if (refused) throw new UnstorableDocumentError('document too large');
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
    expect(await deadLetters(realm.parts)).toMatchObject([
      { stream, reason: 'cannot be written: document too large' },
    ]);
    expect(await countOf(listingId(0))).toBe(3);
    // With a store that accepts the document, a retry counts it once.
    expect(await retry(realm.parts, { stream })).toMatchObject([{ projected: 1, dead_letter: null }]);
    await waitFor(async () => (await countOf(listingId(0))) === 4);
    expect(await verify(realm.parts)).toMatchObject({ clean: true });
  });
});

const metadata = JSON.stringify({
  occurred_at: '2026-01-31T12:00:00.000Z',
  partition_key: storeId(0),
  source: 'system',
});
const no_fields = '{}';

/** Damaged events, one stream each. `PublicationDeleted` has no fields, so only its bytes can be wrong. */
const FOREIGN: Readonly<Record<string, Foreign>> = {
  'a payload that is not JSON': { data: 'deleted, Tuesday', metadata },
  'a payload that is a list': { data: '[]', metadata },
  'a payload that is text': { data: '"deleted"', metadata },
  'metadata that is not JSON': { data: no_fields, metadata: 'by hand' },
  'metadata that is null': { data: no_fields, metadata: 'null' },
  'metadata without a partition key': {
    data: no_fields,
    metadata: '{"occurred_at":"2026-01-31T12:00:00.000Z"}',
  },
  'a partition key that is a number': { data: no_fields, metadata: metadata.replace(`"${storeId(0)}"`, '7') },
  'an invalid time': { data: no_fields, metadata: metadata.replace('2026-01-31T12:00:00.000Z', 'Tuesday') },
};
const KINDS = Object.keys(FOREIGN);

describe.each([
  ['SQLite', openSqliteLog],
  ['EventStoreDB', openEventStoreDbLog],
])('a damaged event in the log on %s', (_, openLog) => {
  let log: OpenLog;
  let realm: TestRealm;

  beforeEach(async () => {
    log = await openLog();
    realm = await openRealm({ log: log.events });
  });
  afterEach(async () => {
    await realm.close();
    await log.close();
  });

  const listed = (): Promise<DeadLetterInVersion[]> => deadLetters({ views: realm.views });

  test('moves its own stream to the dead-letter list, and later events of other streams are projected', async () => {
    await realm.append(storeCreated(0), listingCreated(0), ...KINDS.map((_kind, n) => publicationCreated(n)));
    for (const [n, kind] of KINDS.entries())
      await log.write(
        streamName('live', 'publication', publicationId(n)),
        'PublicationDeleted',
        FOREIGN[kind]!,
      );
    const next = KINDS.length;
    await realm.append(publicationCreated(next));
    await realm.pipeline();

    const version = await waitFor(() => realm.active());
    await waitFor(() => version.get('publications', publicationId(next)));
    const streams = await waitFor(async () => {
      const found = await listed();
      return found.length >= KINDS.length && found;
    });
    expect(streams.map(({ stream, revision }) => [stream, revision]).sort()).toEqual(
      KINDS.map((_kind, n) => [streamName('live', 'publication', publicationId(n)), 1]).sort(),
    );
    for (const { reason } of streams) expect(reason).toContain('unreadable PublicationDeleted');
    // No publication was deleted by an unreadable event.
    const ids = KINDS.map((_kind, n) => publicationId(n));
    const shown = (await version.getMany('publications', ids)).filter(({ document }) => document);
    expect(shown.map(({ id }) => id).sort()).toEqual(ids);
    expect((await verify(realm.parts)).clean).toBe(true);
  });
});
