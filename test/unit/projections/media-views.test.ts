import type { CollectionName } from '../../../shared/catalog/documents';
import { documentAfter } from '../../support/folding';
import {
  listingCreated,
  listingId,
  mediaDeleted,
  mediaFailed,
  mediaId,
  mediaProcessed,
  mediaUploaded,
  onListing,
  onPublication,
  publicationCreated,
  publicationId,
  type Step,
  storeCreated,
  storeId,
} from '../../support/history';

const SECOND_STORES_MEDIA = 5;
const after = (collection: CollectionName, id: string, ...steps: Step[]) =>
  documentAfter([storeCreated(0), storeCreated(1), listingCreated(0), ...steps], collection, id);

// biome-ignore lint/suspicious/noExplicitAny: tests read any property of a document
const embedsOf = (document: any): [string, string][] =>
  document.expansions.media.map(({ body }: { body: { id: string; status: string } }) => [
    body.id,
    body.status,
  ]);

describe('the document of a media', () => {
  test('has the type and sizes of the upload, and no URL while it is processing', async () => {
    const document = await after('media', mediaId(1), mediaUploaded(1));
    expect(document!.keys).toMatchObject({
      store_id: storeId(0),
      status: 'processing',
      in_use: 0,
      version: 1,
    });
    expect(document!.body).toMatchObject({ status: 'processing', mime_type: 'image/png', size_bytes: 1001 });
    expect(document!.body).toMatchObject({ width: 30, height: 20, variants: [] });
    expect(document!.body).not.toHaveProperty('url');
    expect(document!.body).not.toHaveProperty('placeholder');
  });

  test('has URLs with its environment when it is ready', async () => {
    const document = await after('media', mediaId(1), mediaUploaded(1), mediaProcessed(1));
    expect(document!.keys).toMatchObject({ status: 'ready', version: 2 });
    expect(document!.body.url).toBe(`/media/live/${'b1'.padEnd(64, '0')}.png`);
    expect(document!.body.variants).toEqual([
      {
        ...{ name: 'thumb', width: 30, height: 20, mime_type: 'image/png' },
        url: `/media/live/${'c1'.padEnd(64, '0')}.png`,
      },
    ]);
  });

  test('has the status failed after a failure, and becomes a tombstone when it is deleted', async () => {
    const failed = await after('media', mediaId(1), mediaUploaded(1), mediaFailed(1));
    expect(failed!.body.status).toBe('failed');
    const steps = [mediaUploaded(1), mediaFailed(1), mediaDeleted(1), mediaProcessed(1)];
    expect(await after('media', mediaId(1), ...steps)).toBeNull();
  });
});

