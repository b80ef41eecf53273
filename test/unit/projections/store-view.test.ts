import { documentAfter } from '../../support/folding';
import {
  listingCreated,
  listingId,
  methodId,
  onListing,
  onPublication,
  onStore,
  publicationCreated,
  type Step,
  storeCreated,
  storeId,
} from '../../support/history';

const store = (...steps: Step[]) => documentAfter([storeCreated(0), ...steps], 'stores', storeId(0));
const method = (n: number) => ({
  payment_method_id: methodId(n),
  type: 'card',
  name: 'Karte',
  instructions: null,
  position: n,
});

describe('the document of a store', () => {
  test('has the resource and the number of public listings', async () => {
    const document = await store(
      listingCreated(0),
      listingCreated(1, { visibility: 'private' }),
      onStore(0, 'StoreStatusChanged', { status: 'inactive' }),
    );
    expect(document!.body).toMatchObject({
      object: 'store',
      status: 'inactive',
      stats: { listing_count: 1 },
    });
    expect(document!.keys).toMatchObject({ status: 'inactive', name_fold: 'store 0' });
    expect(document!.state.listings).toEqual({ public: 1, private: 1 });
  });

  test('counts all its publications by facet, with or without a listing', async () => {
    const document = await store(
      publicationCreated(0, { listing_id: null }),
      publicationCreated(1),
      publicationCreated(2, { visibility: 'private' }),
      onPublication(1, 'PublicationFeatured', { featured_position: 1 }),
    );
    expect(document!.state.facets).toEqual({ 'public:f0s0i1': 1, 'public:f1s0i1': 1, 'private:f0s0i1': 1 });
  });

  test('lists its newest listings with their own stats', async () => {
    const document = await store(
      listingCreated(0),
      listingCreated(1),
      listingCreated(2),
      publicationCreated(0),
      publicationCreated(1),
      onListing(1, 'ListingDeleted', {}),
    );
    expect(document!.expansions.listings).toMatchObject({
      public: [
        { id: listingId(2), body: { stats: { publication_count: 0 } } },
        { id: listingId(0), body: { stats: { publication_count: 2 } } },
      ],
      private: [],
    });
  });

  test('lists the next listing when a listed one is deleted', async () => {
    const created = Array.from({ length: 23 }, (_, n) => n).filter((n) => n !== 3);
    const deleted = onListing(22, 'ListingDeleted', {});
    const document = await store(...created.map((n) => listingCreated(n)), deleted);
    const listed = (document!.expansions.listings as { public: { id: string }[] }).public;
    expect(listed.map(({ id }) => id)).toEqual(created.slice(1, -1).reverse().map(listingId));
  });

  test('counts its payment methods, and each has a document', async () => {
    const steps = [
      storeCreated(0),
      onStore(0, 'PaymentMethodAdded', method(1)),
      onStore(0, 'PaymentMethodAdded', method(2)),
      onStore(0, 'PaymentMethodRemoved', { payment_method_id: methodId(1) }),
    ];
    expect((await documentAfter(steps, 'stores', storeId(0)))!.state.payment_methods).toBe(1);
    expect(await documentAfter(steps, 'payment_methods', methodId(1))).toBeNull();
    expect(await documentAfter(steps, 'payment_methods', methodId(2))).toMatchObject({
      keys: { store_id: storeId(0), position: 2, name_fold: 'karte' },
      body: { id: methodId(2), object: 'payment_method', type: 'card', name: 'Karte', position: 2 },
    });
  });
});
