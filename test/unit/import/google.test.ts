import { readFileSync } from 'node:fs';
import { itemsIn, notesIn, publicationsIn } from './some-catalog';

const FEED = readFileSync('test/fixtures/imports/feed.xml', 'utf8');
const item = (content: string) =>
  `<item><g:id>a</g:id><title>A</title><g:price>1 USD</g:price>${content}</item>`;
const rss = (...items: string[]) =>
  `<rss xmlns:g="http://base.google.com/ns/1.0"><channel>${items.join('\n')}`;

test('the items of a group become the variants of a publication', async () => {
  const { format, file, items } = await itemsIn(FEED);
  expect([format, file.total, file.unused_columns]).toEqual(['google', 3, { shipping: 1 }]);
  expect(items[0]).toMatchObject({ kind: 'listing', fields: { name: 'Shirts' }, parent: 'Clothing' });
  const [tee, mug] = publicationsIn(items);
  expect(tee).toMatchObject({
    line: 8,
    external_id: 'tee',
    handle_of_new: 'cotton-tee',
    listing: 'Shirts',
    images: ['red', 'back,1', 'side', 'blue'].map((name) => ({ url: `https://shop.example/${name}.jpg` })),
    variant_images: [
      { url: 'https://shop.example/red.jpg', option_values: { Color: 'Red', Size: 'S' } },
      { url: 'https://shop.example/blue.jpg', option_values: { Color: 'Blue', Size: 'M' } },
    ],
    fields: {
      title: 'Cotton Tee & more',
      description: 'A plain tee.',
      description_html: '<p>A plain tee.</p>',
      vendor: 'Andes',
      price_currency: 'PEN',
      sale_from: '2026-11-27T05:00:00.000Z',
      sale_to: '2026-12-01T05:00:00.000Z',
      attributes: { google_product_category: '212', material: 'Cotton' },
      options: [{ name: 'Color' }, { name: 'Size' }],
      variants: [
        {
          external_id: 'tee-red-s',
          price_amount: 2_000,
          sale_price_amount: 1_550,
          quantity_available: null,
          barcode: '4006381333931',
          weight_grams: 200,
          attributes: { mpn: 'T-1' },
        },
        {
          external_id: 'tee-blue-m',
          quantity_available: 0,
          allow_backorder: false,
          attributes: { mpn: 'T-2' },
        },
      ],
    },
  });
  expect(mug).toMatchObject({
    external_id: 'mug',
    fields: {
      title: 'Mug, 300 ml',
      description: 'For tea.',
      attributes: { condition: 'used', availability_date: '2026-12-24', color: 'White' },
      variants: [{ price_amount: 990, quantity_available: 0, allow_backorder: true }],
    },
  });
  // Without a product type, a product stays in its listing.
  expect(mug).not.toHaveProperty('listing');
  // A plain text keeps the description in HTML that the product has.
  expect(mug!.fields).not.toHaveProperty('description_html');
  expect(notesIn(items)).toEqual([
    '62: availability "sometimes": must be in_stock, out_of_stock or backorder',
  ]);
});

test('Atom, and the text form with spaces in its names, are the same', async () => {
  const atom = await itemsIn(
    '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0"><title>Shop</title><entry>' +
      '<id>tag:1</id><g:id>tea</g:id><title>Tea</title><link href="https://x.example/p/green-tea"/>' +
      '<summary>Green</summary><g:price>USD 5</g:price></entry></feed>',
  );
  const table = await itemsIn(
    'id\ttitle\tlink\tdescription\tavailability\tprice\timage link\n' +
      'tea\tTea\thttps://x.example/p/green-tea\tGreen\tin stock\t5.00 USD\thttps://x.example/t.jpg\n',
  );
  for (const { format, items } of [atom, table]) {
    expect(format).toBe('google');
    expect(items).toMatchObject([
      {
        external_id: 'tea',
        handle_of_new: 'green-tea',
        fields: { title: 'Tea', description: 'Green', price_amount: 500, price_currency: 'USD' },
      },
    ]);
  }
});

test.each([
  [['Tea - Mint', 'Tea - Rose'], 'Tea', ['Mint', 'Rose']],
  [['Tea', 'Tea'], 'Tea', ['0', '1']],
  [['Small tea', 'Smart tea'], 'Small tea', ['0', '1']],
])('variants that only their titles %j tell apart', async (titles, title, values) => {
  const items = titles.map(
    (each, index) =>
      `<item><g:id>${index}</g:id><g:item_group_id>g</g:item_group_id><title>${each}</title><g:price>1 USD</g:price></item>`,
  );
  const read = await itemsIn(`${rss(...items)}</channel></rss>`);
  expect(publicationsIn(read.items)[0]!.fields).toMatchObject({
    title,
    variants: values.map((value) => ({ option_values: { Variant: value } })),
  });
});

test('a part that is no XML is reported with its line, and the items before it are read', async () => {
  const { items } = await itemsIn(rss(item(''), '<item><g:id>b</g:id></title>'));
  expect(publicationsIn(items)).toMatchObject([{ external_id: 'a', unread_variants: 'unknown' }]);
  expect(items.at(-1)).toMatchObject({ line: 2, unread: { from_line: 2, to_line: null } });
  const cut = await itemsIn(`${rss(item(''))}`);
  expect(notesIn(cut.items)).toEqual(['1: Unclosed root tag; nothing was read from this line on']);
  const line = ['b', 'c'].map((id) => item('').replace('>a<', `>${id}<`)).join('');
  const { items: of_line } = await itemsIn(rss(line));
  expect(notesIn(of_line)).toEqual(['3: Unclosed root tag; nothing was read from this line on']);
});

test('a group of thousands of values is compared in a moment', async () => {
  const variants = Array.from(
    { length: 2_400 },
    (_, n) =>
      `<item><g:item_group_id>g</g:item_group_id><g:id>${n}</g:id><title>Tea ${n}</title><g:price>1 USD</g:price>` +
      ['color', 'size', 'material'].map((name) => `<g:${name}>${name} ${n}</g:${name}>`).join('') +
      '</item>',
  );
  const start = process.cpuUsage();
  const { items } = await itemsIn(`${rss(...variants)}</channel></rss>`);
  expect(publicationsIn(items)[0]!.fields).toMatchObject({ title: 'Tea' });
  // Comparing each value with all others took 10 s. Other programs of the machine do not count.
  expect(process.cpuUsage(start).user / 1_000).toBeLessThan(5_000);
});

const attributes = Array.from({ length: 20_000 }, (_, n) => `a${n}=""`).join(' ');

test.each([
  [
    'an entity bomb',
    '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rss><channel><item/></channel></rss>',
    /declarations/,
  ],
  ['an unknown entity', rss(item('<g:brand>&bomb;</g:brand>')), /Invalid character entity/],
  ['an item without end', rss(`<item><title>${'x'.repeat(5_000_000)}`), /longer than 4 MB/],
  ['an item of many elements', rss(item(`<a${'/><a'.repeat(1_200_000)}/>`)), /longer than 4 MB/],
  ['many attributes', rss(`<item ${attributes}/>`), /a tag with its attributes is longer than 100 kB/],
  ['elements inside each other', rss('<a>'.repeat(100_000)), /inside each other/],
  ['a page', '<html><body>Not found</body></html>', /is no feed/],
])('%s is refused', (_, text, reason) => expect(itemsIn(text)).rejects.toThrow(reason));
