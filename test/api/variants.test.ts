import type { Variant } from '../../shared/api/responses/resources';
import { type Harness, type Reply, type RequestOptions, type Shop, startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';
import { MediaShop } from './media-shop';
import { expectError } from './replies';

const SHIRT = { title: 'Shirt', price_currency: 'USD', price_amount: 5_000 };
const UNKNOWN = '01890000-0000-7000-8000-000000000000';

let harness: Harness;
let shop: Shop;

beforeAll(async () => {
  harness = await startHarness();
  shop = await harness.newShop();
});
afterAll(() => harness.close());

const send = (method: string, path: string, options: RequestOptions = {}): Promise<Reply> =>
  harness.request(method, path, { token: shop.secret.token, ...options });
const post = (body: object): Promise<Reply> =>
  send('POST', '/api/publication', { body: { ...SHIRT, ...body } });
const make = async (body: object): Promise<string> => (await post(body)).body.data.id;
const patch = (id: string, body: object) => send('PATCH', `/api/publication/${id}`, { body });
const read = async (id: string) => (await send('GET', `/api/publication/${id}?expand=variants`)).body.data;
const variantsOf = async (id: string): Promise<Variant[]> => (await read(id)).variants.data;
const patchVariant = (id: string, body: object, headers: Record<string, string> = {}) =>
  send('PATCH', `/api/variant/${id}`, { body, headers });
const sizes = (...values: string[]) => values.map((Size) => ({ option_values: { Size } }));

test('a variant is read by its own id, by customers only if its publication is public', async () => {
  const both = ['S', 'M'].map((Size) => ({
    option_values: { Size },
    sku: `one-${Size}`,
    price_amount: 700,
  }));
  const id = await make({ options: [{ name: 'Size', values: ['S', 'M'] }], variants: both });
  const medium = (await variantsOf(id))[1]!;
  const readOne = (of: string, token = shop.public.token) => send('GET', `/api/variant/${of}`, { token });
  const found = await readOne(medium.id);
  expect([found.status, found.body.data]).toEqual([200, medium]);
  await patch(id, { visibility: 'private' });
  expectError(await readOne(medium.id), 404, 'VARIANT_NOT_FOUND');
  const { token } = shop.secret;
  expect((await send('GET', `/api/variant/${medium.id}?visibility=all`, { token })).body.data).toEqual(
    medium,
  );
  for (const other of [id, medium.id.replace(/^.{8}/, '01890000')])
    expectError(await readOne(other, token), 404, 'VARIANT_NOT_FOUND');
  const stranger = await harness.newShop();
  expectError(await readOne(medium.id, stranger.secret.token), 404, 'VARIANT_NOT_FOUND');
  expectError(await readOne('no-id'), 400, 'INVALID_UUID', 'id');
});

describe('a SKU', () => {
  const skusOf = async (id: string) => (await variantsOf(id)).map(({ sku }) => sku);

  test('belongs to one publication of the store, whatever writes it', async () => {
    const options = [{ name: 'Size', values: ['S', 'M'] }];
    const one = { options, variants: [{ option_values: { Size: 'S' }, sku: 'own-1' }] };
    const id = await make(one);
    const other = await make({ options, variants: [{ option_values: { Size: 'S' }, sku: 'own-2' }] });
    expectError(await post(one), 409, 'CONFLICT', 'variants.0.sku');
    const taken = { option_values: { Size: 'M' }, sku: 'own-1' };
    const added = await send('POST', `/api/publication/${other}/variants`, { body: taken });
    expectError(added, 409, 'CONFLICT', 'sku');
    const [variant] = await variantsOf(other);
    expectError(await patchVariant(variant!.id, { sku: 'own-1' }), 409, 'CONFLICT', 'sku');
    expectError(
      await patch(other, { variants: [{ id: variant!.id }, taken] }),
      409,
      'CONFLICT',
      'variants.1.sku',
    );
    const put = await send('PUT', '/api/publication/by-external-id/own', { body: { ...SHIRT, ...one } });
    expectError(put, 409, 'CONFLICT', 'variants.0.sku');
    expect([await skusOf(id), await skusOf(other)]).toEqual([['own-1'], ['own-2']]);
    const stranger = await harness.newShop();
    const elsewhere = { token: stranger.secret.token, body: { ...SHIRT, ...one } };
    expect((await send('POST', '/api/publication', elsewhere)).status).toBe(201);
  });

  test('is free again when the variant has another one, or is deleted', async () => {
    const id = await make({ variants: [{ sku: 'free-1' }] });
    const [variant] = await variantsOf(id);
    await patchVariant(variant!.id, { sku: 'free-2' });
    const second = await make({ variants: [{ sku: 'free-1' }] });
    expectError(await patchVariant(variant!.id, { sku: 'free-1' }), 409, 'CONFLICT', 'sku');
    await send('DELETE', `/api/publication/${second}`);
    expect((await patchVariant(variant!.id, { sku: 'free-1' })).status).toBe(200);
    expectError(await send('POST', `/api/publication/${second}/restore`), 409, 'CONFLICT', 'variants.0.sku');
    await patchVariant(variant!.id, { sku: null });
    expect((await send('POST', `/api/publication/${second}/restore`)).status).toBe(200);
    expect(await skusOf(second)).toEqual(['free-1']);
  });

  test('and an external id are different names', async () => {
    const id = await make({ variants: [{ sku: 'both', external_id: 'both' }] });
    expect((await variantsOf(id))[0]).toMatchObject({ sku: 'both', external_id: 'both' });
    const taken = await post({ variants: [{ external_id: 'both' }] });
    expectError(taken, 409, 'CONFLICT', 'variants.0.external_id');
    expect((await post({ external_id: 'both' })).status).toBe(201);
  });

  test('may move between the variants of a publication', async () => {
    const both = ['S', 'M'].map((Size) => ({ option_values: { Size }, sku: `move-${Size}` }));
    const id = await make({ options: [{ name: 'Size', values: ['S', 'M'] }], variants: both });
    const swapped = (await variantsOf(id)).map((variant, index) => ({
      ...{ id: variant.id, sku: both[1 - index]!.sku },
    }));
    expect((await patch(id, { variants: swapped })).status).toBe(200);
    expect(await skusOf(id)).toEqual(['move-M', 'move-S']);
  });

  test('two writers at once: one of them gets it', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => post({ variants: [{ sku: 'race' }] })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });
});

