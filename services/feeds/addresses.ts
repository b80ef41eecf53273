import { foldText } from '../../shared/kernel/text';

/*
 * The addresses of the shop's pages (`services/web/shop`), and the names of options that other systems know.
 */

interface Page {
  readonly id: string;
  readonly handle?: string | null | undefined;
}

/** The language and the currency in which an address opens a page. */
export interface Edition {
  /** The locale in the path. Without it, the browser of the visitor decides about the language. */
  readonly locale?: string | undefined;
  /** The currency in the query. Without it, each product has its own `price_currency`. */
  readonly currency?: string | undefined;
  /** Whether the store has several languages, in which the options of products may have different names. */
  readonly has_languages?: boolean;
}

/** Returns the path of a page in a language and a currency: `/de/p/tee?currency=EUR`. */
export function pathIn({ locale, currency }: Edition, path: string): string {
  const page = locale === undefined ? path : `/${locale}${path.replace(/^\/(?=\?|$)/, '')}`;
  return currency === undefined ? page : `${page}${page.includes('?') ? '&' : '?'}currency=${currency}`;
}

/** The handles of the resource of a page, by locale. Undefined if all of them are those in its path. */
export type Handles = Readonly<Record<string, string>> | undefined;

/** Returns the path of a page with the handle of a language at its end. */
export const withHandle = (path: string, handle: string | undefined): string =>
  handle === undefined ? path : path.replace(/[^/?]+(?=$|\?)/, encodeURIComponent(handle));

/**
 * Returns the path of a page in each language for search engines, by locale. A page in the default locale has no locale in its
 * path: it stays the same when a store gets a second language. None if the store has one language.
 */
export function alternatesOf(
  locales: readonly string[],
  path: string,
  handles: Handles = {},
): (readonly [locale: string, path: string])[] {
  if (locales.length < 2) return [];
  return locales.map((each, index) => {
    const locale = index === 0 ? undefined : each;
    return [each, pathIn({ locale }, withHandle(path, handles[each]))];
  });
}

export const productPath = ({ handle, id }: Page, edition: Edition = {}): string =>
  pathIn(edition, `/p/${encodeURIComponent(handle ?? id)}`);
export const listingPath = ({ handle, id }: Page, edition: Edition = {}): string =>
  pathIn(edition, `/c/${encodeURIComponent(handle ?? id)}`);

/** The parameter of an option's value begins with it: `?option.Size=M`. */
export const OPTION_PARAMETER = 'option.';

interface PageVariant {
  readonly id: string;
  readonly option_values: Readonly<Record<string, string>>;
}

/**
 * Returns the query of the product's page that shows the variant: its option values. If the store has several languages, it is
 * the id, which is the same in all of them.
 */
export function variantQuery({ id, option_values }: PageVariant, edition: Edition = {}): string {
  const values = Object.entries(option_values).map(([name, value]) => [OPTION_PARAMETER + name, value]);
  const query = new URLSearchParams(edition.has_languages ? [['variant', id]] : values);
  return pathIn({ currency: edition.currency }, `?${query}`);
}

export const variantPath = (product: Page, variant: PageVariant, edition: Edition = {}): string =>
  productPath(product, { locale: edition.locale }) + variantQuery(variant, edition);

/** What schema.org, Google and Meta call the options that merchants name in their own language. */
const KNOWN_OPTIONS: Readonly<Record<string, KnownOption>> = {
  color: 'color',
  colour: 'color',
  size: 'size',
  talla: 'size',
  tamano: 'size',
  material: 'material',
  pattern: 'pattern',
  estampado: 'pattern',
};
export type KnownOption = 'color' | 'size' | 'material' | 'pattern';

/** Returns undefined for an option that only the merchant knows. */
export const knownOption = (name: string): KnownOption | undefined => KNOWN_OPTIONS[foldText(name).trim()];
