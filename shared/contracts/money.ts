import { z } from 'zod';

/** ISO 4217 codes in upper case, as the runtime's own currency table lists them (decisions §1). */
const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));
export const isCurrency = (code: string): boolean => CURRENCIES.has(code);

/** In hundredths of the major unit. */
export const PRICE_AMOUNT_MAX = 99_999_999_999;

export const currencySchema = z.string().refine(isCurrency, 'an ISO 4217 currency code in upper case');
export const amountSchema = z.int().min(0).max(PRICE_AMOUNT_MAX);
