import type { ComponentChildren } from 'preact';
import { formatAmount } from '../../../shared/catalog/amounts';
import type { Listing, Media, Publication, Store } from '../../../shared/client';
import {
  type Edition,
  type Handles,
  listingPath,
  pathIn,
  productPath,
  withHandle,
} from '../../feeds/addresses';
import type { Texts } from './texts';

/** The texts in the language of the visitor, and the language with which numbers and dates are formatted. */
export interface Localized {
  readonly t: Texts;
  readonly language: string;
  /** What the visitor has chosen, which the links of the page keep. */
  readonly edition: Edition;
}

/** The price that the customer pays now, with the former price if the price is reduced. */
export function Price({ product, t, language, now }: Localized & { product: Publication; now: number }) {
  const { price_active, price_amount, price_currency, compare_at_amount, price_range } = product;
  const { lowest_price_30d: lowest } = product;
  if (!price_active) return <span class="note">{t.price_on_request}</span>;
  const show = (amount: number) => formatAmount(language, amount, price_currency);
  const sale = saleAmount(product, now);
  const before = sale === undefined ? compare_at_amount : price_amount;
  const amount = sale ?? price_amount;
  const is_reduced = before !== undefined && before > amount;
  return (
    <span class="price">
      {is_reduced && (
        <>
          <span class="skip">{t.was} </span>
          <s>{show(before)}</s>
        </>
      )}
      {price_range && price_range.max > price_range.min && `${t.from} `}
      <span class={is_reduced ? 'sale' : undefined}>{show(amount)}</span>
      {is_reduced && lowest !== undefined && <span class="lowest">{t.lowest_price(show(lowest))}</span>}
    </span>
  );
}

export function saleAmount(
  { sale_price_amount, sale_from, sale_to }: Publication,
  now: number,
): number | undefined {
  const has_begun = sale_from === undefined || Date.parse(sale_from) <= now;
  const has_ended = sale_to !== undefined && Date.parse(sale_to) <= now;
  return has_begun && !has_ended ? sale_price_amount : undefined;
}

export const canBeBought = ({ in_stock, quantity_available }: Publication): boolean =>
  in_stock ?? (quantity_available === undefined || quantity_available > 0);

export const Stars = ({ t, rating }: { t: Texts; rating: number }) => (
  <span class="stars" role="img" aria-label={t.stars(rating)}>
    {'★'.repeat(rating) + '☆'.repeat(5 - rating)}
  </span>
);

/** The average of the reviews and their number. Nothing without reviews. */
export function Rating({ product, t, language }: Localized & { product: Publication }) {
  const { rating } = product.stats ?? {};
  if (!rating) return null;
  const average = new Intl.NumberFormat(language, { maximumFractionDigits: 1 }).format(rating.average);
  return (
    <span class="rating" role="img" aria-label={t.rating(average, rating.count)}>
      <span class="stars">★</span> {average} ({rating.count})
    </span>
  );
}

/** A picture. The browser loads the variant that fits to `sizes`, the width of the picture on the page. */
export function Picture({ media, alt, sizes, eager }: PictureProps) {
  const { url, variants, width, height } = media;
  if (!url) return null;
  const smallest = variants.at(0) ?? { url };
  return (
    <img
      src={pathOf(smallest.url)}
      srcset={variants.map((each) => `${pathOf(each.url)} ${each.width}w`).join(', ') || undefined}
      {...{ sizes, width, height }}
      alt={media.alt ?? alt}
      loading={eager ? 'eager' : 'lazy'}
    />
  );
}

interface PictureProps {
  readonly media: Media;
  readonly alt: string;
  readonly sizes: string;
  readonly eager?: boolean;
}

/** Returns the path of a complete address, because the shop has the same origin as the service. */
export const pathOf = (url: string): string => new URL(url, 'http://shop').pathname;

export function Grid({ products, ...shown }: Localized & { products: readonly Publication[]; now: number }) {
  return (
    <ul class="grid">
      {products.map((product, index) => (
        <li key={product.id}>
          <a class="card" href={productPath(product, shown.edition)}>
            <div class="picture">
              {product.media?.data[0] && (
                <Picture
                  media={product.media.data[0]}
                  alt={product.title}
                  sizes="(min-width: 56rem) 16rem, 45vw"
                  eager={index < 4}
                />
              )}
            </div>
            <strong>{product.title}</strong>
            <Price product={product} {...shown} />
            {!canBeBought(product) && <span class="note"> · {shown.t.sold_out}</span>}{' '}
            <Rating product={product} {...shown} />
          </a>
        </li>
      ))}
    </ul>
  );
}

