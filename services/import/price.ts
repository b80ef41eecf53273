import { formatPrice, PRICE_AMOUNT_MAX } from '../../shared/catalog/input-rules';
import { shortenText } from '../../shared/kernel/text';
import { RowError } from './item';

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
