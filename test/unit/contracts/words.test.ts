import fc from 'fast-check';
import { isPlainWord, publicationWords, queryWords } from '../../../shared/catalog/search/words';

const plain = (title: string, description = '', description_html: string | null = null): string[] =>
  publicationWords({ title, description, description_html }).filter(isPlainWord);

describe('the words of a query', () => {
  const cases: [string, string[]][] = [
    ['Blue  Shirt', ['blue', 'shirt']],
    ['shirt SHIRT', ['shirt']],
    ['Cerámica Rímac', ['ceramica', 'rimac']],
    ['Smørrebrød, Łódź, Straße, Æon', ['smorrebrod', 'lodz', 'strasse', 'aeon']],
    ['Men’s T-shirts', ['mens', 't', 'shirts']],
    ["l'oréal", ['loreal']],
    ['100% cotton, 1.5 l', ['100', 'cotton', '1', '5', 'l']],
    ['ＦＵＬＬ ｗｉｄｔｈ', ['full', 'width']],
    ['ΟΔΟΣ οδός', ['οδοσ']],
    ['שָׁלוֹם', ['שלום']],
    ['чай Чёрный', ['чаи', 'черныи']],
    ['茶', ['茶']],
    ['美濃焼', ['美濃', '濃焼']],
    ['"a" OR b* NEAR(c) -d', ['a', 'or', 'b', 'near', 'c', 'd']],
    ['☕ … !!! " * ( ) \u0000 \u202e', []],
    ['x'.repeat(100), ['x'.repeat(40)]],
  ];
  test.each(cases)('%s', (text, words) => {
    expect(queryWords(text)).toEqual(words);
  });
});

describe('the words of a publication', () => {
  test('are those of title and description, each once, the title’s marked besides, and the title as a whole', () => {
    const text = { title: 'Blue mug', description: 'A mug for tea', description_html: null };
    expect(publicationWords(text)).toEqual([
      ...['=blue=mug', ':blue', ':mug'],
      ...['blue', 'mug', 'a', 'for', 'tea'],
    ]);
  });

  test('are as many as a query may mean', () => {
    expect(plain('T-Shirt')).toEqual(['t', 'shirt', 'tshirt']);
    expect(plain('Men’s')).toEqual(['men', 's', 'mens']);
    expect(plain('美濃')).toEqual(['美濃', '美', '濃']);
  });

  test('of HTML are what is read, not how it is written', () => {
    const html =
      '<p class="intro">Of <b>P</b>ima cotton&nbsp;&amp; wool</p><ul><li>soft</li><li>warm</li></ul>';
    expect(plain('Scarf', '', html)).toEqual(['scarf', 'of', 'pima', 'cotton', 'wool', 'soft', 'warm']);
  });

  test('of nothing are none', () => {
    expect(publicationWords({ title: '!!!', description: '', description_html: null })).toEqual([]);
  });

  test('every title is found by all of its own words, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (title) => {
        const words = plain(title);
        for (const word of queryWords(title)) expect(words).toContain(word);
      }),
      { numRuns: 1_000 },
    );
  });

  test('are words alone: no white space, no operators, no upper case', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), fc.string(), (title, description) => {
        for (const word of publicationWords({ title, description, description_html: description }))
          expect(word).toMatch(/^[a-z0-9:=\u0080-\u{10ffff}]+$/u);
      }),
      { numRuns: 1_000 },
    );
  });
});
