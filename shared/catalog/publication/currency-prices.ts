import { z } from 'zod';
import { type Fault, invalidField } from '../../kernel/errors';
import { isSameValue } from '../../kernel/same-value';
import { smallestAmount } from '../amounts';
import { withoutNulls } from '../fields';
import { amountField, currencyField, fewNames, timeField } from '../input-rules';

/*
 * Prices of a publication and its variants in other currencies than `price_currency`
 * (docs/interface/currencies.md, docs/decisions/0038-prices-by-currency.md).
 */

/** Of a store, and so of a publication. */
export const CURRENCIES_MAX = 20;

const count = z.int().min(0);
const shown = {
  price_amount: count.meta({
    description: 'The price in hundredths of the major unit of the currency.',
    example: 900,
  }),
  compare_at_amount: count.meta({ description: 'The price to compare with, in hundredths.', example: 1100 }),
  sale_price_amount: count.meta({
    description: 'The price during a sale, in hundredths. Not above `price_amount`.',
    example: 800,
  }),
};
const shownDates = {
  sale_from: z.string().meta({ description: 'When the sale begins.', example: '2026-11-27T00:00:00.000Z' }),
  sale_to: z.string().meta({
    description: 'When the sale ends. Must be after `sale_from`.',
    example: '2026-12-01T00:00:00.000Z',
  }),
};
const lowest_price_30d = count.optional().meta({
  description: 'The lowest price of the 30 days before the reduction that runs in this currency.',
  example: 900,
});
const price_range = z
  .strictObject({
    min: count.meta({ description: 'The lowest price, which is `price_amount`.', example: 900 }),
    max: count.meta({ description: 'The highest price.', example: 1500 }),
  })
  .optional()
  .meta({
    description: 'The prices of its variants in the currency. Omitted if it has none.',
    example: { min: 900, max: 1500 },
  });

const { price_amount, ...optional } = shown;
const optionalOf = <Shape extends z.ZodRawShape>(shape: Shape) => z.object(shape).partial().shape;
/** The price of a variant in a currency. To be small, it leaves out amounts that are not set. */
const storedVariantPrice = z.object({ price_amount, ...optionalOf(optional) });
const storedPrice = storedVariantPrice.extend(optionalOf(shownDates));
const derived = z.boolean().optional().meta({
  description:
    'True if the price follows from the one in the base currency, by the rule of a market. False if only higher prices of variants do.',
  example: true,
});
const shownVariantPrice = z.strictObject({ ...storedVariantPrice.shape, lowest_price_30d, derived });
const shownPrice = shownVariantPrice.extend({ ...optionalOf(shownDates), price_range });

/**
 * `derived`: true if the price follows from the price in the base currency (`derived-prices.ts`). False for a publication whose
 * lowest price is set and whose other prices follow. Undefined if the price is set, as all prices in events are.
 */
export type CurrencyPrice = Readonly<z.output<typeof storedPrice>> & { readonly derived?: boolean };
export type Prices = Readonly<Record<string, CurrencyPrice>>;

/** Returns the schema for a request: with its own rule, and null for what is not set. */
const sentAs = (rule: z.ZodType, schemas: Readonly<Record<string, z.ZodType>>) =>
  Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, rule.nullish().meta(schema.meta()!)]),
  );
const inputVariantPrice = z.strictObject({
  price_amount: amountField.meta(price_amount.meta()!),
  ...sentAs(amountField, optional),
});
const inputPrice = inputVariantPrice.extend(sentAs(timeField, shownDates));

/** Returns the properties of the field `prices`. A PATCH sends null for what it removes. */
function pricesField<Stored extends z.ZodType>(
  price: Stored,
  input: z.ZodType,
  answer: z.ZodType,
  of: string,
) {
  const sent = input.transform((value) => withoutNulls(value as never)).nullable();
  const of_currencies = fewNames(z.record(currencyField, sent), CURRENCIES_MAX).nullable();
  const stored = z.record(z.string(), price).optional();
  return {
    stored,
    rules: {
      input: of_currencies as z.ZodType as typeof stored,
      answer: z.record(z.string(), answer).optional() as z.ZodType as typeof stored,
      initial: undefined,
      doc: `The prices of the ${of} in other currencies of the store, by currency. A PATCH replaces the price in each currency that it has, and null removes it, or all of them. Omitted if there are none.`,
    },
  };
}

export const publicationPrices = pricesField(storedPrice, inputPrice, shownPrice, 'publication');
export const variantPrices = pricesField(storedVariantPrice, inputVariantPrice, shownVariantPrice, 'variant');
export const PRICES_EXAMPLE = { USD: { price_amount: 900 } };

