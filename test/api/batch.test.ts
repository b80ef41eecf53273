import { CatalogError } from '../../shared/kernel/errors';
import type { Reply } from '../support/harness';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };
const MEDIUM = { option_values: { Size: 'M' } };
const UNKNOWN = '01890000-0000-7000-8000-000000000000';

const here = ownShop();
/** Publications with the external ids `erp-1` and `erp-2`. */
let ids: string[];

const { send, writeAll } = here;
const batch = (items: unknown, query = '', headers: Record<string, string> = {}): Promise<Reply> =>
  send('POST', `/api/publications/batch${query}`, { body: { items }, headers });
const put = (external_id: string, body: object) => ({ action: 'put', external_id, body });
const titles = async (): Promise<string[]> => {
  const { body } = await send('GET', '/api/publications?visibility=all&limit=50');
  return body.data.map(({ title }: { title: string }) => title).sort();
};

beforeEach(async () => {
  ids = [];
  for (const external_id of ['erp-1', 'erp-2'])
    ids.push((await send('POST', '/api/publication', { body: { ...TEA, external_id } })).body.data.id);
});

/** One item of each kind, and what becomes of it. */
const eachKind = () => ({
  items: [
    { action: 'create', body: { ...TEA, title: 'Cup' } },
    { action: 'update', id: ids[0], body: { title: 'Green tea' } },
    put('erp-3', { ...TEA, title: 'Pot' }),
    put('erp-4', { ...TEA, title: 'Pan' }),
    { action: 'delete', id: ids[1] },
  ],
  results: ['created', 'updated', 'created', 'created', 'deleted'],
  titles: ['Cup', 'Green tea', 'Pan', 'Pot'],
});
const resultsOf = ({ body }: Reply): unknown[] =>
  body.data.items.map(
    ({ result, error }: { result?: string; error?: { code: string } }) => result ?? error?.code,
  );

test('a batch that names one publication by its id and by its external id writes nothing', async () => {
  const items = [put('erp-1', { title: 'By name' }), { action: 'delete', id: ids[0] }];
  expectError(await batch(items), 400, 'FIELD_INVALID', 'items.1');
  expect(await titles()).toEqual(['Tea', 'Tea']);
});

