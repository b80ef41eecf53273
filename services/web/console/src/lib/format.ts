/* Money, numbers and dates in the language of the page. Amounts of the interface are hundredths in every currency. */

const formats = new Map<string, Intl.NumberFormat>();

function numberFormat(locale: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = `${locale} ${JSON.stringify(options)}`;
  const known = formats.get(key);
  if (known) return known;
  const made = new Intl.NumberFormat(locale, options);
  formats.set(key, made);
  return made;
}

export const formatNumber = (value: number, locale: string): string => numberFormat(locale, {}).format(value);

/** Such as `S/ 12.50`. Hides the decimals that the currency does not have. */
export function formatMoney(amount: number, currency: string | undefined, locale: string): string {
  if (!isCurrency(currency)) return formatAmount(amount, 'USD', locale);
  return numberFormat(locale, { style: 'currency', currency, currencyDisplay: 'narrowSymbol' }).format(
    amount / 100,
  );
}

/** An amount without its currency, as it is typed: `12.50`. */
export function formatAmount(amount: number, currency: string | undefined, locale: string): string {
  const digits = Math.min(2, decimalsOf(currency));
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false };
  return numberFormat(locale, options).format(amount / 100);
}

/** Whether the text has the form of a code. While a code is typed, it has not. */
const isCurrency = (code: string | undefined): code is string => /^[A-Za-z]{3}$/.test(code ?? '');

function decimalsOf(code: string | undefined): number {
  const currency = isCurrency(code) ? code : 'USD';
  return numberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;
}

/** The smallest amount of the currency, in hundredths. */
const unitOf = (currency: string | undefined): number => 10 ** Math.max(0, 2 - decimalsOf(currency));

/** Groups of three digits, or digits without groups, and at most two decimals. */
const AMOUNT = /^(?:([1-9]\d{0,2})((?:([.,])\d{3})(?:\3\d{3})*)|(\d+))(?:([.,])(\d{0,2}))?$/;

/**
 * Parses an amount as people type or paste it: `1,250.50`, `1.250,50`, `S/ 12`, `12 €`. Returns hundredths, null for an empty text, and
 * undefined if the text is no amount of the currency.
 */
export function parseMoney(text: string, currency: string | undefined): number | null | undefined {
  const typed = text.replace(/[\s\u00a0\u202f'’]/gu, '');
  if (typed === '') return null;
  // Such as `S/`, `US$`, `Bs.`, `EUR` before the digits, and `€` or `kr` after them.
  const bare = typed.replace(/^[\p{L}\p{Sc}]{1,3}[./]?(?=\d)|(?<=\d)[\p{L}\p{Sc}]{1,3}\.?$/gu, '');
  const [match, first = '', groups = '', group, plain = '', separator, decimals = ''] =
    AMOUNT.exec(bare) ?? [];
  if (!match || (group && group === separator)) return undefined;
  const whole = first + groups.replace(/[.,]/g, '') + plain;
  const amount = Number(whole + decimals.padEnd(2, '0'));
  return Number.isSafeInteger(amount) && amount % unitOf(currency) === 0 ? amount : undefined;
}

export const formatDate = (iso: string, locale: string): string =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'medium' }).format(new Date(iso));

export const formatTime = (iso: string, locale: string): string =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(iso));

/** Such as `Today`, or `Saturday, November 29, 2025`. */
export function formatDay(iso: string, locale: string, now_ms = Date.now()): string {
  const dayOf = (ms: number) => new Date(ms).setHours(0, 0, 0, 0);
  const days = Math.round((dayOf(Date.parse(iso)) - dayOf(now_ms)) / 86_400_000);
  const day =
    Math.abs(days) <= 1
      ? new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }).format(days, 'day')
      : new Intl.DateTimeFormat(locale, { dateStyle: 'full' }).format(new Date(iso));
  return day.charAt(0).toLocaleUpperCase(locale) + day.slice(1);
}

export const formatHour = (iso: string, locale: string): string =>
  new Intl.DateTimeFormat(locale, { timeStyle: 'short' }).format(new Date(iso));

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** Such as `3 hours ago`. After a month, returns the date. */
export function formatAgo(iso: string, locale: string, now_ms = Date.now()): string {
  const passed_ms = now_ms - Date.parse(iso);
  if (Math.abs(passed_ms) > 30 * 86_400_000) return formatDate(iso, locale);
  const [unit, length_ms] = UNITS.find(([, length]) => Math.abs(passed_ms) >= length) ?? ['second', 1_000];
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  return format.format(-Math.round(passed_ms / length_ms), unit as Intl.RelativeTimeFormatUnit);
}

export const formatBytes = (bytes: number, locale: string): string => {
  const is_large = bytes >= 1_000_000;
  const unit = is_large ? 'megabyte' : 'kilobyte';
  const options = { style: 'unit', unit, maximumFractionDigits: is_large ? 1 : 0 } as const;
  return numberFormat(locale, options).format(bytes / (is_large ? 1_000_000 : 1_000));
};
