import { PoisonError } from '../../projections/engine/errors';
import { leaseOwner } from '../../projections/engine/lease';
import { FOLLOWING_WITHIN_MS, VIEW_SCHEMA } from '../../projections/engine/versions';
import { deadLetters } from '../../projections/maintenance/dead-letters';
import type { Progress } from '../../projections/maintenance/progress';
import { rebuild, rollback } from '../../projections/maintenance/rebuild';
import { dropRetiredVersions } from '../../projections/maintenance/retention';
import { verify, verifyVersion } from '../../projections/maintenance/verify';
import { SqliteViewVersion } from '../../shared/adapters/sqlite/view-version';
import { type JsonObject, streamName } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import * as async from '../../shared/kernel/async';
import { CatalogError, DamagedFileError, UnstorableDocumentError } from '../../shared/kernel/errors';
import { ACTIVE_TTL_MS } from '../../shared/ports/document-reader';
import { ALL_PARTS, type ViewStore } from '../../shared/ports/view-store';
import { nextBatch } from '../contract/some-documents';
import { damage } from '../support/damage';
import { Crash, openViews } from '../support/faulty-views';
import { cleanFold, expectSameDocuments, foldBatch, PARTITIONS } from '../support/folding';
import {
  listingCreated,
  listingId,
  onListing,
  onPublication,
  play,
  publicationCreated,
  publicationId,
  publicationsViewed,
  type Step,
  storeCreated,
  storeId,
} from '../support/history';
import { MemoryEventStore } from '../support/memory-event-store';
import { openRealm, type TestRealm } from '../support/realm';
import { REPAIRED_HISTORY, repairStories } from '../support/repair-stories';
import { waitFor, within } from '../support/wait-for';

let realm: TestRealm;
beforeEach(async () => {
  realm = await openRealm();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await realm.close();
});

const history: Step[] = [
  storeCreated(0),
  storeCreated(1),
  listingCreated(0),
  listingCreated(1),
  listingCreated(3),
  ...Array.from({ length: 22 }, (_, n) => publicationCreated(n)),
  ...[40, 41].map((n) => publicationCreated(n)),
  onListing(0, 'ListingDescribed', { name: 'Renamed', description: null }),
  onPublication(5, 'PublicationDeleted', {}),
  onPublication(6, 'PublicationMovedToListing', { listing_id: listingId(1) }),
];
/** Returns the store of a publication, null if it is deleted. */
const storeOf = async (n: number) => {
  const stored = await (await realm.active()).get('publications', publicationId(n));
  return stored!.document!.keys.store_id;
};
const statuses = async (): Promise<string[]> => (await realm.views.versions()).map(({ status }) => status);

/** Returns stores in memory: a log with the history, and a version that is being built. */
async function inMemory() {
  const events = new MemoryEventStore();
  await play(events, history);
  const views = await openViews();
  const building = await views.open((await views.createVersion(VIEW_SCHEMA)).version);
  return { events, building, parts: { ...realm.parts, events, views } };
}

/** Returns a list to which each pause of `ms` adds itself when it ends. */
function stepsWithPause(ms: number): string[] {
  const steps: string[] = [];
  const { pause } = async;
  jest.spyOn(async, 'pause').mockImplementation(async (...times) => {
    await pause(...times);
    if (times[0] === ms) steps.push('pause');
  });
  return steps;
}

