import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { Publication, Review } from 'catalog-client';
import { useEffect, useRef, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { useApi } from '../../lib/api';
import { formatNumber } from '../../lib/format';
import { useStore } from '../../lib/languages';
import { useLocale, useTexts } from '../../texts/texts';
import { Ago } from '../../ui/ago';
import { Button, IconButton, LinkButton } from '../../ui/button';
import { Badge, EmptyState, ErrorState, Loading } from '../../ui/feedback';
import { Checkbox } from '../../ui/fields';
import { Card, Page, Tabs } from '../../ui/layout';
import { LoadMore } from '../../ui/load-more';
import { Confirm, Menu } from '../../ui/overlay';
import { Thumb } from '../../ui/thumb';
import { type Status, useReviewActions } from './actions';
import './reviews.css';

const STATUSES = ['pending', 'published', 'rejected', 'all'] as const;
type Tab = (typeof STATUSES)[number];
/** The reviews of a page. Each needs at most one product, and a request has at most 50 of them. */
const PAGE_SIZE = 30;
const TONES = { pending: 'warn', published: 'good', rejected: 'neutral' } as const;

export default function ReviewsPage() {
  const t = useTexts();
  const locale = useLocale();
  const { client } = useApi();
  const [search, setSearch] = useSearchParams();
  const tab = STATUSES.find((each) => each === search.get('status')) ?? 'pending';
  const { data: counts } = useQuery({
    queryKey: ['reviews', 'counts'],
    queryFn: () =>
      Promise.all(
        STATUSES.map(async (status) => {
          const { meta } = await client.reviews.list({ status, limit: 1 }).page();
          return meta.pagination.total_items;
        }),
      ),
  });
  return (
    <Page title={t.reviews.title}>
      <Tabs
        label={t.reviews.title}
        selected={tab}
        onSelect={(status) => setSearch({ status }, { replace: true })}
        tabs={STATUSES.map((id, n) => ({
          id,
          label: (
            <>
              {t.reviews.statuses[id]}{' '}
              {counts && <span className="tab-count">{formatNumber(counts[n]!, locale)}</span>}
            </>
          ),
        }))}
      >
        <Reviews key={tab} tab={tab} />
      </Tabs>
    </Page>
  );
}

function Reviews({ tab }: { readonly tab: Tab }) {
  const t = useTexts();
  const { client, may } = useApi();
  const { decide, remove, undo } = useReviewActions();
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['reviews', 'list', tab],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam: cursor }) => {
      const query = { status: tab, limit: PAGE_SIZE, ...(cursor && { cursor }) };
      const { data, meta } = await client.reviews.list(query).page();
      const ids = [...new Set(data.map((each) => each.publication_id))];
      const products =
        ids.length === 0
          ? []
          : (await client.publications.list({ ids, visibility: 'all', expand: ['media'] }).page()).data;
      return { data, products, next_cursor: meta.pagination.next_cursor };
    },
    getNextPageParam: ({ next_cursor }) => next_cursor,
  });
  const reviews = data?.pages.flatMap((page) => page.data) ?? [];
  const products = new Map(data?.pages.flatMap((page) => page.products.map((each) => [each.id, each])));
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState<string>();
  const [asked, setAsked] = useState<readonly Review[]>();
  const chosen = reviews.filter(({ id }) => selected.has(id));

  const focusOn = (id: string | undefined) => {
    setCurrent(id);
    // Now, because a review that a decision moves away would take the focus along.
    if (id) document.getElementById(id)?.focus();
  };
  const next = (step: number) => {
    const index = reviews.findIndex(({ id }) => id === current);
    return reviews[index === -1 ? 0 : Math.min(reviews.length - 1, Math.max(0, index + step))]?.id;
  };
  const decideOn = (each: Review, status: Status) => {
    if (tab !== 'all' && each.id === current) {
      const index = reviews.indexOf(each);
      focusOn((reviews[index + 1] ?? reviews[index - 1])?.id);
    }
    void decide([each], status);
  };
  /** Asks before the deletion of reviews of deleted products, because these reviews cannot be written again. */
  const removeOrAsk = (all: readonly Review[]) => {
    if (all.every((each) => products.has(each.publication_id))) void remove(all, true);
    else setAsked(all);
  };
  const toggle = (id: string) => {
    const changed = new Set(selected);
    if (!changed.delete(id)) changed.add(id);
    setSelected(changed);
  };

  const onKey = (event: KeyboardEvent) => {
    const { target, key } = event;
    const is_elsewhere =
      target instanceof HTMLElement && target.closest('input[type=text], [role=dialog], [role=menu]');
    if (is_elsewhere || event.metaKey || event.ctrlKey || event.altKey) return;
    const review = reviews.find(({ id }) => id === current);
    const actions: Readonly<Record<string, (() => unknown) | undefined>> = {
      j: () => focusOn(next(1)),
      k: () => focusOn(next(-1)),
      p: review && (() => decideOn(review, 'published')),
      r: review && (() => decideOn(review, 'rejected')),
      x: review && (() => toggle(review.id)),
      u: undo,
    };
    if (!may('write:reviews') && !['j', 'k'].includes(key)) return;
    const action = actions[key];
    if (!action) return;
    event.preventDefault();
    void action();
  };
  const keys = useRef(onKey);
  keys.current = onKey;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => keys.current(event);
    addEventListener('keydown', listen, true);
    return () => removeEventListener('keydown', listen, true);
  }, []);

  if (error) return <ErrorState error={error} onRetry={refetch} />;
  if (!data) return <Loading lines={8} />;
  if (reviews.length === 0 && !hasNextPage) return <Empty tab={tab} />;
  const bulk = (act: (all: readonly Review[]) => unknown) => () => {
    void act(chosen);
    setSelected(new Set());
  };
  return (
    <>
      {may('write:reviews') && (
        <div className="row review-tools">
          <Checkbox
            isSelected={chosen.length > 0 && chosen.length === reviews.length}
            isIndeterminate={chosen.length > 0 && chosen.length < reviews.length}
            onChange={(all) => setSelected(new Set(all ? reviews.map(({ id }) => id) : []))}
          >
            {chosen.length > 0 ? t.reviews.selected(chosen.length) : t.reviews.selectAll}
          </Checkbox>
          {chosen.length > 0 ? (
            <>
              <Button onPress={bulk((all) => decide(all, 'published'))}>{t.reviews.publish}</Button>
              <Button onPress={bulk((all) => decide(all, 'rejected'))}>{t.reviews.reject}</Button>
              <Button kind="danger" onPress={bulk(removeOrAsk)}>
                {t.common.delete}
              </Button>
            </>
          ) : (
            <Keys />
          )}
        </div>
      )}
      <Card isFlush>
        <ul className="list">
          {reviews.map((review) => (
            <ReviewItem
              key={review.id}
              review={review}
              product={products.get(review.publication_id)}
              isStatusShown={tab === 'all'}
              isCurrent={review.id === current}
              isSelected={selected.has(review.id)}
              onFocus={() => setCurrent(review.id)}
              onToggle={() => toggle(review.id)}
              onDecide={(status) => decideOn(review, status)}
              onRemove={() => removeOrAsk([review])}
            />
          ))}
        </ul>
        {hasNextPage && <LoadMore onReach={() => !isFetchingNextPage && fetchNextPage()} />}
      </Card>
      {asked && (
        <Confirm
          title={t.reviews.deleteTitle(asked.length)}
          action={t.common.delete}
          isOpen
          onClose={() => setAsked(undefined)}
          onConfirm={() => {
            setAsked(undefined);
            void remove(asked, false);
          }}
        >
          <p>{t.reviews.deleteNote}</p>
        </Confirm>
      )}
    </>
  );
}