describe('a publication with variants', () => {
  test('is after the last position, which the service also accepts again', async () => {
    const last = { option_values: { Size: 'S' }, position: 1_000_000 };
    const id = await make({ options: [{ name: 'Size', values: [] }], variants: [last] });
    const added = await send('POST', `/api/publication/${id}/variants`, {
      body: { option_values: { Size: 'M' } },
    });
    expect([added.status, added.body.data.position]).toEqual([201, 1_000_000]);
    const read_back = (await variantsOf(id)).map(({ id, position }) => ({ id, position }));
    expect((await patch(id, { variants: read_back })).status).toBe(200);
  });

  test('costs less now if one of them does', async () => {
    const [id, other] = [
      await make({ variants: [{ sku: 'less', price_amount: 100, compare_at_amount: 500 }] }),
      await make({ variants: [{ sku: 'same', price_amount: 100 }] }),
    ];
    const { data } = (await send('GET', '/api/publications?has_discount=true&limit=50')).body;
    const found = data.map((one: { id: string }) => one.id);
    expect([found.includes(id), found.includes(other)]).toEqual([true, false]);
  });

  test('is restored, although all of it would not fit into one event', async () => {
    const text = 'x'.repeat(140);
    const variants = Array.from({ length: 2_048 }, (_, n) => ({
      ...{ option_values: { Size: String(n) }, attributes: { note: text } },
    }));
    const id = await make({ variants });
    const attributes = Object.fromEntries(
      Array.from({ length: 50 }, (_, n) => [`a${n}`, Array.from({ length: 40 }, (__, m) => `${m}${text}`)]),
    );
    expect((await patch(id, { attributes })).status).toBe(200);
    expect((await send('DELETE', `/api/publication/${id}`)).status).toBe(200);
    expect((await send('POST', `/api/publication/${id}/restore`)).status).toBe(200);
    expect((await read(id)).variant_count).toBe(2_048);
  });

  test('has their lowest price, their stock, their number and their options', async () => {
    const created = await post({
      options: [{ name: 'Size', values: ['S', 'M'] }],
      variants: [
        { option_values: { Size: 'M' }, price_amount: 6_000, quantity_available: 2, sku: 'M-1' },
        { option_values: { Size: 'L' }, price_amount: 4_500, quantity_available: 3, weight_grams: 200 },
        { option_values: { Size: 'S' }, quantity_available: 0, attributes: { fit: 'slim', washes: 30 } },
      ],
    });
    expect(created.status).toBe(201);
    const summary = {
      ...{ price_amount: 4_500, quantity_available: 5, in_stock: true, variant_count: 3 },
      price_range: { min: 4_500, max: 6_000 },
      options: [{ name: 'Size', values: ['S', 'M', 'L'] }],
    };
    expect(created.body.data).toMatchObject(summary);
    const { id } = created.body.data;
    const { variants, ...publication } = await read(id);
    expect(publication).toEqual(created.body.data);
    const common = { id: expect.any(String), object: 'variant', publication_id: id, allow_backorder: false };
    expect(variants).toEqual({
      ...{ object: 'collection', total_count: 3, has_more: false, url: `/api/publication/${id}/variants` },
      data: [
        {
          ...{ ...common, option_values: { Size: 'M' }, position: 1 },
          ...{ price_amount: 6_000, quantity_available: 2, sku: 'M-1' },
        },
        {
          ...{ ...common, option_values: { Size: 'L' }, position: 2 },
          ...{ price_amount: 4_500, quantity_available: 3, weight_grams: 200 },
        },
        {
          ...{ ...common, option_values: { Size: 'S' }, position: 3 },
          ...{ price_amount: 5_000, quantity_available: 0, attributes: { fit: 'slim', washes: 30 } },
        },
      ],
    });
    const page = (await send('GET', `/api/publication/${id}/variants?page=2&limit=2`)).body;
    expect([page.data, page.meta.item_count]).toEqual([[variants.data[2]], 3]);
    const listed = (await send('GET', '/api/publications?expand=variants&min_price=4500&max_price=4500')).body
      .data;
    expect(listed).toEqual([{ ...publication, variants }]);
  });

  test('is in stock as long as one of them can be bought', async () => {
    const inStock = async (id: string) => {
      const found = (await send('GET', '/api/publications?in_stock=true&limit=50')).body.data as {
        id: string;
      }[];
      return [(await read(id)).in_stock, found.some((publication) => publication.id === id)];
    };
    const [first, second] = sizes('S', 'M');
    const id = await make({
      variants: [
        { ...first, quantity_available: 0 },
        { ...second, quantity_available: 0 },
      ],
    });
    expect(await inStock(id)).toEqual([false, false]);
    await patch(id, { variants: [{ ...first, allow_backorder: true }, second] });
    expect(await inStock(id)).toEqual([true, true]);
    await patch(id, {
      variants: [
        { ...first, allow_backorder: false },
        { ...second, quantity_available: null },
      ],
    });
    expect(await inStock(id)).toEqual([true, true]);
    expect(await read(id)).not.toHaveProperty('quantity_available');
  });

  test('keeps variants that are sent with their id or their values, and removes the others', async () => {
    const id = await make({
      variants: sizes('S', 'M', 'L').map((one) => ({ ...one, quantity_available: 1 })),
    });
    const [small, medium, large] = await variantsOf(id);
    const sent = [...sizes('L', 'XL'), { id: small!.id, option_values: { Size: 'XS' } }];
    const reply = await patch(id, { variants: sent });
    expect(reply.body.data.options).toEqual([{ name: 'Size', values: ['S', 'M', 'L', 'XL', 'XS'] }]);
    const after = await variantsOf(id);
    expect(after).toMatchObject([
      { id: large!.id, option_values: { Size: 'L' }, quantity_available: 1 },
      { option_values: { Size: 'XL' } },
      { id: small!.id, option_values: { Size: 'XS' }, quantity_available: 1 },
    ]);
    expect(after.map((variant) => variant.id)).not.toContain(medium!.id);
    expect((await patch(id, { variants: sent })).headers.get('etag')).toBe(reply.headers.get('etag'));
    // What was read changes nothing if it is sent back.
    const back = after.map(({ object: _, publication_id: __, ...variant }) => variant);
    expect((await patch(id, { variants: back })).headers.get('etag')).toBe(reply.headers.get('etag'));
    await patch(id, { variants: null });
    expect(await read(id)).toMatchObject({ price_amount: 5_000, variants: { data: [], total_count: 0 } });
    expect(await read(id)).not.toHaveProperty('variant_count');
  });

  test('keeps its variants if an option is renamed or moved', async () => {
    const id = await make({
      variants: [
        { option_values: { Size: 'S', Colour: 'Red' } },
        { option_values: { Size: 'S', Colour: 'Blue' } },
      ],
    });
    const before = await variantsOf(id);
    const options = [{ name: 'Color', values: ['Red', 'Blue'] }, { name: 'Size' }];
    const reply = await patch(id, { options });
    expect(reply.body.data.options).toEqual([options[0], { name: 'Size', values: ['S'] }]);
    expect(await variantsOf(id)).toEqual([
      { ...before[0], option_values: { Color: 'Red', Size: 'S' } },
      { ...before[1], option_values: { Color: 'Blue', Size: 'S' } },
    ]);
    expect((await patch(id, { options: [{ name: 'Color' }] })).status).toBe(200);
    expectError(await patch(id, { options: [] }), 400, 'FIELD_INVALID', 'options');
    const added = [{ name: 'Color' }, { name: 'Cut', values: ['wide'] }];
    expectError(await patch(id, { options: added }), 400, 'FIELD_REQUIRED', 'variants.0.option_values.Cut');
  });

  test('has options with any name', async () => {
    const [first, second] = ['toString', 'Größe'];
    const variants = [{ option_values: { [first]: 'a', [second]: 'b' } }];
    const id = await make({ variants });
    expect((await patch(id, { options: [{ name: second }, { name: first }] })).body.data.options).toEqual([
      { name: second, values: ['b'] },
      { name: first, values: ['a'] },
    ]);
    expect(await variantsOf(id)).toMatchObject(variants);
    const name = '__proto__';
    expectError(
      await post({ options: [{ name }], variants: [{}] }),
      ...([400, 'FIELD_REQUIRED', `variants.0.option_values.${name}`] as const),
    );
  });

  test('has a sale price of its own, which is a discount and not above its price', async () => {
    const merchant = harness.client(shop.secret);
    const variants = [
      { option_values: { Size: 'S' }, price_amount: 9_000, sale_price_amount: 8_000 },
      { option_values: { Size: 'M' }, price_amount: 9_500 },
    ];
    const id = await make({ variants, vendor: 'Sale' });
    const discounted = async () =>
      (await send('GET', '/api/publications?vendor=Sale&has_discount=true')).body.meta.item_count;
    expect(await discounted()).toBe(1);
    const [small, medium] = (await variantsOf(id)) as [Variant, Variant];
    expect([small.sale_price_amount, medium.sale_price_amount]).toEqual([8_000, undefined]);
    expectError(
      await patchVariant(small.id, { price_amount: 7_999 }),
      400,
      'FIELD_INVALID',
      'sale_price_amount',
    );
    expectError(
      await patchVariant(medium.id, { sale_price_amount: 9_501 }),
      400,
      'FIELD_INVALID',
      'sale_price_amount',
    );
    expect((await patchVariant(small.id, { price_amount: 7_999, sale_price_amount: null })).status).toBe(200);
    expect(await discounted()).toBe(0);
    const [, listed] =
      (await patchVariant(medium.id, { sale_price_amount: 9_500 })) && (await variantsOf(id));
    expect(listed!.sale_price_amount).toBe(9_500);
    // Of the publication: not above the lowest price.
    expectError(await patch(id, { sale_price_amount: 8_000 }), 400, 'FIELD_INVALID', 'sale_price_amount');
    expect((await patch(id, { sale_price_amount: 7_000 })).status).toBe(200);
    expectError(await patchVariant(small.id, { price_amount: 6_999 }), 400, 'FIELD_INVALID', 'price_amount');
    await merchant.publications.delete(id);
  });

  test('in a currency without a minor unit has whole amounts only', async () => {
    const YEN = { price_currency: 'JPY', price_amount: 50_000 };
    const variants = [{ option_values: { Size: 'S' }, price_amount: 50_000, compare_at_amount: 60_000 }];
    const id = await make({ ...YEN, variants });
    const [{ id: variant_id }] = (await variantsOf(id)) as [Variant];
    for (const name of ['price_amount', 'compare_at_amount', 'sale_price_amount']) {
      expectError(await post({ ...YEN, [name]: 49_950 }), 400, 'FIELD_INVALID', name);
      expectError(await patchVariant(variant_id, { [name]: 49_950 }), 400, 'FIELD_INVALID', name);
    }
    const fraction = await make({ price_amount: 1_250 });
    expectError(await patch(fraction, { price_currency: 'JPY' }), 400, 'FIELD_INVALID', 'price_amount');
    const cents = [{ option_values: { Size: 'S' }, price_amount: 1_250 }];
    const with_cents = await make({ variants: cents });
    expectError(await patch(with_cents, { price_currency: 'KRW' }), 400, 'FIELD_INVALID', 'price_currency');
    expect((await patch(with_cents, { price_currency: 'KWD' })).status).toBe(200);
  });

  test('refuses a price or a stock of its own', async () => {
    const id = await make({ variants: sizes('S') });
    expectError(await patch(id, { price_amount: 1 }), 400, 'FIELD_INVALID', 'price_amount');
    expectError(await patch(id, { quantity_available: 1 }), 400, 'FIELD_INVALID', 'quantity_available');
    expect((await patch(id, { price_amount: 5_000, price_active: false })).status).toBe(200);
  });

  test('keeps its price and stock, in the feed too, or gets those that are sent, if all variants are removed', async () => {
    const variants = [
      { option_values: { Size: 'S' }, price_amount: 8_900, quantity_available: 3 },
      { option_values: { Size: 'M' }, price_amount: 9_900, quantity_available: 12 },
    ];
    for (const [sent, price_amount, quantity_available] of [
      [{}, 8_900, 15],
      [{ price_amount: 8_900 }, 8_900, 15],
      [{ price_amount: 700, quantity_available: null }, 700, undefined],
    ] as const) {
      const id = await make({ variants });
      const { data } = (await patch(id, { variants: [], ...sent })).body;
      expect([data.price_amount, data.quantity_available]).toEqual([price_amount, quantity_available]);
      const history = (await send('GET', `/api/publication/${id}/history`)).body.data;
      const told = history.find(({ changed }: { changed: object }) => 'price_amount' in changed);
      expect(told.changed.price_amount.after).toBe(price_amount);
    }
  });

  test.each([
    ['the same values twice', sizes('S', 'S'), 'FIELD_INVALID', 'variants.1.option_values'],
    ['no value of an option', [...sizes('S'), {}], 'FIELD_REQUIRED', 'variants.1.option_values.Size'],
    [
      'another option',
      [...sizes('S'), { option_values: { Size: 'M', Cut: 'wide' } }],
      'FIELD_INVALID',
      'variants.1.option_values.Cut',
    ],
    [
      'the same SKU twice',
      sizes('S', 'M').map((one) => ({ ...one, sku: 'A' })),
      'FIELD_INVALID',
      'variants.1.sku',
    ],
    [
      'no value of an option with the name of a property',
      [{ option_values: { constructor: 'x' } }, {}],
      'FIELD_REQUIRED',
      'variants.1.option_values.constructor',
    ],
    [
      'a sale price above its price',
      [{ price_amount: 900, sale_price_amount: 901 }],
      'FIELD_INVALID',
      'variants.0.sale_price_amount',
    ],
    ['a stock below zero', [{ quantity_available: -1 }], 'FIELD_INVALID', 'variants.0.quantity_available'],
    ['an unknown id', [{ id: UNKNOWN }], 'FIELD_INVALID', 'variants.0.id'],
    ['a picture of another publication', [{ media_id: UNKNOWN }], 'FIELD_INVALID', 'variants.0.media_id'],
    ['too many variants', Array(2_049).fill({}), 'FIELD_TOO_LONG', 'variants'],
  ])('refuses %s', async (_what, variants, code, field) => {
    expectError(await post({ variants }), 400, code, field);
  });

  test('stores barcodes without separators, and refuses those with a wrong check digit', async () => {
    const stored = {
      ...{ '7750182003834': '7750182003834', '96385074': '96385074', '0 36000 29145 2': '036000291452' },
      ...{ '0-306-40615-2': '0306406152', '0-8044-2957-x': '080442957X' },
      ...{ '978-0-306-40615-7': '9780306406157', 'SHELF-12 a': 'SHELF-12 a' },
    };
    const variants = Object.keys(stored).map((barcode, n) => ({ option_values: { N: String(n) }, barcode }));
    const id = await make({ variants });
    expect((await variantsOf(id)).map(({ barcode }) => barcode)).toEqual(Object.values(stored));
    for (const barcode of ['7750182003835', '96385075', '036000291453', '0-306-40615-3'])
      expectError(await post({ variants: [{ barcode }] }), 400, 'FIELD_INVALID', 'variants.0.barcode');
  });

  test('shows 50 of them in lists, 250 by id, and pages with all of 2,048', async () => {
    const variants = Array.from({ length: 2_048 }, (_, n) => ({
      option_values: { Number: String(n) },
      ...{ sku: `SKU-${n}`, price_amount: 1_000 + n, quantity_available: 1 },
    }));
    // A busy machine may not reserve all SKUs within the time of a request.
    const id = await waitFor(async (): Promise<string | undefined> => {
      const headers = { 'Idempotency-Key': 'many' };
      const { body } = await send('POST', '/api/publication', {
        headers,
        body: { ...SHIRT, title: 'Many', variants },
      });
      return body.data?.id;
    });
    const { variants: shown, ...publication } = await read(id);
    expect([shown.data.length, shown.total_count, shown.has_more]).toEqual([250, 2_048, true]);
    expect(publication).toMatchObject({ variant_count: 2_048, quantity_available: 2_048 });
    const [listed] = (await send('GET', '/api/publications?expand=variants&limit=1')).body.data;
    expect([listed.id, listed.variants.data.length, listed.variants.has_more]).toEqual([id, 50, true]);
    const last = (await send('GET', `/api/publication/${id}/variants?page=41&limit=50`)).body;
    expect([last.data.length, last.data.at(-1).sku, last.meta.item_count]).toEqual([48, 'SKU-2047', 2_048]);
    const dearer = variants.map((variant) => ({ ...variant, price_amount: variant.price_amount + 1 }));
    expect((await patch(id, { variants: dearer })).body.data.price_range).toEqual({ min: 1_001, max: 3_048 });
    expectError(
      await send('POST', `/api/publication/${id}/variants`, { body: { option_values: { Number: 'x' } } }),
      400,
      'FIELD_TOO_LONG',
      'variants',
    );
  });

  test('shows the picture of a variant as long as the publication shows it', async () => {
    const media = await (await MediaShop.of(harness, shop)).record();
    const id = await make({ media_ids: [media], variants: [{ media_id: media }] });
    expect(await variantsOf(id)).toMatchObject([{ media_id: media }]);
    await send('DELETE', `/api/media/${media}`);
    expect((await variantsOf(id))[0]).not.toHaveProperty('media_id');
  });
});

