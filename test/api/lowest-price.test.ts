import { realSystem } from '../../shared/kernel/system';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';
import { InProcessCli } from './cli-run';

const DAY = 24 * 3_600_000;

/** By how much the clock of the service is ahead of the machine's. */
let ahead_ms = 0;
const system = { ...realSystem, now: () => Date.now() + ahead_ms };
let harness: Harness;
let shop: Shop;

beforeAll(async () => {
  harness = await startHarness({ system, is_own: true });
  shop = await harness.newShop();
});
afterAll(() => harness.close());

const inDays = (days: number): string => new Date(system.now() + days * DAY).toISOString();
/** Reads with a new token: the clock is moved by more than a token lives. */
const read = async (path: string) =>
  (await harness.request('GET', `/api/${path}`, { token: await harness.token(shop.public.key) })).body.data;
const lowest = (one: { lowest_price_30d?: number }): number | null => one.lowest_price_30d ?? null;
const lowestOf = async (id: string): Promise<number | undefined> =>
  (await read(`publication/${id}`)).lowest_price_30d;

test('a reduced price has the lowest price of the 30 days before, in every read, and after a rebuild', async () => {
  const client = harness.client(shop.secret);
  const listing = await client.listings.create({ name: 'Teas' });
  const tea = { title: 'Tea', price_currency: 'EUR', price_amount: 3_000, listing_id: listing.id };
  const { id } = await client.publications.create(tea);
  const plain = await client.publications.create({ ...tea, title: 'Plain tea' });
  const shirt = await client.publications.create({
    ...{ ...tea, title: 'Shirt', options: [{ name: 'Size' }] },
    variants: ['S', 'M'].map((Size) => ({ option_values: { Size }, price_amount: 2_000 })),
  });
  const before = await read(`publication/${plain.id}`);

  ahead_ms += 10 * DAY;
  await client.publications.update(id, { price_amount: 2_500 });
  ahead_ms += DAY;
  await client.publications.update(id, { price_amount: 3_500 });
  expect(await lowestOf(id)).toBeUndefined();
  ahead_ms += 20 * DAY;
  await client.publications.update(id, {
    ...{ sale_price_amount: 2_800, sale_from: inDays(3), sale_to: inDays(6) },
  });
  expect(await lowestOf(id)).toBeUndefined();
  // The sale begins: the schedule appends the event that a read needs.
  ahead_ms += 4 * DAY;
  await waitFor(async () => (await lowestOf(id)) === 2_500);
  const in_sale = await read(`publication/${id}`);

  const { data: sizes } = (await read(`publication/${shirt.id}?expand=variants`)).variants;
  const written = await client.publications.updateVariant(sizes[1].id, {
    price_amount: 1_500,
    compare_at_amount: 2_200,
  });
  expect(written.lowest_price_30d).toBe(2_000);
  const asOf = async (time: string) => {
    const token = await harness.token(shop.secret.key);
    const { body } = await harness.request('GET', `/api/publication/${id}?as_of=${time}`, { token });
    return body.data.lowest_price_30d;
  };
  const [before_sale, now] = [inDays(-2), inDays(0)];
  const reads = async () => {
    const of_listing = await read(`listing/${listing.id}/publications?sort=name&order=asc&expand=variants`);
    return {
      of_listing: of_listing.others.map(lowest),
      expanded: of_listing.others[1].variants.data.map(lowest),
      list: (await read('publications?sort=name&order=asc')).map(lowest),
      entries: (await read(`listing/${listing.id}?expand=publication`)).publications.data.map(lowest),
      variants: (await read(`publication/${shirt.id}/variants`)).map(lowest),
      variant: lowest(await read(`variant/${sizes[1].id}`)),
      as_of: [await asOf(before_sale), await asOf(now)],
    };
  };
  const shown = await reads();
  expect(shown).toEqual({
    of_listing: [null, null, 2_500],
    expanded: [null, 2_000],
    list: [null, null, 2_500],
    entries: [null, null, 2_500],
    variants: [null, 2_000],
    variant: 2_000,
    as_of: [undefined, 2_500],
  });
  expect(await read(`publication/${plain.id}`)).toEqual(before);

  // Nothing that is read depends on when the events were projected.
  const cli = new InProcessCli(harness.data_dir, { ...harness.settings, LOG_LEVEL: 'silent' });
  await cli.json('projections', 'rebuild', '--realm', 'live');
  expect(await cli.json('projections', 'verify', '--realm', 'live')).toMatchObject({ clean: true });
  expect(await reads()).toEqual(shown);
  expect(await read(`publication/${id}`)).toEqual(in_sale);

  // The changes of the publication show neither its price history nor the beginning of the sale.
  const token = await harness.token(shop.secret.key);
  const { body } = await harness.request('GET', `/api/publication/${id}/history`, { token });
  const fields = body.data.map(({ changed }: { changed: object }) => Object.keys(changed).join());
  expect(fields.slice(0, 3)).toEqual(['sale_price_amount,sale_from,sale_to', 'price_amount', 'price_amount']);

  ahead_ms += 3 * DAY;
  await waitFor(async () => (await lowestOf(id)) === undefined);
});

test('a sale in another currency begins and ends on its own', async () => {
  const client = harness.client(shop.secret);
  await client.store.update({ currencies: ['EUR', 'USD'] });
  const sale = { sale_price_amount: 700, sale_from: inDays(1), sale_to: inDays(3) };
  const { id } = await client.publications.create({
    ...{ title: 'Cup', price_currency: 'EUR', price_amount: 800 },
    prices: { USD: { price_amount: 900, ...sale } },
  });
  const inDollars = async () => lowest(await read(`publication/${id}?currency=USD`));
  expect(await inDollars()).toBeNull();
  ahead_ms += 2 * DAY;
  await waitFor(async () => (await inDollars()) === 900);
  expect((await read(`publication/${id}`)).prices.USD).toEqual({
    price_amount: 900,
    ...sale,
    lowest_price_30d: 900,
  });
  expect(await lowestOf(id)).toBeUndefined();
  ahead_ms += 2 * DAY;
  await waitFor(async () => (await inDollars()) === null);
});
