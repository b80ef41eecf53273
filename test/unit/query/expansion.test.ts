import { setImmediate as nextTurn } from 'node:timers/promises';
import { type PageSource, pageItems, partsOfPage } from '../../../services/query/page-items';
import type { JsonObject } from '../../../shared/catalog/events/envelope';
import { permissionsOf } from '../../../shared/catalog/vocabulary';
import type { DocumentReader } from '../../../shared/ports/document-reader';
import { ReadWorld, refusal } from './read-world';
import { minute, sampleListing, samplePublication, sampleStore } from './sample';

const store = sampleStore('store');
const shown = sampleListing(store, 'Shown', { default_sort_mode: 'price_asc', created_at: minute(1) });
const hidden = sampleListing(store, 'Hidden', { visibility: 'private', created_at: minute(2) });
const shirts = Array.from({ length: 50 }, (_, n) =>
  samplePublication(store, `Shirt ${n}`, {
    listing_id: shown.id,
    visibility: n % 2 === 0 ? 'public' : 'private',
    price_amount: 5_000 - n,
    featured_position: n === 10 ? 2 : n === 11 ? 1 : null,
  }),
);
const secretHat = samplePublication(store, 'Secret hat', { listing_id: hidden.id, visibility: 'private' });
const openHat = samplePublication(store, 'Open hat', { listing_id: hidden.id });
const loose = samplePublication(store, 'Loose');

interface Collection {
  data: { id: string; title?: string; name?: string }[];
  total_count: number;
  has_more: boolean;
  url: string;
}

describe('expansion and stats', () => {
  let world: ReadWorld;

  beforeAll(async () => {
    world = await ReadWorld.open([store.id]);
    const publications = [...shirts, secretHat, openHat, loose];
    await world.fill({ store, listings: [shown, hidden], publications });
  });
  afterAll(() => world.close());

  const data = async (path: string, id: string | undefined, query = ''): Promise<JsonObject> =>
    (await world.ask(path, id === undefined ? { query } : { id, query })).data as JsonObject;
  const listing = (id: string, query = '') => data('/api/listing/:id', id, query);
  const titles = (part: unknown) => (part as Collection).data.map((item) => item.title ?? item.name);

  /** Titles by number. The price falls with the number, so higher numbers are cheaper. */
  const shirtTitles = (numbers: readonly number[]) => numbers.map((n) => `Shirt ${n}`);
  const downFrom = (first: number, step: number, count: number) =>
    Array.from({ length: count }, (_, at) => first - step * at);

  test('a listing has at most 20 publications, featured ones first, then by its sort mode', async () => {
    const { publications, stats } = await listing(shown.id, 'expand=publication');
    expect(publications).toMatchObject({
      object: 'collection',
      total_count: 25,
      has_more: true,
      url: `/api/listing/${shown.id}/publications`,
    });
    expect(titles(publications)).toEqual(shirtTitles([10, ...downFrom(48, 2, 19)]));
    expect(stats).toEqual({ media_count: 0, publication_count: 25 });
  });

  test('with visibility=all, public and private publications are merged in order', async () => {
    const { publications, stats } = await listing(shown.id, 'expand=publication&visibility=all');
    expect(titles(publications)).toEqual(shirtTitles([11, 10, ...downFrom(49, 1, 18)]));
    expect(publications).toMatchObject({
      total_count: 50,
      url: `/api/listing/${shown.id}/publications?visibility=all`,
    });
    expect(stats).toMatchObject({ publication_count: 50 });
  });

  test('counts depend on the visibility without expand, also in lists', async () => {
    expect((await listing(hidden.id, 'visibility=all')).stats).toMatchObject({ publication_count: 2 });
    const answer = await world.ask('/api/listings', { query: 'visibility=all&sort=name' });
    expect(answer.data).toMatchObject([
      { name: 'Hidden', stats: { publication_count: 2 } },
      { name: 'Shown', stats: { publication_count: 50 } },
    ]);
  });

  test('a value that the resource does not support is ignored, an unknown value is rejected', async () => {
    expect(await listing(shown.id, 'expand=listing')).toEqual(await listing(shown.id));
    for (const path of ['/api/store', '/api/listings', '/api/payment-methods', '/api/publications']) {
      await world.ask(path, { query: 'expand=publication,listing,media' });
      expect(await refusal(world.ask(path, { query: 'expand=listing,reviews' }))).toBe('invalid_query');
    }
  });

  test('an expansion requires its own permission, an ignored value requires none', async () => {
    const without = (...missing: string[]) => ({
      permissions: permissionsOf('secret').filter((permission) => !missing.includes(permission)),
    });
    const expand = (path: string, id: string | undefined, value: string, missing: string) =>
      world.ask(path, {
        ...(id === undefined ? {} : { id }),
        query: `expand=${value}`,
        as: without(missing),
      });
    const rejected = [
      expand('/api/listing/:id', shown.id, 'publication', 'read:publications'),
      expand('/api/listings', undefined, 'publication', 'read:publications'),
      expand('/api/publication/:id', loose.id, 'listing', 'read:listings'),
      expand('/api/publications', undefined, 'media', 'read:media'),
      expand('/api/listing/:id/publications', shown.id, 'listing', 'read:listings'),
      expand('/api/store', undefined, 'listing', 'read:listings'),
    ];
    for (const reading of rejected) expect(await refusal(reading)).toBe('insufficient_permissions');
    await expand('/api/payment-methods', undefined, 'media', 'read:media');
    await expand('/api/publication/:id', loose.id, 'publication', 'read:media');
  });
});

