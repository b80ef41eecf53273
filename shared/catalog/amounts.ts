/* Amounts of money. The file imports nothing, because the console imports it. */

/** The largest price, in hundredths of the major unit. */
export const PRICE_AMOUNT_MAX = 99_999_999_999;

/** The codes without a minor unit. */
const WHOLE: ReadonlySet<string> = new Set(
  'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' '),
);

/**
 * Returns the smallest amount in a currency, in hundredths of its major unit (docs/interface/requests.md#money): 100 for one without a
 * minor unit. Amounts in a currency with thousandths are stored in hundredths, too.
 */
export const smallestAmount = (currency: string): number => (WHOLE.has(currency) ? 100 : 1);

/** The codes whose minor unit is not a hundredth, with its decimals. */
const DECIMALS: Readonly<Record<string, number>> = {
  ...Object.fromEntries([...WHOLE].map((code) => [code, 0])),
  ...{ BHD: 3, IQD: 3, JOD: 3, KWD: 3, LYD: 3, OMR: 3, TND: 3, CLF: 4, UYW: 4 },
};

/** Returns how many minor units of the currency (ISO 4217) a hundredth of its major unit is: 0.01 for yen. */
export const minorUnitsOfHundredth = (currency: string): number => 10 ** ((DECIMALS[currency] ?? 2) - 2);

/** Formats an amount in hundredths (docs/interface/requests.md#money), with the decimals of the currency. */
export const formatAmount = (language: string, amount: number, currency: string): string =>
  formatFor(language, amount, currency).format(amount / 100);

/** Formats an amount as `formatAmount` does, but without separators and the currency: `12.50`. */
export const plainAmount = (amount: number, currency: string): string =>
  (amount / 100).toFixed(formatFor('en', amount, currency).resolvedOptions().maximumFractionDigits);

/**
 * An amount with hundredths has two decimals at least: `Intl` shows many currencies without decimals that have some, such
 * as the forint, and an amount of an earlier release may have more decimals than its currency.
 */
function formatFor(language: string, amount: number, currency: string): Intl.NumberFormat {
  const format = new Intl.NumberFormat(language, { style: 'currency', currency });
  const { minimumFractionDigits = 0 } = format.resolvedOptions();
  if (amount % 100 === 0 || minimumFractionDigits >= 2) return format;
  return new Intl.NumberFormat(language, { style: 'currency', currency, minimumFractionDigits: 2 });
}

/** How a price follows from the price in the base currency (docs/interface/markets.md#derived-prices). */
export interface PriceRule {
  readonly percent: number;
  readonly ending: number | null;
}

export const PERCENT_DECIMALS = 6;
const PERCENT_UNITS = 10 ** PERCENT_DECIMALS;

/**
 * Returns the amount in a currency, in hundredths: the percentage, rounded half up to the smallest unit of the currency, then up
 * to the next amount with the ending in that unit. A price above 0 stays above 0.
 */
export function derivedAmount(amount: number, { percent, ending }: PriceRule, currency: string): number {
  if (amount === 0) return 0;
  const unit = smallestAmount(currency);
  // Both factors are integers, whose product may be larger than a safe integer.
  const product = BigInt(amount) * BigInt(Math.round(percent * PERCENT_UNITS));
  const divisor = BigInt(100 * PERCENT_UNITS * unit);
  const units = Math.max(1, Number((2n * product + divisor) / (2n * divisor)));
  const up = ending === null ? 0 : (((ending - (units % 100)) % 100) + 100) % 100;
  return Math.min(units + up, Math.floor(PRICE_AMOUNT_MAX / unit)) * unit;
}
