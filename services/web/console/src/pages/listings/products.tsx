import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { Publication } from 'catalog-client';
import { type KeyboardEvent, useState } from 'react';
import { Button as AriaButton, GridList, GridListItem, useDragAndDrop } from 'react-aria-components';
import { Link } from 'wouter';
import { useApi } from '../../lib/api';
import { formatMoney } from '../../lib/format';
import { movedTo } from '../../lib/order';
import { useLocale, useTexts } from '../../texts/texts';
import { Button, IconButton, LinkButton } from '../../ui/button';
import { Badge, EmptyState, ErrorState, Loading } from '../../ui/feedback';
import { SearchField } from '../../ui/fields';
import { Icon } from '../../ui/icon';
import { Card } from '../../ui/layout';
import { Dialog, Menu } from '../../ui/overlay';
import { Thumb } from '../../ui/thumb';
import type { SavedListing } from './use-editor';
import { useFeatured, useMembership } from './use-products';

const PAGE_SIZE = 20;

/** The products of a listing as the shop shows them: the featured ones first, in their order, then the others. */
export function ListingProducts({ listing }: { readonly listing: SavedListing }) {
  const t = useTexts();
  const { client, may } = useApi();
  const { id } = listing;
  const [text, setText] = useState('');
  const [is_adding, setAdding] = useState(false);
  const q = text.trim();
  const may_write = may('write:publications');
  const { featured, arrange, ...reading } = useFeatured(id);
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['publications', 'of-listing', id, q],
    placeholderData: keepPreviousData,
    initialPageParam: 1,
    queryFn: async ({ pageParam }) => {
      const query = { visibility: 'all', expand: ['media'], limit: PAGE_SIZE } as const;
      if (q !== '') {
        const { data, meta } = await client.store.search(q, { ...query, listing_id: id }).page(pageParam);
        return { data, page_count: meta.pagination.total_pages };
      }
      const { others, meta } = await client.listings
        .publications(id, { ...query, featured: false })
        .page(pageParam);
      return { data: others, page_count: meta.pagination.total_pages };
    },
    getNextPageParam: ({ page_count }, pages) => (pages.length < page_count ? pages.length + 1 : undefined),
  });
  const ids = new Set(featured?.map((each) => each.id));
  const others = data?.pages.flatMap((page) => page.data).filter((each) => !ids.has(each.id));
  return (
    <Card
      title={t.listings.products}
      hint={t.listings.featuredHint}
      actions={
        <>
          <LinkButton kind="quiet" href={`/products?listing_id=${id}`}>
            {t.listings.seeProducts}
          </LinkButton>
          {may_write && (
            <Button icon="plus" onPress={() => setAdding(true)}>
              {t.listings.addProducts}
            </Button>
          )}
        </>
      }
    >
      {reading.error && <ErrorState error={reading.error} onRetry={reading.refetch} />}
      {featured && featured.length > 0 && (
        <Featured listing_id={id} products={featured} onArrange={arrange} isDisabled={!may_write} />
      )}
      <SearchField label={t.listings.searchProducts} value={text} onChange={setText} />
      {error && <ErrorState error={error} onRetry={refetch} />}
      {!others && !error && <Loading />}
      {others?.length === 0 && !hasNextPage && q !== '' && <p className="muted">{t.listings.noProduct}</p>}
      {others?.length === 0 && !hasNextPage && q === '' && featured?.length === 0 && (
        <EmptyState icon="product" title={t.listings.noProducts} />
      )}
      {others && others.length > 0 && (
        <ul className="list" aria-label={t.listings.otherProducts}>
          {others.map((product) => (
            <li key={product.id} className="listing-product">
              <Product product={product} />
              {may_write && (
                <>
                  <Button
                    icon="review"
                    aria-label={t.listings.feature(product.title)}
                    onPress={() => void arrange([...(featured ?? []), product])}
                  >
                    {t.listings.featureShort}
                  </Button>
                  <RemoveMenu listing_id={id} product={product} />
                </>
              )}
            </li>
          ))}
        </ul>
      )}
      {hasNextPage && (
        <Button onPress={() => void fetchNextPage()} isPending={isFetchingNextPage}>
          {t.listings.more}
        </Button>
      )}
      {is_adding && <AddProducts listing_id={id} onClose={() => setAdding(false)} />}
    </Card>
  );
}

function Product({ product }: { readonly product: Publication }) {
  const t = useTexts();
  const locale = useLocale();
  return (
    <>
      <Thumb media={product.media?.data[0]} size={32} />
      <Link href={`/products/${product.id}`} dir="auto" className="listing-product-title">
        {product.title}
      </Link>
      {product.visibility === 'private' && <Badge>{t.listings.private}</Badge>}
      <span className="number muted listing-product-price">
        {formatMoney(product.price_amount, product.price_currency, locale)}
      </span>
    </>
  );
}

interface FeaturedProps {
  readonly listing_id: string;
  readonly products: readonly Publication[];
  readonly onArrange: (products: readonly Publication[]) => Promise<void>;
  readonly isDisabled: boolean;
}

