import type { ApiOperation } from '../../shared/api/operations/operation';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { JsonText, type Presentable } from '../../shared/catalog/json-text';
import type { ActiveStore } from '../../shared/catalog/store/document';
import { inCurrency, marketOf, withPrice } from './currencies';
import { type Asked, fallbacksOf, type Language, localeOf, textsOf } from './languages';
import { type ListPrices, listPrices, refuseByPrice } from './list-prices';
import type { ReadHandler } from './read';

/*
 * The language and the currency of an answer (docs/interface/languages.md#reads, docs/interface/currencies.md#reads). A read
 * makes its answer from documents, whose bodies have all translations and all prices. `presented` then shows each text in the
 * best language that has it, and each price in one currency, wherever the resource is in the answer.
 */

export interface Presentation {
  /** Undefined: texts in the default locale, with all translations. */
  readonly language?: Language;
  /** The locale of the texts. Undefined if the store has one. */
  readonly locale?: string | undefined;
  /** Undefined: the `price_currency` of each publication, with the prices in all others. */
  readonly currency: string | undefined;
  /** The prices of the key's price list. */
  readonly listed?: ListPrices | undefined;
}

/** The fields of an answer in which resources are. */
const CONTAINERS = new Set(
  'data featured others listing listings publications media variants path'.split(' '),
);

/** Returns the read with its texts and prices as the request asks for them, and as its key sees them. */
export const presented =
  ({ query }: ApiOperation, read: ReadHandler): ReadHandler =>
  async (deps, request) => {
    const { price_list } = request.principal;
    if (price_list !== undefined) refuseByPrice(query!, request);
    const answer = await read(deps, request);
    if (answer.file || answer.status !== undefined) return answer;
    const as = presentationOf(answer.store!, request);
    const listed = price_list === undefined ? undefined : await listPrices(deps, request, answer, price_list);
    if (!as && !listed) return answer;
    const data = shown(answer.data, { currency: undefined, ...as, listed }, answer.owner);
    const locale = as?.locale;
    if (locale === undefined) return { ...answer, data };
    const { Vary = 'Authorization, Accept-Encoding' } = answer.headers ?? {};
    const headers = { ...answer.headers, 'Content-Language': locale, Vary: `${Vary}, Accept-Language` };
    return { ...answer, data, headers };
  };

/**
 * Returns undefined if answers show what documents have: for a store with one language, without a currency. Throws
 * `invalid_query` for a market that the store does not have.
 */
export function presentationOf(store: ActiveStore, request: Asked): Presentation | undefined {
  const { query, principal } = request;
  const market = marketOf(store, { market: query.market?.[0], country: query.country?.[0] });
  const currency = query.currency?.[0] ?? market?.currency;
  const { locales } = store;
  if (!locales) return currency === undefined ? undefined : { currency };
  const is_checked = principal.key_type === 'secret';
  if (is_checked && query.locale === undefined && !market) return { currency };
  const choices = (query.locale === undefined && market?.locales) || locales;
  const locale = localeOf(choices, request);
  const language = { choices: locales, locales: fallbacksOf(locales, locale), is_checked };
  return { language, locale: locales.length > 1 ? locale : undefined, currency };
}

/**
 * Returns a text that two requests share if their `Accept-Language` and their `country` choose the same. Undefined if these
 * choose nothing in the store.
 */
export function choiceOf(store: ActiveStore, request: Asked): string | undefined {
  if ((store.locales?.length ?? 0) < 2 && !store.markets) return undefined;
  const { locale, currency } = presentationOf(store, request) ?? {};
  return `${locale} ${currency}`;
}

/** Returns the locales whose translations an answer shows, the best one first. None for the default locale. */
export const localesOfTexts = (store: ActiveStore, request: Asked): readonly string[] =>
  presentationOf(store, request)?.language?.locales ?? [];

/** Returns the value with its resources as they are shown. `owner`: the publication whose variants the value contains. */
export function shown(value: Presentable, as: Presentation, owner?: JsonObject): Presentable {
  if (value instanceof JsonText) return isShownAs(value, as) ? value : shown(value.toJSON(), as);
  if (Array.isArray(value)) return value.map((item) => shown(item, as, owner));
  if (typeof value !== 'object' || value === null) return value;
  const { language } = as;
  const resource = value as JsonObject;
  const fields = pricedAs(as, resource, owner);
  const is_for_editing = !language && resource.object !== undefined;
  const inner = resource.object === 'collection' ? owner : resource;
  const copy: Record<string, Presentable> = {};
  for (const [name, field] of Object.entries(fields))
    if (name !== 'translations' || is_for_editing)
      copy[name] = CONTAINERS.has(name) ? shown(field, as, inner) : field;
  return language ? Object.assign(copy, textsOf(resource, owner, language)) : copy;
}

/**
 * Returns a publication or a variant with the price to show, and any other value as it is. What has a price in the list is
 * shown with no other price.
 */
function pricedAs(
  { currency, listed }: Presentation,
  resource: JsonObject,
  owner: JsonObject | undefined,
): JsonObject {
  const price = listed?.priceOf(resource);
  if (!listed || !price) return currency === undefined ? resource : inCurrency(currency, resource, owner);
  const is_asked = currency === undefined || currency === listed.currency;
  return withPrice(listed.currency, resource, is_asked ? price : undefined);
}

function isShownAs({ text }: JsonText, { language, currency, listed }: Presentation): boolean {
  if (currency !== undefined || listed) return false;
  return !language || (!language.is_checked && !text.includes('"translations":'));
}
