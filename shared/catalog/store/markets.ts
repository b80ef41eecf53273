import { z } from 'zod';
import { type Fault, invalidField } from '../../kernel/errors';
import { PERCENT_DECIMALS } from '../amounts';
import { currencyField, distinctField, handleField } from '../input-rules';
import { LOCALES_MAX, localeField } from '../translations';

/** The markets of a store (docs/interface/markets.md, docs/decisions/0039-markets.md). */

const MARKETS_MAX = 50;
/** Enough for the exchange rates of all pairs of currencies. */
const PERCENT_MAX = 10_000_000;

/** The officially assigned alpha-2 codes of ISO 3166-1, as of January 2026 (https://www.iso.org/obp/ui/#search/code/). */
const COUNTRIES: readonly string[] = `
  AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD
  CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF
  GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN
  KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA
  NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI
  SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI
  VN VU WF WS YE YT ZA ZM ZW`
  .trim()
  .split(/\s+/);

/** An ISO 3166-1 alpha-2 code in upper case. */
export const countryField = z
  .string()
  .refine((code) => COUNTRIES.includes(code), 'an ISO 3166-1 alpha-2 country code in upper case')
  .meta({ pattern: `^(${COUNTRIES.join('|')})$` });

/** How the prices in the currency of a market follow from those in the base currency. */
const derivedSchema = z.object({ percent: z.number(), ending: z.int().nullable() });

const marketSchema = z.object({
  handle: z.string(),
  currency: z.string(),
  locales: z.array(z.string()).optional(),
  countries: z.array(z.string()),
  derived: derivedSchema.optional(),
});
export type Market = Readonly<z.output<typeof marketSchema>>;

const hasFewDecimals = (percent: number): boolean => Number(percent.toFixed(PERCENT_DECIMALS)) === percent;

const sent = z.strictObject({
  handle: handleField.meta({
    description: 'The name of the market in addresses. Unique in the store.',
    example: 'eu',
  }),
  currency: currencyField.meta({
    description: 'The currency of its prices, one of the `currencies` of the store.',
    example: 'USD',
  }),
  locales: distinctField(localeField, LOCALES_MAX, 'locale')
    .min(1)
    .optional()
    .meta({
      description:
        'Its languages, some of the `locales` of the store, the default one first. Without it, those of the store.',
      example: ['de', 'es'],
    }),
  countries: distinctField(countryField, COUNTRIES.length, 'country').meta({
    description: 'Its countries, as ISO 3166-1 alpha-2 codes. No country is in two markets.',
    example: ['DE', 'AT'],
  }),
  derived: z
    .strictObject({
      percent: z
        .number()
        .gt(0)
        .max(PERCENT_MAX)
        .refine(hasFewDecimals, `a number with at most ${PERCENT_DECIMALS} decimals`)
        .meta({ description: 'The price in percent of the price in the base currency.', example: 25.5 }),
      ending: z.int().min(0).max(99).nullable().meta({
        description: 'The last two digits of the price, to which it is rounded up. Null: none.',
        example: 99,
      }),
    })
    .optional()
    .meta({
      description: 'Makes prices in the currency from those in the base currency, where none is set.',
      example: { percent: 25.5, ending: 99 },
    }),
});

export const storedMarkets = z.array(marketSchema).optional();

/** The properties of the field `markets` of a store. */
export const markets = {
  input: z.array(sent).max(MARKETS_MAX) as z.ZodType<Market[]>,
  answer: z.array(sent).optional() as z.ZodType<Market[] | undefined>,
  initial: undefined,
  doc: `The markets of the store: countries with a currency and languages, at most ${MARKETS_MAX}. A PATCH replaces the list.`,
  example: [
    {
      handle: 'eu',
      currency: 'USD',
      locales: ['de', 'es'],
      countries: ['DE', 'AT'],
      derived: { percent: 25.5, ending: 99 },
    },
  ],
};

/** The fields of a store that its markets depend on. */
export interface WithMarkets {
  readonly markets?: readonly Market[] | undefined;
  readonly currencies?: readonly string[] | undefined;
  readonly locales?: readonly string[] | undefined;
}

/** Makes at most 20,480 prices of a publication with 2,048 variants, so that a write of it ends in time. */
const DERIVED_MAX = 10;

/**
 * Returns what is wrong with the markets after a write. A write that does not send markets is faulty in its `currencies` or
 * `locales`, if a market needs one that they no longer have.
 */
export function faultsOfMarkets(sent: WithMarkets, before: WithMarkets = {}): Fault[] {
  const { markets = before.markets ?? [], currencies = before.currencies ?? [] } = sent;
  const { locales = before.locales ?? [] } = sent;
  const seen = new Set<string>();
  let deriving = 0;
  const isRepeated = (kind: string, value: string): boolean =>
    seen.size === seen.add(`${kind} ${value}`).size;
  return markets.flatMap(({ handle, currency, countries, derived, ...market }, index) => {
    const faultIf = (is_broken: unknown, at: string, constraint: string): Fault[] =>
      is_broken ? [invalidField(`markets.${index}.${at}`, constraint)] : [];
    /** Returns a fault of `list` if the write sends only the list. */
    const faultUnless = (suits: boolean, at: string, constraint: string, list: string, of_list: string) =>
      suits || sent.markets
        ? faultIf(!suits, at, constraint)
        : [invalidField(list, `a list ${of_list} of the market ${handle}`)];
    const is_base = derived !== undefined && currency === currencies[0];
    const in_currency = `with ${currency}, the currency`;
    const not_first = `that does not begin with ${currency}, the derived currency`;
    const of_store = (list: string) => `one of the ${list} of the store`;
    return [
      ...faultIf(isRepeated('handle', handle), 'handle', 'another one than every other market'),
      ...faultUnless(
        currencies.includes(currency),
        'currency',
        of_store('currencies'),
        'currencies',
        in_currency,
      ),
      ...(market.locales ?? []).flatMap((locale, nth) =>
        faultUnless(
          locales.includes(locale),
          `locales.${nth}`,
          of_store('locales'),
          'locales',
          `with ${locale}, a locale`,
        ),
      ),
      ...countries.flatMap((code, nth) =>
        faultIf(isRepeated('country', code), `countries.${nth}`, 'a country of no other market'),
      ),
      ...faultUnless(
        !is_base,
        'derived',
        'left out: the currency is the base currency',
        'currencies',
        not_first,
      ),
      ...faultIf(
        derived && isRepeated('derived', currency),
        'derived',
        'left out: another market derives the prices in this currency',
      ),
      ...faultIf(derived && ++deriving > DERIVED_MAX, 'derived', `in at most ${DERIVED_MAX} markets`),
    ];
  });
}
