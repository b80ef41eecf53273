import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { rowReader } from '../../../services/import/columns';
import type { ImportItem, PublicationItem } from '../../../services/import/item';
import {
  foldProduct,
  openShopifyFile,
  SHOPIFY_FILE,
  type ShopifyRow,
} from '../../../services/import/shopify';
import { cases } from '../../support/long';
import { withTempDir } from '../../support/temp-dir';

/** Returns the rows of a product, given by column names. Lines count from 2. */
function rows(...records: Record<string, string>[]): ShopifyRow[] {
  const names = [...new Set(['Handle', 'Title', 'Variant Price', ...records.flatMap(Object.keys)])];
  const read = rowReader(names, SHOPIFY_FILE);
  return records.map((record, index) =>
    read(
      names.map((name) => record[name] ?? ''),
      index + 2,
    ),
  );
}

const mug = { Handle: 'mug', Title: 'Mug', 'Variant Price': '10.00' };
const fold = (...records: Record<string, string>[]): ImportItem[] =>
  foldProduct(rows(...records), aboutFile());
const aboutFile = (skus = new Map()) => ({ currency: 'EUR', is_partial: false, skus });

function publicationIn(items: readonly ImportItem[]): PublicationItem {
  const item = items.find((each) => each.kind === 'publication');
  if (item?.kind !== 'publication') throw new Error(`no publication in ${JSON.stringify(items)}`);
  return item;
}

const failures = (items: readonly ImportItem[]): [number, string][] =>
  items.flatMap((item) => (item.kind === 'failed' ? [[item.line, item.reason] as [number, string]] : []));

const warnings = (items: readonly ImportItem[]): [number, string][] =>
  items.flatMap((item) => (item.kind === 'warning' ? [[item.line, item.reason] as [number, string]] : []));

test('combines the rows of a handle into a publication with its variants and the lowest price', () => {
  const items = fold(
    { ...mug, 'Variant Inventory Qty': '3', 'Option1 Value': 'S' },
    { Handle: 'mug', 'Variant Price': '8.05', 'Variant Inventory Qty': '4', 'Option1 Value': 'M' },
    { Handle: 'mug', 'Variant Price': '12', 'Variant Inventory Qty': '0', 'Option1 Value': 'L' },
  );
  expect(items).toHaveLength(1);
  expect(publicationIn(items)).toMatchObject({
    external_id: 'mug',
    line: 2,
    fields: {
      ...{ title: 'Mug', price_amount: 805, price_currency: 'EUR', options: [{ name: 'Option 1' }] },
      variants: [
        { option_values: { 'Option 1': 'S' }, price_amount: 1_000, quantity_available: 3 },
        { option_values: { 'Option 1': 'M' }, price_amount: 805, quantity_available: 4 },
        { option_values: { 'Option 1': 'L' }, price_amount: 1_200, quantity_available: 0 },
      ],
    },
  });
});

test('reports what is wrong with a variant, and leaves it out', () => {
  const row = (size: string, more: Record<string, string> = {}) => ({
    ...{
      Handle: 'mug',
      'Variant Price': '10',
      'Option1 Value': size,
      'Variant SKU': '',
      'Variant Barcode': '',
    },
    ...more,
  });
  const items = fold(
    { ...mug, ...row('S', { 'Option1 Name': 'Size', 'Variant SKU': 'A' }) },
    row('S'),
    row('M', { 'Variant SKU': 'A', 'Variant Barcode': '7750182003835' }),
  );
  expect(publicationIn(items).fields.variants).toMatchObject([
    { option_values: { Size: 'S' }, sku: 'A', barcode: null },
    { option_values: { Size: 'M' }, sku: null, barcode: null },
  ]);
  expect(failures(items)).toEqual([[3, 'the same handle and option values as line 2']]);
  expect(items.filter(({ kind }) => kind === 'warning')).toMatchObject([
    { line: 4, reason: 'SKU A was left out: it is that of line 2' },
    { line: 4, reason: 'barcode 7750182003835 was left out: its check digit is wrong' },
  ]);
});

