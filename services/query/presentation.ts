import type { ApiOperation } from '../../shared/api/operations/operation';
import type { JsonObject, JsonValue } from '../../shared/catalog/events/envelope';
import { JsonText, type Presentable, writeJson } from '../../shared/catalog/json-text';
import type { ActiveStore } from '../../shared/catalog/store/document';
import type { Presentation } from '../../shared/http/route';
import { inCurrency, marketOf, withPrice } from './currencies';
import { type Asked, fallbacksOf, localeOf, textsOf } from './languages';
import { type ListPrices, pricesInList, refuseByPrice } from './list-prices';
import type { ReadHandler } from './read';

/*
 * The language and the currency of an answer (docs/interface/languages.md#reads, docs/interface/currencies.md#reads). A read
 * makes its answer from documents, whose bodies have all translations and all prices. `presented` then shows each text in the
 * best language that has it, and each price in one currency, wherever the resource is in the answer.
 */

/** A presentation with the prices of the key's price list. */
type Shown = Presentation & { readonly listed?: ListPrices | undefined };

/** The fields of an answer that contain resources. */
const CONTAINERS = new Set(
  'data featured others listing listings publications media variants path'.split(' '),
);

/** Wraps a read: its answer has the texts and prices that the request asks for, and the prices of the key's price list. */
export const presented =
  ({ query }: ApiOperation, read: ReadHandler): ReadHandler =>
  async (deps, request) => {
    const { price_list } = request.principal;
    if (price_list !== undefined) refuseByPrice(query!, request);
    const answer = await read(deps, request);
    const { as, owner } = answer;
    // The answer is a file or a redirection.
    if (!as) return answer;
    // Publications whose JSON is stored as text are parsed, because `pricesInList` looks for their ids.
    const made = price_list === undefined ? answer.data : (JSON.parse(writeJson(answer.data)) as JsonValue);
    const listed = await pricesInList(deps, request, as.store, made);
    const data = shown(made, { ...as, listed }, owner);
    const { locale } = as;
    if (locale === undefined) return { ...answer, data };
    const { Vary = 'Authorization, Accept-Encoding' } = answer.headers ?? {};
    const headers = { ...answer.headers, 'Content-Language': locale, Vary: `${Vary}, Accept-Language` };
    return { ...answer, data, headers };
  };

/** Returns how to answer the request. Throws `invalid_query` for a market that the store does not have. */
export function presentationOf(store: ActiveStore, request: Asked): Presentation {
  const { query, principal } = request;
  const market = marketOf(store, query);
  const is_secret = principal.key_type === 'secret';
  const currency = query.currency?.[0] ?? market?.currency;
  const as = { store, currency, shows_untranslated: is_secret };
  const { locales } = store;
  if (!locales || (is_secret && query.locale === undefined && !market)) return as;
  const choices = (query.locale === undefined && market?.locales) || locales;
  const locale = localeOf(choices, request);
  const shown_locale = locales.length > 1 ? locale : undefined;
  return { ...as, locales: fallbacksOf(locales, locale), locale: shown_locale };
}

/**
 * Returns a text that two requests share if their `Accept-Language` and their `country` choose the same. Undefined if these
 * choose nothing in the store.
 */
export function choiceOf(store: ActiveStore, request: Asked): string | undefined {
  if ((store.locales?.length ?? 0) < 2 && !store.markets) return undefined;
  const { locale, currency } = presentationOf(store, request);
  return `${locale} ${currency}`;
}

/** Returns the value with its resources as they are shown. `owner`: the publication whose variants the value contains. */
export function shown(value: Presentable, as: Shown, owner?: JsonObject): Presentable {
  if (typeof value !== 'object' || value === null || isAsStored(value, as)) return value;
  if (value instanceof JsonText) return shown(value.toJSON(), as);
  if (Array.isArray(value)) return value.map((item) => shown(item, as, owner));
  const { locales } = as;
  const resource = value as JsonObject;
  const fields = pricedAs(as, resource, owner);
  const is_for_editing = !locales && resource.object !== undefined;
  const inner = resource.object === 'collection' ? owner : resource;
  const copy: Record<string, Presentable> = {};
  for (const [name, field] of Object.entries(fields))
    if (name !== 'translations' || is_for_editing)
      copy[name] = CONTAINERS.has(name) ? shown(field, as, inner) : field;
  return locales ? Object.assign(copy, textsOf(resource, owner, as)) : copy;
}

/**
 * Returns a publication or a variant with the price to show, and any other value as it is. If it has a price in the list, and the
 * request asks for another currency than that of the list, it has no price.
 */
function pricedAs(
  { currency, listed }: Shown,
  resource: JsonObject,
  owner: JsonObject | undefined,
): JsonObject {
  const price = listed?.priceOf(resource);
  if (!listed || !price) return currency === undefined ? resource : inCurrency(currency, resource, owner);
  const is_asked = currency === undefined || currency === listed.currency;
  return withPrice(listed.currency, resource, is_asked ? price : undefined);
}

/** Returns whether the presentation changes nothing of the value. To know it, no JSON text is parsed. */
function isAsStored(value: object, as: Shown): boolean {
  if (as.currency !== undefined || as.listed) return false;
  if (!(value instanceof JsonText)) return !as.store.locales;
  return !as.locales || (!as.shows_untranslated && !value.text.includes('"translations":'));
}
