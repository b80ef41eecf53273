import { catchUp, waitForManyWrites } from '../../../services/cli/catch-up';
import { createListing, deleteListing, findListing } from '../../../services/command/listing';
import {
  deletePublication,
  findPublication,
  type PublicationPatch,
  updatePublication,
} from '../../../services/command/publication';
import type { SafeHtml } from '../../../services/command/sanitise';
import { listingIdOf, publicationIdOf } from '../../../services/import/identity';
import { importedCount, LISTED_MAX, Tally } from '../../../services/import/report';
import { pause } from '../../../shared/kernel/async';
import { byHand, newContext, publicationIn, type Shop, withShop } from './some-catalog';

const shirt = { external_id: 'shirt', title: 'Shirt', price: '9.99', listing: 'Clothes' };
const review = { rating: 5, author_name: 'Ana', body: 'Good' };

/** Returns products in three listings, each with a review. */
const many = (count: number): unknown[] =>
  Array.from({ length: count }, (_, index) => ({
    ...shirt,
    external_id: `p${index}`,
    title: `Product ${index}`,
    listing: `Listing ${index % 3}`,
    reviews: [{ ...review, body: `About ${index}` }],
  }));

test('importing the same file twice writes no event the second time', () =>
  withShop(async ({ run, history }) => {
    const first = await run(many(50));
    expect(first).toMatchObject({
      complete: true,
      listings: { created: 3, failed: 0 },
      publications: { created: 50, failed: 0 },
      reviews: { created: 50, failed: 0 },
    });
    const written = await history();
    expect(written).toHaveLength(153);

    const second = await run(many(50));
    expect(second).toMatchObject({
      listings: { created: 0, unchanged: 3 },
      publications: { created: 0, updated: 0, unchanged: 50 },
      reviews: { created: 0, unchanged: 50 },
    });
    expect(await history()).toEqual(written);
  }));

test('says what was removed from HTML, and reports its row as unchanged the second time', () =>
  withShop(async ({ run }) => {
    const rows = [{ ...shirt, description_html: '<p onclick="x()">Hi</p><script>bad()</script>' }];
    const reason = 'description_html is imported without attribute onclick, <script>';
    const warnings = [{ line: 1, external_id: 'shirt', reason }];
    expect(await run(rows)).toMatchObject({ publications: { created: 1 }, warnings });
    expect(await run(rows)).toMatchObject({ publications: { unchanged: 1, updated: 0 }, warnings });
    const noisy = Array.from({ length: 12 }, (_, n) => `<x${n}>`).join('');
    const [warning] = (await run([{ ...shirt, description_html: noisy }])).warnings;
    expect(warning!.reason).toMatch(/<x9>, and 2 others$/);
  }));

test('a changed row updates its fields and keeps the others', () =>
  withShop(async ({ run, history }) => {
    await run([{ ...shirt, quantity_available: 3, featured_position: 1 }]);
    const report = await run([{ ...shirt, price: '8.00' }]);
    expect(report.publications).toMatchObject({ updated: 1, created: 0 });
    expect((await history()).slice(-1)).toEqual(['PublicationPriced']);
  }));

/** Changes a publication as a client of the API does. */
const change = ({ runtime, store }: Shop, external_id: string, changes: PublicationPatch) =>
  updatePublication(
    runtime,
    byHand,
    { environment: 'live', id: publicationIdOf(store, external_id, 1) },
    changes,
  );