test('a second row of a handle without other option values is an error, and nothing of it is imported', () => {
  const row = (sku: string, price: string, stock: string) => ({
    ...{ 'Option1 Name': 'Title', 'Option1 Value': 'Default Title', 'Variant SKU': sku },
    ...{ 'Variant Price': price, 'Variant Inventory Qty': stock },
  });
  const items = fold(
    { ...mug, ...row('D-1', '9.99', '5') },
    { ...mug, Title: 'Other', ...row('D-2', '8.88', '6') },
  );
  expect(publicationIn(items).fields).toMatchObject({ title: 'Mug', price_amount: 999 });
  expect(publicationIn(items).fields.variants).toMatchObject([
    { sku: 'D-1', price_amount: 999, quantity_available: 5 },
  ]);
  expect(failures(items)).toEqual([[3, 'the same handle and option values as line 2']]);
});

test('a further variant with another title is imported with a warning', () => {
  const items = fold({ ...mug, 'Option1 Value': 'S' }, { ...mug, Title: 'Cup', 'Option1 Value': 'M' });
  expect(publicationIn(items).fields.variants).toHaveLength(2);
  expect(warnings(items)).toEqual([[3, 'title "Cup" was left out: line 2 has the title']]);
});

test('a SKU of another product of the file is left out with a warning, and stays as it is in the store', () => {
  const skus = new Map();
  const product = (handle: string) => ({ ...mug, Handle: handle, 'Variant SKU': 'SHARED' });
  const [first, second] = ['a', 'b'].map((handle) => foldProduct(rows(product(handle)), aboutFile(skus)));
  expect(publicationIn(first!).fields.variants).toMatchObject([{ sku: 'SHARED' }]);
  expect(publicationIn(second!).fields).not.toMatchObject({ variants: [{ sku: expect.anything() }] });
  expect(warnings(second!)).toEqual([[2, 'SKU SHARED was left out: it is that of line 2']]);
});

test('a product without options, SKU and barcode has no variants', () => {
  const title = { ...mug, 'Option1 Name': 'Title', 'Option1 Value': 'Default Title' };
  expect(publicationIn(fold(title)).fields).toMatchObject({ options: [], variants: [] });
  expect(publicationIn(fold({ ...title, 'Variant SKU': 'M' })).fields.variants).toMatchObject([{ sku: 'M' }]);
  expect(publicationIn(fold(mug)).fields).not.toHaveProperty('variants');
  const on_order = { ...title, 'Variant Inventory Policy': 'continue' };
  expect(publicationIn(fold(on_order)).fields.variants).toMatchObject([{ allow_backorder: true }]);
});

test.each([
  [{ 'Variant Inventory Qty': '' }, null],
  [{ 'Variant Inventory Qty': '7' }, 7],
  [{ 'Variant Inventory Qty': '', 'Variant Inventory Tracker': 'shopify' }, 0],
  // Shopify does not count the stock of a variant without a tracker, whatever quantity it exports.
  [{ 'Variant Inventory Qty': '0', 'Variant Inventory Tracker': '' }, null],
  [{ 'Variant Inventory Qty': '-2', 'Variant Inventory Tracker': '' }, null],
])('reads the quantity of %j', (columns, quantity) => {
  const items = fold({ ...mug, ...columns } as Record<string, string>);
  expect(publicationIn(items).fields.quantity_available).toBe(quantity);
  expect(warnings(items)).toEqual([]);
});

test.each([
  ['1800', 1_800],
  ['249.6', 250],
  ['0', null],
  ['', null],
])('reads the weight "%s"', (weight, grams) => {
  const { fields } = publicationIn(fold({ ...mug, 'Variant SKU': 'M', 'Variant Grams': weight }));
  expect(fields.variants).toMatchObject([{ weight_grams: grams }]);
});

test.each(['1,800', '1.800,5', '1e3', '-5', 'heavy'])(
  'reports the weight "%s" and does not import it',
  (weight) => {
    const items = fold({ ...mug, 'Variant SKU': 'M', 'Variant Grams': weight });
    expect(publicationIn(items).fields).not.toMatchObject({
      variants: [{ weight_grams: expect.anything() }],
    });
    expect(publicationIn(items).fields.variants).toEqual([
      expect.not.objectContaining({ weight_grams: null }),
    ]);
    expect(failures(items)).toEqual([[2, `weight "${weight}": must be a number of grams, without a comma`]]);
  },
);

