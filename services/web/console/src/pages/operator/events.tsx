import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Form } from 'react-aria-components';
import { useSearchParams } from 'wouter';
import { formatNumber } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { EmptyState, ErrorState, Loading } from '../../ui/feedback';
import { Select, TextField } from '../../ui/fields';
import { Card, Page } from '../../ui/layout';
import { Table } from '../../ui/table';
import { operator, REALMS } from './api';
import { Moment, StreamLink } from './parts';

/** The newest events of a realm, of a store or account, and of types. The filters are in the address. */
export default function EventsPage() {
  const t = useTexts();
  const locale = useLocale();
  const [search] = useSearchParams();
  const filter = Object.fromEntries(
    ['realm', 'store', 'type'].flatMap((name) => (search.get(name) ? [[name, search.get(name)!]] : [])),
  );
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetching } = useInfiniteQuery({
    queryKey: ['events', filter],
    queryFn: ({ pageParam }) =>
      operator.events(new URLSearchParams({ ...filter, ...(pageParam && { before: pageParam }) })),
    initialPageParam: '',
    getNextPageParam: ({ meta }) => meta.before,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const events = data?.pages.flatMap((page) => page.data) ?? [];
  const before = data?.pages.at(-1)?.meta.before;
  const columns = t.operator.events.columns;
  return (
    <Page
      title={t.operator.events.title}
      actions={
        <Button icon="refresh" isPending={isFetching} onPress={() => void refetch()}>
          {t.operator.events.refresh}
        </Button>
      }
    >
      <Filters key={search.toString()} filter={filter} />
      {error && <ErrorState error={error} onRetry={refetch} />}
      {!data && !error && <Loading lines={10} />}
      {data && (
        <Card isFlush>
          {events.length > 0 && (
            <Table
              label={t.operator.events.title}
              items={events}
              nameOf={({ type }) => type}
              columns={[
                { id: 'type', label: columns.type, cell: ({ type }) => <span>{type}</span> },
                { id: 'time', label: columns.time, cell: ({ occurred_at }) => <Moment at={occurred_at} /> },
                {
                  id: 'stream',
                  label: columns.stream,
                  cell: ({ stream, revision }) => <StreamLink stream={stream} revision={revision} />,
                },
                { id: 'event', label: columns.event, isNumber: true, cell: ({ revision }) => revision },
                {
                  id: 'by',
                  label: columns.by,
                  cell: ({ source }) => <span className="moment">{source}</span>,
                },
                {
                  id: 'position',
                  label: columns.position,
                  isNumber: true,
                  cell: ({ position }) => formatNumber(Number(position), locale),
                },
              ]}
            />
          )}
          {events.length === 0 && <EmptyState icon="search" title={t.operator.events.none} />}
          {hasNextPage && before && (
            <div className="more-row">
              <Button kind="quiet" isPending={isFetching} onPress={() => void fetchNextPage()}>
                {t.operator.events.older(formatNumber(Number(before), locale))}
              </Button>
            </div>
          )}
        </Card>
      )}
    </Page>
  );
}

function Filters({ filter }: { readonly filter: Readonly<Record<string, string>> }) {
  const t = useTexts();
  const [, setSearch] = useSearchParams();
  const [store, setStore] = useState(filter.store ?? '');
  const [type, setType] = useState(filter.type ?? '');
  const apply = (changed: Record<string, string>) =>
    setSearch(
      Object.entries({ ...filter, store: store.trim(), type: type.trim(), ...changed }).filter(
        ([, value]) => value !== '',
      ),
    );
  return (
    <Form
      className="filters"
      onSubmit={(event) => {
        event.preventDefault();
        apply({});
      }}
    >
      <Select
        label={t.operator.realm}
        value={filter.realm ?? 'live'}
        onChange={(realm) => apply({ realm })}
        options={REALMS.map((id) => ({ id, label: t.operator.realms[id] }))}
      />
      <TextField
        label={t.operator.events.store}
        placeholder={t.operator.events.anyStore}
        value={store}
        onChange={setStore}
      />
      <TextField
        label={t.operator.events.types}
        placeholder={t.operator.events.anyType}
        value={type}
        onChange={setType}
      />
      <Button type="submit">{t.operator.events.show}</Button>
    </Form>
  );
}
