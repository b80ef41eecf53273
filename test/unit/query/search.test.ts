import fc from 'fast-check';
import type { Publication } from '../../../shared/catalog/publication/publication';
import { isPlainWord, publicationWords, typedWords } from '../../../shared/catalog/search/words';
import type { Visibility } from '../../../shared/catalog/vocabulary';
import { ReadWorld, refusal, STOREFRONT } from './read-world';
import { idOf, minute, sampleListing, samplePublication, sampleStore } from './sample';

const SEARCH = '/api/store/search';

/** What a search means, said as a look at every publication. */
function naive(items: readonly Publication[], q: string): Set<string> {
  const asked = typedWords(q);
  const end = asked.length - 1;
  const is_begun = (from: number, to: number): boolean =>
    to === end && (from < to || !asked.slice(0, end).includes(asked[end]!));
  const found = (same: (one: string, other: string) => boolean, is_together = false): Set<string> => {
    // Each as it may be written: from which word of the query to which.
    const written = (index: number) => [
      [index, index] as const,
      ...(is_together && index > 0 ? [[index - 1, index] as const] : []),
      ...(is_together && index < end ? [[index, index + 1] as const] : []),
    ];
    const fits = items.filter((item) => {
      const words = publicationWords(item).filter(isPlainWord);
      return asked.every((_one, index) =>
        written(index).some(([from, to]) => {
          const one = asked.slice(from, to + 1).join('');
          return words.some(
            (word) =>
              same(one, word) || (is_begun(from, to) && beginnings(word).some((part) => same(one, part))),
          );
        }),
      );
    });
    return new Set(asked.length === 0 ? [] : fits.map(({ id }) => id));
  };
  const is = (one: string, other: string): boolean => one === other;
  const exact = found(is);
  if (exact.size > 0) return exact;
  const together = found(is, true);
  return together.size > 0 ? together : found((one, other) => is(one, other) || isOneEdit(one, other));
}

const beginnings = (word: string): string[] => Array.from(word, (_, index) => word.slice(0, index + 1));

/** Of words of five letters and more. */
function isOneEdit(typed: string, meant: string): boolean {
  if (typed.length < 5) return false;
  let same = 0;
  while (same < typed.length && typed[same] === meant[same]) same++;
  const [a, b] = [typed.slice(same), meant.slice(same)];
  const swapped = a.length > 1 && a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2);
  return a !== b && (swapped || a.slice(1) === b || a === b.slice(1) || a.slice(1) === b.slice(1));
}

const word = fc.constantFrom(
  ...['shirt', 'shirts', 'skirt', 'Shirtmaker', 'short', 'tea', 'teapot', 'green', 'greens', 'Grün', 'grun'],
  ...['cotton', 'cottn', 'coton', 'mug', 'Café', 'чайник', 'шапка'],
);
const phrase = (max: number) => fc.array(word, { maxLength: max }).map((words) => words.join(' '));
const typed = fc.oneof(
  word,
  fc.constantFrom('shrit', 'shit', 'cotten', 'grene', 'gree', 'te', 's', 'чаник', 'shirt’', 'ctoton', '!'),
  fc.constantFrom('tea', 'pot', 'pots', 'shirt', 'maker', 'mak', 'tea-pot'),
);
const query = fc.array(typed, { minLength: 1, maxLength: 3 }).map((words) => words.join(' '));