test('imports a negative quantity as 0 with a warning', () => {
  const items = fold({ ...mug, 'Variant Inventory Qty': '-3' });
  expect(publicationIn(items).fields.quantity_available).toBe(0);
  expect(items).toContainEqual({
    kind: 'warning',
    line: 2,
    external_id: 'mug',
    reason: 'quantity -3 was imported as 0',
  });
});

test.each([
  [
    {
      ...{ Vendor: ' Acme  Inc. ', Type: 'Cups', Tags: 'new, Blue,new,, two  words ' },
      ...{ 'SEO Title': 'A mug', 'SEO Description': 'For\ntea' },
    },
    {
      ...{ vendor: 'Acme Inc.', product_type: 'Cups', tags: ['new', 'Blue', 'two words'] },
      seo: { title: 'A mug', description: 'For tea' },
    },
  ],
  [
    { Vendor: '', Type: '', Tags: '', 'SEO Title': '', 'SEO Description': 'x' },
    { vendor: null, product_type: null, tags: [], seo: { description: 'x' } },
  ],
  [{}, { vendor: undefined, product_type: undefined, tags: undefined, seo: undefined }],
])('reads the labels and the texts for search engines of %j', (columns, fields) => {
  const { vendor, product_type, tags, seo } = publicationIn(
    fold({ ...mug, ...columns } as Record<string, string>),
  ).fields;
  expect({ vendor, product_type, tags, seo }).toEqual(fields);
});

test.each([
  [{ Type: 'Cups', Tags: 'a, b' }, 'Cups'],
  [{ Type: '', Tags: ' , first tag , b' }, 'first tag'],
  [{ Type: '', Tags: '' }, null],
  [{ Type: '' }, undefined],
  [{ Tags: 'a' }, undefined],
  [{ Type: 'Cups\n and   bowls' }, 'Cups and bowls'],
])('derives the listing of %j', (fields, listing) => {
  expect(publicationIn(fold({ ...mug, ...fields } as Record<string, string>)).listing).toBe(listing);
});

test.each([
  [{ Published: 'true' }, 'public'],
  [{ Published: 'FALSE' }, 'private'],
  [{ Published: 'true', Status: 'draft' }, 'private'],
  [{ Published: 'true', Status: 'archived' }, 'private'],
  [{ Published: '', Status: 'active' }, 'public'],
  [{ Published: 'true', Status: 'unlisted' }, 'private'],
  [{ Published: '' }, undefined],
])('derives the visibility of %j', (fields, visibility) => {
  expect(publicationIn(fold({ ...mug, ...fields } as Record<string, string>)).fields.visibility).toBe(
    visibility,
  );
});

test('an unknown word as status is an error, and an unlisted product is imported as private with a warning', () => {
  const brouillon = fold({ ...mug, Published: 'true', Status: 'Brouillon' });
  expect(failures(brouillon)).toEqual([
    [2, 'Status "Brouillon": must be active, unlisted, draft, archived, or empty'],
  ]);
  expect(warnings(fold({ ...mug, Status: 'Unlisted' }))).toEqual([
    [2, 'the product was imported as private, because it is unlisted'],
  ]);
});

test('imports the body as HTML and as text; an empty body clears both', () => {
  const body = publicationIn(fold({ ...mug, 'Body (HTML)': '<p>Fine &amp; blue</p>' })).fields;
  expect(body).toMatchObject({ description: 'Fine & blue', description_html: '<p>Fine &amp; blue</p>' });
  const empty = publicationIn(fold({ ...mug, 'Body (HTML)': '' })).fields;
  expect(empty).toMatchObject({ description: '', description_html: null });
});

