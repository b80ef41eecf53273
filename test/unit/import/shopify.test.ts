import fc from 'fast-check';
import type { ImportItem, PublicationItem } from '../../../services/import/item';
import { foldProduct } from '../../../services/import/shopify';
import { rowReader, type ShopifyRow } from '../../../services/import/shopify-rows';

/** Rows of one product by the export's own column names; lines count from 2. */
function rows(...records: Record<string, string>[]): ShopifyRow[] {
  const names = [...new Set(['Handle', 'Title', 'Variant Price', ...records.flatMap(Object.keys)])];
  const read = rowReader(names);
  return records.map((record, index) =>
    read(
      names.map((name) => record[name] ?? ''),
      index + 2,
    ),
  );
}

const mug = { Handle: 'mug', Title: 'Mug', 'Variant Price': '10.00' };
const fold = (...records: Record<string, string>[]): ImportItem[] => foldProduct(rows(...records), 'EUR');

function taken(items: readonly ImportItem[]): PublicationItem {
  const item = items.find((each) => each.kind === 'publication');
  if (item?.kind !== 'publication') throw new Error(`not taken: ${JSON.stringify(items)}`);
  return item;
}

const notTaken = (items: readonly ImportItem[]): [number, string][] =>
  items.flatMap((item) => (item.kind === 'failed' ? [[item.line, item.reason] as [number, string]] : []));

test('the variants of a handle are one publication at the lowest price, with quantities summed', () => {
  const items = fold(
    { ...mug, 'Variant Inventory Qty': '3', 'Option1 Value': 'S' },
    { Handle: 'mug', 'Variant Price': '8.05', 'Variant Inventory Qty': '4', 'Option1 Value': 'M' },
    { Handle: 'mug', 'Variant Price': '12', 'Variant Inventory Qty': '0', 'Option1 Value': 'L' },
  );
  expect(items).toHaveLength(1);
  expect(taken(items)).toMatchObject({
    external_id: 'mug',
    line: 2,
    fields: { title: 'Mug', price_amount: 805, price_currency: 'EUR', quantity_available: 7 },
  });
});

test('a quantity is null where no variant is counted, and 0 where one is tracked without a number', () => {
  expect(taken(fold(mug)).fields.quantity_available).toBeNull();
  const tracked = fold({ ...mug, 'Variant Inventory Tracker': 'shopify' });
  expect(taken(tracked).fields.quantity_available).toBe(0);
});

test('what was sold beyond the stock counts as none, and is told', () => {
  const items = fold({ ...mug, 'Variant Inventory Qty': '-3' });
  expect(taken(items).fields.quantity_available).toBe(0);
  expect(items).toContainEqual({
    kind: 'warning',
    line: 2,
    external_id: 'mug',
    reason: 'quantity -3 was taken as 0',
  });
});

test.each([
  [{ Type: 'Cups', Tags: 'a, b' }, 'Cups'],
  [{ Type: '', Tags: ' , first tag , b' }, 'first tag'],
  [{ Type: '', Tags: '' }, undefined],
  [{ Type: 'Cups\n and   bowls' }, 'Cups and bowls'],
])('listing of %j', (fields, listing) => {
  expect(taken(fold({ ...mug, ...fields } as Record<string, string>)).listing).toBe(listing);
});

test.each([
  [{ Published: 'true' }, 'public'],
  [{ Published: 'FALSE' }, 'private'],
  [{ Published: 'true', Status: 'draft' }, 'private'],
  [{ Published: 'true', Status: 'archived' }, 'private'],
  [{ Published: '', Status: 'active' }, 'public'],
  [{ Published: '' }, undefined],
])('visibility of %j', (fields, visibility) => {
  expect(taken(fold({ ...mug, ...fields } as Record<string, string>)).fields.visibility).toBe(visibility);
});

test('the body is kept as HTML and told as text; no body clears both', () => {
  const body = taken(fold({ ...mug, 'Body (HTML)': '<p>Fine &amp; blue</p>' })).fields;
  expect(body).toMatchObject({ description: 'Fine & blue', description_html: '<p>Fine &amp; blue</p>' });
  expect(taken(fold(mug)).fields).toMatchObject({ description: '', description_html: null });
});

test('images are gathered in order, once each, from image rows too', () => {
  const items = fold(
    { ...mug, 'Image Src': 'https://x/1.jpg', 'Image Alt Text': 'front', 'Variant Image': 'https://x/3.jpg' },
    { Handle: 'mug', 'Image Src': 'https://x/2.jpg' },
    { Handle: 'mug', 'Image Src': 'https://x/1.jpg' },
  );
  expect(items).toHaveLength(1);
  expect(taken(items).images).toEqual([
    { url: 'https://x/1.jpg', alt: 'front' },
    { url: 'https://x/2.jpg', alt: null },
    { url: 'https://x/3.jpg', alt: null },
  ]);
});

test('a variant that is no good is reported, and the others are taken', () => {
  const items = fold(
    mug,
    { Handle: 'mug', 'Variant Price': 'free', 'Option1 Value': 'M' },
    { Handle: 'mug', 'Option1 Value': 'L' },
    { Handle: 'mug', 'Variant Price': '7', 'Variant Inventory Qty': '1.5' },
  );
  expect(taken(items).fields).toMatchObject({ price_amount: 1000, quantity_available: null });
  expect(notTaken(items)).toEqual([
    [3, 'price "free" is no decimal number such as 12.50'],
    [4, 'no price'],
    [5, 'quantity "1.5" is no whole number'],
  ]);
});

test('a product is not taken without a title, a handle or any price; each of its rows is reported', () => {
  expect(notTaken(fold({ ...mug, Title: '' }, { Handle: 'mug', 'Image Src': 'x' }))).toEqual([
    [2, 'no title in the first row of its handle'],
    [3, 'its product was not taken, see line 2'],
  ]);
  expect(notTaken(fold({ ...mug, Handle: '' }))).toEqual([[2, 'no handle']]);
  const priceless = fold(
    { ...mug, 'Variant Price': '-1' },
    { Handle: 'mug', 'Variant Price': 'x' },
    { Handle: 'mug', 'Image Src': 'y' },
  );
  expect(priceless.some((item) => item.kind === 'publication')).toBe(false);
  expect(notTaken(priceless)).toEqual([
    [2, 'price "-1" is negative'],
    [3, 'price "x" is no decimal number such as 12.50'],
    [4, 'its product was not taken, see line 2'],
  ]);
});

test('the header is found by name, in any order and any spelling that Shopify had', () => {
  const read = rowReader(['price', ' URL handle ', 'Inventory quantity', 'TITLE']);
  expect(read(['5', 'mug', '2', 'Mug'], 7)).toMatchObject({
    line: 7,
    handle: 'mug',
    title: 'Mug',
    price: '5',
    quantity: '2',
    type: '',
  });
  expect(() => rowReader(['Handle', 'Name'])).toThrow('no column "Title", "Variant Price" in the header');
});

test('whatever the rows hold, each is taken, an image, or reported with its line', () => {
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
      const lines = notTaken(items).map(([line]) => line);
      expect(publications.length).toBeLessThanOrEqual(1);
      expect(new Set(lines).size).toBe(lines.length);
      if (publications.length === 0) expect(lines).toEqual(records.map((_, index) => index + 2));
    }),
  );
});