describe('POST /api/publications/batch', () => {
  test('creates, updates, puts and deletes, and reads show it', async () => {
    const { items, results, titles: expected } = eachKind();
    const reply = await batch(items);
    expect([reply.status, resultsOf(reply)]).toEqual([200, results]);
    const counts = { created: 3, updated: 1, unchanged: 0, deleted: 1, failed: 0 };
    expect(reply.body.data).toMatchObject({ dry_run: false, ...counts });
    expect(await titles()).toEqual(expected);
    const [created, updated, , fourth] = reply.body.data.items;
    expect(updated).toEqual({ index: 1, action: 'update', id: ids[0], result: 'updated' });
    expect(fourth).toMatchObject({ index: 3, action: 'put', external_id: 'erp-4' });
    const read = await send('GET', `/api/publication/${created.id}`);
    expect(read.body.data).toMatchObject({ title: 'Cup', handle: 'cup' });
  });

  test('tells what has changed nothing', async () => {
    const items = [put('erp-1', { title: 'Tea' }), { action: 'update', id: ids[1], body: { title: 'Tea' } }];
    const reply = await batch(items);
    expect(resultsOf(reply)).toEqual(['unchanged', 'unchanged']);
    expect(reply.body.data.items[0].id).toBe(ids[0]);
  });

  const INVALID: [string, object, string, string][] = [
    [
      'a missing field',
      { action: 'create', body: { title: 'Cup' } },
      'FIELD_REQUIRED',
      'body.price_currency',
    ],
    ['an unknown field', put('erp-1', { color: 'red' }), 'FIELD_INVALID', 'body.color'],
    ['an unknown publication', { action: 'delete', id: UNKNOWN }, 'PUBLICATION_NOT_FOUND', ''],
    ['a name that is taken', put('erp-3', { ...TEA, handle: 'tea' }), 'CONFLICT', 'body.handle'],
    ['an unknown listing', put('erp-1', { listing_id: UNKNOWN }), 'FIELD_INVALID', 'body.listing_id'],
    [
      'what only the decision refuses',
      put('erp-3', { ...TEA, options: [{ name: 'Size', values: ['M'] }], variants: [MEDIUM, MEDIUM] }),
      'FIELD_INVALID',
      'body.variants.1.option_values',
    ],
  ];
  test.each(INVALID)(
    'with %s writes nothing, or all others with skip_failed',
    async (_, item, code, field) => {
      const items = [put('erp-9', { ...TEA, title: 'Pot' }), item];
      const rejected = await batch(items);
      const at = field === '' ? 'items.1' : `items.1.${field}`;
      expectError(rejected, 400, 'FIELD_INVALID', at);
      expect(rejected.body.error.details.errors).toContainEqual(expect.objectContaining({ field: at, code }));
      expect(await titles()).toEqual(['Tea', 'Tea']);
      const skipped = await batch(items, '?on_error=skip_failed');
      expect([resultsOf(skipped), skipped.body.data.failed]).toEqual([['created', code], 1]);
      expect(await titles()).toEqual(['Pot', 'Tea', 'Tea']);
    },
  );

  test('as a dry run tells the same and writes nothing', async () => {
    const { items, results } = eachKind();
    const with_failed = [...items, { action: 'delete', id: UNKNOWN }];
    const { events } = here.harness.service.runtime;
    const append = jest.spyOn(events.live, 'append');
    const tried = await batch(with_failed, '?dry_run=true');
    // Views and pictures of other publications may be appended meanwhile.
    const appended = append.mock.calls.filter(([stream]) => /publication-|name-/.test(stream)).length;
    append.mockRestore();
    expect([tried.status, appended]).toEqual([200, 0]);
    expect(resultsOf(tried)).toEqual([...results, 'PUBLICATION_NOT_FOUND']);
    expect(tried.body.data).toMatchObject({ dry_run: true, created: 3, failed: 1 });
    expect(tried.body.data.items[0]).not.toHaveProperty('id');
    expect(await titles()).toEqual(['Tea', 'Tea']);
  });

  test('refuses a name that an earlier item gets, also as a dry run', async () => {
    const sized = (external_id: string, sku: string) =>
      put(external_id, { ...TEA, variants: [{ ...MEDIUM, sku }] });
    const invalid = put('erp-6', { title: '', handle: 'pot' });
    const items = [
      invalid,
      put('erp-7', { ...TEA, handle: 'pot' }),
      put('erp-8', { ...TEA, handle: 'pot' }),
      sized('erp-9', 'POT-S'),
      sized('erp-10', 'POT-S'),
    ];
    const tried = await batch(items, '?dry_run=true');
    const results = ['FIELD_TOO_SHORT', 'created', 'CONFLICT', 'created', 'CONFLICT'];
    expect(resultsOf(tried)).toEqual(results);
    const rejected = await batch(items.slice(1));
    expectError(rejected, 400, 'FIELD_INVALID', 'items.1.body.handle');
    expect(await titles()).toEqual(['Tea', 'Tea']);
  });

  test('is answered again for the same Idempotency-Key, and writes nothing', async () => {
    const { items, titles: expected } = eachKind();
    const headers = { 'Idempotency-Key': 'batch-1' };
    const first = await batch(items, '', headers);
    const again = await batch(items, '', headers);
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    expectError(await batch(items.slice(1), '', headers), 409, 'DUPLICATE_OPERATION');
    expect(await titles()).toEqual(expected);
  });

  test('that failed on the way is completed by the same request', async () => {
    const { items, results, titles: expected } = eachKind();
    const { live } = here.harness.service.runtime.events;
    const append = live.append.bind(live);
    let appends = 0;
    const failing = jest.spyOn(live, 'append').mockImplementation(async (...args) => {
      appends += 1;
      if (appends > 4) throw new CatalogError('unavailable');
      return append(...args);
    });
    const headers = { 'Idempotency-Key': 'batch-2' };
    const first = await batch(items, '', headers);
    failing.mockRestore();
    expectError(first, 503, 'SERVICE_UNAVAILABLE');
    const again = await batch(items, '', headers);
    expect([again.status, resultsOf(again)]).toEqual([200, results]);
    expect(await titles()).toEqual(expected);
  });

  describe('exchanges names between its publications', () => {
    const variant = (size: string, fields: object) => ({ option_values: { Size: size }, ...fields });
    const namesOf = async (id: string) => {
      const { data } = (await send('GET', `/api/publication/${id}?expand=variants`)).body;
      const skus = data.variants?.data.map(({ sku }: { sku: string }) => sku);
      return { handle: data.handle, external_id: data.external_id, skus };
    };

    test('but a new publication takes no name of a publication that the batch does not write', async () => {
      const named = { title: 'Own', price_currency: 'USD', price_amount: 1, handle: 'own' };
      const body = { ...named, variants: [variant('S', { sku: 'OWN' })] };
      const own = (await send('POST', '/api/publication', { body })).body.data.id;
      const creation = (sku: string) => ({
        action: 'create',
        body: { title: sku, price_currency: 'USD', price_amount: 1, variants: [variant('S', { sku })] },
      });
      const answer = await batch([creation('OWN'), creation('OTHER')], '?on_error=skip_failed');
      expect(answer.body.data.items).toMatchObject([{ error: { code: 'CONFLICT' } }, { result: 'created' }]);
      expect(await namesOf(own)).toMatchObject({ handle: 'own', skus: ['OWN'] });
    });

    test.each(['skip_failed', 'reject_all'])('with %s', async (on_error) => {
      const [one, two] = ids;
      await batch([
        put('erp-1', { handle: 'one', variants: [variant('S', { sku: 'A' }), variant('M', { sku: 'B' })] }),
        put('erp-2', { handle: 'two', variants: [variant('S', { sku: 'C' })] }),
      ]);
      const items = [
        put('erp-1', { variants: [variant('S', { sku: 'C' }), variant('M', {})] }),
        put('erp-2', { variants: [variant('S', { sku: 'A' })] }),
      ];
      const exchanged = await batch(items, `?on_error=${on_error}`);
      expect(resultsOf(exchanged)).toEqual(['updated', 'updated']);
      expect(await namesOf(one!)).toMatchObject({ skus: ['C', 'B'] });
      expect(await namesOf(two!)).toMatchObject({ skus: ['A'] });
      expect(resultsOf(await batch(items))).toEqual(['unchanged', 'unchanged']);

      const update = (id: string, body: object) => ({ action: 'update', id, body });
      const renamed = await batch(
        [
          update(one!, { external_id: 'erp-2', handle: 'two' }),
          update(two!, { external_id: 'erp-1', handle: 'one' }),
        ],
        `?on_error=${on_error}`,
      );
      expect(resultsOf(renamed)).toEqual(['updated', 'updated']);
      expect(await namesOf(one!)).toMatchObject({ external_id: 'erp-2', handle: 'two' });
      expect(await namesOf(two!)).toMatchObject({ external_id: 'erp-1', handle: 'one' });
    });

    test('also many SKUs, and to more than two', async () => {
      const skus = (letter: string) => Array.from({ length: 30 }, (_, n) => `${letter}-${n}`);
      const of = (letter: string) => ({
        variants: skus(letter).map((sku, n) => variant(String(n), { sku, external_id: sku })),
      });
      const put_all = (letters: string) =>
        [...letters].map((letter, n) => put(`erp-${n + 1}`, { ...TEA, ...of(letter) }));
      await writeAll(put_all('ABC'));
      await writeAll(put_all('BCA'));
      expect(await namesOf(ids[0]!)).toMatchObject({ skus: skus('B') });
      expect(await namesOf(ids[1]!)).toMatchObject({ skus: skus('C') });
    });

    test('also if it fails on the way, after any of its appends', async () => {
      const { live } = here.harness.service.runtime.events;
      const append = live.append.bind(live);
      const exchange = (one: string, two: string) => [
        put('erp-1', { variants: [variant('S', { sku: one })] }),
        put('erp-2', { variants: [variant('S', { sku: two })] }),
      ];
      await batch(exchange('A', 'B'));
      let [one, two] = ['A', 'B'];
      for (let done = 0; done < 6; done++) {
        [one, two] = [two!, one!];
        let appends = 0;
        const failing = jest.spyOn(live, 'append').mockImplementation(async (...args) => {
          if (appends++ === done) throw new CatalogError('unavailable');
          return append(...args);
        });
        await batch(exchange(one, two));
        failing.mockRestore();
        const { status, body } = await batch(exchange(one, two));
        expect([status, body.data.failed]).toEqual([200, 0]);
        expect(await Promise.all(ids.map(namesOf))).toMatchObject([{ skus: [one] }, { skus: [two] }]);
      }
    });

    test('but takes none from one that keeps it, or whose item is refused', async () => {
      const [one, two] = ids;
      await batch([
        put('erp-1', { variants: [variant('S', { sku: 'A' })] }),
        put('erp-2', { variants: [variant('S', { sku: 'C' })] }),
      ]);
      const take = put('erp-1', { variants: [variant('S', { sku: 'C' })] });
      for (const refused of [
        { title: 'Keeps it' },
        { variants: [variant('S', { sku: 'A' })], price_amount: -1 },
        { variants: [variant('S', { sku: 'A' })], listing_id: UNKNOWN },
      ]) {
        const reply = await batch([take, put('erp-2', refused)], '?on_error=skip_failed');
        expect(resultsOf(reply)[0]).toBe('CONFLICT');
        expect(await namesOf(one!)).toMatchObject({ skus: ['A'] });
        expect(await namesOf(two!)).toMatchObject({ skus: ['C'] });
      }
      // A deleted one has none.
      const items = [take, { action: 'delete', id: two }];
      expect(resultsOf(await batch(items))).toEqual(['updated', 'deleted']);
      expect(await namesOf(one!)).toMatchObject({ skus: ['C'] });
    });
  });

  test('accepts 500 items', async () => {
    const items = Array.from({ length: 500 }, (_, index) =>
      put(`new-${index}`, { ...TEA, title: `Cup ${index}` }),
    );
    await writeAll(items);
    const { body } = await send('GET', '/api/publications?limit=1');
    expect(body.meta.item_count).toBe(502);
  });

  const MALFORMED: [string, unknown, string, string][] = [
    ['501 items', Array.from({ length: 501 }, (_, n) => put(`erp-${n}`, TEA)), 'FIELD_TOO_LONG', 'items'],
    ['no items', [], 'FIELD_TOO_SHORT', 'items'],
    ['no list', undefined, 'FIELD_REQUIRED', 'items'],
    ['an unknown action', [{ action: 'move', id: UNKNOWN }], 'FIELD_INVALID', 'items.0.action'],
    ['an update without an id', [{ action: 'update', body: {} }], 'FIELD_REQUIRED', 'items.0.id'],
    ['a put without an external id', [{ action: 'put', body: {} }], 'FIELD_REQUIRED', 'items.0.external_id'],
    ['a create with an id', [{ action: 'create', id: UNKNOWN, body: TEA }], 'FIELD_INVALID', 'items.0.id'],
    ['an update without a body', [{ action: 'update', id: UNKNOWN }], 'FIELD_REQUIRED', 'items.0.body'],
    ['a put without a body', [{ action: 'put', external_id: 'erp-1' }], 'FIELD_REQUIRED', 'items.0.body'],
    ['a delete with a body', [{ action: 'delete', id: UNKNOWN, body: {} }], 'FIELD_INVALID', 'items.0.body'],
    ['an external id twice', [put('erp-1', {}), put('erp-1', {})], 'FIELD_INVALID', 'items.1'],
    [
      'an external id in two bodies',
      [put('erp-1', {}), { action: 'create', body: { ...TEA, external_id: 'erp-1' } }],
      'FIELD_INVALID',
      'items.1',
    ],
  ];
  test.each(MALFORMED)('refuses %s in either mode', async (_, items, code, field) => {
    expectError(await batch(items), 400, code, field);
    expectError(await batch(items, '?on_error=skip_failed'), 400, code, field);
  });

  test('writes only to the store of the query', async () => {
    const other = await here.harness.newShop();
    expectError(await batch([put('erp-1', {})], `?store_id=${other.store_id}`), 403, 'STORE_ACCESS_DENIED');
    const key = await here.harness.newKey('secret', [here.shop.store_id, other.store_id]);
    const body = { items: [{ action: 'delete', id: ids[0] }] };
    const path = `/api/publications/batch?on_error=skip_failed&store_id=${other.store_id}`;
    expect(resultsOf(await send('POST', path, { body, token: key.token }))).toEqual([
      'PUBLICATION_NOT_FOUND',
    ]);
  });
});