test('collects the images of all rows in order, without duplicates', () => {
  const items = fold(
    { ...mug, 'Image Src': 'https://x/1.jpg', 'Image Alt Text': 'front', 'Variant Image': 'https://x/3.jpg' },
    { Handle: 'mug', 'Image Src': 'https://x/2.jpg' },
    { Handle: 'mug', 'Image Src': 'https://x/1.jpg' },
  );
  expect(items).toHaveLength(1);
  expect(publicationIn(items).images).toEqual([
    { url: 'https://x/1.jpg', alt: 'front' },
    { url: 'https://x/2.jpg', alt: null },
    { url: 'https://x/3.jpg' },
  ]);
  expect(publicationIn(fold(mug)).images).toBeUndefined();
});

test('sorts images by their position, those without one last', () => {
  const image = (name: string, position: string) => ({
    ...{ Handle: 'mug', Title: 'Mug' },
    ...{ 'Image Src': `https://x/${name}`, 'Image Position': position },
  });
  const items = fold({ ...mug, ...image('c', '3') }, image('d', ''), image('a', '1'), image('b', '2'));
  expect(publicationIn(items).images!.map(({ url }) => url.at(-1))).toEqual([...'abcd']);
});

test('reports an invalid variant and imports the others', () => {
  const items = fold(
    mug,
    { Handle: 'mug', 'Variant Price': 'free', 'Option1 Value': 'M' },
    { Handle: 'mug', 'Option1 Value': 'L' },
    { Handle: 'mug', 'Variant Price': '7', 'Variant Inventory Qty': '1.5', 'Option1 Value': 'XL' },
  );
  expect(publicationIn(items).fields).toMatchObject({
    price_amount: 1000,
    variants: [{ price_amount: 1000 }],
  });
  expect(failures(items)).toEqual([
    [3, 'price "free": must be a decimal number such as 12.50'],
    [4, 'missing price'],
    [5, 'quantity "1.5": must be a whole number'],
  ]);
});

test('refuses a product without title, handle or price, and reports each of its rows', () => {
  expect(failures(fold({ ...mug, Title: '' }, { Handle: 'mug', 'Image Src': 'x' }))).toEqual([
    [2, 'missing title in the first row of the handle'],
    [3, 'the product was not imported, see line 2'],
  ]);
  expect(failures(fold({ ...mug, Handle: '', Title: '' }))).toEqual([[2, 'missing handle and title']]);
  const priceless = fold(
    { ...mug, 'Variant Price': '-1' },
    { Handle: 'mug', 'Variant Price': 'x', 'Option1 Value': 'M' },
    { Handle: 'mug', 'Image Src': 'y' },
  );
  expect(priceless.some((item) => item.kind === 'publication')).toBe(false);
  expect(failures(priceless)).toEqual([
    [2, 'price "-1": must not be negative'],
    [3, 'price "x": must be a decimal number such as 12.50'],
    [4, 'the product was not imported, see line 2'],
  ]);
});

test('finds columns by name in any order and in any spelling that Shopify has used', () => {
  const read = rowReader(['price', ' URL handle ', 'Inventory quantity', 'TITLE'], SHOPIFY_FILE);
  expect(read(['5', 'mug', '2', 'Mug'], 7)).toMatchObject({
    line: 7,
    handle: 'mug',
    title: 'Mug',
    price: '5',
    quantity: '2',
    type: '',
  });
});

test('the columns of 2026 have metafields, a category and attributes of Google', () => {
  const first = fold({
    ...mug,
    'Product category': 'Home & Garden > Kitchen > Mugs',
    'Google Shopping / Manufacturer part number (MPN)': 'M-1',
    'Google Shopping / Gender': '',
    'Cup material (product.metafields.shopify.cup-material)': 'clay; glass',
    'Care (product.metafields.custom.care)': '["Wash", "Dry"]',
    'Rating (product.metafields.reviews.rating)': '{"value":"4.0"}',
    'Google: Age Group (product.metafields.mm-google-shopping.age_group)': 'adult',
    'Metafield: custom.glaze [single_line_text_field]': 'matt',
    'Note (variant.metafields.custom.note)': 'not of the product',
  });
  expect(publicationIn(first).fields).toMatchObject({
    product_type: 'Mugs',
    attributes: {
      google_product_category: 'Home & Garden > Kitchen > Mugs',
      mpn: 'M-1',
      'Cup material': ['clay', 'glass'],
      Care: ['Wash', 'Dry'],
      age_group: 'adult',
      glaze: 'matt',
    },
  });
  expect(warnings(first)).toEqual([[2, 'metafield Rating was left out: it is an object of Shopify']]);
  const second = fold({
    ...mug,
    Type: 'Cups',
    'Product category': 'Home > Mugs',
    'Google Shopping / Google Product Category': '2169',
  });
  expect(publicationIn(second).fields).toMatchObject({
    product_type: 'Cups',
    attributes: { google_product_category: '2169' },
  });
  expect(publicationIn(fold(mug)).fields).not.toHaveProperty('attributes');
  expect(publicationIn(fold({ ...mug, 'Google Shopping / Gender': '' })).fields.attributes).toBeNull();
  const long = fold({ ...mug, 'Story (product.metafields.custom.story)': 'x'.repeat(300) });
  expect(warnings(long)).toEqual([[2, 'attribute Story was left out: it is too long']]);
});

