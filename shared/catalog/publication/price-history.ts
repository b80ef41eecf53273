import { isSameValue } from '../../kernel/same-value';
import type { JsonObject } from '../events/envelope';
import { AMOUNTS } from './currency-prices';
import { type ItemAmounts, inEachCurrency, type Priced, pricesAt, saleTimes } from './prices';
import type { Variant } from './variants';

/**
 * The lowest price of the 30 days before a reduction (docs/interface/publications.md#lowest-price-before-a-reduction).
 *
 * The history is a fold of the events and their times. A publication without a reduction, and without a change of prices
 * in the last 30 days, has none.
 */
export interface PriceHistory {
  /** The time up to which prices are in the history, in Unix milliseconds. */
  readonly at_ms: number;
  /** The records of the publication (`OWN`) and of its variants, by id. In another currency, the currency is before the id. */
  readonly records: Readonly<Record<string, PriceRecord>>;
}

interface PricedWithHistory extends Priced {
  readonly updated_at: string;
  readonly price_history?: PriceHistory;
}

interface PriceRecord {
  /**
   * Earlier prices and the times at which they ended, in that order. Leaves out a price if a later one is not higher, so
   * each price is higher than the one before it.
   */
  readonly past: readonly PastPrice[];
  /** The lowest price before the reduction that runs. Absent while the price is not reduced. */
  readonly lowest?: number;
}

type PastPrice = readonly [until_ms: number, price: number];

/** A price at a time. `amount`: null while the price is inactive. */
interface Price {
  readonly amount: number | null;
  readonly is_reduced: boolean;
}

const OWN = 'own';
const DAYS_30_MS = 30 * 24 * 3_600_000;
/** Beyond it, the lowest of the past prices counts until the next one ended. A price that only rises needs that many changes. */
const PAST_MAX = 100;
const NO_PRICE: Price = { amount: null, is_reduced: false };

/** The fields that prices depend on, besides those of variants. */
const PRICE_FIELDS = [...AMOUNTS, 'price_active', 'price_currency', 'sale_from', 'sale_to'] as const;

/** Returns the publication after an event at a time, with its price history. `before`: undefined for a new publication. */
export function withPriceHistory<Publication extends PricedWithHistory>(
  before: Publication | undefined,
  after: Publication,
  occurred_at: string,
): Publication {
  const history = before?.price_history;
  const is_same = before !== undefined && haveSamePrices(before, after);
  if (is_same && !history && !before.prices && before.sale_from === null && before.sale_to === null)
    return after;

  const since_ms = history?.at_ms ?? Date.parse(before?.updated_at ?? occurred_at);
  // The clocks of processes differ.
  const at_ms = Math.max(since_ms, Date.parse(occurred_at));
  const sale_times = before ? saleTimes(before).filter((time) => since_ms < time && time <= at_ms) : [];
  const isOld = ({ past }: PriceRecord): boolean => past.some((price) => !isRecent(price, at_ms));
  if (is_same && sale_times.length === 0 && !Object.values(history?.records ?? {}).some(isOld)) return after;

  const records = new Map(Object.entries(history?.records ?? {}));
  let prices: ReadonlyMap<string, Price> = before ? allPricesAt(before, since_ms) : new Map();
  const advance = (to: ReadonlyMap<string, Price>, to_ms: number): void => {
    for (const [id, price] of to) {
      const record = recordAfter(records.get(id), prices.get(id) ?? NO_PRICE, price, to_ms);
      if (record) records.set(id, record);
      else records.delete(id);
    }
    prices = to;
  };

  for (const time of sale_times) if (time < at_ms) advance(allPricesAt(before!, time), time);
  if (before && before.price_currency !== after.price_currency) {
    const isOther = (id: string): boolean => id.includes(' ');
    for (const id of records.keys()) if (!isOther(id)) records.delete(id);
    prices = new Map([...prices].filter(([id]) => isOther(id)));
  }
  const now = allPricesAt(after, at_ms);
  for (const id of records.keys()) if (!now.has(id)) records.delete(id);
  advance(now, at_ms);

  if (records.size === 0 && !history) return after;
  const { price_history: _, ...others } = after;
  if (records.size === 0) return others as Publication;
  return { ...after, price_history: { at_ms, records: Object.fromEntries(records) } };
}

/** Whether the prices of the publication and of its variants follow from the same values. There may be 2,048 variants. */
function haveSamePrices(before: Priced, after: Priced): boolean {
  if (PRICE_FIELDS.some((name) => before[name] !== after[name])) return false;
  if (!isSameValue(before.prices, after.prices)) return false;
  if (before.variants.length !== after.variants.length) return false;
  return before.variants.every((one, index) => {
    const other = after.variants[index]!;
    if (one === other) return true;
    const are_amounts_same = AMOUNTS.every((name) => one[name] === other[name]);
    return one.id === other.id && are_amounts_same && isSameValue(one.prices, other.prices);
  });
}

