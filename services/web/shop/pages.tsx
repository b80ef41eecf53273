import type { ComponentChildren } from 'preact';
import type { Listing, Publication, Review, Store, Variant } from '../../../shared/client';
import {
  alternatesOf,
  type Edition,
  type Handles,
  listingPath,
  OPTION_PARAMETER,
  pathIn,
  variantQuery,
} from '../../feeds/addresses';
import { scriptJson } from '../html';
import {
  Chooser,
  Crumbs,
  canBeBought,
  Grid,
  isSelected,
  Listings,
  type Localized,
  Pager,
  Picture,
  PRICE_BOUNDS,
  Price,
  pathOf,
  Rating,
  Stars,
  toggled,
} from './parts';

/** The content of the frame that all pages have. */
export interface Frame extends Localized {
  readonly store: Store;
  readonly listings: readonly Listing[];
  readonly query: URLSearchParams;
  /** The path of the page, without the locale. */
  readonly path: string;
  /** The locale of the texts of the store. Undefined if it has none. */
  readonly locale: string | undefined;
  /** As `edition`, but with the locale under which search engines know the page. */
  readonly listed: Edition;
  /** Milliseconds since 1970, to know which sales run. */
  readonly now: number;
  /** The address of the shop. */
  readonly base_url: string;
}

/** What search engines and social networks read of a page. */
export interface Head {
  readonly title: string;
  readonly description?: string | undefined;
  /** The path under which search engines know the page. They do not list a page without it. */
  readonly canonical?: string;
  readonly handles?: Handles;
  /** The path of a picture that stands for the page. */
  readonly picture?: string | undefined;
  readonly type?: 'product' | 'website';
  /** JSON-LD. Browsers do not execute it, so the policy of pages allows it. */
  readonly data?: readonly object[];
}

interface LayoutProps extends Frame, Head {
  readonly style: string;
  readonly script: string;
  readonly icon: string;
  readonly current?: string | undefined;
  readonly children: ComponentChildren;
}

