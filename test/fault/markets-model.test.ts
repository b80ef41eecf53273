import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { InProcessCli } from '../api/cli-run';
import { fetch } from '../support/fetch';
import { runs, SEED } from '../support/long';
import { createKeys, fetchToken } from '../support/merchant';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { makeTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

/*
 * A catalog in three languages and four currencies, with a price list, is changed at random, its process is killed -9 during
 * writes, and its documents are rebuilt. Every answer is compared with a simple program, which knows no events, documents,
 * indexes or caches.
 */

const ROUNDS = runs(4, 25);
/** In the middle of each such round, the process is killed. */
const KILL_EVERY = 4;
const WRITES_PER_ROUND = 15;
const PRODUCTS_MAX = 12;
const LOCALES = ['es', 'de', 'en'] as const;
const [BASE, ...OTHERS] = ['PEN', 'USD', 'EUR', 'JPY'] as const;
const CURRENCIES = [BASE, ...OTHERS];
const LIST = 'wholesale';
const LIST_CURRENCY = 'EUR';
const PAGE = 5;
const PAST = '2020-01-01T00:00:00.000Z';
const COMING = '2099-01-01T00:00:00.000Z';

type Locale = (typeof LOCALES)[number];

interface Price {
  readonly price_amount: number;
  readonly compare_at_amount?: number;
  readonly sale_price_amount?: number;
}
interface DatedPrice extends Price {
  readonly sale_from?: string;
  readonly sale_to?: string;
}

interface Variant {
  readonly id: string;
  readonly size: string;
  readonly prices: Readonly<Record<string, Price>>;
}

interface ListPrices {
  readonly price: Price;
  /** By the id of the variant, which may be deleted. */
  readonly variants: Readonly<Record<string, Price>>;
}

interface Product {
  readonly id: string;
  readonly created_at: string;
  readonly titles: Readonly<Partial<Record<Locale, string>>>;
  readonly is_active: boolean;
  readonly prices: Readonly<Record<string, DatedPrice>>;
  /** None: the product is bought itself. */
  readonly variants: readonly Variant[];
  readonly listed: ListPrices | null;
}

const titleIn = ({ titles }: Product, locale: Locale): string => titles[locale] ?? titles.es!;

const isSale = ({ sale_from, sale_to }: DatedPrice): boolean => sale_from !== COMING && sale_to !== PAST;

/** Returns what can be bought in the currency, with its price now. */
function unitsIn({ is_active, prices, variants }: Product, currency: string) {
  const dated = prices[currency];
  if (!is_active) return [];
  const sold: readonly { readonly size?: string; readonly price: Price }[] =
    variants.length === 0
      ? dated
        ? [{ price: dated }]
        : []
      : variants.flatMap(({ size, prices: own }) => (own[currency] ? [{ size, price: own[currency] }] : []));
  return sold.map(({ size, price }) => {
    const { price_amount, compare_at_amount = 0 } = price;
    const { sale_price_amount = dated?.sale_price_amount ?? price_amount } = price;
    const is_sale = dated !== undefined && isSale(dated);
    const amount = is_sale ? Math.min(price_amount, sale_price_amount) : price_amount;
    return { size, amount, is_reduced: amount < Math.max(price_amount, compare_at_amount) };
  });
}

const lowestIn = (product: Product, currency: string): number | undefined => {
  const amounts = unitsIn(product, currency).map(({ amount }) => amount);
  return amounts.length === 0 ? undefined : Math.min(...amounts);
};

/**
 * Returns the ids of the products in the order of their prices in the currency. Products without such a price come last, in the
 * order of their own prices. Ties are broken by id, in the same direction.
 */
function byPrice(products: readonly Product[], currency: string, sign: 1 | -1): string[] {
  const keysOf = (product: Product) => {
    const [price, own] = [lowestIn(product, currency), lowestIn(product, BASE)];
    return [price === undefined ? 1 : 0, own === undefined ? 1 : 0, sign * (price ?? own ?? 0)];
  };
  const compare = (a: Product, b: Product) => {
    const other = keysOf(b);
    const differences = keysOf(a).map((key, n) => key - other[n]!);
    return differences.find((difference) => difference !== 0) ?? sign * (a.id < b.id ? -1 : 1);
  };
  return [...products].sort(compare).map(({ id }) => id);
}

/**
 * Returns the ids of the products in the order of their titles in the language. Products without one come last, in the order of
 * their own titles.
 */
function byName(products: readonly Product[], locale: Locale, sign: 1 | -1): string[] {
  const compare = (a: Product, b: Product) => {
    const [left, right] = [a.titles[locale], b.titles[locale]];
    const is_last = Number(left === undefined) - Number(right === undefined);
    const titles = [a, b].map((one) => titleIn(one, locale));
    if (is_last !== 0 || titles[0] === titles[1]) return is_last || sign * (a.id < b.id ? -1 : 1);
    return sign * (titles[0]! < titles[1]! ? -1 : 1);
  };
  return [...products].sort(compare).map(({ id }) => id);
}

// --- Random writes ---

const amount = fc.integer({ min: 1, max: 30 }).map((n) => 100 * n);
const price: fc.Arbitrary<Price> = fc.record({ price_amount: amount });
/** Differs from every price of a publication. */
const listPrice: fc.Arbitrary<Price> = fc.record({ price_amount: amount.map((n) => n + 50) });
const reducedPrice: fc.Arbitrary<DatedPrice> = fc
  .record({
    price_amount: amount,
    compare_at_amount: fc.option(amount, { nil: undefined }),
    sale: fc.option(fc.nat({ max: 100 }), { nil: undefined }),
    dates: fc.constantFrom(
      {},
      {},
      { sale_to: PAST },
      { sale_from: COMING },
      { sale_from: PAST, sale_to: COMING },
    ),
  })
  .map(({ price_amount, compare_at_amount, sale, dates }) => ({
    price_amount,
    ...(compare_at_amount !== undefined && { compare_at_amount }),
    ...(sale !== undefined && {
      sale_price_amount: 100 * Math.floor((price_amount * sale) / 10_000),
      ...dates,
    }),
  }));
const someCurrency = fc.constantFrom(...OTHERS);
const title = (locale: string) => fc.constantFrom('alfa', 'beta', 'gamma').map((word) => `${word} ${locale}`);

type Step =
  | {
      readonly kind: 'create';
      readonly title: string;
      readonly sizes: readonly string[];
      readonly price: Price;
    }
  | { readonly kind: 'translate'; readonly locale: 'de' | 'en'; readonly title: string | null }
  | {
      readonly kind: 'price';
      readonly currency: string;
      readonly price: DatedPrice | null;
      readonly variant: number;
    }
  | {
      readonly kind: 'list prices';
      /** Of some products, and of their variants. */
      readonly items: readonly { readonly price: Price | null; readonly own: readonly (Price | null)[] }[];
    }
  | { readonly kind: 'size'; readonly variant: number; readonly price: Price }
  | { readonly kind: 'activate'; readonly is_active: boolean }
  | { readonly kind: 'delete' }
  | { readonly kind: 'restore' };

const kindOf = <Kind extends Step['kind']>(kind: Kind) => ({ kind: fc.constant(kind) });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ ...kindOf('create'), title: title('es'), sizes: fc.subarray(['S', 'M']), price }),
  },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom('de' as const, 'en' as const)
      .chain((locale) =>
        fc.record({ ...kindOf('translate'), locale: fc.constant(locale), title: fc.option(title(locale)) }),
      ),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      ...kindOf('price'),
      currency: someCurrency,
      price: fc.option(reducedPrice),
      variant: fc.nat({ max: 1 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      ...kindOf('list prices'),
      items: fc.array(
        fc.record({
          price: fc.option(listPrice),
          own: fc.array(fc.option(listPrice, { freq: 2 }), { minLength: 2, maxLength: 2 }),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ ...kindOf('size'), variant: fc.nat({ max: 1 }), price }) },
  { weight: 1, arbitrary: fc.record({ ...kindOf('activate'), is_active: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record(kindOf('delete')) },
  { weight: 1, arbitrary: fc.record(kindOf('restore')) },
);

interface Write {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  /** The ids of the products that exist already. */
  readonly products: readonly string[];
  /** Applies the answer to the model. */
  readonly done: (data: Answer) => unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by tests
type Answer = any;

const folder = makeTempDir();
const SETTINGS = {
  DATA_DIR: folder.path,
  DEMO: 'off',
  RATE_LIMIT_PUBLIC: '1000000/100000000/1000000',
  RATE_LIMIT_SECRET: '1000000/100000000/1000000',
};

const products = new Map<string, Product>();
const deleted = new Map<string, Product>();
let keys: Awaited<ReturnType<typeof createKeys>>;
let running: RunningProcess;
let secret = '';
let visitor = '';
/** The key of the price list. */
let reseller_key = '';
let reseller = '';
let comparisons = 0;
const wrong: object[] = [];
let kills = 0;

beforeAll(async () => {
  keys = await createKeys(SETTINGS);
  await start();
  const settings = { locales: LOCALES, currencies: CURRENCIES, price_lists: { [LIST]: LIST_CURRENCY } };
  const { status } = await send('PATCH', '/api/store', { token: secret, body: settings });
  expect(status).toBe(200);
  const body = { name: 'Reseller', type: 'public', price_list: LIST };
  reseller_key = (await send('POST', '/api/key', { token: secret, body })).body.data.secret;
  reseller = await fetchToken(running.url, reseller_key);
});

afterAll(() => {
  endAll();
  folder.remove();
});

async function start(): Promise<void> {
  running = await startProcess('services/boot/main.js', SETTINGS);
  secret = await fetchToken(running.url, keys.secret);
  visitor = await fetchToken(running.url, keys.public);
  if (reseller_key) reseller = await fetchToken(running.url, reseller_key);
}

interface Sent {
  readonly token: string;
  readonly body?: object | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

async function send(method: string, path: string, { token, body, headers = {} }: Sent) {
  const reply = await fetch(`${running.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  const parsed: Answer = text === '' ? {} : JSON.parse(text);
  return { status: reply.status, headers: reply.headers, body: parsed };
}

/** Returns the write of a step, undefined if no product allows it. `pick`: of the products. */
function writeOf(one: Step, pick: number): Write | undefined {
  const all = [...products.values()];
  if (one.kind === 'create') return all.length < PRODUCTS_MAX ? creationOf(one) : undefined;
  if (one.kind === 'list prices') return listPricesOf(one, pick);
  if (one.kind === 'restore') return restorationOf([...deleted.values()][pick % deleted.size]);
  const product = all[pick % all.length];
  if (!product) return undefined;
  const path = `/api/publication/${product.id}`;
  const patch = (body: object, after: Partial<Product>): Write => ({
    ...{ products: [product.id], method: 'PATCH', path, body },
    done: () => products.set(product.id, { ...product, ...after }),
  });
  switch (one.kind) {
    case 'delete':
      return { products: [product.id], method: 'DELETE', path, done: () => move(product, products, deleted) };
    case 'size':
      return sizeOf(product, one);
    case 'activate':
      return patch({ price_active: one.is_active }, { is_active: one.is_active });
    case 'translate': {
      const { [one.locale]: _, ...titles } = product.titles;
      const translations = { [one.locale]: { title: one.title } };
      return patch(
        { translations },
        { titles: one.title === null ? titles : { ...titles, [one.locale]: one.title } },
      );
    }
    case 'price':
      return product.variants.length === 0
        ? patch(
            { prices: { [one.currency]: one.price } },
            { prices: withPrice(product.prices, one.currency, one.price) },
          )
        : priceWithVariants(product, one);
  }
}

function move(product: Product, from: Map<string, Product>, to: Map<string, Product>): void {
  from.delete(product.id);
  to.set(product.id, product);
}

const restorationOf = (product: Product | undefined): Write | undefined =>
  product && {
    ...{ products: [product.id], method: 'POST', path: `/api/publication/${product.id}/restore` },
    done: () => move(product, deleted, products),
  };

/** Sets the prices of some products in the list. The prices of a deleted product can only be removed. */
function listPricesOf({ items }: Extract<Step, { kind: 'list prices' }>, pick: number) {
  const all = [...products.values(), ...deleted.values()];
  if (all.length === 0) return undefined;
  const chosen = items.slice(0, all.length).map(({ price, own }, n) => {
    const product = all[(pick + n) % all.length]!;
    const entries = product.variants.flatMap(({ id }, index) => (own[index] ? [[id, own[index]]] : []));
    const listed = deleted.has(product.id) ? null : price && { price, variants: Object.fromEntries(entries) };
    return { product, listed };
  });
  return {
    products: chosen.map(({ product }) => product.id),
    ...{ method: 'PUT', path: '/api/list-prices' },
    body: {
      price_list: LIST,
      items: chosen.map(({ product, listed }) => ({
        ...{ publication_id: product.id, price: null },
        ...listed,
      })),
    },
    done: () => {
      for (const { product, listed } of chosen)
        (deleted.has(product.id) ? deleted : products).set(product.id, { ...product, listed });
    },
  };
}

/** Deletes one of two variants, or adds the size that the product does not have. */
function sizeOf(product: Product, { variant: n, price: own }: Extract<Step, { kind: 'size' }>) {
  const [first, second] = product.variants;
  if (!first) return undefined;
  const done = (variants: readonly Variant[]) => products.set(product.id, withVariants(product, variants));
  const write = { products: [product.id] };
  if (second) {
    const [gone, kept] = n === 0 ? [first, second] : [second, first];
    return { ...write, method: 'DELETE', path: `/api/variant/${gone.id}`, done: () => done([kept]) };
  }
  const size = first.size === 'S' ? 'M' : 'S';
  // It begins with the prices of the product in other currencies.
  const begun = Object.entries(product.prices).map(([currency, { price_amount }]) => [
    currency,
    { price_amount },
  ]);
  const prices = { ...Object.fromEntries(begun), [BASE]: own };
  return {
    ...{ ...write, method: 'POST', path: `/api/publication/${product.id}/variants` },
    body: { option_values: { Size: size }, ...own },
    done: ({ id }: Answer) => done([first, { id, size, prices }]),
  };
}

function creationOf({ title: es, sizes, price: own }: Extract<Step, { kind: 'create' }>): Write {
  const variants = sizes.map((size, n) => ({
    option_values: { Size: size },
    price_amount: own.price_amount + 100 * n,
  }));
  const body = {
    ...{ title: es, price_currency: BASE, price_active: true, ...own },
    ...(sizes.length > 0 && { options: [{ name: 'Size', values: sizes }], variants }),
  };
  const done = async ({ id, created_at }: Answer): Promise<void> => {
    const headers = { 'x-catalog-min-position': position };
    const made = await send('GET', `/api/publication/${id}/variants`, { token: secret, headers });
    const of_product = made.body.data.map(({ id: variant_id, option_values, price_amount }: Answer) => ({
      id: variant_id,
      size: option_values.Size,
      prices: { [BASE]: { price_amount } },
    }));
    products.set(id, {
      ...{ id, created_at, titles: { es }, is_active: true, prices: { [BASE]: own }, variants: of_product },
      listed: null,
    });
  };
  return { products: [], method: 'POST', path: '/api/publication', body, done };
}

/** Sets the price of one variant, or the sale of the product for all of its variants. */
function priceWithVariants(
  product: Product,
  { currency, price, variant: n }: Extract<Step, { kind: 'price' }>,
) {
  const variant = product.variants[n % product.variants.length]!;
  const known = product.prices[currency];
  if (known && price?.sale_to) {
    const dated = { ...price, price_amount: known.price_amount, sale_price_amount: 0 };
    const { compare_at_amount: _, ...sale } = dated;
    return {
      products: [product.id],
      ...{ method: 'PATCH', path: `/api/publication/${product.id}`, body: { prices: { [currency]: sale } } },
      done: () => products.set(product.id, { ...product, prices: withPrice(product.prices, currency, sale) }),
    };
  }
  const { sale_from: _, sale_to: __, ...of_variant } = price ?? { price_amount: 0 };
  const sent = price && of_variant;
  const variants = product.variants.map((each) =>
    each === variant ? { ...each, prices: withPrice(each.prices, currency, sent) } : each,
  );
  return {
    products: [product.id],
    ...{ method: 'PATCH', path: `/api/variant/${variant.id}`, body: { prices: { [currency]: sent } } },
    done: () => products.set(product.id, withVariants(product, variants)),
  };
}

/** Returns the product with these variants. In each currency, its price is the lowest of theirs. */
function withVariants(product: Product, variants: readonly Variant[]): Product {
  let { prices } = product;
  for (const currency of CURRENCIES) {
    const amounts = variants.flatMap((variant) => variant.prices[currency]?.price_amount ?? []);
    const of_product =
      amounts.length === 0 ? null : { ...prices[currency], price_amount: Math.min(...amounts) };
    prices = withPrice(prices, currency, of_product);
  }
  return { ...product, variants, prices };
}

function withPrice<Of extends Price>(
  prices: Readonly<Record<string, Of>>,
  currency: string,
  price: Of | null,
): Readonly<Record<string, Of>> {
  const { [currency]: _, ...others } = prices;
  return price === null ? others : { ...others, [currency]: price };
}

/**
 * Sends writes to different products at once. With a kill, the process ends meanwhile, and is started again. What was not
 * answered is sent again with its key, as a merchant does.
 */
async function writeAll(writes: readonly Write[], has_kill: boolean): Promise<void> {
  const sendOnce = (write: Write, key: string) =>
    send(write.method, write.path, { token: secret, body: write.body, headers: { 'idempotency-key': key } });
  const sent = writes.map((write) => ({ write, key: randomUUID() }));
  const answers = sent.map(({ write, key }) => sendOnce(write, key).catch(() => undefined));
  if (has_kill) {
    await Promise.race(answers);
    await running.end('SIGKILL');
    await start();
    kills += 1;
  }
  for (const [n, { write, key }] of sent.entries()) {
    let answer = await answers[n];
    // The key is locked for ten seconds if the process was killed during the write.
    answer ??= await waitFor(async () => {
      const again = await sendOnce(write, key);
      return again.status !== 409 && again.status !== 503 && again;
    });
    expect({ ...write, error: answer.body.error }).toEqual({ ...write, error: undefined });
    // The writes are at once, so the last answer may be to an earlier one.
    const written = answer.headers.get('x-catalog-position') ?? '0';
    if (BigInt(written) > BigInt(position)) position = written;
    await write.done(answer.body.data);
  }
}

// --- Comparisons ---

/**
 * Compares the answer to each reader with the expected value. A visitor reads twice, because the second answer may be that of
 * the edge cache.
 */
async function compare(
  path: string,
  select: (body: Answer) => unknown,
  expected: unknown,
  readers = [visitor, visitor],
): Promise<void> {
  const headers = { 'x-catalog-min-position': position };
  for (const [n, token] of readers.entries()) {
    // A busy machine may not have projected the position in time.
    const { status, body } = await waitFor(async () => {
      const reply = await send('GET', path, { token, ...(n === 0 && { headers }) });
      return reply.status !== 503 && reply;
    });
    const seen = status === 200 ? select(body) : body;
    if (JSON.stringify(seen) !== JSON.stringify(expected)) wrong.push({ path, seen, expected });
    comparisons += 1;
  }
}

const ids = ({ data }: Answer): string[] => data.map(({ id }: Answer) => id);
const sortedIds = (body: Answer): string[] => ids(body).sort();

function shown(product: Product, locale: Locale, currency: string) {
  const title = titleIn(product, locale);
  const price_active = product.is_active && product.prices[currency] !== undefined;
  if (!price_active) return { title, price_active };
  const { price_amount, sale_price_amount = null } = product.prices[currency]!;
  const amounts = product.variants.flatMap(({ prices }) => prices[currency]?.price_amount ?? []);
  const price = priceAndRange(amounts, price_amount);
  return { title, price_active, price_currency: currency, ...price, sale_price_amount };
}

/** `amounts`: of the variants. */
const priceAndRange = (amounts: readonly number[], price_amount: number) => {
  if (amounts.length === 0) return { price_amount, price_range: null };
  const [min, max] = [Math.min(...amounts), Math.max(...amounts)];
  return { price_amount: min, price_range: { min, max } };
};

/** Returns what the key of the price list sees. `asked`: the currency of the request. */
function shownInList(product: Product, locale: Locale, asked: string | undefined) {
  const { listed, is_active, variants } = product;
  if (!listed) return shown(product, locale, asked ?? BASE);
  const title = titleIn(product, locale);
  const price_active = is_active && (asked ?? LIST_CURRENCY) === LIST_CURRENCY;
  if (!price_active) return { title, price_active };
  const amounts = variants.map(({ id }) => (listed.variants[id] ?? listed.price).price_amount);
  const price = priceAndRange(amounts, listed.price.price_amount);
  return { title, price_active, price_currency: LIST_CURRENCY, ...price, sale_price_amount: null };
}

function shownBy({ title, price_active, ...of_price }: Answer) {
  if (!price_active) return { title, price_active };
  const { price_currency, price_amount, price_range = null, sale_price_amount = null } = of_price;
  return { title, price_active, price_currency, price_amount, price_range, sale_price_amount };
}

async function compareAll(locale: Locale, currency: string): Promise<void> {
  const all = [...products.values()];
  const context = `locale=${locale}&currency=${currency}`;
  const all_items = `/api/publications?${context}`;
  const list = `${all_items}&limit=50`;
  const matching = (isWanted: (product: Product) => boolean) =>
    all
      .filter(isWanted)
      .map(({ id }) => id)
      .sort();
  for (const product of all)
    await compare(
      `/api/publication/${product.id}?${context}`,
      ({ data }) => shownBy(data),
      shown(product, locale, currency),
    );
  const byId = (body: Answer) =>
    Object.fromEntries(body.data.map((one: Answer) => [one.id, shownBy(one)]).sort());
  const everyone = all.map((product) => [product.id, shown(product, locale, currency)] as const).sort();
  await compare(list, byId, Object.fromEntries(everyone));
  for (const order of ['asc', 'desc']) {
    const expected = byPrice(all, currency, order === 'asc' ? 1 : -1);
    await compare(`${list}&sort=price&order=${order}`, ids, expected);
    await compare(`${all_items}&sort=price&order=${order}&page=2&limit=3`, ids, expected.slice(3, 6));
    const named = byName(all, locale, order === 'asc' ? 1 : -1);
    await compare(`${list}&sort=name&order=${order}`, ids, named);
    await compare(`${all_items}&sort=name&order=${order}&page=2&limit=3`, ids, named.slice(3, 6));
    const isOffered = (id: string) => unitsIn(products.get(id)!, currency).length > 0;
    await compare(`${list}&sort=name&order=${order}&priced=true`, ids, named.filter(isOffered));
  }
  const bounds = `min_price=700&max_price=1600`;
  const isInRange = ({ amount }: { amount: number }) => 700 <= amount && amount <= 1600;
  await compare(
    `${list}&${bounds}`,
    sortedIds,
    matching((product) => unitsIn(product, currency).some(isInRange)),
  );
  await compare(
    `${list}&${bounds}&option.Size=M`,
    sortedIds,
    matching((product) => unitsIn(product, currency).some((unit) => unit.size === 'M' && isInRange(unit))),
  );
  const isPriced = (product: Product) => unitsIn(product, currency).length > 0;
  await compare(`${list}&priced=true`, sortedIds, matching(isPriced));
  for (const has_price of [true, false])
    await compare(
      `${list}&has_price=${has_price}`,
      sortedIds,
      matching((product) => isPriced(product) === has_price),
    );
  const isReduced = (product: Product) => unitsIn(product, currency).some(({ is_reduced }) => is_reduced);
  await compare(`${list}&has_discount=true`, sortedIds, matching(isReduced));
  await compare(
    `/api/publications?limit=1&${context}&facets=has_price,has_discount`,
    ({ meta }) =>
      meta.facets.map(({ values }: Answer) =>
        Object.fromEntries(values.map(({ value, count }: Answer) => [value, count]).sort()),
      ),
    [isPriced, isReduced].map((isCounted) => {
      const counted = all.filter(isCounted).length;
      const counts = { false: all.length - counted, true: counted };
      return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
    }),
  );
  await compare(
    `/api/publications?limit=1&${context}&facets=price`,
    ({ meta }) => {
      const intervals: [string, number][] = meta.facets[0].values.map(({ value, count }: Answer) => [
        value,
        count,
      ]);
      const isWrong = ([value, count]: [string, number]) => {
        const [from, to] = value.split('-').map(Number);
        const isIn = ({ amount }: { amount: number }) => from! <= amount && amount <= to!;
        return all.filter((product) => unitsIn(product, currency).some(isIn)).length !== count;
      };
      return { wrong: intervals.filter(isWrong), is_empty: intervals.length === 0 };
    },
    { wrong: [], is_empty: !all.some(isPriced) },
  );
  for (const word of ['alfa', 'beta', locale]) {
    // A search finds words of the title in the language and words of the default title.
    const hasWord = ({ titles }: Product) =>
      [titles[locale], titles.es].some((text) => text?.split(' ').includes(word));
    await compare(`/api/store/search?limit=50&q=${word}&${context}`, sortedIds, matching(hasWord));
  }
}

/** Compares what the key of the price list sees by id and in pages, and the prices of the list. */
async function compareList(locale: Locale): Promise<void> {
  const newest = [...products.values()].sort((a, b) =>
    `${a.created_at} ${a.id}` < `${b.created_at} ${b.id}` ? 1 : -1,
  );
  for (const asked of [undefined, ...CURRENCIES]) {
    const context = `locale=${locale}${asked ? `&currency=${asked}` : ''}`;
    const expected = newest.map((product) => ({ id: product.id, ...shownInList(product, locale, asked) }));
    const select = (one: Answer) => ({ id: one.id, ...shownBy(one) });
    for (const [n, one] of expected.entries()) {
      await compare(`/api/publication/${one.id}?${context}`, ({ data }) => select(data), one, [reseller]);
      if (n % PAGE > 0) continue;
      const path = `/api/publications?${context}&limit=${PAGE}&page=${n / PAGE + 1}`;
      await compare(path, ({ data }) => data.map(select), expected.slice(n, n + PAGE), [reseller]);
    }
  }
  const pricesOf = (all: Answer[]) =>
    Object.fromEntries(all.map(({ id, price, variants = {} }) => [id, { price, variants }]).sort());
  await compare(
    `/api/list-prices?price_list=${LIST}&limit=50`,
    ({ data }) => pricesOf(data.map((one: Answer) => ({ ...one, id: one.publication_id }))),
    pricesOf(
      [...products.values(), ...deleted.values()].flatMap(({ id, listed }) =>
        listed ? { id, ...listed } : [],
      ),
    ),
    [secret],
  );
}

let position = '0';

test('every answer is right in each language and currency, after kills and a rebuild', async () => {
  const random = fc.sample(fc.tuple(step, fc.nat()), { seed: SEED, numRuns: ROUNDS * WRITES_PER_ROUND });
  for (let round = 0; round < ROUNDS; round++) {
    const steps = random.slice(round * WRITES_PER_ROUND, (round + 1) * WRITES_PER_ROUND);
    const writes: Write[] = [];
    for (const [one, pick] of steps) {
      const write = writeOf(one, pick);
      // Writes to one product, sent at once, have no order that the model knows.
      const written = new Set(writes.flatMap((each) => each.products));
      if (write?.products.every((id) => !written.has(id))) writes.push(write);
    }
    await writeAll(writes, round % KILL_EVERY === KILL_EVERY - 1);
    if (round === ROUNDS - 2)
      expect(await new InProcessCli(folder.path, SETTINGS).run('projections', 'rebuild')).toMatchObject({
        code: 0,
      });
    for (const locale of LOCALES) for (const currency of CURRENCIES) await compareAll(locale, currency);
    await compareList(LOCALES[round % LOCALES.length]!);
    expect(wrong.slice(0, 5)).toEqual([]);
  }
  expect(running.faults).toEqual([]);
  process.stdout.write(`${comparisons} comparisons, ${kills} kills\n`);
});