test('a field that was changed by hand is kept in every later import, also of other values', () =>
  withShop(async (shop) => {
    const { run, runtime, store } = shop;
    const row = { ...shirt, description: 'Old', free_shipping: true };
    await run([row]);
    await change(shop, 'shirt', { title: 'Blouse' });
    // The event of the new description has the title that was set by hand, too.
    const next = { ...row, description: 'New' };
    for (const [title, overwritten] of [
      ['Shirt', 1],
      ['Shirt', 0],
      ['T-shirt', 0],
    ] as const) {
      const report = await run([{ ...next, title }]);
      expect(report.kept).toEqual([{ line: 1, external_id: 'shirt', fields: ['title'] }]);
      expect(report.fields.description?.overwritten ?? 0).toBe(overwritten);
    }
    const id = publicationIdOf(store, 'shirt', 1);
    expect(await findPublication(runtime, 'live', id)).toMatchObject({ title: 'Blouse', description: 'New' });

    expect((await run([next], { overwrite: true })).fields).toEqual({ title: { overwritten: 1, kept: 0 } });
    const later = await run([{ ...next, title: 'T-shirt' }]);
    expect(later).toMatchObject({ kept: [], fields: { title: { overwritten: 1, kept: 0 } } });
  }));

test('a field that was changed by hand and back is imported', () =>
  withShop(async (shop) => {
    await shop.run([shirt]);
    await change(shop, 'shirt', { title: 'Blouse' });
    await change(shop, 'shirt', { title: 'Shirt' });
    expect(await shop.run([{ ...shirt, title: 'T-shirt' }])).toMatchObject({ kept: [] });
  }));

test.each<[string, PublicationPatch, object, object]>([
  ['currency', { price_amount: 500 }, { price: '9.99', price_currency: 'EUR' }, { price_currency: 'USD' }],
  ['amount', { price_currency: 'EUR' }, { price: '8.00' }, { price_amount: 999 }],
  ['text', { description_html: '<p>Fine</p>' as SafeHtml }, { description: 'New' }, { description: '' }],
])('the %s is kept if what belongs to it was changed by hand', (_field, by_hand, row, expected) =>
  withShop(async (shop) => {
    const { run, runtime, store } = shop;
    await run([shirt]);
    await change(shop, 'shirt', by_hand);
    await run([{ ...shirt, ...row }]);
    const id = publicationIdOf(store, 'shirt', 1);
    expect(await findPublication(runtime, 'live', id)).toMatchObject({ ...by_hand, ...expected });
  }),
);

const small = { option_values: { Size: 'S' }, price_amount: 999, quantity_available: 3 };
const medium = { ...small, option_values: { Size: 'M' } };
const large = { ...small, option_values: { Size: 'L' } };
const single = { sku: 'SHIRT', quantity_available: 3 };

const shirtIn = (shop: Shop) => publicationIn(shop, 'shirt');

/** Expects that an import of the row appends nothing, and returns its report. */
async function expectUnchanged({ run, history }: Shop, row: object) {
  const written = await history();
  const report = await run([row]);
  expect(report).toMatchObject({ publications: { unchanged: 1, updated: 0 }, failed: [] });
  expect(await history()).toEqual(written);
  return report;
}

test.each<[string, object, object, object[]]>([
  [
    'one more size',
    { variants: [small, medium] },
    { variants: [small, large, medium] },
    [small, large, medium],
  ],
  ['a first size', {}, { variants: [small] }, [small]],
  ['a SKU', {}, { variants: [single] }, [single]],
  [
    'a new price and sizes without one',
    {},
    { price: '8.00', variants: [{ sku: 'S' }] },
    [{ price_amount: 800 }],
  ],
])(
  'a publication gets %s from a later import, and keeps its other variants',
  (_name, before, after, variants) =>
    withShop(async (shop) => {
      await shop.run([{ ...shirt, ...before }]);
      const old = await shirtIn(shop);
      const row = { ...shirt, ...after };
      expect(await shop.run([row])).toMatchObject({ failed: [], publications: { updated: 1 }, kept: [] });
      const stored = await shirtIn(shop);
      expect(stored.variants).toMatchObject(variants);
      expect(stored.variants).toEqual(
        expect.arrayContaining(old.variants.map(({ id }) => expect.objectContaining({ id }))),
      );
      expect((await expectUnchanged(shop, row)).fields).toEqual({});
      expect(await shop.run([row], { overwrite: true })).toMatchObject({ fields: {}, failed: [] });
    }),
);

