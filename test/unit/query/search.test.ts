import fc from 'fast-check';
import { inflectionsOf } from '../../../services/query/inflections';
import { SqliteViewVersion } from '../../../shared/adapters/sqlite/view-version';
import { Budget } from '../../../shared/adapters/sqlite/word-ranks';
import type { Publication } from '../../../shared/catalog/publication/publication';
import { isPlainWord, publicationWords, queryTokens } from '../../../shared/catalog/search/words';
import type { Visibility } from '../../../shared/catalog/vocabulary';
import { cases } from '../../support/long';
import { ReadWorld, refusal, STOREFRONT } from './read-world';
import { idOf, minute, sampleListing, samplePublication, sampleStore } from './sample';

const SEARCH = '/api/store/search';

/** Searches by examining every publication: the reference implementation for the test below. */
function searchAll(items: readonly Publication[], q: string): Set<string> {
  const tokens = queryTokens(q);
  const end = tokens.length - 1;
  const canBePrefix = (from: number, to: number): boolean =>
    to === end && (from < to || !tokens.slice(0, end).includes(tokens[end]!));
  const matching = (equals: (token: string, word: string) => boolean, join_tokens = false): Set<string> => {
    // The ranges of tokens that can be joined into a word with the token at `index`.
    const rangesOf = (index: number) => [
      [index, index] as const,
      ...(join_tokens && index > 0 ? [[index - 1, index] as const] : []),
      ...(join_tokens && index < end ? [[index, index + 1] as const] : []),
    ];
    const matches = items.filter((item) => {
      const words = publicationWords(item).filter(isPlainWord);
      return tokens.every((_token, index) =>
        rangesOf(index).some(([from, to]) => {
          const joined = tokens.slice(from, to + 1).join('');
          return words.some(
            (word) =>
              equals(joined, word) ||
              (from === to && inflectionsOf(joined).includes(word)) ||
              (canBePrefix(from, to) && prefixesOf(word).some((prefix) => equals(joined, prefix))),
          );
        }),
      );
    });
    return new Set(tokens.length === 0 ? [] : matches.map(({ id }) => id));
  };
  const isEqual = (token: string, word: string): boolean => token === word;
  const exact = matching(isEqual);
  if (exact.size > 0) return exact;
  const joined = matching(isEqual, true);
  return joined.size > 0 ? joined : matching((token, word) => isEqual(token, word) || isOneEdit(token, word));
}

const prefixesOf = (word: string): string[] => Array.from(word, (_, index) => word.slice(0, index + 1));

/**
 * Returns whether the edit distance is 1. False for tokens with fewer than five letters, which have no typo tolerance.
 */
function isOneEdit(token: string, word: string): boolean {
  if (token.length < 5) return false;
  let same = 0;
  while (same < token.length && token[same] === word[same]) same++;
  const [a, b] = [token.slice(same), word.slice(same)];
  const swapped = a.length > 1 && a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2);
  return a !== b && (swapped || a.slice(1) === b || a === b.slice(1) || a.slice(1) === b.slice(1));
}

const word = fc.constantFrom(
  ...['shirt', 'shirts', 'skirt', 'Shirtmaker', 'short', 'tea', 'teapot', 'green', 'greens', 'Grün', 'grun'],
  ...['cotton', 'cottn', 'coton', 'mug', 'Café', 'чайник', 'шапка'],
);
const phrase = (max: number) => fc.array(word, { maxLength: max }).map((words) => words.join(' '));
const query_word = fc.oneof(
  word,
  fc.constantFrom('shrit', 'shit', 'cotten', 'grene', 'gree', 'te', 's', 'чаник', 'shirt’', 'ctoton', '!'),
  fc.constantFrom('tea', 'pot', 'pots', 'shirt', 'maker', 'mak', 'tea-pot'),
);
const query = fc.array(query_word, { minLength: 1, maxLength: 3 }).map((words) => words.join(' '));

