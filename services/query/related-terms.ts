import { isPlainWord, titleWordsOf } from '../../shared/catalog/search/words';
import type { WordTerms } from '../../shared/ports/view-store';
import { atLeast } from './search-terms';

/** So many words of the title, and of the description, are compared: it stays a handful of looks into the index. */
const COMPARED_WORDS_MAX = 4;

/** Words that join others say nothing of what a product is; shorter ones are left out anyway. */
const JOINING_WORDS = new Set(
  [
    'all and any are but can for from has her his its not one our out she that the this was were with you your',
    'como con del desde ella entre esta este hay las los mas muy ninguna para pero por que sin sobre sus una unas uno unos',
    'aus bei das dem den der des die ein eine einem einen einer fur ist mit nicht oder sie sind und vom von zum zur',
    'avec dans elle est les mais nos par pas pour que qui sur une vos aux ces ses sont com dos das nao uma umas uns',
  ].flatMap((line) => line.split(' ')),
);

/**
 * Nearest first: what shares the most words of the title, then the most of the description, then everything else.
 * Of both the longest words are compared, which are seldom the commonest. Where a shared word stands in the other
 * publication does not matter.
 */
export function relatedTiers(words: readonly string[]): WordTerms[] {
  const in_title = titleWordsOf(words);
  const title = telling(in_title);
  const description = telling(words.filter((word) => isPlainWord(word) && !in_title.includes(word)));
  return [
    ...fewerAndFewer(title),
    // Whatever shares a word of the title came before, and each tier fits what those before it fit.
    ...fewerAndFewer(description).map((terms) => terms.map((matches) => [...matches, ...title.flat()])),
    [],
  ];
}

/** All of the terms, then all but any one, down to one of them. */
function fewerAndFewer(terms: WordTerms): WordTerms[] {
  return terms.map((_, missing) => atLeast(terms.length - missing, terms));
}

function telling(words: readonly string[]): WordTerms {
  const kept = words.filter((word) => /\p{L}/u.test(word) && isLong(word) && !JOINING_WORDS.has(word));
  const longest = kept.sort((a, b) => b.length - a.length || (a < b ? -1 : 1)).slice(0, COMPARED_WORDS_MAX);
  return longest.map((word) => [{ word }]);
}

/** In scripts without spaces, words are pairs of letters. */
const isLong = (word: string): boolean => word.length >= 3 || /^[^\p{Script=Latin}\d]{2}$/u.test(word);
