import { useQuery } from '@tanstack/react-query';
import { useApi } from '../../lib/api';
import { formatNumber } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { LinkButton } from '../../ui/button';
import { ErrorState, Loading } from '../../ui/feedback';
import { Card, Columns, Page } from '../../ui/layout';
import { ChangeList } from '../history/change-list';
import { recentChanges } from '../history/recent';
import { Attention } from './attention';
import { FirstSteps } from './first-steps';
import { Planned } from './planned';
import { useCounts } from './use-counts';
import './overview.css';
import { Link } from 'wouter';

const CHANGES = 5;

export default function OverviewPage() {
  const t = useTexts();
  const { counts, error, refetch } = useCounts();
  return (
    <Page title={t.overview.title}>
      {error ? (
        <ErrorState error={error} onRetry={refetch} />
      ) : !counts ? (
        <Loading lines={8} />
      ) : counts.total === 0 ? (
        <>
          <FirstSteps />
          <LastChanges />
        </>
      ) : (
        <>
          <ul className="list figures">
            <Figure label={t.overview.products} count={counts.total} href="/products" />
            <Figure label={t.overview.public} count={counts.public} href="/products?visibility=public" />
            <Figure label={t.overview.private} count={counts.private} href="/products?visibility=private" />
            <Figure
              label={t.overview.discounted}
              count={counts.discounted}
              href="/products?has_discount=true"
            />
          </ul>
          <Columns side={<Planned count={counts.scheduled} />}>
            <Attention counts={counts} />
            <LastChanges />
          </Columns>
        </>
      )}
    </Page>
  );
}

interface FigureProps {
  readonly label: string;
  readonly count: number;
  readonly href: string;
}

function Figure({ label, count, href }: FigureProps) {
  const locale = useLocale();
  return (
    <li>
      <Link href={href} className="card figure">
        <span className="muted">{label}</span>
        <strong>{formatNumber(count, locale)}</strong>
      </Link>
    </li>
  );
}

function LastChanges() {
  const t = useTexts();
  const { client } = useApi();
  const { data, error, refetch } = useQuery({
    queryKey: ['changes', 'last'],
    queryFn: () => recentChanges(client, CHANGES),
  });
  return (
    <Card
      title={t.overview.lastChanges}
      actions={
        <LinkButton kind="quiet" href="/history">
          {t.history.title}
        </LinkButton>
      }
    >
      {error ? (
        <ErrorState error={error} onRetry={refetch} />
      ) : !data ? (
        <Loading />
      ) : (
        <ChangeList changes={data} />
      )}
    </Card>
  );
}
