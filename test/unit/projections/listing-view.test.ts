import { documentAfter, given } from '../../support/folding';
import {
  listingCreated,
  listingId,
  listingRestored,
  onListing,
  onPublication,
  publicationCreated,
  publicationId,
  type Step,
  storeCreated,
  storeId,
} from '../../support/history';

const listing = (...steps: Step[]) =>
  documentAfter([storeCreated(0), listingCreated(0), ...steps], 'listings', listingId(0));
const many = (count: number, fields: (n: number) => Step['data'] = () => ({})): Step[] =>
  Array.from({ length: count }, (_, n) => publicationCreated(n, fields(n)));
const names = (entries: unknown): number[] =>
  (entries as { id: string }[]).map(({ id }) => Number(id.slice(-4)));
type Listed = { publications: { public: unknown; private: unknown } };
const listed = (document: { expansions: unknown } | null | undefined) =>
  (document!.expansions as Listed).publications;

describe('the document of a listing', () => {
  test('counts its public publications, and all publications by facet', async () => {
    const document = await listing(
      publicationCreated(1, { quantity_available: 0 }),
      publicationCreated(2, { featured_position: 1 }),
      publicationCreated(3, { visibility: 'private', free_shipping: true }),
    );
    expect(document!.body.stats).toEqual({ media_count: 0, publication_count: 2 });
    expect(document!.state.facets).toEqual({
      'public:f0s0i0': 1,
      'public:f1s0i1': 1,
      'private:f0s1i1': 1,
    });
    expect(document!.keys).toMatchObject({ store_id: storeId(0), visibility: 'public', version: 1 });
  });

  test('no longer counts or lists a publication that is deleted, moved away or hidden', async () => {
    const document = await listing(
      ...many(3),
      onPublication(0, 'PublicationDeleted', {}),
      onPublication(1, 'PublicationMovedToListing', { listing_id: null }),
      onPublication(2, 'PublicationVisibilityChanged', { visibility: 'private' }),
    );
    expect(document!.body.stats).toMatchObject({ publication_count: 0 });
    expect(listed(document).public).toEqual([]);
    expect(names(listed(document).private)).toEqual([2]);
  });

  test('lists the first twenty publications, featured ones before the others', async () => {
    const document = await listing(
      ...many(25, (n) => ({ featured_position: n === 3 ? 2 : n === 9 ? 1 : null })),
    );
    const newest = [24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 8, 7, 6];
    expect(names(listed(document).public)).toEqual([9, 3, ...newest]);
  });

  test('lists the next publication when a listed one is deleted', async () => {
    const document = await listing(...many(22), onPublication(20, 'PublicationDeleted', {}));
    const expected = [21, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1];
    expect(names(listed(document).public)).toEqual(expected);
  });

  test('counts and lists publications of other listings, at their positions in it', async () => {
    const placed = (n: number, position?: number) => ({
      listing_id: listingId(1),
      listing_ids: [listingId(0)],
      featured_positions: position === undefined ? {} : { [listingId(0)]: position },
      featured_position: n,
    });
    const document = await listing(
      listingCreated(1),
      ...many(25, (n) => (n % 2 === 0 ? placed(n + 1, n === 4 ? 1 : undefined) : {})),
      onPublication(24, 'PublicationDeleted', {}),
      onPublication(22, 'PublicationPlaced', { listing_ids: [], featured_positions: {} }),
      onPublication(20, 'PublicationVisibilityChanged', { visibility: 'private' }),
    );
    expect(document!.state.facets).toEqual({
      'public:f0s0i1': 21,
      'public:f1s0i1': 1,
      'private:f0s0i1': 1,
    });
    expect(document!.body.stats).toMatchObject({ publication_count: 22 });
    const newest = [23, 21, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 3, 2];
    expect(names(listed(document).public)).toEqual([4, ...newest]);
    expect(names(listed(document).private)).toEqual([20]);
  });

  test('counts publications of other listings that change while it is deleted', () => {
    const placed = { listing_id: null, listing_ids: [listingId(0)] };
    const counts = { state: { facets: { 'public:f0s0i1': 3 } } };
    return given(
      ...[storeCreated(0), listingCreated(0), ...many(3, () => placed)],
      onListing(0, 'ListingDeleted', {}),
    )
      .when([onPublication(0, 'PublicationDeleted', {}), publicationCreated(3, placed), listingRestored(0)], {
        times: 2,
      })
      .then({
        listings: { [listingId(0)]: { ...counts, body: { stats: { publication_count: 3 } } } },
        publications: {
          [publicationId(0)]: { keys: { deleted_in: storeId(0), listing_id: null } },
          [publicationId(1)]: { body: { listing_ids: [listingId(0)] } },
          [publicationId(9)]: undefined,
        },
        places: { [`${listingId(0)}.${publicationId(0)}`]: null },
      });
  });

  test('below another one counts a publication that enters or leaves it', async () => {
    const tree = [storeCreated(0), listingCreated(2), listingCreated(1, { parent_id: listingId(2) })];
    const place = (...listing_ids: string[]) =>
      onPublication(0, 'PublicationPlaced', { listing_ids, featured_positions: {} });
    const counted = (count: number) => ({
      listings: { [listingId(1)]: { state: { facets: count === 0 ? {} : { 'public:f0s0i1': count } } } },
    });
    const alone = publicationCreated(0, { listing_id: null });
    await given(...tree, alone)
      .when([place(listingId(1))], { times: 2 })
      .then(counted(1));
    await given(...tree, alone, place(listingId(1)))
      .when([place()])
      .then(counted(0));
    await given(...tree, alone, place(listingId(1)))
      .when([onPublication(0, 'PublicationVisibilityChanged', { visibility: 'private' })])
      .then({ listings: { [listingId(1)]: { body: { stats: { publication_count: 0 } } } } });
  });

  test('is nothing once it is erased, and publications do not name it', () => {
    const placed = { listing_id: listingId(0), listing_ids: [listingId(1)] };
    const erased = (n: number) => onListing(n, 'ListingErased', { store_id: storeId(0) });
    return given(storeCreated(0), listingCreated(0), listingCreated(1), publicationCreated(0, placed))
      .when(
        [0, 1].flatMap((n) => [onListing(n, 'ListingDeleted', {}), erased(n)]),
        { times: 2 },
      )
      .then({
        listings: { [listingId(0)]: null, [listingId(1)]: null },
        publications: { [publicationId(0)]: { expansions: { listing: null, listings: [] } } },
        stores: { [storeId(0)]: { body: { stats: { listing_count: 0 } } } },
      });
  });

  test('lists another publication when a listed one sorts after it', async () => {
    const priced = (n: number, price_amount: number) =>
      onPublication(n, 'PublicationPriced', { price_currency: 'USD', price_amount, price_active: true });
    const document = await listing(
      onListing(0, 'ListingSortModeChanged', { default_sort_mode: 'price_asc' }),
      ...many(21, (n) => ({ price_amount: n })),
      priced(0, 500),
    );
    expect(names(listed(document).public)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
  });

  test('lists other publications when its sort mode changes', async () => {
    const document = await listing(
      ...many(25, (n) => ({ price_amount: 100 - n })),
      onListing(0, 'ListingSortModeChanged', { default_sort_mode: 'price_desc' }),
    );
    expect(names(listed(document).public)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });

  test('becomes a placeholder when it is deleted, and its restoration brings it back, with all', async () => {
    const before = await listing(...many(3));
    const deleted = await listing(...many(2), onListing(0, 'ListingDeleted', {}));
    expect(deleted).toMatchObject({
      keys: { store_id: null, visibility: null, deleted_in: storeId(0) },
      body: {},
      state: { listing: null, deleted: { tag: 'deleted' }, facets: { 'public:f0s0i1': 2 } },
    });
    // The third one is created while the listing is deleted.
    const [, , third] = many(3);
    const restored = await listing(
      ...many(2),
      onListing(0, 'ListingDeleted', {}),
      third!,
      listingRestored(0),
    );
    expect(restored!.body.stats).toEqual(before!.body.stats);
    expect(names(listed(restored).public)).toEqual(names(listed(before).public));
    expect(restored!.state.deleted).toBeNull();
  });

  test('is a placeholder until its own event comes, and counts the publications that came before', async () => {
    const before = await documentAfter([storeCreated(0), publicationCreated(1)], 'listings', listingId(0));
    expect(before).toMatchObject({ keys: { store_id: null, visibility: null }, body: {} });
    const after = [storeCreated(0), publicationCreated(1), listingCreated(0)];
    expect(await documentAfter(after, 'listings', listingId(0))).toMatchObject({
      body: { stats: { publication_count: 1 } },
    });
    expect(await documentAfter(after, 'publications', publicationId(1))).toMatchObject({
      expansions: { listing: { id: listingId(0), body: { name: 'Listing 0' } } },
    });
  });
});
