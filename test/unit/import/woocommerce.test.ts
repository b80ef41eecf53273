import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { csvCell } from '../../../shared/catalog/spreadsheet';
import { cases } from '../../support/long';
import { itemsIn, notesIn, publicationIn, publicationsIn, withShop } from './some-catalog';

const FILE = readFileSync('test/fixtures/imports/woocommerce.csv', 'utf8');

test('a product with variations becomes a publication with options, attributes and a tree of listings', async () => {
  const { format, file, items } = await itemsIn(FILE);
  expect(format).toBe('woocommerce');
  expect(file.unused_columns).toEqual({
    'Tax status': 11,
    'Attribute 1 global': 6,
    'Attribute 2 global': 1,
    'Grouped products': 1,
    'External URL': 1,
  });
  expect(items.filter(({ kind }) => kind === 'listing')).toMatchObject([
    { key: 'Clothing > Shirts', parent: 'Clothing', fields: { name: 'Shirts' } },
    { key: 'Sale > Shirts', parent: 'Sale', fields: { name: 'Shirts' } },
  ]);
  const [tee] = publicationsIn(items);
  expect(tee).toMatchObject({
    external_id: '44',
    listing: { name: 'Shirts', key: 'Clothing > Shirts' },
    other_listings: [{ listing: { name: 'Shirts', key: 'Sale > Shirts' } }, { listing: 'New , hot' }],
    images: ['a,b', 'back', 'red'].map((name) => ({ url: `https://shop.example/${name}.jpg` })),
    variant_images: [{ url: 'https://shop.example/red.jpg', option_values: { Color: 'Red' } }],
    fields: {
      title: 'Tee',
      description: 'A plain tee.',
      description_html: '<p>First line.<br>Same paragraph.</p><p>Second paragraph.</p>',
      visibility: 'public',
      featured_position: 3,
      vendor: 'Andes',
      tags: ['summer', 'cotton'],
      attributes: { Care: ['Wash cold', 'Hang dry'] },
      sale_from: '2026-11-27T00:00:00.000Z',
      sale_to: '2026-12-01T23:59:59.000Z',
      price_amount: 2_000,
      options: [{ name: 'Color' }],
    },
  });
  expect(tee!.fields.variants).toMatchObject([
    {
      option_values: { Color: 'Red' },
      sku: 'tee-red',
      external_id: '76',
      barcode: '4006381333931',
      sale_price_amount: 1_550,
      quantity_available: 20,
      weight_grams: 500,
    },
    {
      option_values: { Color: 'Blue' },
      external_id: '77',
      quantity_available: 0,
      allow_backorder: true,
      weight_grams: 550,
    },
  ]);
});

test('what a catalog cannot have is reported with its row', async () => {
  const { items } = await itemsIn(FILE);
  expect(notesIn(items)).toEqual([
    '5: the variation was left out, because it is not enabled',
    '3: the description was left out: a variation has none',
    '3: the variation has the whole stock of the product, which it shares with others',
    '6: attribute Secret was left out: customers do not see it',
    '7: the product was imported as private, because it is hidden',
    '8: the grouped product was imported without the products in it',
    '9: the external product was imported without its address',
    '10: sale price 12: must not be above the price',
    '10: the type "subscription" was left out',
    '11: Published "maybe": must be 1, 0, -1 or 2',
    '12: the file has no product id:1',
  ]);
});

test('the rows are imported, and the same file again changes nothing', () =>
  withShop(async (shop) => {
    const read = await itemsIn(FILE);
    const report = await shop.runItems(read);
    expect(report).toMatchObject({ publications: { created: 6, failed: 2 }, listings: { failed: 0 } });
    expect(await publicationIn(shop, '44')).toMatchObject({ handle: 'tee' });
    expect(await publicationIn(shop, '91')).toMatchObject({ price_active: false, quantity_available: 0 });
    expect(await shop.runItems(read)).toMatchObject({
      wrote: false,
      publications: { created: 0, updated: 0, unchanged: 6 },
    });
    // A new name of a product does not change its address, and a file without its variations does not remove them.
    await shop.runItems(
      await itemsIn('ID,Type,Name,Stock,Regular price\n44,variable,Shirt,,\n45,simple,Tee,,\n'),
    );
    const shirt = await publicationIn(shop, '44');
    expect(shirt).toMatchObject({ title: 'Shirt', handle: 'tee' });
    expect(shirt.variants).toHaveLength(2);
    expect(await publicationIn(shop, '45')).toMatchObject({ title: 'Tee', handle: null });
  }));

