import type { ComponentChildren } from 'preact';
import { formatAmount } from '../../../shared/catalog/amounts';
import type { Listing, Publication, Review, Store, Variant } from '../../../shared/client';
import {
  Crumbs,
  canBeBought,
  Grid,
  isSelected,
  Listings,
  type Localized,
  listingPath,
  Pager,
  Picture,
  Price,
  Stars,
  toggled,
} from './parts';

/** The content of the frame that all pages have. */
export interface Frame extends Localized {
  readonly store: Store;
  readonly listings: readonly Listing[];
  readonly query: URLSearchParams;
  /** Milliseconds since 1970, to know which sales run. */
  readonly now: number;
}

interface LayoutProps extends Frame {
  readonly title: string;
  readonly description?: string | undefined;
  readonly style: string;
  readonly script: string;
  readonly current?: string | undefined;
  readonly children: ComponentChildren;
}

export function Layout({ t, language, store, listings, query, ...page }: LayoutProps) {
  const { contact, policies } = store;
  const title = page.title === store.name ? store.name : `${page.title} · ${store.name}`;
  return (
    <html lang={language}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title}</title>
        {page.description && <meta name="description" content={page.description.slice(0, 160)} />}
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href={page.style} />
        <script type="module" src={page.script} />
      </head>
      <body>
        <a class="skip" href="#main">
          {t.skip}
        </a>
        <header>
          <div class="wrap">
            <a class="brand" href="/">
              {store.name}
            </a>
            <form class="search" action="/search">
              <input
                type="search"
                name="q"
                value={query.get('q') ?? ''}
                placeholder={t.search_placeholder}
                aria-label={t.search_placeholder}
                required
              />
              <button type="submit">{t.search}</button>
            </form>
            <nav class="listings" aria-label={t.all_products}>
              <Listings listings={listings} current={page.current} />
            </nav>
          </div>
        </header>
        <main id="main" class="wrap">
          {page.children}
        </main>
        <footer>
          <div class="wrap">
            <div>
              <p>{store.description}</p>
              {[contact?.address, contact?.phone, contact?.email].map(
                (line) => line && <p key={line}>{line}</p>,
              )}
            </div>
            <div>
              {store.businessHours?.map(({ day, hours }) => (
                <p key={day}>{`${day}: ${hours}`}</p>
              ))}
            </div>
            <div>
              {Object.entries(policies ?? {}).map(([name, text]) => text && <p key={name}>{text}</p>)}
              <p>
                <a href="/docs">{t.docs}</a>
              </p>
            </div>
          </div>
        </footer>
      </body>
    </html>
  );
}

export function Home({ featured, newest, ...frame }: Frame & Record<'featured' | 'newest', Publication[]>) {
  const { t, store } = frame;
  return (
    <>
      <h1>{store.name}</h1>
      <p class="lead">{store.description}</p>
      {featured.length + newest.length === 0 && <p class="empty">{t.nothing}</p>}
      {featured.length > 0 && <h2>{t.featured}</h2>}
      <Grid products={featured} {...frame} />
      {newest.length > 0 && <h2>{t.all_products}</h2>}
      <Grid products={newest} {...frame} />
      <p>
        <a href="/products">{t.all_products} →</a>
      </p>
    </>
  );
}

/** A page of products. */
interface ProductsFound {
  readonly products: readonly Publication[];
  /** The number of products on all pages. */
  readonly total: number;
  readonly meta: {
    readonly pagination: { readonly page: number; readonly total_pages: number };
    readonly facets?: readonly Facet[];
  };
}

interface Facet {
  readonly name: string;
  readonly values: readonly { value: string; count: number; query: string }[];
}

/** The orders of a list, each with the name of its text. The first one is that of the service. */
const SORTS = [
  ['', 'sort_default'],
  ['created_at.desc', 'sort_newest'],
  ['price.asc', 'sort_price_up'],
  ['price.desc', 'sort_price_down'],
] as const;

