import fc from 'fast-check';
import { inflectionsOf } from '../../../services/query/inflections';
import {
  atLeast,
  comparedWords,
  exactTokens,
  joinedTokens,
  searchTiers,
} from '../../../services/query/search-terms';
import { publicationWords, queryTokens, wordsIn } from '../../../shared/catalog/search/words';
import type { WordTerms } from '../../../shared/ports/view-store';
import { cases } from '../../support/long';

const matches = (words: readonly string[], terms: WordTerms): boolean =>
  terms.every((alternatives) =>
    alternatives.some(({ word, prefix }) =>
      prefix ? words.some((one) => one.startsWith(word)) : words.includes(word),
    ),
  );

const word = fc.constantFrom('tea', 'teapot', 'te', 'green', 'mug', 'men’s', 't-shirt', '茶碗');
const text = fc.array(word, { maxLength: 6 }).map((words) => words.join(' '));
const texts = { title: text, description: text };
const publication = fc.record({ ...texts, description_html: fc.constant(null) });
const translated = fc.record({
  ...{ ...texts, description_html: fc.constant(null) },
  translations: fc.record({ de: fc.record(texts, { requiredKeys: [] }) }, { requiredKeys: [] }),
});

test('each tier matches everything that the tiers before it match', () => {
  fc.assert(
    fc.property(translated, text, (item, q) => {
      const words = publicationWords(item);
      const tokens = queryTokens(q);
      fc.pre(tokens.length > 0);
      const in_german = [exactTokens(tokens), undefined, inflectionsOf, [wordsIn('de')]] as const;
      for (const tiers of [
        searchTiers(tokens, ...in_german),
        searchTiers(tokens, exactTokens(tokens)),
        searchTiers(tokens, joinedTokens(tokens) ?? exactTokens(tokens)),
      ]) {
        const matching = tiers.map((tier) => matches(words, tier));
        expect(matching).toEqual([...matching].sort((a, b) => Number(a) - Number(b)));
      }
    }),
    cases(),
  );
});

test('the last tier matches exactly the documents with every token, the last one possibly as a prefix', () => {
  fc.assert(
    fc.property(publication, text, (item, q) => {
      const words = publicationWords(item);
      const tokens = queryTokens(q);
      fc.pre(tokens.length > 0);
      const expected = tokens.every(
        (one, index) =>
          [one, ...inflectionsOf(one)].some((form) => words.includes(form)) ||
          (index === tokens.length - 1 && words.some((other) => other.startsWith(one))),
      );
      expect(matches(words, searchTiers(tokens, exactTokens(tokens)).at(-1)!)).toBe(expected);
    }),
    cases(),
  );
});

test('atLeast matches documents with at least that many terms', () => {
  const terms = ['a', 'b', 'c', 'd'].map((one) => [{ word: one }]);
  for (let count = 1; count <= 4; count++)
    for (const words of fc.sample(fc.subarray(['a', 'b', 'c', 'd']), cases(50)))
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

test('a query of a hundred tokens has at most ten tiers', () => {
  const tokens = queryTokens(Array.from({ length: 100 }, (_, n) => n).join(' '));
  expect(searchTiers(tokens, exactTokens(tokens)).length).toBeLessThanOrEqual(10);
});

test('the longest words of the title and of the description are compared, without stop words', () => {
  const words = publicationWords({
    title: 'The blue mug for tea',
    description: 'Made with love of stoneware',
    description_html: null,
  });
  expect(comparedWords(words)).toEqual(['blue', 'mug', 'tea', 'stoneware', 'love', 'made']);
});

test.each([
  ['cup', 'cups'],
  ['box', 'boxes'],
  ['berry', 'berries'],
  ['knife', 'knives'],
  ['luz', 'luces'],
  ['arbol', 'arboles'],
  ['aviao', 'avioes'],
  ['homem', 'homens'],
  ['papel', 'papeis'],
  ['gateau', 'gateaux'],
  ['cheval', 'chevaux'],
  ['tasse', 'tassen'],
  ['tisch', 'tische'],
])('%s and %s are forms of one word', (singular, plural) => {
  expect(inflectionsOf(singular)).toContain(plural);
  expect(inflectionsOf(plural)).toContain(singular);
});

test.each(['as', 'is', 'x5s', '茶', 'gas'])('%s is no plural', (token) => {
  expect(inflectionsOf(token).filter((form) => form.length < token.length)).toEqual([]);
});
