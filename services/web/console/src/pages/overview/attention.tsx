import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { useApi } from '../../lib/api';
import { formatNumber } from '../../lib/format';
import { useUntranslated } from '../../lib/languages';
import { useLocale, useTexts } from '../../texts/texts';
import { Badge, type Tone } from '../../ui/feedback';
import { Icon, type IconName } from '../../ui/icon';
import { Card } from '../../ui/layout';
import { useWaiting } from '../proposals/use-waiting';
import { isStopped } from '../webhooks/state';
import type { Counts } from './use-counts';

/** Imports and webhooks are not among the changes of the store that the console follows. */
const REFRESH_MS = 30_000;
const IMPORTS = 10;
/** A failed import of earlier days is old news. */
const IMPORT_AGE_MS_MAX = 7 * 86_400_000;

interface Matter {
  readonly count: number;
  readonly label: string;
  readonly href: string;
  readonly icon: IconName;
  readonly tone: Tone;
}

/** What somebody should look at, with links to it. */
export function Attention({ counts }: { readonly counts: Counts }) {
  const t = useTexts();
  const locale = useLocale();
  const others = useOthers();
  const proposals = useWaiting();
  const untranslated = useUntranslated();
  const products = (count: number, label: string, query: string): Matter => ({
    ...{ count, label, href: `/products?${query}`, icon: 'product', tone: 'warn' },
  });
  const matters: Matter[] = [
    {
      ...{ count: proposals, label: t.overview.proposals, href: '/proposals' },
      ...{ icon: 'proposal', tone: 'warn' },
    },
    {
      ...{ count: others.webhooks, label: t.overview.webhooks, href: '/webhooks' },
      ...{ icon: 'webhook', tone: 'bad' },
    },
    {
      ...{ count: others.imports, label: t.overview.imports, href: '/imports' },
      ...{ icon: 'import', tone: 'bad' },
    },
    {
      ...{ count: others.reviews, label: t.overview.reviews, href: '/reviews?status=pending' },
      ...{ icon: 'review', tone: 'info' },
    },
    products(counts.sold_out, t.overview.soldOut, 'in_stock=false'),
    products(counts.without_price, t.overview.withoutPrice, 'has_price=false'),
    products(counts.without_media, t.overview.withoutMedia, 'has_media=false'),
    ...untranslated.map(({ locale, count, name }) =>
      products(count, t.languages.missingIn(name), `untranslated=${locale}`),
    ),
  ];
  const open = matters.filter(({ count }) => count > 0);
  return (
    <Card title={t.overview.attention} isFlush>
      {open.length === 0 ? (
        <p className="matter">
          <Icon name="check" />
          {t.overview.allGood}
        </p>
      ) : (
        <ul className="list" aria-label={t.overview.attention}>
          {open.map(({ count, label, href, icon, tone }) => (
            <li key={href}>
              <Link href={href} className="matter">
                <Icon name={icon} />
                <span>{label}</span>
                <Badge tone={tone}>{formatNumber(count, locale)}</Badge>
                <Icon name="chevronRight" />
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

/** Numbers of what is not a product. What the key may not see counts as none. */
function useOthers() {
  const { client, may } = useApi();
  const { data: webhooks = 0 } = useQuery({
    queryKey: ['webhooks', 'not-sending'],
    enabled: may('write:webhooks'),
    refetchInterval: REFRESH_MS,
    queryFn: async () =>
      (await client.webhooks.list().all()).filter((each) => isStopped(each) || each.pending_count > 0).length,
  });
  const { data: imports = 0 } = useQuery({
    queryKey: ['imports', 'failed'],
    enabled: may('write:publications', 'write:listings', 'write:media', 'write:reviews'),
    refetchInterval: REFRESH_MS,
    queryFn: async () => {
      const { data } = await client.imports.list({ limit: IMPORTS }).page();
      const since = new Date(Date.now() - IMPORT_AGE_MS_MAX).toISOString();
      return data.filter(({ status, created_at }) => status === 'failed' && created_at > since).length;
    },
  });
  const { data: reviews = 0 } = useQuery({
    queryKey: ['reviews', 'pending'],
    enabled: may('read:reviews'),
    queryFn: async () => (await client.reviews.list({ status: 'pending', limit: 1 }).page()).meta.item_count,
  });
  return { webhooks, imports, reviews };
}
