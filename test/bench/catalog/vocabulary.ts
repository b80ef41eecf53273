import { integer, oneOf, type Random, randomFrom } from './random';

const WORDS = 4_000;
const VOCABULARY_SEED = 17;
const ONSETS = 'b c d f g h j l m n p r s t v z b c d l m n p r s t br ch cr ll pl tr'.split(' ');
const VOWELS = 'a e i o u a e o a e o ie'.split(' ');
const CODAS = ['', '', '', '', '', '', '', 'n', 'r', 's', 'l'];
/** Most words have two syllables. */
const SYLLABLES = [2, 2, 2, 2, 3, 3, 4];
const ACCENTS: Readonly<Record<string, string>> = { a: 'á', e: 'é', i: 'í', o: 'ó', u: 'ú' };
/** One word in so many has an accent. */
const ACCENTED = 12;

/** The words of titles and descriptions, the most frequent first. All have at least four letters. */
export const vocabulary: readonly string[] = makeVocabulary(randomFrom(VOCABULARY_SEED));

/** Words of other scripts, and words that mix scripts, as shops copy them from suppliers. */
export const foreignWords: readonly string[] = [
  ...['кофе', 'чашка', 'книга', 'лампа', 'сумка', 'καφές', 'βιβλίο', 'λάμπα', 'コーヒー', '茶碗', '陶器'],
  ...['커피', 'กาแฟ', 'قهوة', 'ספר', 'cафе', 'tаза', 'λampa', 'чashka', 'bоlsо', 'κaφé', 'Tеtеrа'],
];

function makeVocabulary(random: Random): string[] {
  const words = new Set<string>();
  while (words.size < WORDS) {
    const word = makeWord(random);
    if (word.length >= 4) words.add(word);
  }
  return [...words];
}

function makeWord(random: Random): string {
  const syllables = oneOf(random, SYLLABLES);
  let word = '';
  for (let n = 0; n < syllables; n++)
    word += oneOf(random, ONSETS) + oneOf(random, VOWELS) + oneOf(random, CODAS);
  return integer(random, 1, ACCENTED) === 1 ? word.replace(/[aeiou]/, (vowel) => ACCENTS[vowel]!) : word;
}