test('the only variant of a publication gets the price and the stock that were changed by hand', () =>
  withShop(async (shop) => {
    const { run } = shop;
    await run([{ ...shirt, quantity_available: 3 }]);
    await change(shop, 'shirt', { price_amount: 500, quantity_available: 7 });
    const row = { ...shirt, price: '12.00', variants: [single] };
    const by_hand = { price_amount: 500, quantity_available: 7 };
    const kept = ['price_amount', 'quantity_available', 'variants'];
    const report = await run([row]);
    expect(report.kept.map(({ fields }) => fields.toSorted())).toEqual([kept]);
    expect(await shirtIn(shop)).toMatchObject({ ...by_hand, variants: [{ ...single, ...by_hand }] });
    await expectUnchanged(shop, row);
    await expectUnchanged(shop, { ...row, price: '13.00', variants: [{ ...single, quantity_available: 2 }] });
    await run([{ ...row, variants: [{ ...single, weight_grams: 90 }] }]);
    expect((await shirtIn(shop)).variants).toMatchObject([{ ...single, ...by_hand, weight_grams: 90 }]);
    await run([row], { overwrite: true });
    expect((await shirtIn(shop)).variants).toMatchObject([{ ...single, price_amount: 1200 }]);
    await run([{ ...row, price: '13.00', variants: [{ ...single, price_amount: 1300 }] }]);
    expect(await shirtIn(shop)).toMatchObject({ price_amount: 1300, quantity_available: 3 });
  }));

test('several variants have the prices and stocks of the file, and the report says what they replace', () =>
  withShop(async (shop) => {
    await shop.run([{ ...shirt, quantity_available: 2 }]);
    await change(shop, 'shirt', { price_amount: 500, quantity_available: 3 });
    const report = await shop.run([{ ...shirt, variants: [small, medium] }]);
    const once = { overwritten: 1, kept: 0 };
    expect(report).toMatchObject({
      fields: { price_amount: once, quantity_available: once, options: once, variants: once },
      kept: [],
    });
    expect(await shirtIn(shop)).toMatchObject({ price_amount: 999, quantity_available: 6 });
    await shop.run([{ ...shirt, variants: [{ ...small, quantity_available: 1 }, medium] }]);
    expect(await shirtIn(shop)).toMatchObject({ quantity_available: 4 });
  }));

test('keeps a variant that was added by hand, and one whose option value was changed by hand', () =>
  withShop(async (shop) => {
    const row = { ...shirt, variants: [small, medium] };
    await shop.run([row]);
    const [one, two] = (await shirtIn(shop)).variants;
    const renamed = { ...one!, option_values: { Size: 'Small' } };
    await change(shop, 'shirt', { variants: [renamed, two!, large] as never });
    const edited = await shirtIn(shop);
    const { fields } = await expectUnchanged(shop, row);
    expect(fields).toEqual({ variants: { overwritten: 0, kept: 1 } });
    await shop.run([{ ...row, variants: [{ ...small, weight_grams: 90 }, medium] }]);
    const [first, ...others] = edited.variants;
    expect((await shirtIn(shop)).variants).toEqual([{ ...first, weight_grams: 90 }, ...others]);
  }));

test('a publication whose variants were added by hand keeps their price', () =>
  withShop(async (shop) => {
    await shop.run([shirt]);
    await change(shop, 'shirt', { variants: [small, medium] as never });
    const { warnings } = await expectUnchanged(shop, { ...shirt, price: '8.00' });
    expect(warnings).toMatchObject([{ reason: expect.stringMatching(/^price_amount stayed/) }]);
  }));

