import { isCurrency } from '../../../shared/catalog/input-rules';
import {
  INACTIVE_PRICE_DOWN,
  INACTIVE_PRICE_UP,
  NOT_FEATURED,
} from '../../../shared/catalog/publication/document';
import { documentAfter } from '../../support/folding';
import {
  listingCreated,
  listingId,
  listingRestored,
  mediaId,
  mediaUploaded,
  onListing,
  onPublication,
  publicationCreated,
  publicationId,
  publicationRestored,
  publicationsViewed,
  reviewPosted,
  storeCreated,
  storeId,
} from '../../support/history';

const shop = [storeCreated(0), listingCreated(0), listingCreated(1)];
const publication = (...steps: Parameters<typeof documentAfter>[0]) =>
  documentAfter([...shop, ...steps], 'publications', publicationId(1));

describe('the document of a publication', () => {
  test('has a currency that requests may not send any more, because events keep it', async () => {
    expect(isCurrency('DEM')).toBe(false);
    const document = await publication(publicationCreated(1, { price_currency: 'DEM' }));
    expect(document!.body).toMatchObject({ id: publicationId(1), price_currency: 'DEM' });
  });

  test('has the resource as its body, and the keys that reads find and sort it by', async () => {
    const document = await publication(
      mediaUploaded(1),
      publicationCreated(1, {
        title: 'Ärmel & Größe',
        price_amount: 1999,
        quantity_available: 3,
        featured_position: 2,
        free_shipping: true,
        media_ids: [mediaId(1)],
      }),
    );
    expect(document!.body).toMatchObject({
      id: publicationId(1),
      object: 'publication',
      title: 'Ärmel & Größe',
      price_amount: 1999,
      featured_position: 2,
      free_shipping: true,
      stats: { media_count: 1, view_count: 0 },
    });
    expect(document!.body).not.toHaveProperty('description_html');
    expect(document!.keys).toEqual({
      ...{ deleted_in: null, deleted_at: null, places: null },
      store_id: storeId(0),
      listing_id: listingId(0),
      visibility: 'public',
      featured_rank: 2,
      created_at: expect.stringMatching(/^2026-/),
      price_up: 1999,
      price_down: 1999,
      price_max: 1999,
      varies_in: null,
      name_fold: 'armel & grosse',
      rating_rank: Date.parse(String(document!.keys.created_at)),
      free_shipping: 1,
      in_stock: 1,
      has_discount: 0,
      has_media: 1,
      scheduled: 0,
      external_id: null,
      due_at: null,
      version: 1,
    });
  });

  test('sorts an inactive price last in both directions, and unfeatured after featured', async () => {
    const document = await publication(publicationCreated(1, { price_active: false, quantity_available: 0 }));
    expect(document!.keys).toMatchObject({
      price_up: INACTIVE_PRICE_UP,
      price_down: INACTIVE_PRICE_DOWN,
      price_max: INACTIVE_PRICE_DOWN,
      featured_rank: NOT_FEATURED,
      in_stock: 0,
      free_shipping: 0,
    });
  });

  const past = '2025-11-27T00:00:00.000Z';
  const [from, to] = ['2026-11-27T00:00:00.000Z', '2026-12-01T00:00:00.000Z'];
  const [from_ms, to_ms] = [Date.parse(from), Date.parse(to)];
  test.each([
    [{ compare_at_amount: 2_001 }, 2_000, 1, null],
    [{ compare_at_amount: 2_000 }, 2_000, 0, null],
    [{ compare_at_amount: 2_001, price_active: false }, INACTIVE_PRICE_UP, 0, null],
    [{ sale_price_amount: 2_000, sale_from: from }, 2_000, 0, null],
    [{ sale_price_amount: 1_999 }, 1_999, 1, null],
    [{ sale_price_amount: 0, sale_from: from }, 2_000, 0, from_ms],
    [{ sale_price_amount: 0, sale_to: to }, 0, 1, to_ms],
    [{ sale_price_amount: 0, sale_to: past }, 2_000, 0, null],
    [{ sale_price_amount: 0, sale_from: from, sale_to: to }, 2_000, 0, from_ms],
    [{ sale_price_amount: 0, sale_from: past, sale_to: to }, 0, 1, to_ms],
    [{ sale_price_amount: 0, sale_from: past, unpublish_at: from, sale_to: to }, 0, 1, from_ms],
    [{ compare_at_amount: 3_000, sale_price_amount: 0, sale_from: from }, 2_000, 1, from_ms],
  ])(
    'has the price, and a discount, at the time of its last event: %j',
    async (fields, price, has_discount, due_at) => {
      const document = await publication(publicationCreated(1, { price_amount: 2_000, ...fields }));
      expect(document!.keys).toMatchObject({ price_up: price, has_discount, due_at });
    },
  );

  test('is in stock if its quantity is not tracked', async () => {
    const document = await publication(publicationCreated(1, { quantity_available: null }));
    expect(document!.keys.in_stock).toBe(1);
  });

  test('embeds its listing without stats, and follows the changes of the listing', async () => {
    const renamed = onListing(0, 'ListingDescribed', { name: 'Shirts', description: 'All of them' });
    const hidden = onListing(0, 'ListingVisibilityChanged', { visibility: 'private' });
    const document = await publication(publicationCreated(1), renamed, hidden);
    expect(document!.expansions.listing).toMatchObject({
      id: listingId(0),
      visibility: 'private',
      body: { name: 'Shirts', description: 'All of them', visibility: 'private' },
    });
    expect(document!.expansions.listing).not.toHaveProperty('body.stats');
  });

  test('moves to another listing', async () => {
    const moved = onPublication(1, 'PublicationMovedToListing', { listing_id: listingId(1) });
    const document = await publication(publicationCreated(1), moved);
    expect(document!.keys.listing_id).toBe(listingId(1));
    expect(document!.expansions.listing).toMatchObject({ id: listingId(1) });
  });

  test('remains without a listing when its listing is deleted', async () => {
    const document = await publication(publicationCreated(1), onListing(0, 'ListingDeleted', {}));
    expect(document!.expansions.listing).toBeNull();
    expect(document!.body.listing_id).toBeUndefined();
    expect(document!.keys.visibility).toBe('public');
  });

  test('has no listing if it is created in a deleted listing', async () => {
    const document = await publication(onListing(0, 'ListingDeleted', {}), publicationCreated(1));
    expect(document!.expansions.listing).toBeNull();
    expect(document!.body.listing_id).toBeUndefined();
  });

  test('is in its listing again when that is restored, also if it was created meanwhile', async () => {
    const steps = [publicationCreated(1), onListing(0, 'ListingDeleted', {}), publicationCreated(2)];
    for (const n of [1, 2]) {
      const document = await documentAfter(
        [...shop, ...steps, listingRestored(0)],
        'publications',
        publicationId(n),
      );
      expect(document!.body.listing_id).toBe(listingId(0));
      expect(document!.expansions.listing).toMatchObject({ id: listingId(0), visibility: 'public' });
    }
  });

  test('counts views without changing its version', async () => {
    const viewed = publicationsViewed([1, 4], [2, 3]);
    const document = await publication(publicationCreated(1), viewed, viewed);
    expect(document!.body.stats).toEqual({ media_count: 0, view_count: 8 });
    expect(document!.keys.version).toBe(1);
  });

  test('adds views of earlier releases, which are in its own stream', async () => {
    const viewed = onPublication(1, 'PublicationViewed', { count: 4 });
    const document = await publication(publicationCreated(1), viewed, publicationsViewed([1, 1]), viewed);
    expect(document!.body.stats).toEqual({ media_count: 0, view_count: 9 });
  });

  test('counts views from before its creation', async () => {
    const viewed = publicationsViewed([1, 4]);
    expect((await publication(viewed, publicationCreated(1)))!.body.stats).toMatchObject({ view_count: 4 });
  });

  test('has the count, sum and distribution of its reviews', async () => {
    const document = await publication(
      publicationCreated(1),
      reviewPosted(1, 1, 5),
      reviewPosted(2, 1, 4),
      reviewPosted(3, 1, 5),
      reviewPosted(4, 2, 1),
    );
    const distribution = { 1: 0, 2: 0, 3: 0, 4: 1, 5: 2 };
    expect(document!.state.reviews).toEqual({ count: 3, sum: 14, distribution });
  });

  test('becomes a placeholder when it is deleted, and only its restoration brings it back, with all counts', async () => {
    const deleted = onPublication(1, 'PublicationDeleted', {});
    const priced = onPublication(1, 'PublicationPriced', {
      price_currency: 'USD',
      price_amount: 1,
      price_active: true,
    });
    const created = publicationCreated(1, { media_ids: [mediaId(0)] });
    const { data } = created;
    const before = [mediaUploaded(0), created, publicationsViewed([1, 4])];
    const steps = [...before, deleted, reviewPosted(1, 1, 5), priced, created, deleted];
    const document = await publication(...steps);
    expect(document).toMatchObject({ body: {}, state: { publication: null, reviews: { count: 1 } } });
    const { deleted_in, deleted_at, ...keys } = document!.keys;
    expect([deleted_in, deleted_at]).toEqual([storeId(0), '2026-01-01T00:02:00.000Z']);
    expect(new Set(Object.values(keys))).toEqual(new Set([null]));
    expect(document!.words).toBeUndefined();

    const restored = await publication(...steps, publicationRestored(1, data), priced);
    expect(restored).toMatchObject({
      keys: { store_id: storeId(0), listing_id: listingId(0), visibility: 'public', version: 4 },
      body: { title: 'Publication 1', price_amount: 1, stats: { media_count: 1, view_count: 4 } },
      state: { deleted: null, reviews: { count: 1 } },
      expansions: { listing: { id: listingId(0) }, media: [{ id: mediaId(0) }] },
    });
    for (const [collection, id, counts] of [
      ['listings', listingId(0), { facets: { 'public:f0s0i1': 1 } }],
      ['media', mediaId(0), { uses: { public: 1, private: 0 } }],
    ] as const)
      expect(
        await documentAfter([...shop, ...steps, publicationRestored(1, data)], collection, id),
      ).toMatchObject({
        state: counts,
      });
  });
});
