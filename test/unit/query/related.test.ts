import fc from 'fast-check';
import type { Publication } from '../../../shared/catalog/publication/publication';
import type { Visibility } from '../../../shared/catalog/vocabulary';
import { cases } from '../../support/long';
import { ReadWorld, refusal, STOREFRONT } from './read-world';
import { idOf, minute, sampleListing, samplePublication, sampleStore } from './sample';

const RELATED = '/api/publication/:id/related';

describe('related publications', () => {
  const store = sampleStore('store');
  const far = sampleStore('far');
  const cups = sampleListing(store, 'Cups');
  const cellar = sampleListing(store, 'Cellar', { visibility: 'private' });
  const createdAt = (title: string, n: number, fields: Partial<Publication> = {}) =>
    samplePublication(store, title, { created_at: minute(n), ...fields });
  const source = createdAt('Blue stoneware mug', 5, { listing_id: cups.id, description: 'Holds tea' });
  const publications = [
    source,
    createdAt('Red stoneware mug', 1, { listing_id: cups.id }),
    createdAt('Red mug', 2, { listing_id: cups.id }),
    createdAt('Glass', 3, { listing_id: cups.id }),
    createdAt('Goblet', 9, { listing_id: cups.id }),
    createdAt('Secret mug', 8, { listing_id: cups.id, visibility: 'private' }),
    createdAt('Blue stoneware plate', 1),
    createdAt('Plate', 2, { description: 'Beside a mug' }),
    createdAt('Saucer', 3, { description: 'For tea' }),
    createdAt('Towel', 4, { listing_id: cellar.id }),
    createdAt('Wine', 6, { listing_id: cellar.id }),
  ];
  const nearest = [
    ...['Red stoneware mug', 'Red mug', 'Goblet', 'Glass'],
    ...['Blue stoneware plate', 'Saucer', 'Plate', 'Wine', 'Towel'],
  ];
  let world: ReadWorld;

  beforeAll(async () => {
    world = await ReadWorld.open([store.id]);
    await world.fill({ store, listings: [cups, cellar], publications });
    await world.fill({
      store: far,
      listings: [],
      publications: [samplePublication(far, 'Blue stoneware mug')],
    });
  });
  afterAll(() => world.close());

  const ask = (query = '', publication: Publication = source, as = {}) =>
    world.ask(RELATED, { id: publication.id, query, as });
  const titles = async (...args: Parameters<typeof ask>) =>
    ((await ask(...args)).data as { title: string }[]).map(({ title }) => title);

  test('are sorted by same listing, then shared terms, then newest, and exclude the publication itself', async () => {
    expect(await titles('', source, STOREFRONT)).toEqual(nearest);
  });

  test('with order=asc, come oldest first among those that share as many terms', async () => {
    expect(await titles('order=asc', source, STOREFRONT)).toEqual([
      ...['Red stoneware mug', 'Red mug', 'Glass', 'Goblet'],
      ...['Blue stoneware plate', 'Plate', 'Saucer', 'Towel', 'Wine'],
    ]);
  });

  test('are paginated with a total', async () => {
    for (const limit of [1, 4, 9, 10])
      for (let page = 1; page <= 10; page++) {
        expect(await titles(`limit=${limit}&page=${page}`)).toEqual(
          nearest.slice((page - 1) * limit, page * limit),
        );
      }
    expect((await ask('limit=4&page=2')).meta).toEqual({
      ...{ page: 2, take: 4, item_count: 9 },
      pagination: { page: 2, total_pages: 3, total_items: 9, limit: 4 },
    });
  });

  test('include private publications only with another visibility', async () => {
    expect(await titles('visibility=private')).toEqual(['Secret mug']);
    expect((await titles('visibility=all')).slice(0, 3)).toEqual([
      'Red stoneware mug',
      'Secret mug',
      'Red mug',
    ]);
    expect(await refusal(ask('visibility=all', source, STOREFRONT))).toBe('insufficient_permissions');
  });

  test('of a private publication are only found with another visibility', async () => {
    const secret = publications.find(({ title }) => title === 'Secret mug')!;
    expect(await refusal(ask('', secret))).toBe('publication_not_found');
    expect(await titles('visibility=all', secret)).toHaveLength(10);
    expect(await titles('visibility=private', secret)).toEqual([]);
  });

  test('do not reveal which publications share a private listing', async () => {
    const wine = publications.find(({ title }) => title === 'Wine')!;
    expect((await titles('', wine))[0]).toBe('Goblet');
    expect((await titles('visibility=all', wine))[0]).toBe('Towel');
    expect((await ask('', wine)).meta?.item_count).toBe(9);
  });

  test('can be sorted', async () => {
    expect(await titles('sort=name&order=asc')).toEqual([...nearest].sort());
  });

  test('of an unknown publication or one of another store are not found', async () => {
    expect(await refusal(world.ask(RELATED, { id: idOf('nothing') }))).toBe('publication_not_found');
    expect(await refusal(ask('', samplePublication(far, 'Blue stoneware mug')))).toBe(
      'publication_not_found',
    );
  });
});

test('in random catalogs, every other publication comes once, those of the same listing first', async () => {
  let run = 0;
  // Each case has a store of its own. To look for a smaller case would need more of them.
  const options = { ...cases(10), endOnFailure: true };
  const stores = Array.from({ length: options.numRuns }, (_, n) => sampleStore(`store-${n}`));
  const world = await ReadWorld.open(stores.map(({ id }) => id));
  const title = fc
    .array(fc.constantFrom('red', 'blue', 'mug', 'stoneware', 'and', 'plate'), { minLength: 1, maxLength: 5 })
    .map((words) => words.join(' '));
  const item = fc.record({
    title,
    description: title,
    visibility: fc.constantFrom<Visibility>('public', 'public', 'private'),
    place: fc.constantFrom(0, 0, 1, null),
    created_at: fc.constantFrom(minute(1), minute(2)),
  });
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(item, { minLength: 1, maxLength: 25 }), async (items) => {
        const store = stores[run++]!;
        const listings = ['A', 'B'].map((name) => sampleListing(store, name));
        const publications = items.map(({ place, ...fields }, n) =>
          samplePublication(store, `#${n}`, {
            ...fields,
            listing_id: place === null ? null : listings[place]!.id,
          }),
        );
        await world.fill({ store, listings, publications });
        const [source] = publications as [Publication];
        const seen: string[] = [];
        for (let page = 1; ; page++) {
          const query = `visibility=all&limit=3&page=${page}`;
          const { data, meta } = await world.ask(RELATED, { id: source.id, query });
          expect(meta?.item_count).toBe(publications.length - 1);
          if ((data as unknown[]).length === 0) break;
          seen.push(...(data as { id: string }[]).map(({ id }) => id));
        }
        const others = publications.filter((one) => one !== source);
        expect([...seen].sort()).toEqual(others.map(({ id }) => id as string).sort());
        const near = others.filter((one) => one.listing_id !== null && one.listing_id === source.listing_id);
        expect(new Set(seen.slice(0, near.length))).toEqual(new Set(near.map(({ id }) => id)));
      }),
      options,
    );
  } finally {
    await world.close();
  }
});
