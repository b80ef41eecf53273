import { ReadWorld, refusal } from './read-world';
import { idOf, sampleListing, samplePublication, sampleStore } from './sample';

const mine = sampleStore('mine');
const closed = sampleStore('closed', { status: 'suspended' });
const foreign = sampleStore('foreign');
const missing = sampleStore('missing');

const shirts = sampleListing(mine, 'Shirts');
const shirt = samplePublication(mine, 'Shirt', { listing_id: shirts.id });
const hat = samplePublication(closed, 'Hat');
const shoe = samplePublication(foreign, 'Shoe');
const hats = sampleListing(closed, 'Hats');

const LISTS = [
  '/api/store',
  '/api/store-listings',
  '/api/listings',
  '/api/payment-methods',
  '/api/publications',
];

describe('the store guard of reads', () => {
  let world: ReadWorld;

  beforeAll(async () => {
    world = await ReadWorld.open([mine.id, closed.id, missing.id]);
    await world.fill({ store: mine, listings: [shirts], publications: [shirt] });
    await world.fill({ store: closed, listings: [hats], publications: [hat] });
    await world.fill({ store: foreign, listings: [], publications: [shoe] });
  });
  afterAll(() => world.close());

  test.each(LISTS)('%s uses the first store of the token by default', async (path) => {
    const unnamed = await world.ask(path);
    expect(await world.ask(path, { query: `store_id=${mine.id.toUpperCase()}` })).toEqual(unnamed);
  });

  test.each(LISTS)('%s is store_not_found for a store that is not active or does not exist', async (path) => {
    for (const store of [closed, missing])
      expect(await refusal(world.ask(path, { query: `store_id=${store.id}` }))).toBe('store_not_found');
  });

  test('publications of a listing are store_not_found if its store is not active', async () => {
    const query = `store_id=${closed.id}&listing_id=${hats.id}`;
    expect(await refusal(world.ask('/api/publications', { query }))).toBe('store_not_found');
  });

  describe('by id', () => {
    const publication = (id: string, query = '') => world.ask('/api/publication/:id', { id, query });

    test('finds a resource of any of the token’s stores without a store_id', async () => {
      const second = { stores: [missing.id, mine.id] };
      const found = await world.ask('/api/publication/:id', { id: shirt.id, as: second });
      expect(found).toMatchObject({ data: { id: shirt.id, object: 'publication' }, version: 1 });
    });

    test('does not find a resource of a store that the token does not have', async () => {
      expect(await refusal(publication(shoe.id))).toBe('publication_not_found');
      expect(await refusal(publication(idOf('nothing')))).toBe('publication_not_found');
      expect(await refusal(world.ask('/api/listing/:id', { id: idOf('nothing') }))).toBe('listing_not_found');
    });

    test('does not find a resource of another store than store_id', async () => {
      expect((await publication(shirt.id, `store_id=${mine.id}`)).data).toMatchObject({ id: shirt.id });
      const other = { stores: [mine.id, foreign.id] };
      const asked = { id: shirt.id, query: `store_id=${foreign.id}`, as: other };
      expect(await refusal(world.ask('/api/publication/:id', asked))).toBe('publication_not_found');
      expect(await refusal(publication(shirt.id, `store_id=${foreign.id}`))).toBe('store_access_denied');
    });

    test('is store_not_found if store_id is not active, even if the resource does not exist', async () => {
      expect(await refusal(publication(shirt.id, `store_id=${closed.id}`))).toBe('store_not_found');
      expect(await refusal(publication(idOf('nothing'), `store_id=${missing.id}`))).toBe('store_not_found');
    });

    test('is store_not_found if the store of the resource is not active', async () => {
      expect(await refusal(publication(hat.id))).toBe('store_not_found');
      for (const path of ['/api/listing/:id', '/api/listing/:id/publications'])
        expect(await refusal(world.ask(path, { id: hats.id }))).toBe('store_not_found');
      expect(await refusal(world.ask('/api/publication/:id/reviews', { id: hat.id }))).toBe(
        'store_not_found',
      );
    });

    test('notices a deactivated store within a second and an activated one immediately', async () => {
      const store = sampleStore('turning');
      const cap = samplePublication(store, 'Cap');
      const ask = () => world.ask('/api/publication/:id', { id: cap.id, as: { stores: [store.id] } });
      const setStatus = (status: 'active' | 'inactive') =>
        world.fill({ store: { ...store, status }, listings: [], publications: [cap] });

      await setStatus('active');
      await ask();
      await setStatus('inactive');
      world.now_ms += 1_000;
      expect(await refusal(ask())).toBe('store_not_found');
      await setStatus('active');
      expect((await ask()).data).toMatchObject({ id: cap.id });
    });
  });
});