test('imports or reports every row, whatever it contains', () => {
  const value = fc.oneof(fc.constant(''), fc.constantFrom('1', '2.50', '-1', 'x', 'true'), fc.string());
  const record = fc.record({
    Title: value,
    'Variant Price': value,
    'Variant Inventory Qty': value,
    Published: value,
    Type: value,
  });
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 5 }), (records) => {
      const items = fold(...records.map((each) => ({ Handle: 'h', ...each })));
      const publications = items.filter((item) => item.kind === 'publication');
      const lines = failures(items).map(([line]) => line);
      expect(publications.length).toBeLessThanOrEqual(1);
      expect(new Set(lines).size).toBe(lines.length);
      if (publications.length === 0) expect(lines).toEqual(records.map((_, index) => index + 2));
    }),
    cases(),
  );
});

async function read(content: string | Buffer): Promise<{ total: number | null; items: ImportItem[] }> {
  return withTempDir(async (folder) => {
    const path = join(folder, 'export.csv');
    writeFileSync(path, content);
    const file = await openShopifyFile(path, 'USD');
    const items: ImportItem[] = [];
    for await (const step of file.items()) items.push(...step);
    return { total: file.total, items };
  });
}

const summaries = (items: readonly ImportItem[]): unknown[] =>
  items.map((item) => [item.kind, item.line, 'external_id' in item ? item.external_id : null]);

test('refuses a file without titles', () =>
  expect(read('Handle,Name\nmug,Mug\n')).rejects.toThrow('The header has no column "Title"'));

test('says which quote is not closed if there is no other row', () =>
  expect(read('Handle,Title\nmug,"Mug\n')).rejects.toThrow(
    /Line 2: a quote is opened and never closed; nothing was read from this line on/,
  ));

test('reads a byte order mark, quoted newlines, CRLF and blank lines, and counts lines as an editor does', async () => {
  const { total, items } = await read(
    '\uFEFFHandle,Title,Body (HTML),Variant Price\r\n' +
      'a,"Quoted ""A""","<p>one\r\ntwo</p>\r\n<p>three</p>",1.00\r\n' +
      '\r\n' +
      'b,B,,x\r\n' +
      'c,C,,3\r\n',
  );
  expect(total).toBe(3);
  expect(summaries(items)).toEqual([
    ['publication', 2, 'a'],
    ['failed', 6, 'b'],
    ['publication', 7, 'c'],
  ]);
  expect(items[0]).toMatchObject({
    fields: {
      title: 'Quoted "A"',
      description_html: '<p>one\ntwo</p>\n<p>three</p>',
      description: 'one two\n\nthree',
    },
  });
});

test('combines the rows of a handle into one product even if they are not adjacent', async () => {
  const { total, items } = await read('Handle,Title,Variant Price,Option1 Value\na,A,5,S\nb,B,2\na,,4,M\n');
  expect(total).toBe(2);
  expect(summaries(items)).toEqual([
    ['publication', 3, 'b'],
    ['publication', 2, 'a'],
  ]);
  expect(items[1]).toMatchObject({ fields: { price_amount: 400 } });
});