describe('listings of a batch', () => {
  const KITCHEN = { external_id: 'group-1', body: { name: 'Kitchen' } };
  const inListing = (external_id: string, listing_external_id: string) => ({
    ...put(external_id, TEA),
    listing_external_id,
  });
  const sendAll = (body: object, query = '', headers: Record<string, string> = {}): Promise<Reply> =>
    send('POST', `/api/publications/batch${query}`, { body, headers });
  const listedIn = async (external_id: string): Promise<unknown[]> => {
    const [listing] = (await send('GET', `/api/listings?external_id=${external_id}`)).body.data;
    const { data } = (await send('GET', `/api/publications?listing_id=${listing.id}`)).body;
    return data.map((one: { external_id: string }) => one.external_id).sort();
  };

  test('are written before the items that name them', async () => {
    const items = [inListing('erp-1', 'group-1'), inListing('erp-5', 'group-1')];
    const body = { listings: [KITCHEN], items };
    const dry = await sendAll(body, '?dry_run=true');
    expect(dry.body.data).toMatchObject({ listings: [{ result: 'created' }], created: 1, updated: 1 });
    expect((await send('GET', '/api/listings')).body.data).toEqual([]);
    const key = { 'Idempotency-Key': 'groups' };
    const reply = await sendAll(body, '', key);
    const listings = [{ index: 0, external_id: 'group-1', id: expect.any(String), result: 'created' }];
    expect(reply.body.data).toMatchObject({ listings, created: 1, updated: 1, failed: 0 });
    expect(await listedIn('group-1')).toEqual(['erp-1', 'erp-5']);
    expect((await sendAll(body, '', key)).body).toEqual(reply.body);
    const again = await sendAll({ items: [inListing('erp-2', 'group-1')] });
    expect(again.body.data).toMatchObject({ updated: 1, items: [{ result: 'updated' }] });
    expect(again.body.data).not.toHaveProperty('listings');
    expect(await listedIn('group-1')).toEqual(['erp-1', 'erp-2', 'erp-5']);
  });

  test.each<[string, object, string]>([
    [
      'an unknown listing',
      { listings: [KITCHEN], items: [inListing('erp-1', 'group-2')] },
      'items.0.listing_external_id',
    ],
    [
      'an invalid listing',
      { listings: [{ ...KITCHEN, body: { name: '' } }], items: [put('erp-1', TEA)] },
      'listings.0.body.name',
    ],
    ['a listing twice', { listings: [KITCHEN, KITCHEN], items: [put('erp-1', TEA)] }, 'listings'],
    [
      'two main listings',
      { items: [{ ...inListing('erp-1', 'group-1'), body: { ...TEA, listing_id: null } }] },
      'items.0.listing_external_id',
    ],
  ])('%s: nothing is written', async (_, body, field) => {
    expectError(await sendAll(body), 400, 'FIELD_INVALID', field);
    expect((await send('GET', '/api/listings')).body.data).toEqual([]);
  });

  test('with skip_failed, one that fails takes along the items that name it', async () => {
    const listings = [{ ...KITCHEN, body: { name: '' } }];
    const items = [inListing('erp-1', 'group-1'), put('erp-2', { title: 'Cup' })];
    const { body } = await sendAll({ listings, items }, '?on_error=skip_failed');
    expect(body.data).toMatchObject({
      updated: 1,
      failed: 1,
      listings: [{ error: { code: 'FIELD_TOO_SHORT' } }],
    });
  });
});
