/** One edit in a shorter word is as likely another word. */
const LETTERS_MIN = 5;

/** Letters that may stand in for another, by script and after folding; in other scripts none is guessed. */
const ALPHABETS: readonly (readonly [RegExp, string])[] = [
  [/\p{Script=Latin}/u, 'abcdefghijklmnopqrstuvwxyz'],
  [/\p{Script=Cyrillic}/u, 'абвгдежзийклмнопрстуфхцчшщъыьэюяієґјљњћџђ'],
  [/\p{Script=Greek}/u, 'αβγδεζηθικλμνξοπρστυφχψω'],
  [/\p{Script=Hebrew}/u, 'אבגדהוזחטיךכלםמןנסעףפץצקרשת'],
  [/\p{Script=Arabic}/u, 'ءابةتثجحخدذرزسشصضطظعغفقكلمنهوىيپچژکگی'],
];

/**
 * Every word one edit away from a folded one: a letter too many, one missing, another one, or two neighbours swapped
 * (decisions §5, "Search"). None of a word of fewer than five letters, nor of one with a digit, for a number that is
 * one off is another number. How many there are depends on the word alone: some hundreds.
 */
export function oneEditAway(word: string): string[] {
  const letters = [...word];
  if (letters.length < LETTERS_MIN || /\p{N}/u.test(word)) return [];
  const found = new Set<string>();
  for (let at = 0; at <= letters.length; at++) {
    const [before, letter, next] = [letters.slice(0, at).join(''), letters[at], letters[at + 1]];
    const from = (index: number): string => letters.slice(index).join('');
    for (const other of alphabetOf(word)) {
      found.add(before + other + from(at));
      if (letter !== undefined) found.add(before + other + from(at + 1));
    }
    if (letter !== undefined) found.add(before + from(at + 1));
    if (letter !== undefined && next !== undefined) found.add(before + next + letter + from(at + 2));
  }
  found.delete(word);
  return [...found];
}

function alphabetOf(word: string): string {
  const alphabets = ALPHABETS.filter(([script]) => script.test(word));
  return alphabets.map(([, letters]) => letters).join('');
}
