import { PRICE_AMOUNT_MAX } from '../../shared/catalog/amounts';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { withoutNulls } from '../../shared/catalog/fields';
import { formatPrice, slugOf } from '../../shared/catalog/input-rules';
import type { Prices } from '../../shared/catalog/publication/currency-prices';
import type { Store } from '../../shared/catalog/store/store';
import { shortenText } from '../../shared/kernel/text';
import { RowError } from './item';

/** A column with prices in another currency. It names the currency, or a market, as in Shopify's files. */
const OTHER_PRICE = /^(?:Variant )?(Compare[ -]At )?Price \/ (.+)$/i;
/** What the columns of prices in other currencies are read as: `EUR/price_amount`. No attribute has such a name. */
const READ_AS = /^([A-Z]{3})\/(price_amount|compare_at_amount)$/;

/** Returns what a column of prices in another currency is read as. Undefined if the store has neither the currency nor the market. */
export function otherPrice(
  column: string,
  { currencies = [], markets = [] }: OtherCurrencies,
): string | undefined {
  const [, compare_at, name = ''] = OTHER_PRICE.exec(column) ?? [];
  const { currency = name.toUpperCase() } = markets.find(({ handle }) => handle === slugOf(name)) ?? {};
  const field = compare_at ? 'compare_at_amount' : 'price_amount';
  return currencies.slice(1).includes(currency) ? `${currency}/${field}` : undefined;
}

/** The currencies and markets of a store. The first currency is that of the other columns. */
export type OtherCurrencies = Pick<Store, 'currencies' | 'markets'>;

/** Whether a column is read as prices in another currency. */
export const isOtherPrice = (read_as: string): boolean => READ_AS.test(read_as);

/**
 * Returns the prices in the cells of a row, null for a currency whose price is empty. Undefined if no cell has a price in another
 * currency. Throws `RowError` for a compare-at price without a price.
 */
export function otherPrices(cells: readonly (readonly [column: string, cell: string])[]): Prices | undefined {
  const found = new Map<string, { price_amount?: number | null; compare_at_amount?: number | null }>();
  for (const [column, cell] of cells) {
    const [, currency, field] = READ_AS.exec(column) ?? [];
    if (currency && field)
      found.set(currency, { ...found.get(currency), [field]: cell === '' ? null : parsePrice(cell) });
  }
  const prices = [...found].flatMap(([currency, price]): [string, object | null][] => {
    const { price_amount, compare_at_amount = null } = price;
    if (typeof price_amount === 'number') return [[currency, price]];
    if (compare_at_amount !== null) throw new RowError(`missing price in ${currency}`);
    return price_amount === null ? [[currency, null]] : [];
  });
  return prices.length === 0 ? undefined : (Object.fromEntries(prices) as Prices);
}

/** Returns the patch in which each price keeps what `prices` does not have. */
export function pricesKeeping(before: Prices = {}, prices: Prices): Prices {
  const patch = Object.entries(prices).map(([currency, price]) => [
    currency,
    price && withoutNulls({ ...before[currency], ...price } as JsonObject),
  ]);
  return Object.fromEntries(patch) as Prices;
}

/**
 * `12`, `12.5`, `12.50`, `.5`: digits and at most one point. No sign, symbol or thousands separator. A comma is a point if
 * one or two digits follow it: `12,50`. Three digits are refused: `1.250` and `1,250` may mean 1250.
 */
const DECIMAL = /^(?=[.\d])(\d*)(?:\.(\d*)|,(\d{1,2}))?$/;

/**
 * Parses a decimal text to hundredths. Works on the digits, because a binary fraction would round some amounts. Every
 * currency uses hundredths, also one without a minor unit (docs/interface/requests.md#money): `500` yen are 50000. Throws
 * `RowError` if the text is not a price.
 */
export function parsePrice(text: string): number {
  const trimmed = text.trim();
  const refuse = (reason: string): never => {
    throw new RowError(`price "${shortenText(trimmed, 40)}": ${reason}`);
  };
  if (trimmed.startsWith('-')) return refuse('must not be negative');
  const parts = DECIMAL.exec(trimmed);
  if (!parts || trimmed === '.') return refuse('must be a decimal number such as 12.50');
  if (Number(parts[1]) > 0 && parts[2]?.length === 3)
    return refuse('has two meanings, as a point may separate thousands. Write 1250 or 1.25');
  const whole = parts[1]!.replace(/^0+/, '');
  const fraction = (parts[2] ?? parts[3] ?? '').replace(/0+$/, '');
  if (fraction.length > 2) return refuse('must have at most two decimals');
  // A number represents at most 15 digits exactly. An amount with more digits is above the maximum anyway.
  const digits = whole + fraction.padEnd(2, '0');
  const amount = digits.length > 15 ? Number.POSITIVE_INFINITY : Number(digits);
  return amount > PRICE_AMOUNT_MAX ? refuse(`must be at most ${formatPrice(PRICE_AMOUNT_MAX)}`) : amount;
}