describe('the media of a publication and of a listing', () => {
  const media_ids = [mediaId(2), mediaId(0), mediaId(1)];
  const uploads = [mediaUploaded(0), mediaUploaded(1), mediaUploaded(2)];
  const users: readonly (readonly [string, CollectionName, string, Step])[] = [
    ['publication', 'publications', publicationId(1), publicationCreated(1, { media_ids })],
    ['listing', 'listings', listingId(0), onListing(0, 'ListingMediaArranged', { media_ids })],
  ];

  test.each(users)(
    '%s: in the given order, with their current status',
    async (_name, collection, id, arranged) => {
      const document = await after(collection, id, ...uploads, arranged, mediaProcessed(0), mediaFailed(1));
      expect(embedsOf(document)).toEqual([
        [mediaId(2), 'processing'],
        [mediaId(0), 'ready'],
        [mediaId(1), 'failed'],
      ]);
      expect(document!.body.stats).toMatchObject({ media_count: 3 });
    },
  );

  test.each(users)(
    '%s: without media deleted before or after the reference',
    async (_name, collection, id, arranged) => {
      const document = await after(collection, id, ...uploads, mediaDeleted(2), arranged, mediaDeleted(1));
      expect(embedsOf(document)).toEqual([[mediaId(0), 'processing']]);
      expect(document!.body.stats).toMatchObject({ media_count: 1 });
    },
  );

  test.each(users)(
    '%s: includes media uploaded after the reference, and excludes media of another store',
    async (...[, collection, id, arranged]) => {
      const both_ids = [mediaId(SECOND_STORES_MEDIA), mediaId(0)];
      const rearranged = { ...arranged, data: { ...arranged.data, media_ids: both_ids } };
      const uploaded = [mediaUploaded(SECOND_STORES_MEDIA), mediaUploaded(0)];
      const document = await after(collection, id, rearranged, ...uploaded);
      expect(embedsOf(document)).toEqual([[mediaId(0), 'processing']]);
    },
  );

  test('a rearranged publication shows the new media only, and old media no longer update it', async () => {
    const rearranged = onPublication(1, 'PublicationMediaArranged', { media_ids: [mediaId(1)] });
    const steps = [
      ...uploads,
      publicationCreated(1, { media_ids }),
      rearranged,
      mediaProcessed(0),
      mediaProcessed(1),
    ];
    expect(embedsOf(await after('publications', publicationId(1), ...steps))).toEqual([
      [mediaId(1), 'ready'],
    ]);
    expect(await after('media_uses', `${mediaId(0)}.${publicationId(1)}`, ...steps)).toBeNull();
  });

  test('the media count propagates to the listing and the store that show them', async () => {
    const arranged = onListing(0, 'ListingMediaArranged', { media_ids });
    const steps = [...uploads, publicationCreated(1, { media_ids }), arranged, mediaDeleted(0)];
    const counts = { body: { stats: { media_count: 2 } } };
    const listing = await after('listings', listingId(0), ...steps);
    expect(listing!.expansions.publications).toMatchObject({ public: [counts] });
    const store = await after('stores', storeId(0), ...steps);
    expect(store!.expansions.listings).toMatchObject({ public: [counts] });
  });
});

describe('the media of a store', () => {
  const many = Array.from({ length: 22 }, (_, n) => mediaUploaded(n + 6));

  test('lists the newest twenty and counts all', async () => {
    const store = await after('stores', storeId(0), ...many);
    expect(shownIds(store, 'private')).toEqual(Array.from({ length: 20 }, (_, n) => mediaId(27 - n)));
    expect(store!.state.media).toEqual({ public: 0, private: 22 });
  });

  test('lists the next one when a listed one is deleted', async () => {
    const store = await after('stores', storeId(0), ...many, mediaDeleted(27), mediaProcessed(8));
    expect(shownIds(store, 'private')).toEqual(Array.from({ length: 20 }, (_, n) => mediaId(26 - n)));
    expect(store!.state.media).toEqual({ public: 0, private: 21 });
  });

  test('separates those that a public resource uses from all others', async () => {
    const steps = [
      publicationCreated(1, { media_ids: [mediaId(6), mediaId(7)], visibility: 'private' }),
      ...many,
      publicationCreated(2, { media_ids: [mediaId(7), mediaId(8)] }),
      onListing(0, 'ListingMediaArranged', { media_ids: [mediaId(9)] }),
    ];
    const store = await after('stores', storeId(0), ...steps);
    expect(shownIds(store, 'public')).toEqual([mediaId(9), mediaId(8), mediaId(7)]);
    expect(store!.state.media).toEqual({ public: 3, private: 19 });
    const used = await after('media', mediaId(7), ...steps);
    expect([used!.keys.visibility, used!.state.uses]).toEqual(['public', { public: 1, private: 1 }]);
    const withdrawn = onPublication(2, 'PublicationVisibilityChanged', { visibility: 'private' });
    const store_after = await after('stores', storeId(0), ...steps, withdrawn);
    expect(shownIds(store_after, 'public')).toEqual([mediaId(9)]);
    expect(store_after!.state.media).toEqual({ public: 1, private: 21 });
  });

  // biome-ignore lint/suspicious/noExplicitAny: tests read any property of a document
  const shownIds = (store: any, visibility: 'public' | 'private'): string[] =>
    store.expansions.media[visibility].map(({ id }: { id: string }) => id);
});
