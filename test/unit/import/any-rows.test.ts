import fc from 'fast-check';
import { FEED } from '../../../services/import/google';
import { WOOCOMMERCE_FILE } from '../../../services/import/woocommerce';
import { csvCell } from '../../../shared/catalog/spreadsheet';
import { anyText } from '../../support/any-text';
import { cases } from '../../support/long';
import { itemsIn } from './some-catalog';

const NUMBERS = '1|0|-1|5|9,90|1.250|-3|1e3|.5|2026-11-27|2026-13-99|12 USD|USD 12|EUR';
const WORDS =
  'simple|variable|variation|grouped|id:1|id:|A > B, C|A > A|S|M|\\,|,|in stock|preorder|a/b|//|%|> >';
const TEXTS = 'https://x.example/p/a%zz|<p>x|\\n\\n|(| - | / ';
const VALUES = [NUMBERS, WORDS, TEXTS].flatMap((texts) => texts.split('|'));

const cell = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...VALUES) },
  { weight: 1, arbitrary: anyText({ maxLength: 8 }) },
  fc.constant(''),
);

test.each([
  ['woocommerce', WOOCOMMERCE_FILE.columns, 'Name'],
  ['google', FEED.columns, 'title'],
] as const)(
  'every row of the format %s is imported or reported, whatever it contains',
  (format, columns, title) => {
    const names = Object.values(columns as Readonly<Record<string, readonly string[]>>).map(
      ([name]) => name!,
    );
    return fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(cell, { minLength: names.length, maxLength: names.length }), {
          minLength: 1,
          maxLength: 8,
        }),
        async (rows) => {
          // A row without any value is no row.
          const lines = rows.map((row) =>
            row.map((text, at) => csvCell(names[at] === title ? `${text}x` : text)).join(','),
          );
          const read = await itemsIn([names.map(csvCell).join(','), ...lines].join('\n'));
          expect(read.format).toBe(format);
          const about = read.items.filter(
            (item) => item.kind === 'publication' || (item.kind === 'failed' && item.about === 'publication'),
          );
          expect(about.length).toBeGreaterThan(0);
          const products = new Set(about.map(({ line }) => line));
          expect(products.size).toBe(about.length);
          expect(read.file.total).toBe(about.length);
        },
      ),
      cases(100, 2_000),
    );
  },
);
