import fc from 'fast-check';
import {
  atLeast,
  exactTokens,
  joinedTokens,
  oneEditAway,
  relatedTiers,
  searchTiers,
} from '../../../services/query/search-terms';
import { publicationWords, queryTokens } from '../../../shared/catalog/search/words';
import type { WordTerms } from '../../../shared/ports/view-store';

const matches = (words: readonly string[], terms: WordTerms): boolean =>
  terms.every((alternatives) =>
    alternatives.some(({ word, prefix }) =>
      prefix ? words.some((one) => one.startsWith(word)) : words.includes(word),
    ),
  );

const word = fc.constantFrom('tea', 'teapot', 'te', 'green', 'mug', 'men’s', 't-shirt', '茶碗');
const text = fc.array(word, { maxLength: 6 }).map((words) => words.join(' '));
const publication = fc.record({ title: text, description: text, description_html: fc.constant(null) });

test('each tier matches everything that the tiers before it match', () => {
  fc.assert(
    fc.property(publication, text, (item, q) => {
      const words = publicationWords(item);
      const tokens = queryTokens(q);
      fc.pre(tokens.length > 0);
      for (const tiers of [
        searchTiers(tokens, exactTokens(tokens)),
        searchTiers(tokens, joinedTokens(tokens) ?? exactTokens(tokens)),
        relatedTiers(publicationWords({ ...item, title: q })),
      ]) {
        const matching = tiers.map((tier) => matches(words, tier));
        expect(matching).toEqual([...matching].sort((a, b) => Number(a) - Number(b)));
      }
    }),
    { numRuns: 2_000 },
  );
});

test('the last tier matches exactly the documents with every token, the last one possibly as a prefix', () => {
  fc.assert(
    fc.property(publication, text, (item, q) => {
      const words = publicationWords(item);
      const tokens = queryTokens(q);
      fc.pre(tokens.length > 0);
      const expected = tokens.every((one, index) =>
        index === tokens.length - 1 ? words.some((other) => other.startsWith(one)) : words.includes(one),
      );
      expect(matches(words, searchTiers(tokens, exactTokens(tokens)).at(-1)!)).toBe(expected);
    }),
    { numRuns: 2_000 },
  );
});

test('atLeast matches documents with at least that many terms', () => {
  const terms = ['a', 'b', 'c', 'd'].map((one) => [{ word: one }]);
  for (let count = 1; count <= 4; count++)
    for (const words of fc.sample(fc.subarray(['a', 'b', 'c', 'd']), 50))
      expect(matches(words, atLeast(count, terms))).toBe(words.length >= count);
});

test('a last token that occurs earlier in the query does not match as a prefix', () => {
  const found = (title: string, q: string): boolean => {
    const words = publicationWords({ title, description: '', description_html: null });
    const tokens = queryTokens(q);
    return matches(words, searchTiers(tokens, exactTokens(tokens)).at(-1)!);
  };
  expect([found('Gambit one', 'gam'), found('Gambit one', 'one gam')]).toEqual([true, true]);
  expect([found('Gambit one', 'gam gam'), found('Gambit one', 'gam one gam')]).toEqual([false, false]);
  expect([found('Gam one', 'gam gam'), found('Gambit gam', 'gam gamb')]).toEqual([true, true]);
});

test('a query of a hundred tokens has fewer than ten tiers', () => {
  const tokens = queryTokens(Array.from({ length: 100 }, (_, n) => n).join(' '));
  expect(searchTiers(tokens, exactTokens(tokens)).length).toBeLessThan(10);
});

describe('oneEditAway', () => {
  /** Returns the optimal string alignment distance. */
  function distance(a: string, b: string): number {
    const rows: number[][] = Array.from({ length: a.length + 1 }, (_, i) => [i]);
    for (let j = 0; j <= b.length; j++) rows[0]![j] = j;
    for (let i = 1; i <= a.length; i++)
      for (let j = 1; j <= b.length; j++) {
        const cost = a[i - 1] === b[j - 1] ? 0 : 1;
        let least = Math.min(rows[i - 1]![j]! + 1, rows[i]![j - 1]! + 1, rows[i - 1]![j - 1]! + cost);
        if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
          least = Math.min(least, rows[i - 2]![j - 2]! + 1);
        rows[i]![j] = least;
      }
    return rows[a.length]![b.length]!;
  }

  test('returns exactly the words at edit distance 1', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'z'), minLength: 5, maxLength: 7 });
    fc.assert(
      fc.property(letters, letters, (one, other) => {
        expect(oneEditAway(one).includes(other)).toBe(distance(one, other) === 1);
      }),
      { numRuns: 2_000 },
    );
    for (const similar of oneEditAway('shirt')) expect(distance('shirt', similar)).toBe(1);
  });

  test.each([
    ['shirt', 'shrit'],
    ['чайник', 'чаиник'],
    ['κεραμικα', 'κεραμκα'],
    ['שלומות', 'שלומת'],
    ['美濃焼茶碗', '美濃茶焼碗'],
  ])('includes, for %s, the word %s', (one, other) => {
    expect(oneEditAway(one)).toContain(other);
  });

  test('returns nothing for short words and for words with digits', () => {
    for (const short of ['tea', 'teas', '12345', 'x500pro', '']) expect(oneEditAway(short)).toEqual([]);
  });

  test('returns fewer than 3,000 words for the longest word', () => {
    expect(oneEditAway('x'.repeat(40)).length).toBeLessThan(3_000);
  });
});

test('related publications share terms of the title first, then of the description, without stop words', () => {
  const words = publicationWords({
    title: 'The blue mug for tea',
    description: 'Made with love of stoneware',
    description_html: null,
  });
  const term = (word: string) => ({ word });
  expect(relatedTiers(words)).toEqual([
    [[term('blue')], [term('mug')], [term('tea')]],
    [
      [term('blue'), term('mug')],
      [term('blue'), term('tea')],
      [term('mug'), term('tea')],
    ],
    [[term('blue'), term('mug'), term('tea')]],
    ...[expect.anything(), expect.anything(), expect.anything()],
    [],
  ]);
});
