import type { Publication } from 'catalog-client';
import { useMemo } from 'react';
import { Link } from 'wouter';
import { formatAgo, formatMoney, formatNumber, formatTime } from '../../lib/format';
import { type Texts, useLocale, useTexts } from '../../texts/texts';
import { Badge } from '../../ui/feedback';
import { Icon } from '../../ui/icon';
import { Thumb } from '../../ui/thumb';
import { type Field, fieldValue, isEditable, RULES, textOf, variantsOf } from './fields';
import type { GridColumn } from './grid';

/** All columns of the table, in their order. */
export const COLUMN_IDS = [
  'picture',
  'title',
  'status',
  'price',
  'stock',
  'sku',
  'vendor',
  'type',
  'listings',
  'tags',
  'rating',
  'updated',
] as const;
export type ColumnId = (typeof COLUMN_IDS)[number];
export const COLUMNS_SHOWN: readonly ColumnId[] = [
  'picture',
  'title',
  'status',
  'price',
  'stock',
  'sku',
  'vendor',
];
/** The columns of a card on a phone. */
export const CARD_COLUMNS: readonly ColumnId[] = ['picture', 'title', 'status', 'price', 'stock'];
/** The columns whose values the interface can sort by. */
export const SORTS = { title: 'name', price: 'price', rating: 'rating' } as const;

/** The fields that a row of the table can change. */
const INLINE: readonly Field[] = ['title', 'price', 'stock'];
const SHEET: readonly Field[] = [
  'title',
  'price',
  'compare_at',
  'stock',
  'sku',
  'barcode',
  'vendor',
  'type',
  'tags',
  'visibility',
];

const WIDTHS: Readonly<Record<string, number>> = {
  picture: 52,
  title: 240,
  status: 136,
  price: 148,
  compare_at: 120,
  stock: 92,
  barcode: 140,
  rating: 104,
  listings: 180,
  tags: 180,
  visibility: 120,
};

const isOnSale = (product: Publication, now = Date.now()): boolean =>
  product.sale_price_amount !== undefined &&
  (!product.sale_from || Date.parse(product.sale_from) <= now) &&
  (!product.sale_to || Date.parse(product.sale_to) > now);

/** The prices that customers see: of products with variants a range, with the regular price crossed out beside a lower one. */
function Price({ product, locale, t }: { product: Publication; locale: string; t: Texts }) {
  const money = (amount: number) => formatMoney(amount, product.price_currency, locale);
  const { price_range, price_amount, sale_price_amount } = product;
  const compare_at = fieldValue(product, 'compare_at') as number | null;
  const price = isOnSale(product) ? sale_price_amount! : price_amount;
  const before =
    price < price_amount ? price_amount : compare_at !== null && compare_at > price ? compare_at : undefined;
  if (!product.price_active) return <span className="muted">{t.products.priceHidden}</span>;
  return (
    <span className="price">
      {before !== undefined && (
        <>
          <span className="visually-hidden">{t.products.before}</span>
          <s className="muted small">{money(before)}</s>
        </>
      )}
      <span className="truncate">
        {price_range && price_range.min < price_range.max
          ? `${money(price)} – ${money(price_range.max)}`
          : money(price)}
      </span>
    </span>
  );
}

function Stock({ product, locale, t }: { product: Publication; locale: string; t: Texts }) {
  const stock = product.quantity_available;
  if (stock === undefined)
    return (
      <span className="muted" title={t.products.notTracked}>
        –
      </span>
    );
  const is_sold_out = product.in_stock === undefined ? stock === 0 : !product.in_stock;
  return is_sold_out ? <Badge tone="warn">{t.products.soldOut}</Badge> : formatNumber(stock, locale);
}

function Status({ product, locale, t }: { product: Publication; locale: string; t: Texts }) {
  const { visibility, publish_at, unpublish_at, deleted_at } = product;
  if (deleted_at) return <Badge tone="bad">{t.products.deletedAgo(formatAgo(deleted_at, locale))}</Badge>;
  const next = publish_at ?? unpublish_at;
  return (
    <span className="statuses">
      <Badge tone={visibility === 'public' ? 'good' : 'neutral'}>{t.products.visibilities[visibility]}</Badge>
      {next && (
        <span title={(publish_at ? t.products.publishedAt : t.products.hiddenAt)(formatTime(next, locale))}>
          <Badge tone="info">
            <Icon name="calendar" size={12} />
            <span className="visually-hidden">{t.products.scheduled}</span>
          </Badge>
        </span>
      )}
      {isOnSale(product) && <Badge tone="warn">{t.products.sale}</Badge>}
    </span>
  );
}

