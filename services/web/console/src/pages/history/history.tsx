import { useInfiniteQuery } from '@tanstack/react-query';
import type { Change } from 'catalog-client';
import { useSearchParams } from 'wouter';
import { useApi } from '../../lib/api';
import { useTexts } from '../../texts/texts';
import { Button, LinkButton } from '../../ui/button';
import { EmptyState, ErrorState, Loading } from '../../ui/feedback';
import { DateTimeField, Select } from '../../ui/fields';
import { Card, Page } from '../../ui/layout';
import { LoadMore } from '../../ui/load-more';
import { useKeyNames } from '../keys/use-key-names';
import { ChangeList } from './change-list';
import { isOfPeople } from './recent';
import { RunCard } from './run-card';

const LIMIT = 50;
const RESOURCES = ['publication', 'variant', 'listing', 'media', 'review', 'store'] as const;
/** Value of a filter that keeps everything. */
const ALL = 'all';

export default function HistoryPage() {
  const t = useTexts();
  const { client } = useApi();
  const [params, setParams] = useSearchParams();
  const resource = RESOURCES.find((each) => each === params.get('resource'));
  const actor = params.get('actor') ?? undefined;
  const since = params.get('since') ?? undefined;
  const run = params.get('run') ?? undefined;
  const filters = { resource: resource && [resource], actor, since, run };
  const set = (name: string, value: string | null) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        if (value === null || value === ALL) next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetching } = useInfiniteQuery({
    queryKey: ['changes', 'history', filters],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      client.store.fullHistory({ ...filters, cursor: pageParam, limit: LIMIT }).page(),
    getNextPageParam: ({ meta }) => meta.next_cursor,
  });
  const changes = data?.pages.flatMap((page) => page.data).filter(isOfPeople) ?? [];
  const people = new Map([...useKeyNames(), ...changes.flatMap(actorOf)]);
  const runs = new Set([...(run ? [run] : []), ...changes.flatMap((change) => change.run ?? [])]);
  const is_filtered = params.size > 0;
  return (
    <Page title={t.history.title}>
      <div className="history-filters">
        <Select
          label={t.history.what}
          value={resource ?? ALL}
          onChange={(id) => set('resource', id)}
          options={[
            { id: ALL, label: t.history.everything },
            ...RESOURCES.map((id) => ({ id, label: t.history.kinds[id] })),
          ]}
        />
        <Select
          label={t.history.who}
          value={actor ?? ALL}
          onChange={(id) => set('actor', id)}
          options={[
            { id: ALL, label: t.history.everybody },
            ...[...people].map(([id, label]) => ({ id, label })),
            ...(actor && !people.has(actor) ? [{ id: actor, label: actor }] : []),
          ]}
        />
        <DateTimeField
          label={t.history.since}
          granularity="day"
          value={since ?? null}
          onChange={(value) => set('since', value)}
        />
        {runs.size > 0 && (
          <Select
            label={t.history.run}
            value={run ?? ALL}
            onChange={(id) => set('run', id)}
            options={[
              { id: ALL, label: t.history.everything },
              ...[...runs].map((id) => ({ id, label: id })),
            ]}
          />
        )}
      </div>
      {run && data && changes.length > 0 && (
        <RunCard key={run} run={run} count={changes.length} hasMore={hasNextPage} />
      )}
      {error ? (
        <ErrorState error={error} onRetry={refetch} />
      ) : !data ? (
        <Loading lines={8} />
      ) : changes.length === 0 && !hasNextPage ? (
        <Card>
          <EmptyState
            icon="history"
            title={is_filtered ? t.history.noMatch : t.history.empty}
            action={
              is_filtered ? (
                <Button onPress={() => setParams({})}>{t.history.clearFilters}</Button>
              ) : (
                <LinkButton href="/products/new">{t.product.new}</LinkButton>
              )
            }
          >
            {!is_filtered && t.history.emptyHint}
          </EmptyState>
        </Card>
      ) : (
        <Card>
          <ChangeList changes={changes} canReturn ofRun={run} />
          {hasNextPage && <LoadMore onReach={() => !isFetching && fetchNextPage()} />}
        </Card>
      )}
    </Page>
  );
}

/** The id and the name of the key that made a change. */
const actorOf = ({ actor: { id, name } }: Change) => (id && name ? [[id, name] as const] : []);
