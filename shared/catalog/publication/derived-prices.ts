import { z } from 'zod';
import { isSameValue } from '../../kernel/same-value';
import { derivedAmount, type PriceRule } from '../amounts';
import type { WithMarkets } from '../store/markets';
import type { CurrencyPrice, Prices, WithPrices } from './currency-prices';
import type { ItemAmounts, Priced } from './prices';

/*
 * Prices that follow from those in the base currency of the store (docs/interface/markets.md#derived-prices). An event of a
 * publication has the rules. Its state, and so its document, has the prices, each marked with `derived`. Events never have
 * them.
 */

/** The rule of each derived currency. `of`: the base currency of the store. */
export const priceRulesSchema = z.record(
  z.string(),
  z.object({ of: z.string(), percent: z.number(), ending: z.int().nullable() }),
);
export type PriceRules = Readonly<z.output<typeof priceRulesSchema>>;

/** Returns the rules of a store, by currency. */
export function priceRulesOf({ markets = [], currencies: [of = ''] = [] }: WithMarkets): PriceRules {
  const derived = markets.filter((market) => market.derived);
  return Object.fromEntries(derived.map(({ currency, derived }) => [currency, { of, ...derived! }]));
}

/** Returns a text that is the same for equal rules. */
export const textOfRules = (rules: PriceRules): string =>
  Object.entries(rules)
    .map(([currency, { of, percent, ending }]) => `${currency}=${of}*${percent}%${ending ?? ''}`)
    .sort()
    .join(' ');

interface WithRules extends Priced {
  readonly price_rules?: PriceRules | undefined;
}

/**
 * Returns the publication with its derived prices. A price that is set wins. If some variants have a derived price in a
 * currency, the other amounts and the sale of the publication are derived, too, unless they are set. `before`: its state
 * before the event, whose unchanged variants have their prices already.
 */
export function withDerivedPrices<P extends WithRules>(publication: P, before?: WithRules): P {
  const { price_rules, price_currency, sale_from, sale_to } = publication;
  if (!price_rules) return publication;
  const rules = Object.entries(price_rules).filter(([, { of }]) => of === price_currency);
  const has_same_rules = price_rules === before?.price_rules && price_currency === before.price_currency;
  const known = new Set(has_same_rules ? before.variants : []);
  const variants = publication.variants.map((variant) =>
    known.has(variant) ? variant : withPrices(variant, rules, () => true),
  );
  const has_variants = variants.length > 0;
  const own_rules = rules.filter(
    ([currency]) =>
      !has_variants || variants.some(({ prices = {} }: WithPrices) => prices[currency]?.derived),
  );
  const isSet = (price: CurrencyPrice): boolean => !has_variants || Object.keys(price).length > 1;
  const sale = { ...(sale_from && { sale_from }), ...(sale_to && { sale_to }) };
  return withPrices({ ...publication, variants }, own_rules, isSet, sale);
}

/** Returns the item with a derived price in each currency of the rules, except where one is set. */
function withPrices<Item extends ItemAmounts & WithPrices>(
  item: Item,
  rules: readonly (readonly [currency: string, rule: PriceRule])[],
  isSet: (price: CurrencyPrice) => boolean,
  sale: object = {},
): Item {
  const { price_amount, compare_at_amount, sale_price_amount } = item;
  const set = setPrices(item.prices) ?? {};
  const unset = rules.filter(([currency]) => !set[currency] || !isSet(set[currency]));
  const derived = unset.map(([currency, rule]): [string, CurrencyPrice] => {
    const derive = (amount: number) => derivedAmount(amount, rule, currency);
    const optional = {
      ...(compare_at_amount !== null && { compare_at_amount: derive(compare_at_amount) }),
      ...(sale_price_amount !== null && { sale_price_amount: derive(sale_price_amount) }),
    };
    return [currency, { price_amount: derive(price_amount), ...optional, ...sale, derived: true }];
  });
  return replaced(item, { ...set, ...Object.fromEntries(derived) });
}

/** Returns the publication with the prices that are set only. */
export function withoutDerivedPrices<P extends WithRules>(publication: P): P {
  if (!publication.price_rules) return publication;
  const variants = publication.variants.map((one) => replaced(one, setPrices(one.prices)));
  return replaced({ ...publication, variants }, setPrices(publication.prices));
}

const setPrices = (prices: Prices | undefined): Prices | undefined =>
  prices && Object.fromEntries(Object.entries(prices).filter(([, price]) => price.derived === undefined));

/** Returns the item with these prices, without the field if there are none, and the same item if nothing changes. */
function replaced<Item extends WithPrices>(item: Item, prices: Prices = {}): Item {
  if (isSameValue(item.prices ?? {}, prices)) return item;
  const { prices: _, ...others } = item;
  return { ...others, ...(Object.keys(prices).length > 0 && { prices }) } as Item;
}