/**
 * The columns of the table. `names` are the names of listings by id. `query` is added to the addresses of products. Without
 * `onRestore`, the key may only read.
 */
export function useColumns(
  names: ReadonlyMap<string, string>,
  query: string,
  onRestore?: (product: Publication) => void,
) {
  const t = useTexts();
  const locale = useLocale();
  return useMemo(() => {
    const muted = (text: string | undefined) => (
      <span className="truncate" dir="auto" title={text}>
        {text}
      </span>
    );
    const skus = (product: Publication) => {
      const found = variantsOf(product).flatMap(({ sku }) => sku ?? []);
      const more = (product.variant_count ?? 0) - 1;
      return found[0] && more > 0 ? t.products.more(found[0], more) : found[0];
    };
    const listings = (product: Publication) =>
      [product.listing_id, ...(product.listing_ids ?? [])]
        .flatMap((id) => (id && names.get(id)) ?? [])
        .join(', ');
    const cells: Readonly<Record<ColumnId, (product: Publication) => React.ReactNode>> = {
      picture: (product) => <Thumb media={product.media?.data[0]} size={32} />,
      title: (product) =>
        product.deleted_at ? (
          <>
            {muted(product.title)}
            {onRestore && (
              <button type="button" className="cell-button" onClick={() => onRestore(product)}>
                {t.common.restore}
              </button>
            )}
          </>
        ) : (
          <Link
            href={`/products/${product.id}${query}`}
            className="title-link truncate"
            dir="auto"
            tabIndex={-1}
            title={product.title}
          >
            {product.title}
          </Link>
        ),
      status: (product) => <Status product={product} locale={locale} t={t} />,
      price: (product) => <Price product={product} locale={locale} t={t} />,
      stock: (product) => <Stock product={product} locale={locale} t={t} />,
      sku: (product) => muted(skus(product)),
      vendor: (product) => muted(product.vendor),
      type: (product) => muted(product.product_type),
      listings: (product) => muted(listings(product)),
      tags: (product) => muted(product.tags?.join(', ')),
      rating: ({ stats }) =>
        stats?.rating &&
        `${formatNumber(stats.rating.average, locale)} ★ (${formatNumber(stats.rating.count, locale)})`,
      updated: ({ updated_at }) => (
        <span title={formatTime(updated_at, locale)}>{formatAgo(updated_at, locale)}</span>
      ),
    };
    return COLUMN_IDS.map((id): GridColumn<Publication> & { readonly id: ColumnId } => {
      const edits = (product: Publication, field: Field) =>
        product.deleted_at || !onRestore || !isEditable(product, field)
          ? undefined
          : textOf(product, field, t, locale);
      const is_inline = INLINE.includes(id as Field);
      return {
        id,
        label: t.products.columns[id],
        width: WIDTHS[id] ?? 128,
        isWide: id === 'title',
        cell: cells[id],
        isNumber: id === 'price' || id === 'stock' || id === 'rating',
        isSortable: id in SORTS,
        hideLabel: id === 'picture',
        ...(is_inline && { textOf: (product) => edits(product, id as Field) }),
        ...(id === 'status' && {
          textOf: (product) => edits(product, 'visibility'),
          choices: Object.values(t.products.visibilities),
        }),
      };
    });
  }, [t, locale, names, query, onRestore]);
}

/** The columns of the spreadsheet. */
export function useSheetColumns(): readonly (GridColumn<Publication> & { readonly id: Field })[] {
  const t = useTexts();
  const locale = useLocale();
  return useMemo(
    () =>
      SHEET.map((field) => {
        const of = (product: Publication) =>
          isEditable(product, field) ? textOf(product, field, t, locale) : undefined;
        return {
          id: field,
          label: t.products.columns[field],
          width: WIDTHS[field] ?? 136,
          isWide: field === 'title',
          isNumber: RULES[field].kind === 'money' || RULES[field].kind === 'count',
          textOf: of,
          cell: (product: Publication) => (
            <span className="truncate" dir="auto">
              {of(product) ?? ofVariants(product, field, t, locale)}
            </span>
          ),
          ...(field === 'visibility' && { choices: Object.values(t.products.visibilities) }),
        };
      }),
    [t, locale],
  );
}

/** What the sheet shows of a field that several variants have. */
function ofVariants(product: Publication, field: Field, t: Texts, locale: string): React.ReactNode {
  if (field === 'price') return <Price product={product} locale={locale} t={t} />;
  if (field === 'stock') return <Stock product={product} locale={locale} t={t} />;
  return product.variant_count ? t.products.variants(product.variant_count) : '';
}