export interface WithPrices {
  readonly prices?: Prices | undefined;
}

/** A publication, or what a request sends for one. */
export interface PricedContent extends WithPrices {
  readonly variants?: readonly WithPrices[] | undefined;
}

/** The prices of a request. Null removes one of them, or all. */
type PricesPatch = { readonly [currency: string]: CurrencyPrice | null } | null;

/** Returns the prices after a patch, undefined if there are none. */
export function patchedPrices(before: Prices | undefined, patch: Prices): Prices | undefined {
  const sent = (patch as PricesPatch) ?? {};
  const all = patch === null ? {} : { ...before, ...sent };
  return withoutEmpty(
    Object.fromEntries(Object.entries(all).filter(([, price]) => price !== null)) as Prices,
  );
}

/** Returns the patch that makes `wanted` of the prices `now`. */
export function patchToPrices(wanted: Prices | undefined, now: Prices | undefined): Prices {
  const removed = Object.keys(now ?? {}).filter((currency) => !wanted?.[currency]);
  const patch: PricesPatch = {
    ...wanted,
    ...Object.fromEntries(removed.map((currency) => [currency, null])),
  };
  return patch as Prices;
}

/**
 * Returns the prices of a publication: with variants, those of the cheapest variant in each currency. Returns the same object
 * if nothing changes.
 */
export function pricesWith(prices: Prices | undefined, variants: readonly WithPrices[]): Prices | undefined {
  if (variants.length === 0) return withoutEmpty(prices);
  const after: Record<string, CurrencyPrice> = {};
  for (const variant of variants)
    for (const currency in variant.prices) {
      const { price_amount, derived = false } = variant.prices[currency]!;
      const known = after[currency];
      if (known && price_amount >= known.price_amount) continue;
      const own = prices?.[currency];
      after[currency] = { ...own, price_amount, ...(own?.derived !== undefined && { derived }) };
    }
  return isSameValue(after, prices) ? prices : withoutEmpty(after);
}

const withoutEmpty = (prices: Prices | undefined): Prices | undefined =>
  prices && Object.keys(prices).length > 0 ? prices : undefined;

/** The fields with amounts of money, of a publication and of a variant. */
export const AMOUNTS = ['price_amount', 'compare_at_amount', 'sale_price_amount'] as const;
type Amounts = { readonly [Name in (typeof AMOUNTS)[number]]?: number | null | undefined };

/** Returns a fault for each new amount that the currency does not have, such as half a yen. `at`: the place of the amounts. */
export function faultsOfAmounts(
  currency: string,
  after: Amounts,
  before: Amounts = {},
  at: string = '',
): Fault[] {
  const unit = smallestAmount(currency);
  const constraint = `a multiple of ${unit}: ${currency} has no minor unit`;
  const isNew = (name: keyof Amounts) => after[name] !== before[name];
  const faulty = AMOUNTS.filter((name) => isNew(name) && (after[name] ?? 0) % unit !== 0);
  return faulty.map((name) => invalidField(at + name, constraint));
}

/** Returns what is wrong with the prices that differ from those before. `price_currency`: the currency of the publication. */
export function faultsOfCurrencies(
  price_currency: string,
  { prices = {} }: WithPrices,
  before: WithPrices | undefined,
): Fault[] {
  const changed = Object.entries(prices).filter(
    ([currency, price]) => !isSameValue(price, before?.prices?.[currency]),
  );
  return changed.flatMap(([currency, price]) => {
    const at = `prices.${currency}`;
    if (currency === price_currency)
      return invalidField(at, 'another currency than price_currency, whose price is in price_amount');
    const { price_amount, sale_price_amount = 0, sale_from, sale_to } = price;
    return [
      ...faultsOfAmounts(currency, price, {}, `${at}.`),
      ...(sale_price_amount > price_amount
        ? [invalidField(`${at}.sale_price_amount`, 'at most price_amount')]
        : []),
      ...(sale_from && sale_to && sale_from >= sale_to
        ? [invalidField(`${at}.sale_to`, 'after sale_from')]
        : []),
    ];
  });
}

/** Returns the currencies in which a publication or a request has prices. */
export function currenciesIn({ prices, variants = [] }: PricedContent): Set<string> {
  const sent = [prices, ...variants.map((variant) => variant.prices)];
  const set = sent.flatMap((each) => Object.entries(each ?? {}).filter(([, price]) => price !== null));
  return new Set(set.map(([currency]) => currency));
}
