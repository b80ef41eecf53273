import { languageOf } from '../../shared/catalog/translations';
import type { ListSortMode } from '../../shared/catalog/vocabulary';
import type { Presentation } from '../../shared/http/route';
import type { DocumentReader } from '../../shared/ports/document-reader';
import { type PriceQuery, withCurrency } from './currencies';
import { namedReader } from './variant-reader';

/**
 * Returns the query of a list of publications as its filters understand it, and the reader that finds them by the prices and, in a
 * list by name, by the titles that the answer shows.
 */
export function withVariants<Query extends PriceQuery>(
  as: Presentation,
  version: DocumentReader,
  asked: Query,
  mode: ListSortMode,
): { query: Query & { readonly language?: string }; version: DocumentReader } {
  const priced = withCurrency(as, version, asked);
  const language = languageOfNames(as, mode);
  if (language === undefined) return priced;
  // With the language, a cursor of the list is none of the list in another language.
  return {
    query: { ...priced.query, language },
    version: namedReader(priced.version, as.store.id, language, mode),
  };
}

/** Returns the language by whose titles a list is sorted. Undefined for the titles in the default locale, and other orders. */
export function languageOfNames({ store, locales }: Presentation, mode: ListSortMode): string | undefined {
  const locale = locales?.[0];
  if (locale === undefined || !mode.startsWith('name')) return undefined;
  const language = languageOf(locale);
  return language === languageOf(store.locales![0]!) ? undefined : language;
}
