import { useInfiniteQuery } from '@tanstack/react-query';
import { useApi } from '../../lib/api';
import { ChangeWords } from '../../lib/change-words';
import { formatAgo, formatTime } from '../../lib/format';
import { useListings } from '../../lib/listings';
import { useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Badge, EmptyState, ErrorState, Loading } from '../../ui/feedback';
import { Dialog } from '../../ui/overlay';
import { useEditing } from './editing';
import { rowName, usedOptions } from './matrix';

const PAGE_LENGTH = 30;

interface HistoryPanelProps {
  readonly id: string;
  readonly onRevert: (revision: number, newest: number) => void;
  readonly isPending: boolean;
  readonly onClose: () => void;
}

/** What happened to the product, the newest first, with a return to each state. */
export function HistoryPanel({ id, onRevert, isPending, onClose }: HistoryPanelProps) {
  const t = useTexts();
  const locale = useLocale();
  const { client } = useApi();
  const { product } = useEditing();
  const { tree } = useListings();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ['changes', 'publication', id],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      client.publications.history(id, { limit: PAGE_LENGTH, cursor }).page(),
    getNextPageParam: ({ meta }) => meta.pagination.next_cursor,
  });
  const changes = data?.pages.flatMap((page) => page.data) ?? [];
  const options = usedOptions(product.fields.options);
  const nameOf = (named: string): string | undefined => {
    const row = product.fields.rows.find(({ key }) => key === named);
    return row ? rowName(row, options) : tree?.byId.get(named)?.listing.name;
  };
  return (
    <Dialog title={t.history.title} size="side" isOpen onClose={onClose}>
      {error && <ErrorState error={error} onRetry={refetch} />}
      {!data && !error && <Loading />}
      {data && changes.length === 0 && <EmptyState icon="history" title={t.product.noHistory} />}
      <ol className="list stack history-list" aria-label={t.history.title}>
        {changes.map((change, index) => (
          <li key={change.id}>
            <ChangeWords change={change} currency={product.publication?.price_currency} nameOf={nameOf} />
            <div className="row spread">
              <time
                className="muted small"
                dateTime={change.occurred_at}
                title={formatTime(change.occurred_at, locale)}
              >
                {formatAgo(change.occurred_at, locale)}
              </time>
              {index === 0 ? (
                <Badge>{t.product.current}</Badge>
              ) : (
                !change.type.endsWith('.deleted') && (
                  <Button
                    kind="quiet"
                    icon="undo"
                    isPending={isPending}
                    onPress={() => onRevert(change.revision, changes[0]!.revision)}
                  >
                    {t.product.revert}
                  </Button>
                )
              )}
            </div>
          </li>
        ))}
      </ol>
      {hasNextPage && (
        <Button onPress={() => void fetchNextPage()} isPending={isFetchingNextPage}>
          {t.product.older}
        </Button>
      )}
    </Dialog>
  );
}