describe('a rebuild', () => {
  test('makes and activates a new version, and keeps the old one for a rollback', async () => {
    const pipeline = await realm.pipeline();
    await realm.append(...history);
    await pipeline.caughtUp();
    const steps = new Set<string>();
    const on_progress = ({ step }: Progress): unknown => steps.add(step);
    const result = await rebuild({ ...realm.parts, on_progress });
    expect(result).toMatchObject({
      outcome: 'activated',
      version: 2,
      previous: 1,
      verified: { clean: true },
    });
    expect(result.events).toBe(history.length);
    expect([...steps]).toEqual(expect.arrayContaining(['reading', 'indexing', 'verifying']));
    expect(await statuses()).toEqual(['active', 'retired']);

    // Both versions receive events, so a rollback loses nothing.
    await realm.append(onPublication(7, 'PublicationDeleted', {}));
    await pipeline.caughtUp();
    expect(await rollback(realm)).toEqual({ version: 1, previous: 2 });
    await pipeline.caughtUp();
    expect(await storeOf(7)).toBeNull();
    expect(await verify(realm.parts)).toMatchObject({ clean: true, version: 1 });
  });

  test('activates the new version only after every process projects events into it', async () => {
    await realm.append(...history);
    const steps = stepsWithPause(FOLLOWING_WITHIN_MS);
    const views = Object.create(realm.views, {
      setStatus: {
        value: async (version: number, status: 'following') => {
          await realm.views.setStatus(version, status);
          steps.push(status);
        },
      },
      activate: {
        value: (version: number) => {
          steps.push('active');
          return realm.views.activate(version);
        },
      },
    }) as ViewStore;
    await rebuild({ ...realm.parts, views, verify: false });
    expect(steps).toEqual(['following', 'pause', 'active']);
  });

  test('drops a damaged version only after readers have left it', async () => {
    await realm.append(...history);
    const { version: damaged } = await rebuild(realm.parts);
    const steps = stepsWithPause(2 * ACTIVE_TTL_MS);
    const views = Object.create(realm.views, {
      open: {
        value: async (version: number) => {
          if (version === damaged) throw new DamagedFileError('v1', { problem: 'is damaged', remedy: '' });
          return realm.views.open(version);
        },
      },
      activate: {
        value: async (version: number) => {
          await realm.views.activate(version);
          steps.push('retired');
        },
      },
      drop: {
        value: (version: number) => {
          steps.push('dropped');
          return realm.views.drop(version);
        },
      },
    }) as ViewStore;
    await rebuild({ ...realm.parts, views, verify: false });
    expect(await statuses()).toEqual(['active']);
    expect(steps).toEqual(['retired', 'pause', 'dropped']);
  });

  test('includes events that are appended meanwhile, and readers never see an older state', async () => {
    const pipeline = await realm.pipeline();
    await realm.append(...history);
    await pipeline.caughtUp();
    let writing = true;
    let views = 0;
    const writer = async (): Promise<void> => {
      while (writing) {
        await realm.append(onPublication(1, 'PublicationViewed', { count: 1 }));
        views++;
      }
    };
    let last_count = 0;
    const reader = async (): Promise<void> => {
      while (writing) {
        const stored = await (await realm.active()).get('publications', publicationId(1), ALL_PARTS);
        const { view_count } = stored!.document!.body.stats as { view_count: number };
        expect(view_count).toBeGreaterThanOrEqual(last_count);
        last_count = view_count;
        await new Promise(setImmediate);
      }
    };
    const others = Promise.all([writer(), reader()]);
    expect(await rebuild(realm.parts)).toMatchObject({ outcome: 'activated' });
    writing = false;
    await within(others, 'the writer and the reader to stop');
    await pipeline.caughtUp();
    expect(
      (await (await realm.active()).get('publications', publicationId(1)))!.document!.body.stats,
    ).toMatchObject({
      view_count: views,
    });
    expect(await verify(realm.parts)).toMatchObject({ clean: true });
  });

  test('leaves a retired version, which a worker drops at its time', async () => {
    await realm.append(...history);
    await rebuild(realm.parts);
    const { version: retired } = (await realm.views.versions())[0]!;
    await rebuild(realm.parts);
    expect(await statuses()).toEqual(['active', 'retired']);
    const opened = await realm.views.open(retired);
    const now_ms = { current: Date.now() };
    const system = { ...realm.parts.system, now: () => now_ms.current };
    const stop = new AbortController();
    const hour_ms = 3_600_000;
    const dropping = dropRetiredVersions(
      { ...realm.parts, owner: leaseOwner(), system, keep_ms: hour_ms, every_ms: 5 },
      stop.signal,
    );
    now_ms.current += hour_ms - 60_000;
    const checks = jest.spyOn(realm.views, 'versions');
    await waitFor(() => checks.mock.calls.length > 2);
    expect(await statuses()).toEqual(['active', 'retired']);
    now_ms.current += 60_000;
    await waitFor(async () => (await statuses()).length === 1);
    expect(await statuses()).toEqual(['active']);
    await expect(opened.checkpoints()).rejects.toThrow();
    await expect(rollback(realm.parts)).rejects.toThrow('No retired version');
    stop.abort();
    await dropping;
  });

  test('works without a running server, also in an empty view store', async () => {
    await realm.append(...history);
    expect(await rebuild(realm.parts)).toMatchObject({ outcome: 'activated', previous: null });
    expect(await verify(realm.parts)).toMatchObject({
      clean: true,
      documents: { stores: 2, listings: 3, publications: 24 },
    });
    await realm.append(onPublication(8, 'PublicationDeleted', {}));
    expect(await rebuild(realm.parts)).toMatchObject({ outcome: 'activated', version: expect.any(Number) });
    expect(await storeOf(8)).toBeNull();
  });

  test('resumes an interrupted rebuild', async () => {
    await realm.append(...history);
    const stop = new AbortController();
    const on_progress = (): void => stop.abort();
    const createIndexes = jest.spyOn(SqliteViewVersion.prototype, 'createIndexes');
    const interrupted = await rebuild({ ...realm.parts, on_progress, signal: stop.signal });
    expect(interrupted).toMatchObject({ outcome: 'interrupted', version: 1 });
    // Indexes over half of the documents would slow the rest of the rebuild.
    expect(createIndexes).not.toHaveBeenCalled();
    await realm.append(onPublication(9, 'PublicationDeleted', {}));
    const result = await rebuild({ ...realm.parts });
    expect(result).toMatchObject({ outcome: 'activated', version: 1 });
    expect(result.events).toBeLessThan(history.length);
    expect(await verify(realm.parts)).toMatchObject({ clean: true });
  });

  test('that crashes after any batch is resumed by the next one, with the same documents', async () => {
    const { events, building, parts } = await inMemory();
    let crashes = 0;
    const attempt = (): Promise<boolean> => {
      building.crash_in = crashes;
      return rebuild({ ...parts, verify: false }).then(
        ({ outcome }) => outcome === 'activated',
        (error) => {
          expect(error).toBeInstanceOf(Crash);
          return false;
        },
      );
    };
    while (!(await attempt())) crashes++;
    expect(crashes).toBeGreaterThan(2);
    await expectSameDocuments(building, await cleanFold(events.log));
  });

  test('resumes after an outage of a store, with the same documents', async () => {
    const { events, building, parts } = await inMemory();
    let outages = 0;
    let writes = 0;
    building.beforeWrite = () => {
      writes++;
      if (writes < 20 * (outages + 1) || outages === 2) return;
      outages++;
      throw new CatalogError(outages === 1 ? 'unavailable' : 'database_timeout');
    };
    const result = await rebuild(parts);
    expect(outages).toBe(2);
    expect(result).toMatchObject({ outcome: 'activated', verified: { clean: true } });
    await expectSameDocuments(building, await cleanFold(events.log));
  });

  test.each([
    ['the view store', 'lease'],
    ['the list of versions', 'versions'],
    ['the new version', 'createVersion'],
    ['the event store', 'head'],
  ])('waits for a store that is unavailable in its first seconds: %s', async (_, method) => {
    await realm.append(...history);
    let failures = 0;
    const failingAtFirst = <Store extends object>(store: Store): Store =>
      new Proxy(store, {
        get: (_target, name) => {
          const value = Reflect.get(store, name, store);
          if (name !== method || typeof value !== 'function') return value;
          return (...parameters: unknown[]) => {
            if (failures === 1) return value.apply(store, parameters);
            failures++;
            return Promise.reject(new CatalogError('unavailable'));
          };
        },
      });
    const views = failingAtFirst(realm.views);
    const events = failingAtFirst(realm.events);
    const reasons: string[] = [];
    const on_outage = (reason: string): unknown => reasons.push(reason);
    const rebuilding = rebuild({ ...realm.parts, views, events, on_outage });
    const result = await within(rebuilding, 'the rebuild to end');
    expect(failures).toBe(1);
    expect(reasons).toEqual(['unavailable']);
    expect(result).toMatchObject({ outcome: 'activated', verified: { clean: true } });
  });

  test('ends at a document that the store refuses, or moves its stream to the dead-letter list', async () => {
    const { building, parts: stores } = await inMemory();
    const parts = { ...stores, verify: false };
    building.beforeWrite = ({ id }) => {
      if (id === publicationId(3)) throw new UnstorableDocumentError('document too large');
    };
    await expect(rebuild(parts)).rejects.toThrow(UnstorableDocumentError);
    expect(await rebuild({ ...parts, on_poison: 'dead_letter' })).toMatchObject({ outcome: 'activated' });
    expect(await building.deadLetters()).toMatchObject([
      { stream: streamName('live', 'publication', publicationId(3)), revision: 0 },
    ]);
    expect((await building.get('publications', publicationId(4)))?.document).toBeTruthy();
  });

  test('ends at a poison event, or moves its stream to the dead-letter list with on_poison: dead_letter', async () => {
    const stream = streamName('live', 'publication', publicationId(1));
    await realm.append(...history);
    await realm.appendRaw(stream, storeId(0), 'PublicationTeleported', {});
    await realm.append(onPublication(2, 'PublicationDeleted', {}));
    await expect(rebuild(realm.parts)).rejects.toThrow(PoisonError);
    expect(await statuses()).toEqual(['building']);
    expect(await rebuild({ ...realm.parts, on_poison: 'dead_letter' })).toMatchObject({
      outcome: 'activated',
    });
    expect(await deadLetters(realm.parts)).toMatchObject([{ stream }]);
  });

  test('does not run twice at once', async () => {
    await realm.append(...history);
    const both = await Promise.allSettled([rebuild(realm.parts), rebuild(realm.parts)]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('starts automatically if the active version has another schema', async () => {
    await realm.append(...history);
    const old = await realm.views.createVersion(VIEW_SCHEMA + 1);
    await realm.views.activate(old.version);
    const pipeline = await realm.pipeline();
    await pipeline.caughtUp();
    const active = (await realm.views.versions()).find(({ status }) => status === 'active');
    expect(active).toMatchObject({ schema: VIEW_SCHEMA });
    expect(await verify(realm.parts)).toMatchObject({ clean: true });
  });

  test('counts views that a worker of an earlier release has moved to the dead-letter list', async () => {
    await realm.append(...history);
    const step = publicationsViewed([2, 5]);
    const stream = streamName('live', 'views', step.id);
    const position = await realm.append(step);
    const { version } = await realm.views.createVersion(VIEW_SCHEMA - 1);
    const partition = partitionOf(step.store_id, realm.views.partition_count);
    const dead_letter = { stream, partition, revision: 0, position, reason: 'unknown event type' };
    const dead_letters = [{ ...dead_letter, failed_at: '2026-01-01T00:00:00.000Z' }];
    const old = await realm.views.open(version);
    await old.apply(await nextBatch(old, { partition, checkpoint: position, dead_letters }));
    await realm.views.activate(version);
    const pipeline = await realm.pipeline();
    await pipeline.caughtUp();
    const active = await realm.active();
    expect(active.version).not.toBe(version);
    expect(await active.deadLetters()).toEqual([]);
    const stored = await active.get('publications', publicationId(2), ALL_PARTS);
    expect(stored!.document!.body.stats).toMatchObject({ view_count: 5 });
  });
});

describe('a verification', () => {
  const tamper = async (change: (body: Record<string, unknown>) => void): Promise<void> => {
    const version = await realm.active();
    const stored = (await version.get('publications', publicationId(4), ALL_PARTS))!;
    const document = structuredClone(stored.document!);
    change(document.body as Record<string, unknown>);
    const partition = (await version.checkpoints()).findIndex((checkpoint) => checkpoint > 0n);
    const position = stored.position + 1n;
    const write = { collection: 'publications', ...stored, position, document } as const;
    await version.apply(await nextBatch(version, { partition, writes: [write] }));
  };

  test('reports the document and the fields that were changed outside the projections', async () => {
    const pipeline = await realm.pipeline();
    await realm.append(...history);
    await pipeline.caughtUp();
    await tamper((body) => {
      body.price_amount = 1;
      (body.stats as { view_count: number }).view_count = 99;
    });
    const { clean, differences } = await verify(realm.parts);
    expect(clean).toBe(false);
    const document = { collection: 'publications', id: publicationId(4) };
    expect(differences).toEqual([
      { ...document, field: 'body.price_amount', expected: 1004, actual: 1 },
      { ...document, field: 'body.stats.view_count', expected: 0, actual: 99 },
    ]);
    expect(await rebuild(realm.parts)).toMatchObject({ outcome: 'activated' });
    expect(await verify(realm.parts)).toMatchObject({ clean: true });
  });

  test('reports missing and surplus documents', async () => {
    await realm.append(...history);
    await rebuild(realm.parts);
    const version = await realm.active();
    const stored = (await version.get('publications', publicationId(4), ALL_PARTS))!;
    const position = stored.position + 1n;
    const deleted = { collection: 'publications', ...stored, position, document: null } as const;
    const surplus = { ...deleted, id: publicationId(999), document: stored.document };
    expect(await version.apply(await nextBatch(version, { writes: [deleted, surplus] }))).toBe('applied');
    expect((await verify(realm.parts)).differences).toMatchObject([
      { id: publicationId(4), field: '', expected: 'present', actual: 'deleted' },
      { id: publicationId(999), field: '', expected: 'missing', actual: 'present' },
    ]);
  });

  test('is clean while events are appended, and drops its scratch version', async () => {
    const pipeline = await realm.pipeline();
    await realm.append(...history);
    await pipeline.caughtUp();
    let writing = true;
    const writer = (async () => {
      while (writing) {
        await realm.append(onPublication(2, 'PublicationViewed', { count: 1 }));
        await realm.append(onListing(0, 'ListingDescribed', { name: 'Again', description: null }));
      }
    })();
    expect(await verify(realm.parts)).toMatchObject({ clean: true, differences: [], undecided: 0 });
    writing = false;
    await within(writer, 'the writer to stop');
    expect(await statuses()).toEqual(['active']);
  });

  test('compares a document that workers write between each look at the checkpoints and each read', async () => {
    const pipeline = await realm.pipeline();
    await realm.append(...history);
    await pipeline.caughtUp();
    const active = await realm.active();
    const changing = Object.create(active, {
      partition: {
        value: async (partition: number) => {
          const state = await active.partition(partition);
          await realm.append(onPublication(2, 'PublicationViewed', { count: 1 }));
          await pipeline.caughtUp();
          return state;
        },
      },
    }) as typeof active;
    expect(await verifyVersion({ ...realm.parts, version: changing })).toMatchObject({ clean: true });
  });
});

describe('a repair on SQLite', () => repairStories(() => undefined));

test('a repair does not replace a document that a worker writes between its comparison and its write', async () => {
  const events = new MemoryEventStore();
  await play(events, REPAIRED_HISTORY);
  const views = await openViews();
  const version = await views.open((await views.createVersion(VIEW_SCHEMA)).version);
  await views.activate(version.version);
  const partition = partitionOf(storeId(0), PARTITIONS);
  const project = () => foldBatch(version, partition, events.log, BigInt(events.log.length));
  await project();
  for (let other = 0; other < PARTITIONS; other++)
    await foldBatch(version, other, events.log, BigInt(events.log.length));
  // The worker writes the title of this state, which it never corrects, into the body.
  await damage(views, storeId(0), 'publications', publicationId(2), (before) => {
    const { publication } = before!.state as { publication: JsonObject };
    return {
      ...before!,
      state: { ...before!.state, publication: { ...publication, title: 'Changed by hand' } },
    };
  });
  let races = 0;
  version.interleave = async () => {
    if (races === 3) return;
    races++;
    const { interleave } = version;
    version.interleave = async () => {};
    await play(events, [onPublication(2, 'PublicationViewed', { count: 1 })]);
    await project();
    version.interleave = interleave;
  };
  expect(await verify({ ...realm.parts, events, views, repairs: true })).toMatchObject({ clean: true });
  expect(races).toBe(3);
  const { document } = (await version.get('publications', publicationId(2)))!;
  expect(document!.body).toMatchObject({ title: 'Publication 2', stats: { view_count: 3 } });
  await expectSameDocuments(version, await cleanFold(events.log));
});