export function Crumbs({
  t,
  edition,
  children,
}: Omit<Localized, 'language'> & { children: ComponentChildren }) {
  return (
    <nav class="crumbs" aria-label={t.home}>
      <ul>
        <li>
          <a href={pathIn(edition, '/')}>{t.home}</a>
        </li>
        {children}
      </ul>
    </nav>
  );
}

export function Pager({ t, page, total_pages, query }: PagerProps) {
  if (total_pages < 2) return null;
  return (
    <nav class="pager">
      {page > 1 && (
        <a rel="prev" href={withPage(query, page - 1)}>
          ‹ {t.previous}
        </a>
      )}
      <span class="note">{t.page(page, total_pages)}</span>
      {page < total_pages && (
        <a rel="next" href={withPage(query, page + 1)}>
          {t.next} ›
        </a>
      )}
    </nav>
  );
}

interface PagerProps {
  readonly t: Texts;
  readonly page: number;
  readonly total_pages: number;
  readonly query: URLSearchParams;
}

/** Returns the query with another page. */
function withPage(query: URLSearchParams, page: number): string {
  const next = new URLSearchParams(query);
  next.set('page', String(page));
  return `?${next}`;
}

/** The parameters of the price filter, in whole units of the currency. */
export const PRICE_BOUNDS = ['price_from', 'price_to'] as const;

/** Whether the query contains a selection such as `tag=new`. */
export const isSelected = (query: URLSearchParams, selection: string): boolean =>
  [...new URLSearchParams(selection)].every(([name, value]) => query.has(name, value));

/** Returns the query of the first page with the selection. Returns it without the selection if it is selected already. */
export function toggled(query: URLSearchParams, selection: string): string {
  const next = new URLSearchParams(query);
  next.delete('page');
  for (const [name, value] of new URLSearchParams(selection)) {
    if (isSelected(query, selection)) next.delete(name, value);
    else next.append(name, value);
  }
  return `?${next}`;
}

/** The languages and the currencies of the store as links to this page in each of them. Nothing if there is one of each. */
export function Chooser({ store, t, language, edition, locale, path, query, handles = {} }: ChooserProps) {
  const { locales = [], currencies = [] } = store;
  const kept = new URLSearchParams(query);
  kept.delete('currency');
  const hrefIn = (chosen: Edition, page = path) => pathIn(chosen, kept.size === 0 ? page : `${page}?${kept}`);
  const currency = edition.currency ?? currencies[0];
  const nameOf = (each: string) => new Intl.DisplayNames(each, { type: 'language' }).of(each) ?? each;
  const currency_names = new Intl.DisplayNames(language, { type: 'currency' });
  const languages = locales.map((each) => (
    <li key={each}>
      <a
        href={hrefIn({ ...edition, locale: each }, withHandle(path, handles[each]))}
        lang={each}
        hreflang={each}
        aria-current={each === locale ? 'true' : undefined}
      >
        {nameOf(each)}
      </a>
    </li>
  ));
  const prices = currencies.map((each, index) => (
    <li key={each}>
      <a
        href={hrefIn({ ...edition, currency: index === 0 ? undefined : each })}
        aria-current={each === currency ? 'true' : undefined}
        rel="nofollow"
      >
        {`${each} · ${currency_names.of(each)}`}
      </a>
    </li>
  ));
  const has_currencies = currencies.length > 1;
  if (!edition.has_languages && !has_currencies) return null;
  const shown = [edition.has_languages && nameOf(locale!), has_currencies && currency];
  return (
    <nav class="chooser" aria-label={t.choose}>
      <details>
        <summary>{shown.filter(Boolean).join(' · ')}</summary>
        <div>
          {edition.has_languages && <ul>{languages}</ul>}
          {has_currencies && <ul>{prices}</ul>}
        </div>
      </details>
    </nav>
  );
}

interface ChooserProps extends Localized {
  readonly store: Store;
  readonly locale: string | undefined;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly handles?: Handles;
}

/** How many listings are beside each other. The others are in a menu. */
const LISTINGS_IN_SIGHT = 12;

/** Links to listings: those at the top of the tree, or those in a listing. */
export function Listings({ listings, current, t, edition }: ListingsProps) {
  const links = listings.map((listing) => (
    <li key={listing.id}>
      <a href={listingPath(listing, edition)} aria-current={listing.id === current ? 'page' : undefined}>
        {listing.name}
      </a>
    </li>
  ));
  return (
    <ul>
      {links.slice(0, LISTINGS_IN_SIGHT)}
      {links.length > LISTINGS_IN_SIGHT && (
        <li>
          <details>
            <summary>{t.more_listings}</summary>
            <ul>{links}</ul>
          </details>
        </li>
      )}
    </ul>
  );
}

interface ListingsProps extends Omit<Localized, 'language'> {
  readonly listings: readonly Listing[];
  readonly current?: string | undefined;
}