test('a listing line keeps what was changed by hand, and sets what nobody has set', () =>
  withShop(async ({ run, runtime, store }) => {
    const target = { environment: 'live', store_id: store.id } as const;
    const input = { name: 'clothes', visibility: 'private' } as const;
    const { value } = await createListing(runtime, byHand, target, input);
    const line = { listing: { name: 'Clothes', description: 'To wear', visibility: 'public' } };
    const report = await run([line], { findListing: async () => value.id });
    expect(report.kept).toEqual([
      { line: 1, external_id: 'Clothes', fields: ['listing.name', 'listing.visibility'] },
    ]);
    expect(report.fields['listing.description']).toEqual({ overwritten: 1, kept: 0 });
    expect(await findListing(runtime, 'live', value.id)).toMatchObject({ ...input, description: 'To wear' });
  }));

test('a dry run writes nothing and reports what an import would do', () =>
  withShop(async (shop) => {
    await shop.run([shirt]);
    const written = await shop.history();
    const report = await shop.run(
      [
        { ...shirt, title: 'Blouse' },
        { ...shirt, external_id: 'hat', listing: 'Hats', reviews: [review] },
        { ...shirt, external_id: 'cap', listing: 'hats' },
        { publication: 'hat', ...review, body: 'Too small' },
        { ...shirt, external_id: 'bad', price: '-1' },
      ],
      { writer: shop.dryWriter(), dry_run: true },
    );
    expect(report).toMatchObject({
      dry_run: true,
      listings: { created: 1, unchanged: 1 },
      publications: { created: 2, updated: 1, unchanged: 0, failed: 1 },
      reviews: { created: 2 },
      failed: [{ line: 5, external_id: 'bad' }],
    });
    expect(await shop.history()).toEqual(written);
  }));

test('recreates what the merchant deleted, once and under another id', () =>
  withShop(async ({ run, runtime, store, history }) => {
    await run([shirt]);
    const id = publicationIdOf(store, 'shirt', 1);
    await deletePublication(runtime, newContext(), { environment: 'live', id });
    await deleteListing(runtime, newContext(), { environment: 'live', id: listingIdOf(store, 'clothes', 1) });

    const report = await run([{ ...shirt, reviews: [review] }]);
    expect(report).toMatchObject({
      listings: { created: 1 },
      publications: { created: 1 },
      reviews: { created: 1 },
    });
    const written = await history();
    expect(await run([{ ...shirt, reviews: [review] }])).toMatchObject({ publications: { unchanged: 1 } });
    expect((await run([{ publication: 'shirt', ...review, body: 'Later' }])).reviews.created).toBe(1);
    expect(await history()).toEqual([...written, 'ReviewPosted Later']);
  }));

test('creates one listing per name regardless of case, even if rows name it concurrently', () =>
  withShop(async ({ run, history }) => {
    const rows = ['Clothes', 'CLOTHES', ' clothes '].map((listing, index) => ({
      ...shirt,
      external_id: `s${index}`,
      listing,
    }));
    expect((await run(rows)).listings).toMatchObject({ created: 1, unchanged: 0 });
    expect((await history()).filter((event) => event.startsWith('ListingCreated'))).toEqual([
      'ListingCreated Clothes',
    ]);
  }));

test('uses a listing that the merchant created under this name', () =>
  withShop(async ({ run, runtime, store }) => {
    const target = { environment: 'live', store_id: store.id } as const;
    const { value } = await createListing(runtime, newContext(), target, { name: 'clothes' });
    const findListing = async () => value.id;
    expect((await run([shirt], { findListing })).listings).toMatchObject({ created: 0, unchanged: 1 });
  }));

test('a listing line updates its listing, before or after rows that name it', () =>
  withShop(async ({ run, history }) => {
    const described = {
      listing: { name: 'Clothes', description: 'To wear', default_sort_mode: 'price_asc' },
    };
    await run([shirt, described]);
    const written = await history();
    expect(written.filter((event) => event.startsWith('Listing'))).toEqual([
      'ListingCreated Clothes',
      'ListingDescribed Clothes',
      'ListingSortModeChanged',
    ]);
    await run([described, shirt]);
    expect(await history()).toEqual(written);
  }));

