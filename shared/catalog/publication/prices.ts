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
}

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

/** Returns the times when the sale begins and ends, as far as they are set. */
export const saleTimes = ({ sale_from, sale_to }: Priced): number[] =>
  [sale_from, sale_to].flatMap((time) => (time === null ? [] : Date.parse(time)));

/** Returns when the sale begins or ends next, after a time. Null if no price changes then. */
export function priceChangeAfter(publication: Priced, at_ms: number): number | null {
  const next = saleTimes(publication).filter((time) => time > at_ms);
  return next.length > 0 && hasSale(publication) ? Math.min(...next) : null;
}

/** Returns a function that returns the price of the publication or of one of its variants, null if the price is inactive. */
export function pricesAt(publication: Priced, at_ms: number): (one: ItemAmounts) => number | null {
  const is_sale = isSale(publication, at_ms);
  return (one) => {
    if (!publication.price_active) return null;
    return is_sale ? priceInSale(one, publication) : one.price_amount;
  };
}
