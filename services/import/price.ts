import { PRICE_AMOUNT_MAX } from '../../shared/catalog/input-rules';

/** A price in hundredths, or why the text is none. */
export type ParsedPrice =
  | { readonly ok: true; readonly amount: number }
  | { readonly ok: false; readonly reason: string };

/** `12`, `12.5`, `12.50`, `.5`: digits and at most one point. No sign, symbol or thousands separator. */
const DECIMAL = /^(?=[.\d])(\d*)(?:\.(\d*))?$/;

/**
 * A decimal text to hundredths, digit by digit, so that no amount passes through a binary fraction. Every currency is
 * in hundredths, those without a minor unit included (decisions §1): `500` yen are 50000.
 */
export function parsePrice(text: string): ParsedPrice {
  const trimmed = text.trim();
  const refuse = (why: string): ParsedPrice => ({ ok: false, reason: `price "${shorten(trimmed)}" ${why}` });
  if (trimmed.startsWith('-')) return refuse('is negative');
  const parts = DECIMAL.exec(trimmed);
  if (!parts || trimmed === '.') return refuse('is no decimal number such as 12.50');
  const whole = parts[1]!.replace(/^0+/, '');
  const fraction = (parts[2] ?? '').replace(/0+$/, '');
  if (fraction.length > 2) return refuse('has more than two decimals');
  // Longer than the largest amount's digits: refused before it becomes a number that cannot hold it.
  const digits = whole + fraction.padEnd(2, '0');
  const amount = digits.length > 15 ? Number.POSITIVE_INFINITY : Number(digits);
  if (amount > PRICE_AMOUNT_MAX) return refuse(`is above ${formatPrice(PRICE_AMOUNT_MAX)}`);
  return { ok: true, amount };
}

/** `1250` → `12.50`. */
export function formatPrice(amount: number): string {
  const digits = String(amount).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

function shorten(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