/** Opens a store whose listings have so many long publications each. */
async function openNovels(counts: readonly number[]): Promise<{ world: ReadWorld; ids: readonly string[] }> {
  const novels = sampleStore('novels');
  const shelves = counts.map((_, n) => sampleListing(novels, `Shelf ${n}`));
  const description_html = '🐉'.repeat(50_000);
  const publications = shelves.flatMap(({ id: listing_id }, shelf) =>
    Array.from({ length: counts[shelf]! }, (_, n) =>
      samplePublication(novels, `Novel ${n} of ${listing_id}`, { listing_id, description_html }),
    ),
  );
  const world = await ReadWorld.open([novels.id]);
  await world.fill({ store: novels, listings: shelves, publications });
  return { world, ids: shelves.map(({ id }) => id) };
}

test('other requests run while the expansions of a long list are read', async () => {
  const { world, ids } = await openNovels(Array(6).fill(4));
  let turns = 0;
  let is_answered = false;
  const counting = (async () => {
    for (; !is_answered; turns++) await nextTurn();
  })();
  const { data } = await world.ask('/api/listings', { query: 'limit=50&expand=publication' });
  is_answered = true;
  await counting;
  world.close();
  expect(data).toHaveLength(ids.length);
  expect(turns).toBeGreaterThan(3);
});

test.each([
  ['one at a time if they are large', [0, ...Array(9).fill(4)], [1, 2, ...Array(9).fill(1)]],
  ['eight at a time if they are small', Array(50).fill(0), [1, 2, 4, 8, 8, 8, 8, 8, 3]],
])('the expansions of a page are read %s', async (_how, counts, expected) => {
  const { world, ids } = await openNovels(counts);
  const version = world.version as unknown as DocumentReader;
  const read_together: number[] = [];
  let reading = 0;
  const get = async (...[collection, id, parts]: Parameters<DocumentReader['get']>) => {
    if (++reading === 1) read_together.push(0);
    read_together.push(read_together.pop()! + 1);
    const found = await version.get(collection, id, parts);
    await nextTurn();
    reading--;
    return found;
  };
  const query = { visibility: 'public', expand: ['publication'] } as const;
  const page = await Promise.all(
    ids.map(async (id) => (await version.get('listings', id, partsOfPage('listing', query)))!),
  );
  const counted: DocumentReader = Object.create(version, { get: { value: get } });
  const source = { version: counted, request: { assertAwaited: () => {} } } as unknown as PageSource;
  expect((await pageItems(source, 'listing', page, query)).items).toHaveLength(ids.length);
  expect(read_together).toEqual(expected);
  world.close();
});