test('makes a missing handle from the title, and reports each row without both', async () => {
  const { items } = await read('Handle,Title,Variant Price\n,Á la carte,5\n,,2\n');
  expect(summaries(items)).toEqual([
    ['publication', 2, 'a-la-carte'],
    ['failed', 3, null],
  ]);
  expect(items[0]).toMatchObject({ fields: { handle: 'a-la-carte' } });
});

test('a file without handles has a product for each title, with the rows after it', async () => {
  const { items } = await read(
    'Title,Option1 Name,Option1 Value,Price,Product image URL\n' +
      'Tea,Size,S,5,\n,,M,6,\nCup,,,7,\n,,,,https://x/cup.jpg\nTea,,S,8,\n',
  );
  expect(summaries(items)).toEqual([
    ['publication', 4, 'cup'],
    ['publication', 2, 'tea'],
    ['failed', 6, 'tea'],
  ]);
  expect(items[0]).toMatchObject({ images: [{ url: 'https://x/cup.jpg' }] });
  expect(publicationIn(items.slice(1)).fields.variants).toHaveLength(2);
});

test('a file of titles sets no price, and a title that is repeated is an error', async () => {
  const { items } = await read('Title\nTea\nCup\nTea\n☕\n');
  expect(items).toMatchObject([
    { kind: 'publication', external_id: 'cup' },
    { kind: 'publication', external_id: 'tea' },
    { kind: 'failed', line: 4, reason: 'the same handle and option values as line 2' },
    { kind: 'failed', line: 5, reason: expect.stringContaining('missing handle') },
  ]);
  expect(publicationIn(items).fields).toEqual({ title: 'Cup', handle: 'cup', price_currency: 'USD' });
});

test.each([
  ['ラーメン-鉢', 'ラーメン-鉢', []],
  ['foo--bar', 'foo--bar', []],
  ['my_product', 'my_product', []],
  ['Café', 'café', ['handle Café was imported as café']],
  ['Summer tea (new)', 'summer-tea-new', ['handle Summer tea (new) was imported as summer-tea-new']],
  ['---', 'mug', ['handle --- was imported as mug']],
])('imports the handle "%s" as "%s"', (handle, imported, reasons) => {
  const items = fold({ ...mug, Handle: handle });
  expect(publicationIn(items)).toMatchObject({ external_id: handle, fields: { handle: imported } });
  expect(warnings(items)).toEqual(reasons.map((reason) => [2, reason]));
});

test('accepts rows with too few or too many values', async () => {
  const { items } = await read('Handle,Title,Variant Price\na,A\nb,B,2,extra\n');
  expect(summaries(items)).toEqual([
    ['failed', 2, 'a'],
    ['publication', 3, 'b'],
  ]);
});

test('reports a quote that is never closed, and imports the rows before it', async () => {
  const { items } = await read('Handle,Title,Variant Price\na,A,1\nb,"B,2\nc,C,3\n');
  expect(summaries(items)).toEqual([
    ['publication', 2, 'a'],
    ['failed', 3, null],
  ]);
});

test('counts a CRLF that is split between two chunks as one line break', async () => {
  // The file is read in chunks of 64 KiB. The first one ends between \r and \n.
  const head = 'Handle,Title,Variant Price\r\na,';
  const title = 'x'.repeat(65_536 - head.length - ',1'.length - 1);
  const { items } = await read(`${head}${title},1\r\nb,,2\r\n`);
  expect(summaries(items)).toEqual([
    ['publication', 2, 'a'],
    ['failed', 3, 'b'],
  ]);
});

test.each([
  ['', 'is empty'],
  ['\n\n', 'is empty'],
  ['Handle,Title,Variant Price\n', 'no rows after the header'],
  ['name,price\nx,1\n', 'no column "Title"'],
  [Buffer.from('Handle,Title,Variant Price\na,caf\xe9,1\n', 'latin1'), 'not UTF-8'],
])('refuses an invalid file (%#)', async (content, message) => {
  await expect(read(content)).rejects.toThrow(message);
});

test('refuses a missing file and a folder', async () => {
  await expect(openShopifyFile('/nowhere/export.csv', 'USD')).rejects.toThrow('does not exist');
  await withTempDir((folder) => expect(openShopifyFile(folder, 'USD')).rejects.toThrow('it is a folder'));
});