/** A list with filters: a listing, the result of a search, or all products. */
export function Products({ heading, lead, above, below, products, total, meta, ...frame }: ProductsProps) {
  const { t, query } = frame;
  const { page, total_pages } = meta.pagination;
  const kept = [...query].filter(([name]) => name !== 'sort' && name !== 'page');
  return (
    <>
      {above}
      <h1>{heading}</h1>
      {lead && <p class="lead">{lead}</p>}
      {below}
      <div class="columns">
        <Filters facets={meta.facets ?? []} products={products} {...frame} />
        <div>
          <div class="bar">
            <span class="note" role="status">
              {t.results(total)}
            </span>
            <form>
              {kept.map(([name, value]) => (
                <input key={`${name}=${value}`} type="hidden" name={name} value={value} />
              ))}
              <label for="sort">{t.sort}</label>
              <select id="sort" name="sort">
                {SORTS.map(([sort, label]) => (
                  <option key={sort} value={sort} selected={sort === (query.get('sort') ?? '')}>
                    {t[label]}
                  </option>
                ))}
              </select>
              <button type="submit">{t.apply}</button>
            </form>
          </div>
          {products.length === 0 && <p class="empty">{t.nothing_found}</p>}
          <Grid products={products} {...frame} />
          <Pager t={t} query={query} page={page} total_pages={total_pages} />
        </div>
      </div>
    </>
  );
}

interface ProductsProps extends Frame, ProductsFound {
  readonly heading: string;
  readonly lead?: string | undefined;
  readonly above?: ComponentChildren;
  readonly below?: ComponentChildren;
}

interface FiltersProps extends Frame {
  readonly facets: readonly Facet[];
  readonly products: readonly Publication[];
}

function Filters({ facets, products, query, t, language }: FiltersProps) {
  const link = (selection: string, label: string, count?: number) => (
    <li key={selection}>
      <a
        href={toggled(query, selection)}
        aria-current={isSelected(query, selection) ? 'true' : undefined}
        rel="nofollow"
      >
        <span>{label}</span>
        {count !== undefined && <span class="note">{count}</span>}
      </a>
    </li>
  );
  const labelOf = (facet: string, value: string): string => {
    const currency = products[0]?.price_currency;
    if (facet !== 'price' || !currency) return value;
    const [from, to] = value.split('-').map((amount) => formatAmount(language, Number(amount), currency));
    return `${from} – ${to}`;
  };
  const is_filtered = [...query.keys()].some((name) => !['q', 'sort', 'page'].includes(name));
  const cleared = new URLSearchParams([...query].filter(([name]) => name === 'q' || name === 'sort'));
  return (
    <details class="filters">
      <summary>{t.filters}</summary>
      <ul>
        {link('in_stock=true', t.in_stock)}
        {link('has_discount=true', t.has_discount)}
      </ul>
      {facets
        .filter(({ values }) => values.length > 0)
        .map(({ name, values }) => (
          <section key={name}>
            <h2>{t.facets[name] ?? name.replace(/^[a-z]+\./, '')}</h2>
            <ul>
              {values.slice(0, 12).map((each) => link(each.query, labelOf(name, each.value), each.count))}
            </ul>
          </section>
        ))}
      {is_filtered && (
        <p>
          <a href={`?${cleared}`}>{t.clear}</a>
        </p>
      )}
    </details>
  );
}

export function ListingPage({ listing, children, ...page }: ListingPageProps) {
  const { path = [] } = listing;
  const above = (
    <Crumbs t={page.t}>
      {path.map((each) => (
        <li key={each.id}>
          <a href={listingPath(each)} aria-current={each.id === listing.id ? 'page' : undefined}>
            {each.name}
          </a>
        </li>
      ))}
    </Crumbs>
  );
  const below = children.length > 0 && (
    <nav class="crumbs" aria-label={listing.name}>
      <Listings listings={children} />
    </nav>
  );
  return <Products heading={listing.name} lead={listing.description} above={above} below={below} {...page} />;
}

interface ListingPageProps extends Frame, ProductsFound {
  readonly listing: Listing;
  readonly children: readonly Listing[];
}

