import { z } from 'zod';
import type { Condition } from '../kernel/errors';
import { isUuid } from '../kernel/uuid';

/** Controls and lone surrogates: nothing that a text may hold, line breaks and tabs excepted where named. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;
const UNPRINTABLE_BUT_BREAKS = /(?![\t\n\r])[\p{Cc}\p{Cs}]/u;
/** Anything but spaces and invisible formatting. */
const VISIBLE = /[^\p{Z}\p{Cf}]/u;

const constraint = (condition: Condition, error: string) => ({ params: { condition }, error, abort: true });

/** One line: trimmed, then 1 to `max` code points with something to see, no control character. */
export function lineField(max: number) {
  return z
    .string()
    .trim()
    .refine((text) => !UNPRINTABLE.test(text), constraint('field_invalid', 'no control characters'))
    .refine((text) => VISIBLE.test(text), constraint('field_too_short', 'at least 1 character'))
    .refine(
      (text) => fits(text, max),
      constraint('field_too_long', `at most ${max.toLocaleString('en')} characters`),
    )
    .meta({ minLength: 1, maxLength: max });
}

/** Any number of lines of at most `max` code points together; kept as written. */
export function textField(max: number) {
  return z
    .string()
    .refine(
      (text) => !UNPRINTABLE_BUT_BREAKS.test(text),
      constraint('field_invalid', 'no control characters but tab and line break'),
    )
    .refine(
      (text) => fits(text, max),
      constraint('field_too_long', `at most ${max.toLocaleString('en')} characters`),
    )
    .meta({ maxLength: max });
}

/** An id in the body; a path's or query's id is checked elsewhere (`invalid_uuid`). Lower case comes out. */
export const idField = z
  .string()
  .refine(isUuid, constraint('field_invalid', 'a UUID'))
  .meta({ format: 'uuid' })
  .transform((id) => id.toLowerCase());

/** At most `max` different ids, in order. */
function idsField(max: number) {
  return z.array(idField).max(max).superRefine(refuseRepeats).meta({ uniqueItems: true });
}

/** Ids of media; null is the same as none. */
export function mediaIdsField(max: number) {
  return idsField(max)
    .nullable()
    .transform((ids) => ids ?? []);
}

/** An ISO 8601 time with its zone; comes out in UTC with milliseconds (decisions §1). */
export const timeField = z.iso.datetime({ offset: true }).transform((text) => new Date(text).toISOString());

function refuseRepeats(ids: readonly string[], context: z.RefinementCtx): void {
  ids.forEach((id, index) => {
    if (ids.indexOf(id) === index) return;
    context.addIssue({
      code: 'custom',
      path: [index],
      message: 'each id once',
      params: { condition: 'field_invalid' satisfies Condition },
    });
  });
}

/** Lengths count code points; a text never has more of them than UTF-16 units. */
export function fits(text: string, max: number): boolean {
  if (text.length <= max) return true;
  let points = 0;
  for (const _point of text) if (++points > max) return false;
  return true;
}

/** Codes of ISO 4217 that are no country's money: metals, units of account, tests. The runtime's table leaves them out. */
const WITHOUT_COUNTRY = 'XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX'.split(' ');

/** ISO 4217 codes in upper case, as the runtime's own currency table lists them (decisions §1). */
const CURRENCIES: ReadonlySet<string> = new Set([...Intl.supportedValuesOf('currency'), ...WITHOUT_COUNTRY]);
export const isCurrency = (code: string): boolean => CURRENCIES.has(code);

/** In hundredths of the major unit. */
export const PRICE_AMOUNT_MAX = 99_999_999_999;

/** A currency's code. */
export const currencyField = z
  .string()
  .refine(isCurrency, 'an ISO 4217 currency code in upper case')
  .meta({ pattern: '^[A-Z]{3}$' });

/** An amount of money. */
export const amountField = z.int().min(0).max(PRICE_AMOUNT_MAX);
