import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { ImportItem } from '../../../services/import/item';
import { openJsonlFile, parseJsonLine } from '../../../services/import/jsonl';
import { cases } from '../../support/long';
import { withTempDir } from '../../support/temp-dir';

const parse = (row: unknown): ImportItem[] => parseJsonLine(JSON.stringify(row), 4, 'USD');
const reasons = (items: readonly ImportItem[]): string[] =>
  items.flatMap((item) => (item.kind === 'failed' ? [item.reason] : []));
const shirt = { external_id: 'shirt', title: 'Shirt', price: '9.99' };

test('parses a publication line', () => {
  expect(
    parse({
      ...shirt,
      price_currency: 'EUR',
      quantity_available: 3,
      listing: ' Clothes ',
      images: ['https://x/1.jpg', { url: 'https://x/2.jpg', alt: 'back' }],
      reviews: [{ rating: 5, author_name: 'Ana', body: 'Good' }],
    }),
  ).toEqual([
    {
      kind: 'publication',
      line: 4,
      external_id: 'shirt',
      fields: {
        ...{ external_id: 'shirt', title: 'Shirt' },
        ...{ price_amount: 999, price_currency: 'EUR', quantity_available: 3 },
      },
      listing: 'Clothes',
      images: [{ url: 'https://x/1.jpg' }, { url: 'https://x/2.jpg', alt: 'back' }],
      reviews: [{ external_id: null, fields: { rating: 5, author_name: 'Ana', body: 'Good' } }],
    },
  ]);
});

test('accepts a price as string, number or hundredths, and uses the default currency if there is none', () => {
  expect(parse({ ...shirt, price: 0.29 })).toMatchObject([
    { fields: { price_amount: 29, price_currency: 'USD' } },
  ]);
  expect(parse({ external_id: 'x', title: 'X', price_amount: 999 })).toMatchObject([
    { fields: { price_amount: 999 } },
  ]);
  expect(reasons(parse({ ...shirt, price_amount: 1 }))).toEqual([
    'price: use either price or price_amount, not both',
  ]);
  expect(reasons(parse({ ...shirt, price: 0.001 }))).toEqual([expect.stringContaining('two decimals')]);
});

test('distinguishes a listing, a null listing and no listing', () => {
  expect(parse(shirt)[0]).not.toHaveProperty('listing');
  expect(parse({ ...shirt, listing: null })[0]).toHaveProperty('listing', null);
  expect(reasons(parse({ ...shirt, listing: 7 }))).toEqual([
    'listing: must be the name of a listing, an object with name and key, or null',
  ]);
});

test('parses a listing line, and review lines with an id or an external id', () => {
  expect(parse({ listing: { name: 'Clothes', visibility: 'private' } })).toEqual([
    { kind: 'listing', line: 4, fields: { name: 'Clothes', visibility: 'private' } },
  ]);
  expect(parse({ listing: { name: 'Hats', parent: 'Clothes' } })).toEqual([
    { kind: 'listing', line: 4, fields: { name: 'Hats' }, parent: 'Clothes' },
  ]);
  const id = '01890A5D-AC96-774B-BCCE-B302099A8057';
  expect(parse({ publication_id: id, rating: 4, author_name: 'A' })).toMatchObject([
    { kind: 'review', publication: { id: id.toLowerCase() } },
  ]);
  expect(parse({ publication: 'shirt', rating: 4, author_name: 'A', external_id: 'r1' })).toMatchObject([
    { kind: 'review', publication: { external_id: 'shirt' }, review: { external_id: 'r1' } },
  ]);
});

test.each([
  ['a value that is not an object', [1, 2], 'expected a JSON object'],
  ['a missing external id', { title: 'X', price: 1 }, 'external_id: is required'],
  ['a misspelt field', { ...shirt, titel: 'X' }, 'titel: unknown field'],
  ['a misspelt field of a listing', { listing: { naem: 'X' } }, 'listing.naem: unknown field'],
  ['a review without a publication', { rating: 4 }, 'publication: publication or publication_id is required'],
  [
    'a review with an invalid publication id',
    { rating: 4, publication_id: 'x' },
    'publication_id: must be a UUID',
  ],
  ['an invalid image', { ...shirt, images: [7] }, 'images.0: must be a URL, or an object with url and alt'],
  [
    'an unknown field of an image',
    { ...shirt, images: [{ url: 'https://x', width: 3 }] },
    'images.0.width: unknown field',
  ],
  [
    'a field that schemas would leave out',
    { ...shirt, translations: JSON.parse('{"__proto__":{"title":"x"}}') },
    'translations.__proto__: unknown field',
  ],
  ['images that are not an array', { ...shirt, images: 'x' }, 'images: must be an array'],
])('reports %s', (_what, row, reason) => {
  expect(reasons(parse(row))).toEqual([reason]);
});

test('reports an invalid review, and returns its publication and the other reviews', () => {
  const items = parse({ ...shirt, reviews: [{ rating: 5 }, 'x', { stars: 3 }] });
  expect(items[0]).toMatchObject({ kind: 'publication', reviews: [{ fields: { rating: 5 } }] });
  expect(reasons(items)).toEqual(['reviews[1]: must be an object', 'reviews[2]: stars: unknown field']);
});

test('any line gives an item or a reason', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      const items = parseJsonLine(text, 1, 'USD');
      expect(items.length).toBeGreaterThan(0);
    }),
    cases(),
  );
  fc.assert(
    fc.property(
      fc.object({ key: fc.constantFrom(...Object.keys(shirt), 'reviews', 'images', 'listing', 'rating') }),
      (row) => {
        expect(parse(row).length).toBeGreaterThan(0);
      },
    ),
    cases(),
  );
});

test('skips blank lines, and accepts a last line without a line break; refuses a file that is not UTF-8', async () => {
  await withTempDir(async (folder) => {
    const path = join(folder, 'x.jsonl');
    const line = (id: string) => JSON.stringify({ ...shirt, external_id: id });
    writeFileSync(path, `\uFEFF${line('a')}\r\n\n{}\n${line('b')}`);
    const file = await openJsonlFile(path, 'USD');
    const items: ImportItem[] = [];
    for await (const step of file.items()) items.push(...step);
    expect(file.total).toBe(3);
    expect(items.map((item) => [item.kind, item.line])).toEqual([
      ['publication', 1],
      ['failed', 3],
      ['publication', 4],
    ]);
    for (const [content, message] of [
      ['\n', 'is empty'],
      [Buffer.from([0x7b, 0xff, 0x7d, 0x0a]), 'is not UTF-8 text'],
      [Buffer.alloc(4_000_001, 'x'), 'Is it JSON Lines?'],
    ] as const) {
      writeFileSync(path, content);
      await expect(openJsonlFile(path, 'USD')).rejects.toThrow(message);
    }
    await expect(openJsonlFile(join(folder, 'none'), 'USD')).rejects.toThrow('does not exist');
  });
});