describe('over random catalogs', () => {
  test('a search finds what a look at every publication finds, in pages that neither overlap nor skip', async () => {
    let run = 0;
    const stores = Array.from({ length: 40 }, (_, n) => sampleStore(`store-${n}`));
    const world = await ReadWorld.open(stores.map(({ id }) => id));
    const item = fc.record({
      title: phrase(3).map((title) => title || 'tea'),
      description: phrase(4),
      visibility: fc.constantFrom<Visibility>('public', 'public', 'private'),
      price_amount: fc.constantFrom(100, 200, 300),
      in_listing: fc.boolean(),
      created_at: fc.constantFrom(minute(1), minute(2)),
    });
    try {
      await fc.assert(
        fc.asyncProperty(
          fc.array(item, { maxLength: 25 }),
          fc.array(query, { minLength: 8, maxLength: 8 }),
          async (given, queries) => {
            const store = stores[run++]!;
            const listing = sampleListing(store, 'Listing');
            const publications = given.map(({ in_listing, ...fields }, n) =>
              samplePublication(store, `#${n}`, { ...fields, listing_id: in_listing ? listing.id : null }),
            );
            await world.fill({ store, listings: [listing], publications });
            for (const [n, q] of queries.entries()) {
              const filters = [
                '',
                '&visibility=all',
                '&visibility=private',
                `&listing_id=${listing.id}`,
                '&min_price=150',
                '&max_price=200&visibility=all',
                '&sort=price&order=desc',
                `&listing_id=${listing.id}&max_price=250`,
              ][n]!;
              const among = publications.filter(
                (one) =>
                  (filters.includes('visibility=all') ||
                    one.visibility === (filters.includes('private') ? 'private' : 'public')) &&
                  (!filters.includes('listing_id') || one.listing_id === listing.id) &&
                  (!filters.includes('min_price') || one.price_amount >= 150) &&
                  (!filters.includes('max_price=200') || one.price_amount <= 200) &&
                  (!filters.includes('max_price=250') || one.price_amount <= 250),
              );
              const asked = `store_id=${store.id}&q=${encodeURIComponent(q)}${filters}`;
              const expected = naive(among, q);
              const ids: string[] = [];
              for (let page = 1; ; page++) {
                const { data, meta } = await world.ask(SEARCH, { query: `${asked}&limit=4&page=${page}` });
                expect(meta?.item_count).toBe(expected.size);
                if ((data as unknown[]).length === 0) break;
                ids.push(...(data as { id: string }[]).map(({ id }) => id));
              }
              expect(new Set(ids)).toEqual(expected);
              expect(ids).toHaveLength(expected.size);
              const whole = await world.ask(SEARCH, { query: `${asked}&limit=50` });
              expect((whole.data as { id: string }[]).map(({ id }) => id)).toEqual(ids);
            }
          },
        ),
        { numRuns: 40 },
      );
    } finally {
      await world.close();
    }
  });
});

