import fc from 'fast-check';
import { exactTokens } from '../../../services/query/search-terms';
import { oneEditAway, typosOf } from '../../../services/query/typos';
import { queryTokens } from '../../../shared/catalog/search/words';
import { cases } from '../../support/long';

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
      cases(),
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

describe('typosOf', () => {
  const lookupsOf = (q: string): number =>
    typosOf(exactTokens(queryTokens(q))).reduce((sum, { matches }) => sum + matches.length, 0);

  test('tries every word of eight words of ten letters, and the last one also as a prefix', () => {
    const words = Array.from({ length: 8 }, (_, n) => `wordstyle${'abcdefgh'[n]}`);
    const typos = typosOf(exactTokens(words));
    expect(typos.map(({ token }) => token)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    const prefixes = typos.map(({ matches }) => matches.filter(({ prefix }) => prefix).length);
    expect(prefixes.slice(0, 7)).toEqual([0, 0, 0, 0, 0, 0, 0]);
    expect(prefixes[7]).toBe(typos[7]!.matches.length / 2);
  });

  test('a word of several scripts has the alphabet of most of its letters', () => {
    expect(oneEditAway('шapka')).toContain('hapka');
    expect(oneEditAway('шapka').some((word) => /шap[а-я]ka/.test(word))).toBe(false);
    expect(oneEditAway('шапкa')).toContain('шапка');
  });

  test('eight words of all scripts, of any length, need no more look-ups than eight ordinary words', () => {
    const scripts = 'shirtшапкаκερασשלוםקمرحبا';
    const mixed = (length: number, n: number) =>
      Array.from({ length }, (_, at) => [...scripts][(at * (n + 1)) % [...scripts].length]).join('');
    const words = (length: number) => Array.from({ length: 8 }, (_, n) => mixed(length, n)).join(' ');
    for (const length of [5, 10, 24, 40]) expect(lookupsOf(words(length))).toBeLessThanOrEqual(6_000);
    expect(lookupsOf('shirtшапка '.repeat(8))).toBeLessThanOrEqual(6_000);
  });
});