export function Product({ product, reviews, related, ...frame }: ProductProps) {
  const { t, language } = frame;
  const { listing, media, variants, attributes = {} } = product;
  const stock = product.quantity_available;
  return (
    <>
      <Crumbs t={t}>
        {listing && (
          <li>
            <a href={listingPath(listing)}>{listing.name}</a>
          </li>
        )}
      </Crumbs>
      <div class="columns product">
        <div class="gallery">
          {media?.data.map((each, index) => (
            <Picture
              key={each.id}
              media={each}
              alt={product.title}
              sizes={index === 0 ? '(min-width: 56rem) 38rem, 95vw' : '10rem'}
              eager={index === 0}
            />
          ))}
        </div>
        <div>
          {product.vendor && <p class="note">{product.vendor}</p>}
          <h1>{product.title}</h1>
          <p>
            <Price product={product} {...frame} />
          </p>
          <p>
            <span class="badge">
              {canBeBought(product) ? (stock === undefined ? t.in_stock : t.available(stock)) : t.sold_out}
            </span>{' '}
            {product.free_shipping && <span class="badge">{t.free_shipping}</span>}
          </p>
          {product.description_html ? (
            // The service has sanitised it.
            <div dangerouslySetInnerHTML={{ __html: product.description_html }} />
          ) : (
            <p>{product.description}</p>
          )}
          {variants && variants.data.length > 0 && <Variants product={product} {...frame} />}
          <dl>
            {Object.entries(attributes).map(([name, value]) => [
              <dt key={name}>{name}</dt>,
              <dd key={`${name} value`}>{[value].flat().join(', ')}</dd>,
            ])}
          </dl>
          <p class="tags">
            {product.tags?.map((tag) => (
              <a key={tag} class="badge" href={`/products?${new URLSearchParams({ tag })}`}>
                {tag}
              </a>
            ))}
          </p>
        </div>
      </div>
      {reviews.length > 0 && <h2>{t.reviews}</h2>}
      <ul class="reviews">
        {reviews.map((review) => (
          <li key={review.id}>
            <Stars t={t} rating={review.rating} />
            {review.title && <h3>{review.title}</h3>}
            <p>{review.body}</p>
            <p class="note">
              {review.author_name}
              {review.verified && ` · ${t.verified}`}
              {` · ${new Intl.DateTimeFormat(language, { dateStyle: 'medium' }).format(Date.parse(review.created_at))}`}
            </p>
          </li>
        ))}
      </ul>
      {related.length > 0 && <h2>{t.related}</h2>}
      <Grid products={related} {...frame} />
    </>
  );
}

interface ProductProps extends Frame {
  readonly product: Publication;
  readonly reviews: readonly Review[];
  readonly related: readonly Publication[];
}

/** The product with the prices of one of its variants. Without a sale price of its own, the variant has that of the product. */
function pricedAs(product: Publication, variant: Variant): Publication {
  const { price_range: _, compare_at_amount: __, sale_price_amount, ...others } = product;
  const { price_amount, compare_at_amount, sale_price_amount: sale = sale_price_amount } = variant;
  return {
    ...others,
    price_amount,
    ...(compare_at_amount !== undefined && { compare_at_amount }),
    ...(sale !== undefined && { sale_price_amount: sale }),
  };
}

function Variants({ product, ...frame }: Frame & { product: Publication }) {
  const { t } = frame;
  const { options = [], variants } = product;
  const { data, total_count } = variants!;
  return (
    <>
      <table>
        <thead>
          <tr>
            {options.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
            <th scope="col">{t.price}</th>
            <th scope="col">{t.stock}</th>
          </tr>
        </thead>
        <tbody>
          {data.map((variant) => {
            const { id, option_values, quantity_available: left, allow_backorder } = variant;
            return (
              <tr key={id}>
                {options.map(({ name }) => (
                  <td key={name}>{option_values[name]}</td>
                ))}
                <td class="price">
                  <Price product={pricedAs(product, variant)} {...frame} />
                </td>
                <td>
                  {left === undefined || allow_backorder
                    ? t.in_stock
                    : left > 0
                      ? t.available(left)
                      : t.sold_out}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {total_count > data.length && <p class="note">{t.variants_more(total_count - data.length)}</p>}
    </>
  );
}

export function Message({ heading, hint, t }: { heading: string; hint: string; t: Localized['t'] }) {
  return (
    <div class="empty">
      <h1>{heading}</h1>
      <p>{hint}</p>
      <p>
        <a href="/">{t.home}</a>
      </p>
    </div>
  );
}
