import { useQueries, useQuery } from '@tanstack/react-query';
import type { Webhook } from 'catalog-client';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useApi } from '../../lib/api';
import { formatAgo } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { EmptyState, ErrorState, Loading } from '../../ui/feedback';
import { Card, Page } from '../../ui/layout';
import { SecretDialog } from '../../ui/secret';
import { Table } from '../../ui/table';
import { DeliveryState, WebhookState } from './state';
import { WebhookDialog } from './webhook-dialog';
import './webhooks.css';

/** Deliveries are not among the changes of the store that the console follows. */
export const REFRESH_MS = 4_000;

export default function WebhooksPage() {
  const t = useTexts();
  const { client, may } = useApi();
  const [, navigate] = useLocation();
  const [is_new, setNew] = useState(false);
  const [created, setCreated] = useState<Webhook>();
  const can_read = may('write:webhooks');
  const { data, error, refetch } = useQuery({
    queryKey: ['webhooks'],
    enabled: can_read,
    refetchInterval: REFRESH_MS,
    queryFn: () => client.webhooks.list().all(),
  });
  const add = (kind: 'primary' | 'plain') => (
    <Button kind={kind} icon="plus" onPress={() => setNew(true)}>
      {t.webhooks.new}
    </Button>
  );
  return (
    <Page title={t.webhooks.title} actions={data && data.length > 0 && add('primary')}>
      {!can_read ? (
        <Card>
          <EmptyState icon="key" title={t.errors.notAllowed}>
            {t.webhooks.missingPermission}
          </EmptyState>
        </Card>
      ) : error ? (
        <ErrorState error={error} onRetry={refetch} />
      ) : !data ? (
        <Loading />
      ) : data.length === 0 ? (
        <Card>
          <EmptyState icon="webhook" title={t.webhooks.empty} action={add('primary')}>
            {t.webhooks.emptyHint}
          </EmptyState>
        </Card>
      ) : (
        <Card isFlush>
          <WebhookTable webhooks={data} />
        </Card>
      )}
      {is_new && <WebhookDialog onClose={() => setNew(false)} onSaved={setCreated} />}
      {created?.secret && (
        <SecretDialog
          title={t.webhooks.secretTitle}
          note={t.webhooks.secretNote}
          secret={created.secret}
          onClose={() => navigate(`/webhooks/${created.id}`)}
        />
      )}
    </Page>
  );
}

function WebhookTable({ webhooks }: { readonly webhooks: readonly Webhook[] }) {
  const t = useTexts();
  const locale = useLocale();
  const { client } = useApi();
  const last = useQueries({
    queries: webhooks.map(({ id }) => ({
      queryKey: ['webhooks', id, 'last'],
      refetchInterval: REFRESH_MS,
      queryFn: async () => (await client.webhooks.deliveries(id, { limit: 1 }).page()).data,
    })),
  });
  const items = webhooks.map((webhook, index) => ({ ...webhook, last: last[index]?.data?.[0] }));
  return (
    <Table
      label={t.webhooks.title}
      items={items}
      nameOf={({ url }) => url}
      hrefOf={({ id }) => `/webhooks/${id}`}
      columns={[
        {
          id: 'url',
          label: t.webhooks.url,
          cell: ({ url, description }) => (
            <div>
              {description && <div dir="auto">{description}</div>}
              <code className={description ? 'muted' : ''}>{url}</code>
            </div>
          ),
        },
        { id: 'state', label: t.webhooks.state, cell: (webhook) => <WebhookState webhook={webhook} /> },
        {
          id: 'topics',
          label: t.webhooks.topics,
          cell: ({ events }) =>
            events.length === 0 ? t.webhooks.allChanges : t.webhooks.topicCount(events.length),
        },
        {
          id: 'last',
          label: t.webhooks.lastDelivery,
          cell: ({ last: delivery }) =>
            delivery ? (
              <span className="row">
                <DeliveryState delivery={delivery} />
                {formatAgo(delivery.at, locale)}
              </span>
            ) : (
              <span className="muted">{t.webhooks.never}</span>
            ),
        },
      ]}
    />
  );
}
