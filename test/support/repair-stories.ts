import { deadLetters, skip } from '../../projections/maintenance/dead-letters';
import { verify } from '../../projections/maintenance/verify';
import type { CollectionName, ViewDocument } from '../../shared/catalog/documents';
import { streamName } from '../../shared/catalog/events/envelope';
import { damage, withBody } from './damage';
import { cleanFold, expectSameDocuments } from './folding';
import {
  listingCreated,
  listingId,
  onListing,
  onPublication,
  publicationCreated,
  publicationId,
  reviewId,
  reviewPosted,
  type Step,
  storeCreated,
  storeId,
} from './history';
import type { OwnNames } from './own-servers';
import { readLog } from './read-log';
import { openRealm, type TestRealm } from './realm';
import { waitFor, within } from './wait-for';

/** The history of a store. */
export const REPAIRED_HISTORY: readonly Step[] = [
  storeCreated(0),
  listingCreated(0),
  listingCreated(1),
  ...Array.from({ length: 12 }, (_, n) => publicationCreated(n)),
  onPublication(5, 'PublicationDeleted', {}),
];

/** Ten fields without a value: as many as a verification lists of one document. */
const NO_BODY = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`field_${n}`, null]));

/** Stories about `projections repair`, on the servers that `open` names, or on SQLite if it names none. */
export function repairStories(open: () => OwnNames | undefined): void {
  let servers: OwnNames | undefined;
  let realm: TestRealm;
  beforeEach(async () => {
    servers = open();
    realm = await openRealm(servers);
  });
  afterEach(async () => {
    await realm.close();
    await servers?.dispose();
  });

  const spoil = (
    collection: CollectionName,
    id: string,
    change: (before: ViewDocument | undefined) => ViewDocument | null | undefined,
  ): Promise<void> => damage(realm.views, storeId(0), collection, id, change);
  const repair = () => verify({ ...realm.parts, repairs: true });
  const expectTheFoldOfTheLog = async (): Promise<void> =>
    expectSameDocuments(await realm.active(), await cleanFold(await readLog(realm.events)));

  test('rewrites changed, deleted, missing and surplus documents, and no others', async () => {
    const pipeline = await realm.pipeline();
    await realm.append(...REPAIRED_HISTORY);
    await pipeline.caughtUp();
    const active = await realm.active();
    const untouched = await active.get('publications', publicationId(1));
    const publication = (await active.scan('publications', { limit: 1 }))[0]!.document!;
    await spoil('publications', publicationId(4), withBody({ title: 'Changed by hand' }));
    await spoil('publications', publicationId(6), () => null);
    await spoil('publications', publicationId(7), () => undefined);
    // What is stored of a deleted publication does not say of which store it was. Only the log does.
    await spoil('publications', publicationId(5), () => undefined);
    await spoil('publications', publicationId(999), () => publication);
    await spoil('listings', listingId(0), withBody({ name: 'Changed by hand', stats: {} }));
    await spoil('stores', storeId(0), () => null);
    expect((await verify(realm.parts)).clean).toBe(false);

    expect(await repair()).toMatchObject({ clean: true, differences: [], rewritten: 7 });
    expect(await verify(realm.parts)).toMatchObject({ clean: true, rewritten: 0 });
    await expectTheFoldOfTheLog();
    expect(await active.get('publications', publicationId(999))).toBeUndefined();
    expect(await active.get('publications', publicationId(1))).toEqual(untouched);

    // What is projected next finds the repaired documents.
    await realm.append(onPublication(7, 'PublicationDeleted', {}), publicationCreated(20));
    await pipeline.caughtUp();
    await expectTheFoldOfTheLog();
    expect(await repair()).toMatchObject({ clean: true, rewritten: 0 });
  });

  test('rewrites more than a verification lists before it ends', async () => {
    const publications = Array.from({ length: 120 }, (_, n) => publicationCreated(n));
    await realm.append(storeCreated(0), ...publications, reviewPosted(0, 1, 5));
    const pipeline = await realm.pipeline();
    await pipeline.caughtUp();
    const all = await (await realm.active()).scan('publications', { limit: 200 });
    for (const { id, document } of all)
      await damage(realm.views, String(document!.keys.store_id), 'publications', id, withBody(NO_BODY));
    await spoil('reviews', reviewId(0), withBody({ rating: 1 }));
    const { truncated, documents } = await verify(realm.parts);
    expect(truncated).toBe(true);
    expect(documents.reviews).toBeUndefined();
    expect(await repair()).toMatchObject({ clean: true, truncated: false, rewritten: 121 });
  });

  test('repairs documents that workers write all the time, and loses none of their writes', async () => {
    const pipeline = await realm.pipeline();
    await realm.append(...REPAIRED_HISTORY);
    await pipeline.caughtUp();
    let writing = true;
    let views = 0;
    const writer = (async () => {
      for (; writing; views++) {
        await realm.append(onPublication(2, 'PublicationViewed', { count: 1 }));
        await realm.append(onListing(0, 'ListingDescribed', { name: `Name ${views}`, description: null }));
        // A writer that is faster than the workers would let them fall behind for ever.
        await pipeline.caughtUp();
      }
    })();
    await waitFor(() => views > 5);
    await spoil('publications', publicationId(2), (before) => ({
      ...before!,
      body: { ...before!.body, stats: { ...(before!.body.stats as object), view_count: -1_000 } },
    }));
    await spoil('listings', listingId(0), (before) => ({
      ...before!,
      expansions: { ...before!.expansions, media: [] },
      body: { ...before!.body, stats: {} },
    }));
    await spoil('publications', publicationId(3), () => undefined);
    const { rewritten } = await repair();
    expect(rewritten).toBeGreaterThan(0);
    writing = false;
    await within(writer, 'the writer to stop');
    await pipeline.caughtUp();
    // The last comparison of a repair may fall behind the writer. The documents do not.
    await repair();
    expect(await verify(realm.parts)).toMatchObject({ clean: true });
    await expectTheFoldOfTheLog();
  });

  test('leaves documents alone that lack an event which an operator has skipped', async () => {
    const pipeline = await realm.pipeline();
    await realm.append(...REPAIRED_HISTORY);
    const stream = streamName('live', 'publication', publicationId(1));
    await realm.appendRaw(stream, storeId(0), 'PublicationTeleported', {});
    await pipeline.caughtUp();
    expect(await deadLetters(realm.parts)).toHaveLength(1);
    await spoil('publications', publicationId(4), () => null);
    expect(await repair()).toMatchObject({ clean: true, rewritten: 1 });

    await skip(realm.parts, { stream });
    await realm.append(onPublication(1, 'PublicationViewed', { count: 1 }));
    await pipeline.caughtUp();
    expect(await repair()).toMatchObject({ clean: false, rewritten: 0 });
    const { document } = (await (await realm.active()).get('publications', publicationId(1)))!;
    expect(document!.body.stats).toMatchObject({ view_count: 1 });
  });
}