describe('a search', () => {
  const store = sampleStore('store');
  const mugs = sampleListing(store, 'Mugs');
  const cellar = sampleListing(store, 'Cellar', { visibility: 'private' });
  const mug = (title: string, given: Partial<Publication> = {}) => samplePublication(store, title, given);
  const publications = [
    mug('Mug', { created_at: minute(1), listing_id: mugs.id, price_amount: 500 }),
    mug('Mugs for two', { created_at: minute(2) }),
    mug('Blue mug', { created_at: minute(3), listing_id: cellar.id, price_amount: 900 }),
    mug('Mug, blue', { created_at: minute(4), price_amount: 100, price_active: false }),
    mug('Blue plate', { created_at: minute(5), description: 'Goes with the mug' }),
    mug('Plate', { created_at: minute(6), description: 'Goes with the blue mug' }),
    mug('Hidden mug', { visibility: 'private', created_at: minute(7) }),
    mug('Kettle', { created_at: minute(8), description: 'Not for mugs' }),
  ];
  let world: ReadWorld;

  beforeAll(async () => {
    world = await ReadWorld.open([store.id, idOf('other')]);
    await world.fill({ store, listings: [mugs, cellar], publications });
  });
  afterAll(() => world.close());

  const titles = async (query: string, as = {}) =>
    ((await world.ask(SEARCH, { query, as })).data as { title: string }[]).map(({ title }) => title);

  test('puts the title that is the query first, then titles that begin with it, then titles that have it', async () => {
    expect(await titles('q=mug')).toEqual([
      ...['Mug', 'Mug, blue', 'Blue mug', 'Mugs for two'],
      ...['Plate', 'Blue plate', 'Kettle'],
    ]);
  });

  test('counts how much of the query is in the title', async () => {
    expect(await titles('q=blue mug')).toEqual(['Blue mug', 'Mug, blue', 'Blue plate', 'Plate']);
  });

  test('filters by listing, price and visibility', async () => {
    expect(await titles(`q=mug&listing_id=${mugs.id}`)).toEqual(['Mug']);
    expect(await titles(`q=mug&listing_id=${cellar.id}`)).toEqual([]);
    expect(await titles(`q=mug&listing_id=${cellar.id}&visibility=all`)).toEqual(['Blue mug']);
    expect(await titles(`q=mug&listing_id=${idOf('nothing')}`)).toEqual([]);
    expect(await titles('q=mug&max_price=800&limit=1')).toEqual(['Mug']);
    expect(await titles('q=blue&min_price=0&max_price=500')).toEqual([]);
    expect(await titles('q=hidden')).toEqual([]);
    expect(await titles('q=hidden&visibility=private')).toEqual(['Hidden mug']);
    expect(await titles('q=mug&visibility=all')).toContain('Hidden mug');
  });

  test('can be sorted by something else, and `order` alone does not turn it', async () => {
    expect(await titles('q=blue&sort=name&order=desc')).toEqual([
      'Plate',
      'Mug, blue',
      'Blue plate',
      'Blue mug',
    ]);
    expect(await titles('q=blue&order=asc')).toEqual(await titles('q=blue'));
  });

  test('expands', async () => {
    const { data } = await world.ask(SEARCH, { query: 'q=mug&limit=1&expand=listing' });
    expect(data).toMatchObject([{ title: 'Mug', listing: { name: 'Mugs' } }]);
  });

  test('a storefront may search, not among what is hidden', async () => {
    expect(await titles('q=mug', STOREFRONT)).toContain('Mug');
    expect(await refusal(titles('q=mug&visibility=all', STOREFRONT))).toBe('insufficient_permissions');
  });

  test('a store that is not there is not found', async () => {
    expect(await refusal(titles(`q=mug&store_id=${idOf('other')}`))).toBe('store_not_found');
    expect(await refusal(titles(`q=mug&store_id=${idOf('foreign')}`))).toBe('store_access_denied');
  });

  test.each([
    '',
    'q=',
    'q=%20%20',
    `q=${'x'.repeat(201)}`,
    'q=a&q=b',
    'q=a&limit=51',
    'q=a&sort=best',
    'q=a&min_price=x',
  ])('refuses ?%s', async (query) => {
    expect(await refusal(titles(query))).toBe('invalid_query');
  });

  test('200 characters are taken, counted as people count', async () => {
    expect(await titles(`q=%20${'x'.repeat(200)}%20`)).toEqual([]);
    expect(await titles(`q=${encodeURIComponent('🍵'.repeat(200))}`)).toEqual([]);
  });

  const HOSTILE = [
    ...[
      '"',
      '""',
      "'",
      '*',
      'mug*',
      '-mug',
      'mug OR',
      'NEAR(',
      'title:mug',
      ':mug',
      '=mug',
      'mug) OR (mug',
      '{title}: x',
    ],
    ...[
      '\u0000',
      'mug\u0000',
      'mug\u0000" OR "',
      '\ud800',
      '\uffff',
      '\u202emug',
      'שלום mug',
      '🍵🍵',
      '%',
      '_',
      '\\',
    ],
    ...[
      Array.from({ length: 100 }, (_, n) => String.fromCodePoint(97 + (n % 26))).join(' '),
      'x'.repeat(200),
    ],
    ...[
      'a b c d e f g h i j k l m n o p q r s t u v w x y z',
      'ß'.repeat(100),
      '\u0301'.repeat(200),
      'İ'.repeat(99),
    ],
    Array.from({ length: 28 }, (_, n) => `wordi${String.fromCodePoint(97 + n)}`).join(' '),
  ];
  test.each(HOSTILE)('hostile query %# gives an answer', async (q) => {
    const { meta } = await world.ask(SEARCH, {
      query: `q=${encodeURIComponent(q.replace(/\p{Surrogate}/gu, '\ufffd'))}`,
    });
    expect(meta?.item_count).toEqual(expect.any(Number));
  });

  test('any text at all gives an answer', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }), async (text) => {
        if (text.trim() === '') return;
        const answer = await world.ask(SEARCH, { query: new URLSearchParams({ q: text }).toString() });
        expect(answer.meta?.item_count).toEqual(expect.any(Number));
      }),
      { numRuns: 300 },
    );
  });
});
