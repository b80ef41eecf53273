import { z } from 'zod';

/** Codes of ISO 4217 that are no country's money: metals, units of account, tests. The runtime's table leaves them out. */
const WITHOUT_COUNTRY = 'XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX'.split(' ');

/** ISO 4217 codes in upper case, as the runtime's own currency table lists them (decisions §1). */
const CURRENCIES: ReadonlySet<string> = new Set([...Intl.supportedValuesOf('currency'), ...WITHOUT_COUNTRY]);
export const isCurrency = (code: string): boolean => CURRENCIES.has(code);

/** In hundredths of the major unit. */
export const PRICE_AMOUNT_MAX = 99_999_999_999;

export const currencySchema = z
  .string()
  .refine(isCurrency, 'an ISO 4217 currency code in upper case')
  .meta({ pattern: '^[A-Z]{3}$' });
export const amountSchema = z.int().min(0).max(PRICE_AMOUNT_MAX);