test('a file of a few columns, and one in Spanish, are recognised', async () => {
  const small = await itemsIn(
    'ID,Type,SKU,Name,Published,Description,Stock,Regular price,Categories,Images\n' +
      '1,simple,W1,Woo mug,1,Desc,5,9.90,Cups,https://example.com/a.jpg\n',
  );
  expect(small).toMatchObject({ format: 'woocommerce', file: { unused_columns: {} } });
  expect(publicationsIn(small.items)).toMatchObject([
    {
      listing: 'Cups',
      images: [{ url: 'https://example.com/a.jpg' }],
      fields: {
        title: 'Woo mug',
        price_amount: 990,
        visibility: 'public',
        description: 'Desc',
        variants: [{ sku: 'W1', quantity_available: 5 }],
      },
    },
  ]);
  const spanish =
    'Tipo;Nombre;Precio normal;Inventario;Superior;Nombre del atributo 1;Valor(es) del atributo 1\n';
  const shirt = 'variable;Polo;;;;Talla;S, M\n';
  expect(await itemsIn(`${spanish}${shirt}`)).toMatchObject({
    format: 'woocommerce',
    items: [{ fields: { title: 'Polo', attributes: { Talla: ['S', 'M'] } } }],
  });
  const mapped = await itemsIn('Nom,Tarif régulier,Type\nTasse,5,simple\n', {
    Nom: 'Name',
    'Tarif régulier': 'Regular price',
  });
  expect(mapped).toMatchObject({ format: 'woocommerce', items: [{ fields: { price_amount: 500 } }] });
});

test('a variation for each value of an option says so', async () => {
  const rows = [
    'ID,Type,Name,Regular price,Parent,Attribute 1 name,Attribute 1 value(s),Attribute 2 name,Attribute 2 value(s)',
    '2,variation,,5,id:1,Size,S,Color,',
    '3,variation,,6,id:1,Size,S,Color,Red',
    '1,variable,Tee,,,Color,Red,Size,S',
  ];
  const { items } = await itemsIn(rows.join('\n'));
  expect(publicationsIn(items)[0]!.fields).toMatchObject({
    options: [{ name: 'Color' }, { name: 'Size' }],
    variants: [
      { option_values: { Color: 'Any', Size: 'S' } },
      { option_values: { Color: 'Red', Size: 'S' } },
    ],
  });
  expect(notesIn(items)).toEqual(['2: Color was imported as "Any", because the variation is for each value']);
});

const word = fc.stringMatching(/^[a-zA-Zñ,"&][a-zA-Zñ ,"']{0,8}[a-z]$/);
const price = fc.integer({ min: 1, max: 99_999 });
const product = fc.record({
  title: word,
  tags: fc.uniqueArray(word, { maxLength: 3 }),
  is_public: fc.boolean(),
  category: fc.uniqueArray(fc.stringMatching(/^[A-Z][a-z]{1,6}$/), { maxLength: 3 }),
  sizes: fc.uniqueArray(word, {
    maxLength: 3,
    selector: (text) => text.replace(/\s+/g, ' '),
  }),
  prices: fc.array(price, { minLength: 3, maxLength: 3 }),
  stock: fc.option(fc.nat(1_000)),
});

test('a random catalog in the columns of WooCommerce comes back', () =>
  fc.assert(
    fc.asyncProperty(fc.array(product, { minLength: 1, maxLength: 4 }), async (products) => {
      const escaped = (texts: readonly string[]) =>
        texts.map((text) => text.replaceAll(',', '\\,')).join(', ');
      const header =
        'ID,Type,SKU,Name,Published,Stock,Regular price,Categories,Tags,Parent,Attribute 1 name,Attribute 1 value(s)';
      const lines = products.flatMap(({ title, tags, is_public, category, sizes, prices, stock }, index) => {
        const [id, published] = [`${index + 1}`, is_public ? '1' : '0'];
        const own = [published, stock ?? '', (prices[0]! / 100).toFixed(2)];
        const others = [category.join(' > '), escaped(tags), ''];
        if (sizes.length === 0) return [[id, 'simple', '', title, ...own, ...others, '', '']];
        const variations = sizes.map((size, at) => {
          const values = ['', stock ?? '', (prices[at]! / 100).toFixed(2), '', '', `id:${id}`];
          return [`${id}0${at}`, 'variation', `${id}-${at}`, '', ...values, 'Size', escaped([size])];
        });
        return [
          [id, 'variable', '', title, published, '', '', ...others, 'Size', escaped(sizes)],
          ...variations,
        ];
      });
      const text = lines.map((cells) => cells.map((cell) => csvCell(String(cell))).join(','));
      const { items } = await itemsIn([header, ...text].join('\n'));
      expect(notesIn(items)).toEqual([]);
      const oneLine = (each: string) => each.replace(/\s+/g, ' ');
      expect(publicationsIn(items)).toMatchObject(
        products.map(({ title, tags, is_public, category, sizes, prices, stock }) => ({
          listing: category.length === 0 ? null : expect.anything(),
          fields: {
            title: oneLine(title),
            tags: [...new Set(tags.map(oneLine))],
            visibility: is_public ? 'public' : 'private',
            price_amount: sizes.length === 0 ? prices[0] : Math.min(...prices.slice(0, sizes.length)),
            variants: sizes.map((size, at) => ({
              option_values: { Size: oneLine(size) },
              price_amount: prices[at],
              quantity_available: stock,
            })),
          },
        })),
      );
      const below = items.flatMap((item) => (item.kind === 'listing' ? [item] : []));
      for (const { category } of products)
        for (const [depth, name] of category.entries())
          if (depth > 0)
            expect(below).toContainEqual(
              expect.objectContaining({ fields: expect.objectContaining({ name }) }),
            );
    }),
    cases(30),
  ));