describe('a variant', () => {
  test('is added, changed and deleted on its own, under the ETag of its publication', async () => {
    const id = await make({ variants: sizes('S') });
    const path = `/api/publication/${id}/variants`;
    const created = await send('POST', path, { body: { option_values: { Size: 'M' }, price_amount: 100 } });
    expect([created.status, created.headers.get('location')]).toEqual([201, path]);
    const etag = created.headers.get('etag')!;
    // One event for the new value of the option, one for the variant.
    expect(etag).toMatch(/^"3-/);
    const variant = created.body.data;
    expect((await variantsOf(id))[1]).toEqual(variant);
    expect((await read(id)).price_amount).toBe(100);

    const changed = await patchVariant(
      variant.id,
      { sku: 'M-2', quantity_available: 4 },
      { 'If-Match': etag },
    );
    expect([changed.status, changed.body.data]).toEqual([
      200,
      { ...variant, sku: 'M-2', quantity_available: 4 },
    ]);
    expectError(await patchVariant(variant.id, { sku: 'M-2' }, { 'If-Match': etag }), 412, 'CONFLICT');
    expectError(
      await patchVariant(variant.id, { option_values: { Size: 'S' } }),
      400,
      'FIELD_INVALID',
      'option_values',
    );
    expectError(
      await send('POST', path, { body: { option_values: { Size: 'L' }, sku: 'M-2' } }),
      400,
      'FIELD_INVALID',
      'sku',
    );

    const deleted = await send('DELETE', `/api/variant/${variant.id}`);
    expect(deleted.body.data).toEqual({ id: variant.id, object: 'variant', deleted: true });
    expect(await read(id)).toMatchObject({ price_amount: 5_000, variant_count: 1 });
    expectError(await patchVariant(variant.id, { sku: 'M-1' }), 404, 'VARIANT_NOT_FOUND');
    expectError(await send('DELETE', `/api/variant/${UNKNOWN}`), 404, 'VARIANT_NOT_FOUND');
    expectError(
      await send('POST', `/api/publication/${UNKNOWN}/variants`, { body: {} }),
      404,
      'PUBLICATION_NOT_FOUND',
    );
    // Its id is never used again.
    const again = await send('POST', path, { body: { option_values: { Size: 'M' } } });
    expect(again.body.data.id).not.toBe(variant.id);
  });

  test('loses no adjustment of its stock to another writer, and is never sold below zero', async () => {
    const id = await make({ variants: [{ quantity_available: 20 }] });
    const variant = (await variantsOf(id))[0]!;
    const sell = () => patchVariant(variant.id, { quantity_available: { adjust: -1 } });
    const statuses = (await Promise.all(Array.from({ length: 24 }, sell))).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(20);
    expect(statuses.filter((status) => status === 409)).toHaveLength(4);
    expectError(await sell(), 409, 'INSUFFICIENT_STOCK');
    expect((await patchVariant(variant.id, { allow_backorder: true })).status).toBe(200);
    expect((await sell()).body.data.quantity_available).toBe(-1);
    expect((await read(id)).quantity_available).toBe(0);
    expect(
      (await patchVariant(variant.id, { quantity_available: { adjust: 3 } })).body.data.quantity_available,
    ).toBe(2);
    await patchVariant(variant.id, { quantity_available: null });
    expectError(await sell(), 400, 'FIELD_INVALID', 'quantity_available');
    expectError(
      await patchVariant(variant.id, { quantity_available: 'x' }),
      400,
      'FIELD_INVALID',
      'quantity_available',
    );
  });
});
