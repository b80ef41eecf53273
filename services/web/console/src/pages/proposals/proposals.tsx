import { useInfiniteQuery } from '@tanstack/react-query';
import type { Proposal } from 'catalog-client';
import { useState } from 'react';
import { useApi } from '../../lib/api';
import { useTexts } from '../../texts/texts';
import { Ago } from '../../ui/ago';
import { EmptyState, ErrorState, Loading } from '../../ui/feedback';
import { Card, Page, Tabs } from '../../ui/layout';
import { LoadMore } from '../../ui/load-more';
import { Table } from '../../ui/table';
import { useKeyNames } from '../keys/use-key-names';
import { ProposalState } from './state';
import { useWaiting } from './use-waiting';

/** A proposal may come at any time while the page is open. */
const REFRESH_MS = 5_000;

export default function ProposalsPage() {
  const t = useTexts();
  const [tab, setTab] = useState('waiting');
  const waiting = useWaiting();
  return (
    <Page title={t.proposals.title}>
      <p className="muted">{t.proposals.about}</p>
      <Tabs
        label={t.proposals.title}
        selected={tab}
        onSelect={setTab}
        tabs={[
          { id: 'waiting', label: t.proposals.waitingTab(waiting) },
          { id: 'decided', label: t.proposals.decidedTab },
        ]}
      >
        <Card isFlush>
          <Proposals isWaiting={tab === 'waiting'} />
        </Card>
      </Tabs>
    </Page>
  );
}

function Proposals({ isWaiting }: { readonly isWaiting: boolean }) {
  const t = useTexts();
  const { client } = useApi();
  const names = useKeyNames();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetching } = useInfiniteQuery({
    queryKey: ['proposals', 'list', isWaiting],
    initialPageParam: undefined as string | undefined,
    refetchInterval: REFRESH_MS,
    queryFn: ({ pageParam: cursor }) =>
      client.proposals.list({ cursor, ...(isWaiting && { status: 'waiting' as const }) }).page(),
    getNextPageParam: ({ meta }) => meta.pagination.next_cursor,
  });
  if (error) return <ErrorState error={error} onRetry={refetch} />;
  if (!data) return <Loading />;
  const shown = data.pages
    .flatMap((page) => page.data)
    .filter(({ status }) => (status === 'waiting') === isWaiting);
  return (
    <>
      <Table
        label={t.proposals.title}
        items={shown}
        nameOf={({ summary }) => summary}
        hrefOf={({ id }) => `/proposals/${id}`}
        columns={[
          {
            id: 'summary',
            label: t.proposals.what,
            cell: ({ summary }) => <strong dir="auto">{summary}</strong>,
          },
          {
            id: 'who',
            label: t.proposals.who,
            cell: ({ key }) => <span dir="auto">{names.get(key) ?? t.history.actors.key}</span>,
          },
          { id: 'run', label: t.history.run, cell: ({ run }) => run && <code>{run}</code> },
          ...(isWaiting
            ? []
            : [
                {
                  id: 'state',
                  label: t.proposals.state,
                  cell: (each: Proposal) => <ProposalState of={each} />,
                },
              ]),
          {
            id: 'when',
            label: t.proposals.when,
            isNumber: true,
            cell: ({ created_at }) => <Ago at={created_at} />,
          },
        ]}
        empty={
          <EmptyState icon="check" title={isWaiting ? t.proposals.noneWaiting : t.proposals.noneDecided}>
            {t.proposals.emptyHint}
          </EmptyState>
        }
      />
      {hasNextPage && <LoadMore onReach={() => !isFetching && fetchNextPage()} />}
    </>
  );
}
