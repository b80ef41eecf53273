import { languageOf } from '../../shared/catalog/translations';
import type { ListSortMode } from '../../shared/catalog/vocabulary';
import type { Presentation } from '../../shared/http/route';
import type { DocumentReader } from '../../shared/ports/document-reader';
import { namedReader, pricedReader } from './variant-reader';

interface ListQuery {
  readonly currency?: string | undefined;
  readonly priced?: true | undefined;
  readonly has_price?: boolean | undefined;
}

/**
 * Returns the query of a list of publications for its filters, in which `priced` is `has_price`, and a reader that finds publications
 * by the prices and titles of the answer. The keys of documents have the base currency and the default locale, which the query
 * therefore does not name: its cursors are those of a store with one currency and one language.
 */
export function withVariants<Query extends ListQuery>(
  as: Presentation,
  version: DocumentReader,
  { priced, currency: _, ...others }: Query,
  mode: ListSortMode,
): { query: Query & { readonly language?: string }; version: DocumentReader } {
  const currency = currencyOfPrices(as);
  const language = languageOfNames(as, mode);
  const query = {
    ...others,
    ...(priced && { has_price: true }),
    ...(currency !== undefined && { currency }),
    ...(language !== undefined && { language }),
  } as Query;
  const priced_version = currency === undefined ? version : pricedReader(version, as.store.id, currency);
  if (language === undefined) return { query, version: priced_version };
  return { query, version: namedReader(priced_version, as.store.id, language, mode) };
}

/** Returns the currency of the prices in a list. Undefined for the base currency, and for a store without currencies. */
export function currencyOfPrices({ store, currency }: Presentation): string | undefined {
  const [base = currency] = store.currencies ?? [];
  return currency === base ? undefined : currency;
}

/** Returns the language whose titles sort a list. Undefined for the language of the default locale, and in other orders. */
export function languageOfNames({ store, locales }: Presentation, mode: ListSortMode): string | undefined {
  const locale = locales?.[0];
  if (locale === undefined || !mode.startsWith('name')) return undefined;
  const language = languageOf(locale);
  return language === languageOf(store.locales![0]!) ? undefined : language;
}
