import fc from 'fast-check';
import {
  atLeast,
  oneEditAway,
  relatedTiers,
  searchTiers,
  wantedWords,
  writtenTogether,
} from '../../../services/query/search-terms';
import { publicationWords, typedWords } from '../../../shared/catalog/search/words';
import type { WordTerms } from '../../../shared/ports/view-store';

const fits = (words: readonly string[], terms: WordTerms): boolean =>
  terms.every((matches) =>
    matches.some(({ word, prefix }) =>
      prefix ? words.some((one) => one.startsWith(word)) : words.includes(word),
    ),
  );

const word = fc.constantFrom('tea', 'teapot', 'te', 'green', 'mug', 'men’s', 't-shirt', '茶碗');
const text = fc.array(word, { maxLength: 6 }).map((words) => words.join(' '));
const publication = fc.record({ title: text, description: text, description_html: fc.constant(null) });

test('each tier fits all that the tiers before it fit', () => {
  fc.assert(
    fc.property(publication, text, (item, q) => {
      const words = publicationWords(item);
      const asked = typedWords(q);
      if (asked.length === 0) return;
      for (const tiers of [
        searchTiers(asked, wantedWords(asked)),
        searchTiers(asked, writtenTogether(asked) ?? wantedWords(asked)),
        relatedTiers(publicationWords({ ...item, title: q })),
      ]) {
        const fitting = tiers.map((tier) => fits(words, tier));
        expect(fitting).toEqual([...fitting].sort((a, b) => Number(a) - Number(b)));
      }
    }),
    { numRuns: 2_000 },
  );
});

test('the last tier fits what has every word, the last as a beginning, and nothing else', () => {
  fc.assert(
    fc.property(publication, text, (item, q) => {
      const words = publicationWords(item);
      const asked = typedWords(q);
      if (asked.length === 0) return;
      const expected = asked.every((one, index) =>
        index === asked.length - 1 ? words.some((other) => other.startsWith(one)) : words.includes(one),
      );
      expect(fits(words, searchTiers(asked, wantedWords(asked)).at(-1)!)).toBe(expected);
    }),
    { numRuns: 2_000 },
  );
});

test('at least so many', () => {
  const terms = ['a', 'b', 'c', 'd'].map((one) => [{ word: one }]);
  for (let count = 1; count <= 4; count++)
    for (const words of fc.sample(fc.subarray(['a', 'b', 'c', 'd']), 50))
      expect(fits(words, atLeast(count, terms))).toBe(words.length >= count);
});

test('a word that was typed before is no beginning', () => {
  const found = (title: string, q: string): boolean => {
    const words = publicationWords({ title, description: '', description_html: null });
    const asked = typedWords(q);
    return fits(words, searchTiers(asked, wantedWords(asked)).at(-1)!);
  };
  expect([found('Gambit one', 'gam'), found('Gambit one', 'one gam')]).toEqual([true, true]);
  expect([found('Gambit one', 'gam gam'), found('Gambit one', 'gam one gam')]).toEqual([false, false]);
  expect([found('Gam one', 'gam gam'), found('Gambit gam', 'gam gamb')]).toEqual([true, true]);
});

test('a query of a hundred words stays a few tiers', () => {
  const asked = typedWords(Array.from({ length: 100 }, (_, n) => n).join(' '));
  expect(searchTiers(asked, wantedWords(asked)).length).toBeLessThan(10);
});

describe('one edit', () => {
  /** Damerau–Levenshtein with neighbours only, said plainly. */
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

  test('is one letter more, less or other, or two neighbours swapped: all of those and nothing else', () => {
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
  ])('%s and %s', (one, other) => {
    expect(oneEditAway(one)).toContain(other);
  });

  test('is not tried on short words, nor on numbers', () => {
    for (const short of ['tea', 'teas', '12345', 'x500pro', '']) expect(oneEditAway(short)).toEqual([]);
  });

  test('gives some thousands of words for the longest', () => {
    expect(oneEditAway('x'.repeat(40)).length).toBeLessThan(3_000);
  });
});

test('related things are compared by telling words: the title’s before the description’s', () => {
  const words = publicationWords({
    title: 'The blue mug for tea',
    description: 'Made with love of stoneware',
    description_html: null,
  });
  const one = (of: string) => ({ word: of });
  expect(relatedTiers(words)).toEqual([
    [[one('blue')], [one('mug')], [one('tea')]],
    [
      [one('blue'), one('mug')],
      [one('blue'), one('tea')],
      [one('mug'), one('tea')],
    ],
    [[one('blue'), one('mug'), one('tea')]],
    ...[expect.anything(), expect.anything(), expect.anything()],
    [],
  ]);
});
