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