function Empty({ tab }: { readonly tab: Tab }) {
  const t = useTexts();
  const { data: store } = useStore();
  const is_published_at_once = tab === 'pending' && store && store.new_review_status !== 'pending';
  return (
    <Card>
      <EmptyState
        icon="review"
        title={t.reviews.empty[tab]}
        action={is_published_at_once && <LinkButton href="/store">{t.reviews.toSettings}</LinkButton>}
      >
        {is_published_at_once && t.reviews.publishedAtOnce}
      </EmptyState>
    </Card>
  );
}

const Keys = () => (
  <span className="review-keys muted small" aria-hidden="true">
    {useTexts().reviews.keys.map((keys) => (
      <span key={keys[0]}>
        {keys.slice(0, -1).map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
        {keys.at(-1)}
      </span>
    ))}
  </span>
);

interface ReviewItemProps {
  readonly review: Review;
  readonly product: Publication | undefined;
  readonly isStatusShown: boolean;
  readonly isCurrent: boolean;
  readonly isSelected: boolean;
  readonly onFocus: () => void;
  readonly onToggle: () => void;
  readonly onDecide: (status: Status) => void;
  readonly onRemove: () => void;
}

function ReviewItem(props: ReviewItemProps) {
  const { review, product, isStatusShown, isCurrent, isSelected, onFocus, onToggle, onDecide, onRemove } =
    props;
  const t = useTexts();
  const locale = useLocale();
  const { may } = useApi();
  const { id, author_name, rating, title, body, status, verified, created_at } = review;
  return (
    <li
      id={id}
      className="review"
      aria-label={t.reviews.reviewOf(author_name)}
      aria-current={isCurrent || undefined}
      tabIndex={-1}
      onFocus={onFocus}
    >
      {may('write:reviews') && (
        <Checkbox aria-label={t.reviews.select(author_name)} isSelected={isSelected} onChange={onToggle} />
      )}
      <div className="review-product">
        <Thumb media={product?.media?.data[0]} size={48} />
        <div>
          {product ? (
            <>
              <Link href={`/products/${product.id}`} dir="auto" className="review-product-title">
                {product.title}
              </Link>
              {product.stats?.rating && (
                <p className="muted small">
                  ★{' '}
                  {t.reviews.ratingOf(
                    formatNumber(product.stats.rating.average, locale),
                    product.stats.rating.count,
                  )}
                </p>
              )}
            </>
          ) : (
            <span className="muted">{t.reviews.noProduct}</span>
          )}
        </div>
      </div>
      <div className="review-content">
        <div className="row">
          <Stars rating={rating} />
          {isStatusShown && status && <Badge tone={TONES[status]}>{t.reviews.statuses[status]}</Badge>}
        </div>
        {title && (
          <strong dir="auto" className="review-text">
            {title}
          </strong>
        )}
        <p dir="auto" className="review-text review-body">
          {body}
        </p>
        <p className="muted small row">
          <bdi>{author_name}</bdi>
          <Ago at={created_at} />
          {verified && <span>✓ {t.reviews.verified}</span>}
        </p>
      </div>
      {may('write:reviews') && (
        <div className="review-actions">
          {status !== 'published' && (
            <Button onPress={() => onDecide('published')}>{t.reviews.publish}</Button>
          )}
          {status !== 'rejected' && <Button onPress={() => onDecide('rejected')}>{t.reviews.reject}</Button>}
          <Menu
            label={t.reviews.actions(author_name)}
            trigger={<IconButton label={t.reviews.actions(author_name)} icon="more" />}
            items={[
              { id: 'delete', label: t.common.delete, icon: 'trash', isDanger: true, onAction: onRemove },
            ]}
          />
        </div>
      )}
    </li>
  );
}

function Stars({ rating }: { readonly rating: number }) {
  const t = useTexts();
  return (
    <span className="stars" role="img" aria-label={t.reviews.stars(rating)}>
      {'★'.repeat(rating)}
      <span className="stars-left">{'★'.repeat(5 - rating)}</span>
    </span>
  );
}