test('puts a listing below the named one, before or after its line, keeps it there, and moves it to the top', () =>
  withShop(async ({ run, runtime, store }) => {
    const line = (name: string, fields: object = {}) => ({ listing: { name, ...fields } });
    const parentOf = async (name: string) =>
      (await findListing(runtime, 'live', listingIdOf(store, name, 1)))?.parent_id;
    await run([line('Hats', { parent: 'clothes' }), line('Clothes', { description: 'To wear' })]);
    expect(await parentOf('hats')).toBe(listingIdOf(store, 'clothes', 1));
    await run([line('Hats')]);
    expect(await parentOf('hats')).toBe(listingIdOf(store, 'clothes', 1));
    const { failed } = await run([line('Clothes', { parent: 'Hats' })]);
    expect(failed).toMatchObject([
      { line: 1, reason: expect.stringMatching(/^listing\.parent: must be neither the listing itself/) },
    ]);
    await run([line('Hats', { parent: null })]);
    expect(await parentOf('hats')).toBeNull();
  }));

test('rejects a parent below which the tree would have too many levels, in any order of the lines', () =>
  withShop(async ({ run, runtime, store }) => {
    const line = (name: string, parent: string) => ({ listing: { name, parent } });
    const reason = 'listing.parent: must be a listing under which the tree has at most 6 levels';
    const chain = ['G', 'F', 'E', 'D', 'C', 'B'].map((name, index) => line(name, 'FEDCBA'[index]!));
    const other_chain = chain.map(({ listing }) => line(`Other ${listing.name}`, `Other ${listing.parent}`));
    // The lines are written at the same time, so that any of them can be the last.
    expect((await run(other_chain)).failed).toMatchObject([{ reason }]);
    expect((await run(chain.slice(0, 5))).failed).toEqual([]);
    const ids = new Map([...'BCDEFG'].map((name) => [listingIdOf(store, name, 1) as string, name]));
    const findChildren = async (parents: readonly string[]) =>
      parents.flatMap((id) => {
        const child = String.fromCharCode(ids.get(id)!.charCodeAt(0) + 1);
        return child > 'G' ? [] : { id: listingIdOf(store, child, 1) };
      });
    expect((await run([line('B', 'A')], { findChildren })).failed).toMatchObject([{ line: 1, reason }]);
    expect(await findListing(runtime, 'live', listingIdOf(store, 'B', 1))).toMatchObject({ parent_id: null });
    const moved = await run([{ listing: { name: 'G', parent: null } }, line('B', 'A')], { findChildren });
    expect(moved.failed).toEqual([]);
  }));

test('reports a rejected row with line and reason, and creates no empty listing for it', () =>
  withShop(async ({ run, history }) => {
    const report = await run([
      { ...shirt, title: 'x'.repeat(201), listing: 'Never' },
      { ...shirt, external_id: 'money', price_currency: 'XXY' },
      { ...shirt, external_id: 'ok', listing: 'x'.repeat(121) },
      { ...shirt, external_id: 'ok2' },
      { ...shirt, external_id: 'ok2' },
      { listing: { name: 'Clothes', default_sort_mode: 'random' } },
      { publication: 'nothing', ...review },
      { ...shirt, external_id: 'ok3', reviews: [{ rating: 6, author_name: 'A' }, review] },
      { ...shirt, external_id: 'lost', title: '', reviews: [review] },
    ]);
    expect(report.failed).toEqual([
      { line: 1, external_id: 'shirt', reason: 'title: must be at most 200 characters' },
      { line: 2, external_id: 'money', reason: expect.stringContaining('ISO 4217') },
      { line: 3, external_id: 'ok', reason: 'listing.name: must be at most 120 characters' },
      { line: 5, external_id: 'ok2', reason: 'duplicate of line 4' },
      { line: 6, external_id: 'Clothes', reason: expect.stringContaining('default_sort_mode') },
      { line: 7, external_id: 'nothing', reason: 'The publication does not exist' },
      { line: 8, external_id: 'ok3', reason: 'reviews[0]: rating: must be at most 5' },
      { line: 9, external_id: 'lost', reason: expect.stringContaining('title') },
      { line: 9, external_id: 'lost', reason: 'reviews[0]: the publication was not imported' },
    ]);
    expect(report).toMatchObject({
      listings: { created: 1, failed: 1 },
      publications: { created: 2, failed: 5 },
      reviews: { created: 1, failed: 3 },
    });
    expect(importedCount(report)).toBe(4);
    expect((await history()).filter((event) => event.startsWith('Listing'))).toEqual([
      'ListingCreated Clothes',
    ]);
  }));