describe('in random catalogs', () => {
  test('a search finds what the reference search finds, in pages without overlaps and gaps', async () => {
    let run = 0;
    // Each case has a store of its own. To look for a smaller case would need more of them.
    const options = { ...cases(10), endOnFailure: true };
    const stores = Array.from({ length: options.numRuns }, (_, n) => sampleStore(`store-${n}`));
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
          async (generated, queries) => {
            const store = stores[run++]!;
            const listing = sampleListing(store, 'Listing');
            const publications = generated.map(({ in_listing, ...fields }, n) =>
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
              const filtered = publications.filter(
                (one) =>
                  (filters.includes('visibility=all') ||
                    one.visibility === (filters.includes('private') ? 'private' : 'public')) &&
                  (!filters.includes('listing_id') || one.listing_id === listing.id) &&
                  (!filters.includes('min_price') || one.price_amount >= 150) &&
                  (!filters.includes('max_price=200') || one.price_amount <= 200) &&
                  (!filters.includes('max_price=250') || one.price_amount <= 250),
              );
              const parameters = `store_id=${store.id}&q=${encodeURIComponent(q)}${filters}`;
              const expected = searchAll(filtered, q);
              const ids: string[] = [];
              for (let page = 1; ; page++) {
                const { data, meta } = await world.ask(SEARCH, {
                  query: `${parameters}&limit=4&page=${page}`,
                });
                expect(meta?.item_count).toBe(expected.size);
                if ((data as unknown[]).length === 0) break;
                ids.push(...(data as { id: string }[]).map(({ id }) => id));
              }
              expect(new Set(ids)).toEqual(expected);
              expect(ids).toHaveLength(expected.size);
              const single_page = await world.ask(SEARCH, { query: `${parameters}&limit=50` });
              expect((single_page.data as { id: string }[]).map(({ id }) => id)).toEqual(ids);
            }
          },
        ),
        options,
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
  const publication = (title: string, fields: Partial<Publication> = {}) =>
    samplePublication(store, title, fields);
  const publications = [
    publication('Mug', { created_at: minute(1), listing_id: mugs.id, price_amount: 500 }),
    publication('Mugs for two', { created_at: minute(2) }),
    publication('Blue mug', { created_at: minute(3), listing_id: cellar.id, price_amount: 900 }),
    publication('Mug, blue', { created_at: minute(4), price_amount: 100, price_active: false }),
    publication('Blue plate', { created_at: minute(5), description: 'Goes with the mug' }),
    publication('Plate', { created_at: minute(6), description: 'Goes with the blue mug' }),
    publication('Hidden mug', { visibility: 'private', created_at: minute(7) }),
    publication('Kettle', { created_at: minute(8), description: 'Not for mugs' }),
    publication('Lamp of oak', { created_at: minute(9) }),
    publication('Lampada rossa', { created_at: minute(10) }),
    publication('Red lamp', { created_at: minute(11) }),
  ];
  let world: ReadWorld;

  beforeAll(async () => {
    world = await ReadWorld.open([store.id, idOf('other')]);
    await world.fill({ store, listings: [mugs, cellar], publications });
  });
  afterAll(() => world.close());

  const titles = async (query: string, as = {}) =>
    ((await world.ask(SEARCH, { query, as })).data as { title: string }[]).map(({ title }) => title);

  test('ranks a title that is the query first, then titles that begin with it, then titles that contain it', async () => {
    expect(await titles('q=mug')).toEqual([
      ...['Mug', 'Mug, blue', 'Mugs for two', 'Blue mug'],
      ...['Plate', 'Blue plate', 'Kettle'],
    ]);
    expect(await titles('q=mug mug')).toEqual([
      // Another form of the word in the title comes before the word in the description.
      ...['Mug', 'Mug, blue', 'Blue mug', 'Mugs for two'],
      ...['Plate', 'Blue plate', 'Kettle'],
    ]);
    expect(await titles('q=lamp')).toEqual(['Lamp of oak', 'Lampada rossa', 'Red lamp']);
  });

  test('ranks by the number of tokens in the title', async () => {
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
    expect(await refusal(titles('q=hidden&visibility=all', STOREFRONT))).toBe('insufficient_permissions');
    expect(await titles('q=mug&visibility=all')).toContain('Hidden mug');
  });

  test('can be sorted, and `order` alone has no effect', async () => {
    expect(await titles('q=blue&sort=name&order=desc')).toEqual([
      'Plate',
      'Mug, blue',
      'Blue plate',
      'Blue mug',
    ]);
    expect(await titles('q=blue&order=asc')).toEqual(await titles('q=blue'));
  });

  test.each(['', '&min_price=0', '&min_price=0&sort=price'])(
    'has no further attempt if not all publications were looked at (%p)',
    async (filter) => {
      const query = `q=mugs kettel${filter}`;
      expect(await titles(query)).toEqual(['Kettle']);
      const search = jest.spyOn(SqliteViewVersion.prototype, 'search');
      const is_spent = jest.spyOn(Budget.prototype, 'is_spent', 'get');
      // Only the first attempt reads too many entries.
      is_spent.mockImplementation(() => search.mock.calls.length === 1);
      try {
        expect(await titles(query)).toEqual([]);
        expect(is_spent).toHaveBeenCalled();
      } finally {
        jest.restoreAllMocks();
      }
    },
  );

  test('is rejected for a store that does not exist or that the token does not have', async () => {
    expect(await refusal(titles(`q=mug&store_id=${idOf('other')}`))).toBe('store_not_found');
    expect(await refusal(titles(`q=mug&store_id=${idOf('foreign')}`))).toBe('store_access_denied');
  });

  test('accepts 200 characters, counted as code points after trimming', async () => {
    expect(await titles(`q=%20${'x'.repeat(200)}%20`)).toEqual([]);
    expect(await titles(`q=${encodeURIComponent('🍵'.repeat(200))}`)).toEqual([]);
  });

  const HOSTILE = [
    ...['"', '""', "'", '*', 'mug*', '-mug', 'mug OR', 'NEAR(', 'title:mug', ':mug', '=mug', '%', '_', '\\'],
    ...['mug) OR (mug', '{title}: x', '\u0000', 'mug\u0000', 'mug\u0000" OR "', '\uffff', '\u202emug'],
    ...['שלום mug', '🍵🍵', 'x'.repeat(200), 'ß'.repeat(100), '\u0301'.repeat(200), 'İ'.repeat(99)],
    'a b c d e f g h i j k l m n o p q r s t u v w x y z '.repeat(3),
    Array.from({ length: 28 }, (_, n) => `wordi${String.fromCodePoint(97 + n)}`).join(' '),
  ];
  test('hostile queries are answered', async () => {
    for (const q of HOSTILE) {
      const { meta } = await world.ask(SEARCH, { query: `q=${encodeURIComponent(q)}` });
      expect([q, meta?.item_count]).toEqual([q, expect.any(Number)]);
    }
  });

  test('any text is answered', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint16Array({ minLength: 1, maxLength: 60 }), async (codes) => {
        const text = String.fromCharCode(...codes);
        fc.pre(text.trim() !== '');
        const answer = await world.ask(SEARCH, { query: new URLSearchParams({ q: text }).toString() });
        expect(answer.meta?.item_count).toEqual(expect.any(Number));
      }),
      cases(30),
    );
  });
});
