import { PRICE_AMOUNT_MAX } from '../amounts';
import type { CurrencyPrice, Prices } from './currency-prices';
import type { Variant } from './variants';

/** What a publication and its variants cost at a time, in Unix milliseconds (docs/interface/publications.md#sales). */

/** The amounts of a publication or of one of its variants. */
export type ItemAmounts = Pick<Variant, 'price_amount' | 'compare_at_amount' | 'sale_price_amount'>;

/** The fields of a publication that its prices follow from. */
export interface Priced extends ItemAmounts {
  readonly price_currency: string;
  readonly price_active: boolean;
  readonly sale_from: string | null;
  readonly sale_to: string | null;
  readonly variants: readonly Variant[];
  readonly prices?: Prices | undefined;
}

/**
 * Returns the publication and its variants with their prices in a currency of its `prices`. Leaves out variants that have no
 * price in it.
 */
function pricedIn(publication: Priced, currency: string): Priced {
  const { price_active, variants, prices } = publication;
  const price = prices![currency]!;
  return {
    ...amountsOf(price),
    price_currency: currency,
    price_active,
    sale_from: price.sale_from ?? null,
    sale_to: price.sale_to ?? null,
    variants: variants.flatMap((variant) => {
      const of_variant = variant.prices?.[currency];
      return of_variant ? { ...variant, ...amountsOf(of_variant) } : [];
    }),
  };
}

const amountsOf = ({ price_amount, compare_at_amount, sale_price_amount }: CurrencyPrice): ItemAmounts => ({
  price_amount,
  compare_at_amount: compare_at_amount ?? null,
  sale_price_amount: sale_price_amount ?? null,
});

/** Returns the publication as it is, and then in each other currency. */
export const inEachCurrency = (publication: Priced): Priced[] => [
  publication,
  ...Object.keys(publication.prices ?? {}).map((currency) => pricedIn(publication, currency)),
];

/**
 * Returns a price and its currency as one number, so that a range of prices in a currency is a range of numbers. All of these
 * numbers are above `PRICE_AMOUNT_MAX`, and the largest one, for `ZZZ`, is a safe integer.
 */
export const priceIn = (currency: string, price: number): number =>
  Number.parseInt(currency, 36) * (PRICE_AMOUNT_MAX + 1) + price;

/** Returns the price in a sale. A variant without a sale price has that of its publication. */
const priceInSale = (one: ItemAmounts, { sale_price_amount }: Priced): number =>
  Math.min(one.price_amount, one.sale_price_amount ?? sale_price_amount ?? one.price_amount);

/** Whether something costs less while the sale runs. */
export function hasSale(publication: Priced): boolean {
  const all = [publication, ...publication.variants];
  return publication.price_active && all.some((one) => priceInSale(one, publication) < one.price_amount);
}

/** Whether it is the time of a sale. */
export const isSale = ({ sale_from, sale_to }: Priced, at_ms: number): boolean =>
  (sale_from === null || Date.parse(sale_from) <= at_ms) && (sale_to === null || at_ms < Date.parse(sale_to));

/** Returns the times when a sale begins and ends, in all currencies, in order. */
export function saleTimes({ sale_from, sale_to, prices }: Omit<Priced, 'variants'>): number[] {
  const spans = [{ sale_from, sale_to }, ...Object.values(prices ?? {})];
  const times = spans.flatMap((sale) => [sale.sale_from, sale.sale_to].filter((time) => time != null));
  return [...new Set(times)].sort().map((time) => Date.parse(time));
}

/** Returns when a sale begins or ends next in any currency, after a time. Null if no price changes then. */
export function priceChangeAfter(publication: Priced, at_ms: number): number | null {
  const next = inEachCurrency(publication).flatMap((one) =>
    saleTimes({ ...one, prices: undefined }).filter((time) => time > at_ms && hasSale(one)),
  );
  return next.length > 0 ? Math.min(...next) : null;
}

/** Returns a function that returns the price of the publication or of one of its variants, null if the price is inactive. */
export function pricesAt(publication: Priced, at_ms: number): (one: ItemAmounts) => number | null {
  const is_sale = isSale(publication, at_ms);
  return (one) => {
    if (!publication.price_active) return null;
    return is_sale ? priceInSale(one, publication) : one.price_amount;
  };
}