/** The featured products in their order. Alt with an arrow key moves the one with the focus. */
function Featured({ listing_id, products, onArrange, isDisabled }: FeaturedProps) {
  const t = useTexts();
  const ids = products.map(({ id }) => id);
  const arrangeIds = (next: readonly string[]) =>
    void onArrange(next.flatMap((id) => products.find((each) => each.id === id) ?? []));
  const { dragAndDropHooks } = useDragAndDrop({
    isDisabled,
    getItems: (keys) => [...keys].map((key) => ({ 'text/plain': String(key) })),
    onReorder: ({ keys, target }) => arrangeIds(movedTo(ids, [...keys].map(String), target)),
  });
  const moveTo = (id: string, place: number) => {
    if (place < 0 || place >= ids.length) return;
    arrangeIds(ids.filter((each) => each !== id).toSpliced(place, 0, id));
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const row = event.target instanceof HTMLElement ? event.target.closest<HTMLElement>('[role=row]') : null;
    if (!event.altKey || !step || !row?.dataset.key || isDisabled) return;
    event.preventDefault();
    event.stopPropagation();
    moveTo(row.dataset.key, ids.indexOf(row.dataset.key) + step);
  };
  return (
    <div className="stack tight" onKeyDownCapture={onKey}>
      <h3>{t.listings.featured(products.length)}</h3>
      <GridList
        aria-label={t.listings.featuredList}
        className="listing-featured"
        items={products.map((product, index) => ({ id: product.id, product, index }))}
        dragAndDropHooks={dragAndDropHooks}
        keyboardNavigationBehavior="tab"
      >
        {({ id, product, index }) => (
          <GridListItem id={id} textValue={product.title} className="listing-product">
            {!isDisabled && (
              <AriaButton
                slot="drag"
                className="button quiet icon-only drag-handle"
                aria-label={t.listings.drag(product.title)}
              >
                <Icon name="drag" />
              </AriaButton>
            )}
            <span className="number muted">{index + 1}</span>
            <Product product={product} />
            {!isDisabled && (
              <>
                <IconButton
                  label={t.listings.unfeature(product.title)}
                  icon="close"
                  onPress={() => arrangeIds(ids.filter((each) => each !== id))}
                />
                <RemoveMenu listing_id={listing_id} product={product}>
                  {[
                    {
                      id: 'first',
                      label: t.listings.moveFirst,
                      isDisabled: index === 0,
                      onAction: () => moveTo(id, 0),
                    },
                    {
                      id: 'up',
                      label: t.listings.moveUp,
                      isDisabled: index === 0,
                      onAction: () => moveTo(id, index - 1),
                    },
                    {
                      id: 'down',
                      label: t.listings.moveDown,
                      isDisabled: index === ids.length - 1,
                      onAction: () => moveTo(id, index + 1),
                    },
                  ]}
                </RemoveMenu>
              </>
            )}
          </GridListItem>
        )}
      </GridList>
    </div>
  );
}

interface RemoveMenuProps {
  readonly listing_id: string;
  readonly product: Publication;
  /** Actions above the removal. */
  readonly children?: readonly Parameters<typeof Menu>[0]['items'][number][];
}

function RemoveMenu({ listing_id, product, children = [] }: RemoveMenuProps) {
  const t = useTexts();
  const { remove } = useMembership(listing_id);
  return (
    <Menu
      label={t.listings.actions(product.title)}
      trigger={<IconButton label={t.listings.actions(product.title)} icon="more" />}
      items={[
        ...children,
        {
          id: 'remove',
          label: t.listings.removeProduct,
          isDanger: true,
          onAction: () => void remove(product),
        },
      ]}
    />
  );
}

/** Finds products of the store, and adds each by a button. */
function AddProducts({ listing_id, onClose }: { readonly listing_id: string; readonly onClose: () => void }) {
  const t = useTexts();
  const { client } = useApi();
  const { add } = useMembership(listing_id);
  const [text, setText] = useState('');
  const q = text.trim();
  const { data, error, refetch } = useQuery({
    queryKey: ['publications', 'to-add', q],
    placeholderData: keepPreviousData,
    queryFn: async () => {
      const query = { visibility: 'all', expand: ['media'], limit: PAGE_SIZE } as const;
      const pages = q === '' ? client.publications.list(query) : client.store.search(q, query);
      return (await pages.page()).data;
    },
  });
  const isInside = (product: Publication) =>
    product.listing_id === listing_id || (product.listing_ids?.includes(listing_id) ?? false);
  return (
    <Dialog
      title={t.listings.addProducts}
      isOpen
      onClose={onClose}
      footer={
        <Button kind="primary" onPress={onClose}>
          {t.product.done}
        </Button>
      }
    >
      <SearchField label={t.common.search} value={text} onChange={setText} autoFocus />
      {error && <ErrorState error={error} onRetry={refetch} />}
      {!data && !error && <Loading />}
      {data?.length === 0 && <p className="muted">{t.listings.noProduct}</p>}
      <ul className="list">
        {data?.map((product) => (
          <li key={product.id} className="listing-product">
            <Product product={product} />
            <Button
              isDisabled={isInside(product)}
              aria-label={t.listings.add(product.title)}
              onPress={() => void add(product)}
            >
              {isInside(product) ? t.listings.added : t.listings.addShort}
            </Button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
