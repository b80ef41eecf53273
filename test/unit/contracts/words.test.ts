import fc from 'fast-check';
import {
  distinctQueryTokens,
  isPlainWord,
  labelPrefix,
  labelTerm,
  labelValue,
  publicationWords,
  wordsIn,
} from '../../../shared/catalog/search/words';
import { anyText } from '../../support/any-text';
import { cases } from '../../support/long';

const plain = (title: string, description = '', description_html: string | null = null): string[] =>
  publicationWords({ title, description, description_html }).filter(isPlainWord);

describe('distinctQueryTokens', () => {
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
  test.each(cases)('splits %j into words', (text, words) => {
    expect(distinctQueryTokens(text)).toEqual(words);
  });
});

describe('publicationWords', () => {
  test('returns each word of title and description once, marked words of the title, and the whole title', () => {
    const text = { title: 'Blue mug', description: 'A mug for tea', description_html: null };
    expect(publicationWords(text)).toEqual([
      ...['=blue=mug=', '=blue', '=blue=mug', ':blue', ':mug'],
      ...['blue', 'mug', 'a', 'for', 'tea'],
    ]);
  });

  test('returns every form of a word that a query may use', () => {
    expect(plain('T-Shirt')).toEqual(['t', 'shirt', 'tshirt']);
    expect(plain('Men’s')).toEqual(['men', 's', 'mens']);
    expect(plain('美濃')).toEqual(['美濃', '美', '濃']);
  });

  test('returns the visible text of HTML without its markup', () => {
    const html =
      '<p class="intro">Of <b>P</b>ima cotton&nbsp;&amp; wool</p><ul><li>soft</li><li>warm</li></ul>';
    expect(plain('Scarf', '', html)).toEqual(['scarf', 'of', 'pima', 'cotton', 'wool', 'soft', 'warm']);
  });

  test('returns nothing for a title without words', () => {
    expect(publicationWords({ title: '!!!', description: '', description_html: null })).toEqual([]);
  });

  test('includes every query word of the title', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (title) => {
        const words = plain(title);
        for (const word of distinctQueryTokens(title)) expect(words).toContain(word);
      }),
      cases(),
    );
  });

  test('returns words without white space, operators or upper case', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 40 }), fc.string(), (title, description) => {
        for (const word of publicationWords({ title, description, description_html: description }))
          expect(word).toMatch(/^[a-z0-9:=\u0080-\u{10ffff}]+$/u);
      }),
      cases(),
    );
  });

  test('splits a text like its parts between spaces, whichever spaces these are', () => {
    const part = fc.oneof(
      fc.constantFrom('T-shirt', 'Men’s', 'ΟΔΟΣ', '日本', 'ﷺ', '\u0301b', 'İstanbul', 'x'.repeat(70)),
      anyText({ maxLength: 6 }),
    );
    const space = fc.constantFrom(' ', '  ', '\n', '\u00a0', '\u2028', '\t ');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), space, (parts, separator) => {
        const words = new Set(parts.flatMap((text) => plain('', text)));
        expect(plain('', parts.join(separator))).toEqual([...words]);
      }),
      cases(),
    );
  });
});

test('splits a description of the maximum length without spaces', () => {
  const description_html = `${'茶'.repeat(24_500)}’${'壺'.repeat(24_500)}-${'茶'.repeat(900)}`;
  const words = publicationWords({ title: 'Té', description: '', description_html });
  expect(words).toEqual(expect.arrayContaining(['te', '茶茶', '茶壺', '壺壺']));
});

describe('the terms of texts in other locales', () => {
  const text = { title: 'Té', description: '', description_html: null };

  test('are those of the text in the default locale, after the label of their locale', () => {
    const options = [{ name: 'Color', values: ['Rojo', 'Azul'] }];
    const of_options = { Color: { name: 'Farbe', values: { Rojo: 'Rot', Verde: 'Grün' } } };
    const de = { title: 'Tee', description_html: '<p>F<b>ein</b></p>', options: of_options };
    const terms = publicationWords({ ...text, options, translations: { de, 'pt-BR': { title: '茶' } } });
    expect(terms.slice(terms.indexOf('rojo'))).toEqual([
      ...['rojo', 'azul', '==in=de==tee=', '==in=de==tee', '==in=de=:tee', '==in=de=tee', '==in=de=rot'],
      '==in=de=fein',
      ...['=茶=', '=茶', ':茶', '茶'].map((term) => `==in=pt:2d:42:52=${term}`),
    ]);
  });

  test('are bounded, with all titles', () => {
    const locales = Array.from({ length: 19 }, (_, n) => `de-x-${n}`);
    const texts = { title: 'Tee', description: '茶'.repeat(9_999), description_html: 'ab c '.repeat(9_999) };
    const translations = Object.fromEntries(
      locales.map((locale) => [
        locale,
        {
          ...texts,
          description: [...texts.description].map((_, n) => String.fromCharCode(0x4e00 + n)).join(''),
        },
      ]),
    );
    const terms = publicationWords({ ...text, translations });
    expect(terms.length).toBeLessThan(2 * 60_000 + 500);
    for (const locale of locales) expect(terms).toContain(`${wordsIn(locale)}=tee=`);
  });
});

describe('the terms of labels', () => {
  test('are those of the vendor, the type, each tag and each value of an attribute, once, then the words in texts', () => {
    const labels = {
      ...{ vendor: 'Acme', product_type: null, tags: ['a', 'B'] },
      attributes: { size: ['M', 'L'], grams: 0.5, vegan: false, tag: 'a' },
    };
    const terms = publicationWords({ title: '', description: '', description_html: null, ...labels });
    expect(terms).toEqual([
      '==vendor=:41cme=',
      ...['==tag=a=', '==tag=:42='],
      ...['==attributes:2esize=:4d=', '==attributes:2esize=:4c=', '==attributes:2egrams=0:2e5='],
      ...['==attributes:2evegan=false=', '==attributes:2etag=a='],
      ...['acme', 'a', 'b', 'm', 'l'],
    ]);
  });

  test('are equal only for equal labels, in any form of Unicode', () => {
    expect(labelTerm('tag', 'Caf\u00e9')).toBe(labelTerm('tag', 'Cafe\u0301'));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string(), fc.string({ unit: 'grapheme' })), { minLength: 2 }),
        (labels) => {
          const distinct = new Set(labels.map(([name, value]) => JSON.stringify([name, value.normalize()])));
          const terms = new Set(labels.map(([name, value]) => labelTerm(name, value)));
          expect(terms.size).toBe(distinct.size);
          for (const [name, value] of labels)
            expect(labelValue(labelTerm(name, value), labelPrefix(name))).toBe(value.normalize());
          for (const term of terms) expect(term).toMatch(/^==[a-z0-9:=\u0080-\u{10ffff}]*=$/u);
        },
      ),
      cases(),
    );
  });
});