export function Layout({ store, listings, base_url, ...page }: LayoutProps) {
  const { t, language, edition, query } = page;
  const { contact, policies, locales = [] } = store;
  const title = page.title === store.name ? store.name : `${page.title} · ${store.name}`;
  const alternates = page.canonical ? alternatesOf(locales, page.canonical, page.handles) : [];
  const canonical = page.canonical && pathIn({ locale: page.listed.locale }, page.canonical);
  return (
    <html lang={language} dir={directionOf(language)}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title}</title>
        {page.description && <meta name="description" content={page.description.slice(0, 160)} />}
        {canonical ? (
          <link rel="canonical" href={base_url + canonical} />
        ) : (
          <meta name="robots" content="noindex" />
        )}
        {alternates.map(([each, path]) => (
          <link key={each} rel="alternate" hreflang={each} href={base_url + path} />
        ))}
        {alternates[0] && <link rel="alternate" hreflang="x-default" href={base_url + alternates[0][1]} />}
        <OpenGraph {...page} canonical={canonical} site={store.name} base_url={base_url} />
        {page.data?.map((each, index) => (
          <script
            key={index}
            type="application/ld+json"
            dangerouslySetInnerHTML={{ __html: scriptJson(each) }}
          />
        ))}
        <link rel="icon" href={page.icon} type="image/svg+xml" />
        <link rel="stylesheet" href={page.style} />
        <script type="module" src={page.script} />
      </head>
      <body>
        <a class="skip" href="#main">
          {t.skip}
        </a>
        <header>
          <div class="wrap">
            <a class="brand" href={pathIn(edition, '/')}>
              {store.name}
            </a>
            <Chooser store={store} {...page} />
            <form class="search" action={pathIn({ locale: edition.locale }, '/search')}>
              {edition.currency && <input type="hidden" name="currency" value={edition.currency} />}
              <input
                type="search"
                name="q"
                value={query.get('q') ?? ''}
                placeholder={t.search_placeholder}
                aria-label={t.search_placeholder}
                maxLength={200}
                required
              />
              <button type="submit">{t.search}</button>
            </form>
            <nav class="listings" aria-label={t.all_products}>
              <Listings listings={listings} current={page.current} t={t} edition={edition} />
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

/** How the page looks where somebody shares its address (https://ogp.me). */
function OpenGraph({
  site,
  base_url,
  title,
  description,
  canonical,
  picture,
  locale,
  type = 'website',
}: OpenGraphProps) {
  const values = {
    'og:locale': locale?.replace('-', '_'),
    'og:type': type,
    'og:site_name': site,
    'og:title': title,
    'og:description': description?.slice(0, 160),
    'og:url': canonical && base_url + canonical,
    'og:image': picture && base_url + picture,
  };
  return (
    <>
      {Object.entries(values).map(
        ([name, value]) => value && <meta key={name} property={name} content={value} />,
      )}
    </>
  );
}

interface OpenGraphProps extends Omit<Head, 'canonical'>, Pick<Frame, 'locale'> {
  readonly canonical: string | undefined;
  readonly site: string;
  readonly base_url: string;
}

const RTL_SCRIPTS = new Set(['Arab', 'Hebr', 'Syrc', 'Thaa', 'Nkoo', 'Adlm', 'Rohg']);

/** Returns the direction of texts in the language. Undefined for the direction that pages have by themselves. */
const directionOf = (language: string): 'rtl' | undefined =>
  RTL_SCRIPTS.has(new Intl.Locale(language).maximize().script ?? '') ? 'rtl' : undefined;

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
        <a href={pathIn(frame.edition, '/products')}>{t.all_products} ›</a>
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
  readonly label?: string;
  readonly values: readonly { value: string; label?: string; count: number; query: string }[];
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
  return (
    <>
      {above}
      <h1>{heading}</h1>
      {lead && <p class="lead">{lead}</p>}
      {below}
      <div class="columns">
        <Filters facets={meta.facets ?? []} {...frame} />
        <div>
          <div class="bar">
            <span class="note" role="status">
              {t.results(total)}
            </span>
            <form>
              <Kept query={query} without={['sort', 'page']} />
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
}

/** How many values of a facet are in sight. The others are folded. */
const VALUES_IN_SIGHT = 8;

function Filters({ facets, query, t }: FiltersProps) {
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
  const linksOf = ({ values }: Facet) =>
    values.map((each) => link(each.query, each.label ?? each.value, each.count));
  const kept = ['q', 'sort', 'currency'];
  const is_filtered = [...query.keys()].some((name) => name !== 'page' && !kept.includes(name));
  const cleared = new URLSearchParams([...query].filter(([name]) => kept.includes(name)));
  return (
    <details class="filters">
      <summary>{t.filters}</summary>
      <ul>
        {link('in_stock=true', t.in_stock)}
        {link('has_discount=true', t.has_discount)}
      </ul>
      <h2>{t.price}</h2>
      <form class="bounds">
        <Kept query={query} without={['page', ...PRICE_BOUNDS]} />
        <input
          {...{ name: PRICE_BOUNDS[0], value: query.get(PRICE_BOUNDS[0]) ?? '', 'aria-label': t.price_from }}
          inputMode="decimal"
        />
        –
        <input
          {...{ name: PRICE_BOUNDS[1], value: query.get(PRICE_BOUNDS[1]) ?? '', 'aria-label': t.price_to }}
          inputMode="decimal"
        />
        <button type="submit">{t.apply}</button>
      </form>
      {facets
        .filter(({ values }) => values.length > 0)
        .map((facet) => (
          <section key={facet.name}>
            <h2>{t.facets[facet.name] ?? facet.label ?? facet.name.replace(/^[a-z]+\./, '')}</h2>
            <ul>{linksOf(facet).slice(0, VALUES_IN_SIGHT)}</ul>
            {facet.values.length > VALUES_IN_SIGHT && (
              <details>
                <summary>{`${t.more} (${facet.values.length - VALUES_IN_SIGHT})`}</summary>
                <ul>{linksOf(facet).slice(VALUES_IN_SIGHT)}</ul>
              </details>
            )}
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

/** Hidden fields, with which a form keeps the rest of the query. */
const Kept = ({ query, without }: { query: URLSearchParams; without: readonly string[] }) => (
  <>
    {[...query]
      .filter(([name]) => !without.includes(name))
      .map(([name, value]) => (
        <input key={`${name}=${value}`} type="hidden" name={name} value={value} />
      ))}
  </>
);

export function ListingPage({ listing, children, ...page }: ListingPageProps) {
  const { path = [] } = listing;
  const { t, edition } = page;
  const above = (
    <Crumbs t={t} edition={edition}>
      {path.map((each) => (
        <li key={each.id}>
          <a href={listingPath(each, edition)} aria-current={each.id === listing.id ? 'page' : undefined}>
            {each.name}
          </a>
        </li>
      ))}
    </Crumbs>
  );
  const below = children.length > 0 && (
    <nav class="crumbs" aria-label={listing.name}>
      <Listings listings={children} t={t} edition={edition} />
    </nav>
  );
  return <Products heading={listing.name} lead={listing.description} above={above} below={below} {...page} />;
}

interface ListingPageProps extends Frame, ProductsFound {
  readonly listing: Listing;
  readonly children: readonly Listing[];
}

export function Product({ product, reviews, related, ...frame }: ProductProps) {
  const { t, language, query, edition } = frame;
  const { listing, media, attributes = {} } = product;
  const variant = chosenVariant(product, query);
  const shown = variant ? pricedAs(product, variant) : product;
  const stock = shown.quantity_available;
  const own_picture = media?.data.find(({ id }) => id === variant?.media_id);
  const pictures = own_picture
    ? [own_picture, ...media!.data.filter((each) => each !== own_picture)]
    : (media?.data ?? []);
  return (
    <>
      <Crumbs t={t} edition={edition}>
        {listing && (
          <li>
            <a href={listingPath(listing, edition)}>{listing.name}</a>
          </li>
        )}
      </Crumbs>
      <div class="columns product">
        <div class="gallery">
          {pictures.map((each, index) => (
            <a key={each.id} href={each.url && pathOf(each.url)}>
              <Picture
                media={each}
                alt={product.title}
                sizes={index === 0 ? '(min-width: 56rem) 38rem, 95vw' : '10rem'}
                eager={index === 0}
              />
            </a>
          ))}
        </div>
        <div>
          {product.vendor && <p class="note">{product.vendor}</p>}
          <h1>{product.title}</h1>
          <p>
            <Rating product={product} {...frame} />
          </p>
          <p>
            <Price product={shown} {...frame} />
          </p>
          <p>
            <span class="badge">
              {canBeBought(shown) ? (stock === undefined ? t.in_stock : t.available(stock)) : t.sold_out}
            </span>{' '}
            {product.free_shipping && <span class="badge">{t.free_shipping}</span>}
          </p>
          {variant && <Options product={product} variant={variant} t={t} edition={edition} />}
          {product.description_html ? (
            // The service has sanitised it.
            <div dangerouslySetInnerHTML={{ __html: product.description_html }} />
          ) : (
            <p>{product.description}</p>
          )}
          <dl>
            {Object.entries(attributes).map(([name, value]) => [
              <dt key={name}>{name}</dt>,
              <dd key={`${name} value`}>{[value].flat().join(', ')}</dd>,
            ])}
          </dl>
          <p class="tags">
            {product.tags?.map((tag) => (
              <a key={tag} class="badge" href={pathIn(edition, `/products?${new URLSearchParams({ tag })}`)}>
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

/** The product with the price and the stock of one of its variants, which has the sale price of the product if it has none. */
export function pricedAs(product: Publication, variant: Variant): Publication {
  const {
    price_range: _,
    compare_at_amount: __,
    quantity_available: ___,
    lowest_price_30d: ____,
    ...others
  } = product;
  const { price_amount, compare_at_amount, sale_price_amount = product.sale_price_amount } = variant;
  const { lowest_price_30d } = variant;
  return {
    ...others,
    price_amount,
    price_active: product.price_active && variant.price_active !== false,
    in_stock: isAvailable(variant),
    ...(compare_at_amount !== undefined && { compare_at_amount }),
    ...(sale_price_amount !== undefined && { sale_price_amount }),
    ...(lowest_price_30d !== undefined && { lowest_price_30d }),
    ...(variant.quantity_available !== undefined && { quantity_available: variant.quantity_available }),
  };
}

export const isAvailable = ({ quantity_available = 1, allow_backorder }: Variant): boolean =>
  quantity_available > 0 || allow_backorder;

type OptionValues = Variant['option_values'];

/** Returns the variant with these values; otherwise the first one with the value of `option` that can be bought, if any can. */
function variantOf(variants: readonly Variant[], wanted: OptionValues, option: string): Variant | undefined {
  const isWanted = ({ option_values }: Variant): boolean =>
    Object.entries(wanted).every(([name, value]) => option_values[name] === value);
  const with_value = variants.filter(({ option_values }) => option_values[option] === wanted[option]);
  return variants.find(isWanted) ?? with_value.find(isAvailable) ?? with_value[0];
}

/** Returns the variant that the query names, by its id or such as `?option.Size=M`, or the first one that can be bought. */
function chosenVariant({ options = [], variants }: Publication, query: URLSearchParams): Variant | undefined {
  const all = variants?.data ?? [];
  const wanted = Object.fromEntries(
    options.flatMap(({ name }) => {
      const value = query.get(OPTION_PARAMETER + name);
      return value === null ? [] : [[name, value]];
    }),
  );
  const by_id = all.find(({ id }) => id === query.get('variant'));
  const [first] = Object.keys(wanted);
  return by_id ?? ((first && variantOf(all, wanted, first)) || (all.find(isAvailable) ?? all[0]));
}

interface OptionsProps extends Pick<Frame, 't' | 'edition'> {
  readonly product: Publication;
  readonly variant: Variant;
}

/** A button for each value of each option. It leads to the variant with this value and the other values of the chosen one. */
function Options({ product: { options = [], variants }, variant, t, edition }: OptionsProps) {
  const { data, total_count } = variants!;
  return (
    <>
      {options.map(({ name, values }) => (
        <fieldset key={name}>
          <legend>{name}</legend>
          <ul class="options">
            {values.map((value) => {
              const target = variantOf(data, { ...variant.option_values, [name]: value }, name);
              if (!target) return null;
              return (
                <li key={value}>
                  <a
                    href={variantQuery(target, edition)}
                    aria-current={variant.option_values[name] === value ? 'true' : undefined}
                    class={isAvailable(target) ? undefined : 'none'}
                    rel="nofollow"
                    data-in-place
                  >
                    {value}
                  </a>
                </li>
              );
            })}
          </ul>
        </fieldset>
      ))}
      {total_count > data.length && <p class="note">{t.variants_more(total_count - data.length)}</p>}
    </>
  );
}

export function Message({ heading, hint, t, edition = {} }: MessageProps) {
  return (
    <div class="empty">
      <h1>{heading}</h1>
      <p>{hint}</p>
      <p>
        <a href={pathIn(edition, '/')}>{t.home}</a>
      </p>
    </div>
  );
}

interface MessageProps extends Pick<Frame, 't'>, Partial<Pick<Frame, 'edition'>> {
  readonly heading: string;
  readonly hint: string;
}
