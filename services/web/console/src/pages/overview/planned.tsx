import { useQuery } from '@tanstack/react-query';
import type { Publication } from 'catalog-client';
import { Link } from 'wouter';
import { useApi } from '../../lib/api';
import { formatTime } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { LinkButton } from '../../ui/button';
import { ErrorState, Loading } from '../../ui/feedback';
import { Card } from '../../ui/layout';

/** The interface does not sort by time, so more are read than shown. */
const READ = 50;
const SHOWN = 6;

/** What is published and hidden next, with the times. */
export function Planned({ count }: { readonly count: number }) {
  const t = useTexts();
  const locale = useLocale();
  const { client } = useApi();
  const { data, error, refetch } = useQuery({
    queryKey: ['publications', 'planned'],
    enabled: count > 0,
    queryFn: async () =>
      (await client.publications.list({ visibility: 'all', scheduled: true, limit: READ }).page()).data,
  });
  const events = (data ?? []).flatMap(eventsOf).sort((one, other) => (one.at < other.at ? -1 : 1));
  return (
    <Card
      title={t.overview.planned}
      actions={
        count > 0 && (
          <LinkButton kind="quiet" href="/products?scheduled=true">
            {t.products.count(count)}
          </LinkButton>
        )
      }
    >
      {count === 0 && <p className="muted">{t.overview.nothingPlanned}</p>}
      {error && <ErrorState error={error} onRetry={refetch} />}
      {count > 0 && !data && !error && <Loading lines={3} />}
      {count > 0 && data && (
        <ul className="list stack">
          {events.slice(0, SHOWN).map(({ id, title, at, is_start }) => (
            <li key={`${id} ${at}`}>
              <Link href={`/products/${id}`} dir="auto">
                {title}
              </Link>
              <div className="muted small">
                {is_start ? t.overview.publishes : t.overview.hides}{' '}
                <time dateTime={at}>{formatTime(at, locale)}</time>
              </div>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function eventsOf({ id, title, publish_at, unpublish_at }: Publication) {
  const now = new Date().toISOString();
  return [
    { id, title, at: publish_at ?? '', is_start: true },
    { id, title, at: unpublish_at ?? '', is_start: false },
  ].filter(({ at }) => at > now);
}