test('imports identical reviews separately, but only one review per external id', () =>
  withShop(async ({ run }) => {
    const rows = [
      { ...shirt, reviews: [review, review, review] },
      { publication: 'shirt', ...review, external_id: 'r1' },
      { publication: 'shirt', ...review, external_id: 'r1', rating: 1 },
    ];
    expect((await run(rows)).reviews).toMatchObject({ created: 4, unchanged: 1 });
    expect((await run(rows)).reviews).toMatchObject({ created: 0, unchanged: 5 });
  }));

test('a review import refuses rows of other kinds', () =>
  withShop(async ({ run, store }) => {
    await run([shirt]);
    const publication_id = publicationIdOf(store, 'shirt', 1);
    const report = await run(
      [
        { ...shirt, title: 'Changed' },
        { publication_id, ...review },
      ],
      { kinds: ['review'] },
    );
    expect(report).toMatchObject({
      publications: { updated: 0 },
      reviews: { created: 1 },
      failed: [{ line: 1, reason: 'this command does not import a publication' }],
    });
  }));

test('reports the first rows of a kind, and counts all of them', () => {
  const tally = new Tally(false);
  for (let line = 1; line <= LISTED_MAX + 1; line++)
    tally.fail('publications', { line, external_id: null, reason: 'missing title' });
  const report = tally.report({ complete: true, unused_columns: {} });
  expect(report.publications.failed).toBe(LISTED_MAX + 1);
  expect(report.failed).toHaveLength(LISTED_MAX);
  expect(report).toMatchObject({ truncated: true, warnings: [], images: [] });
});

test('documents show an import whose projection takes longer than a command waits for a single write', () =>
  withShop(async (shop) => {
    const { runtime, store } = shop;
    const views = runtime.viewStores.live;
    expect(await catchUp(runtime, ['live'], 60_000)).toBe(true);
    const [created] = await views.versions();
    await shop.run(many(50));
    // Nothing is applied before that time, as on a slow disk, which is longer than the two seconds.
    const slow_until_ms = performance.now() + 2_500;
    const version = await views.open(created!.version);
    const apply = version.apply.bind(version);
    version.apply = async (batch) => {
      await pause(Math.max(0, slow_until_ms - performance.now()));
      return apply(batch);
    };
    await waitForManyWrites(runtime, 'live', new AbortController().signal);
    const view = await runtime.views.live.current();
    expect(await view!.count('publications', { store_id: store.id })).toBe(50);
  }));

test('a stop ends the wait for the documents, and the next command projects the rest', () =>
  withShop(async (shop) => {
    const { runtime, store } = shop;
    await shop.run(many(100));
    await waitForManyWrites(runtime, 'live', AbortSignal.abort());
    expect(await catchUp(runtime, ['live'], 60_000)).toBe(true);
    const view = await runtime.views.live.current();
    expect(await view!.count('publications', { store_id: store.id })).toBe(100);
  }));