/**
 * Returns the lowest price before the reduction of the publication, or of one of its variants, in its currency or another one.
 * Undefined if the price is not reduced.
 */
export const lowestPrice = (
  { price_history }: PricedWithHistory,
  variant_id = OWN,
  currency?: string,
): number | undefined => price_history?.records[recordId(variant_id, currency)]?.lowest;

const recordId = (id: string, currency: string | undefined): string =>
  currency === undefined ? id : `${currency} ${id}`;

interface Lowest {
  readonly lowest_price_30d?: number;
}

/** Returns the field for an answer, none if the price is not reduced. */
function lowestOf(...of: Parameters<typeof lowestPrice>): Lowest {
  const lowest_price_30d = lowestPrice(...of);
  return lowest_price_30d === undefined ? {} : { lowest_price_30d };
}

/** A variant with the lowest prices before its reductions. */
export type ShownVariant = Variant & Lowest;

/** Returns the variants, the reduced ones with their lowest prices. */
export function shownVariants(publication: PricedWithHistory): readonly ShownVariant[] {
  const { variants, price_history } = publication;
  if (!price_history) return variants;
  return variants.map((variant) => {
    const { id, prices } = variant;
    const all = Object.entries(prices ?? {}).map(([currency, price]) => [
      currency,
      { ...price, ...lowestOf(publication, id, currency) },
    ]);
    const shown = { ...lowestOf(publication, id), ...(prices && { prices: Object.fromEntries(all) }) };
    return Object.keys(shown).length === 0 ? variant : { ...variant, ...shown };
  });
}

/** Returns the prices of the publication in other currencies, as an answer has them. */
export function shownPrices(publication: PricedWithHistory): JsonObject {
  const all = Object.entries(publication.prices ?? {}).map(([currency, price]) => {
    const amounts = publication.variants.flatMap(({ prices }) => prices?.[currency]?.price_amount ?? []);
    const price_range = { min: Math.min(...amounts), max: Math.max(...amounts) };
    const range = amounts.length > 0 && { price_range };
    return [currency, { ...price, ...range, ...lowestOf(publication, OWN, currency) }];
  });
  return Object.fromEntries(all) as JsonObject;
}

/** Returns the prices of the publication and of its variants in all currencies, by the ids of their records. */
function allPricesAt(publication: Priced, at_ms: number): Map<string, Price> {
  const prices = new Map<string, Price>();
  for (const priced of inEachCurrency(publication)) {
    const currency = priced === publication ? undefined : priced.price_currency;
    addPricesAt(priced, at_ms, (id, price) => prices.set(recordId(id, currency), price));
  }
  return prices;
}

/** Adds the prices in one currency. With variants, the publication costs what the cheapest one costs. */
function addPricesAt(publication: Priced, at_ms: number, set: (id: string, price: Price) => void): void {
  const { variants } = publication;
  const amountOf = pricesAt(publication, at_ms);
  const add = (id: string, one: ItemAmounts, amount: number | null) =>
    set(id, { amount, is_reduced: isReduced(one, amount) });
  let lowest = variants.length === 0 ? amountOf(publication) : null;
  for (const variant of variants) {
    const amount = amountOf(variant);
    add(variant.id, variant, amount);
    if (amount !== null && (lowest === null || amount < lowest)) lowest = amount;
  }
  add(OWN, publication, lowest);
}

/** Whether the price is below the price outside of the sale, or below the price to compare with. */
const isReduced = ({ price_amount, compare_at_amount }: ItemAmounts, amount: number | null) =>
  amount !== null && amount < Math.max(price_amount, compare_at_amount ?? 0);

/** Returns the record after a time at which the price changes, or may change. Undefined if it has nothing to say. */
function recordAfter(
  record: PriceRecord | undefined,
  from: Price,
  to: Price,
  at_ms: number,
): PriceRecord | undefined {
  const { past: earlier, lowest: running } = record ?? { past: [] };
  let past = earlier.filter((price) => isRecent(price, at_ms));
  if (from.amount !== null && from.amount !== to.amount) past = withPast(past, at_ms, from.amount);
  if (!to.is_reduced) return past.length > 0 ? { past } : undefined;
  if (running !== undefined) return { past, lowest: running };
  const before = [past[0]?.[1], from.amount ?? undefined].filter((amount) => amount !== undefined);
  return { past, lowest: before.length > 0 ? Math.min(...before) : to.amount! };
}

/** Whether the price applied in the 30 days before a time. */
const isRecent = ([until_ms]: PastPrice, at_ms: number): boolean => until_ms > at_ms - DAYS_30_MS;

/** Returns the past prices with one that ends now. */
function withPast(past: readonly PastPrice[], until_ms: number, price: number): PastPrice[] {
  const lower: PastPrice[] = past.filter((one) => one[1] < price);
  lower.push([until_ms, price]);
  if (lower.length > PAST_MAX) lower.splice(0, 2, [lower[1]![0], lower[0]![1]]);
  return lower;
}
