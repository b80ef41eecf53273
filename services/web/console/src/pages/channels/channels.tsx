import { useQuery } from '@tanstack/react-query';
import type { FeedIssue } from 'catalog-client';
import { useSearchParams } from 'wouter';
import { useApi } from '../../lib/api';
import { formatNumber } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Badge, Banner, EmptyState, ErrorState, Loading } from '../../ui/feedback';
import { Card, Page, Tabs } from '../../ui/layout';
import { CopyLine } from '../../ui/secret';
import { Table } from '../../ui/table';

/** The channels, with the file that each one reads. */
const FILES = { google: 'google.xml', meta: 'meta.csv', acp: 'acp.jsonl' } as const;
type Channel = keyof typeof FILES;
const CHANNELS = Object.keys(FILES) as Channel[];
/** The most issues that the page reads: ten requests, of which each checks up to 5,000 variants. */
const ISSUES_MAX = 500;
const PAGE_SIZE = 50;

export default function ChannelsPage() {
  const t = useTexts();
  const { may } = useApi();
  const [search, setSearch] = useSearchParams();
  const channel = CHANNELS.find((each) => each === search.get('channel')) ?? 'google';
  return (
    <Page title={t.channels.title}>
      {may('read:publications') ? (
        <Tabs
          label={t.channels.title}
          selected={channel}
          onSelect={(id) => setSearch({ channel: id }, { replace: true })}
          tabs={CHANNELS.map((id) => ({ id, label: t.channels.names[id] }))}
        >
          <Card title={t.channels.address} hint={t.channels.addressHint}>
            <CopyLine text={`${location.origin}/feeds/${FILES[channel]}`} />
          </Card>
          <Issues key={channel} channel={channel} />
        </Tabs>
      ) : (
        <Card>
          <EmptyState icon="key" title={t.errors.notAllowed}>
            {t.channels.missingPermission}
          </EmptyState>
        </Card>
      )}
    </Page>
  );
}

/** The issues that have one problem of one field. */
interface Problem extends Pick<FeedIssue, 'id' | 'field' | 'problem' | 'severity' | 'message'> {
  readonly issues: FeedIssue[];
}

/** Returns the problems, those first for which the channel refuses items, then those of most products. */
function problemsOf(issues: readonly FeedIssue[]): Problem[] {
  const problems = new Map<string, Problem>();
  for (const issue of issues) {
    const { field, problem, severity, message } = issue;
    const id = [field, problem, severity].join('.');
    const known = problems.get(id) ?? { id, field, problem, severity, message, issues: [] };
    known.issues.push(issue);
    problems.set(id, known);
  }
  const rankOf = ({ severity, issues }: Problem) => (severity === 'error' ? ISSUES_MAX : 0) + issues.length;
  return [...problems.values()].sort((a, b) => rankOf(b) - rankOf(a));
}

function Issues({ channel }: { readonly channel: Channel }) {
  const t = useTexts();
  const locale = useLocale();
  const { client } = useApi();
  const [search, setSearch] = useSearchParams();
  const { data, error, refetch, isFetching } = useQuery({
    queryKey: ['feeds', channel],
    // A check reads all products. It is repeated when the page is opened again, and not after each change of the store.
    staleTime: 0,
    refetchOnWindowFocus: false,
    queryFn: async () => {
      const issues: FeedIssue[] = [];
      for await (const issue of client.feeds.issues(channel, { limit: PAGE_SIZE })) {
        issues.push(issue);
        if (issues.length === ISSUES_MAX) break;
      }
      return issues;
    },
  });
  if (error) return <ErrorState error={error} onRetry={refetch} />;
  if (!data) return <Loading lines={6} />;
  const problems = problemsOf(data);
  const chosen = problems.find(({ id }) => id === search.get('problem')) ?? problems[0];
  const textOf = ({ field, problem }: Problem) => t.channels.problems[problem](field);
  return (
    <>
      {data.length === ISSUES_MAX && <Banner tone="warn">{t.channels.more(ISSUES_MAX)}</Banner>}
      <Card
        title={t.channels.issues}
        isFlush
        actions={
          <Button icon="refresh" isPending={isFetching} onPress={() => void refetch()}>
            {t.channels.check}
          </Button>
        }
      >
        <Table
          label={t.channels.issues}
          items={problems}
          nameOf={textOf}
          onAction={({ id }) => setSearch({ channel, problem: id }, { replace: true })}
          columns={[
            {
              id: 'problem',
              label: t.channels.problem,
              cell: (each) => (each === chosen ? <strong>{textOf(each)}</strong> : textOf(each)),
            },
            {
              id: 'severity',
              label: t.channels.effect,
              cell: ({ severity }) => (
                <Badge tone={severity === 'error' ? 'bad' : 'warn'}>{t.channels.severities[severity]}</Badge>
              ),
            },
            {
              id: 'products',
              label: t.channels.products,
              isNumber: true,
              cell: ({ issues }) => formatNumber(issues.length, locale),
            },
          ]}
          empty={
            <EmptyState icon="check" title={t.channels.empty}>
              {t.channels.emptyHint}
            </EmptyState>
          }
        />
      </Card>
      {chosen && (
        <Card title={textOf(chosen)} hint={<span lang="en">{chosen.message}</span>} isFlush>
          <Table
            label={textOf(chosen)}
            items={chosen.issues}
            nameOf={({ title }) => title}
            hrefOf={({ publication_id }) => `/products/${publication_id}`}
            columns={[
              {
                id: 'title',
                label: t.channels.product,
                cell: ({ title }) => <span dir="auto">{title}</span>,
              },
              {
                id: 'variants',
                label: t.channels.variants,
                isNumber: true,
                cell: ({ variant_count }) => variant_count > 0 && formatNumber(variant_count, locale),
              },
            ]}
          />
        </Card>
      )}
    </>
  );
}
