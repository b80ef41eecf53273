import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { formatDate, formatNumber } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { Badge, EmptyState } from '../../ui/feedback';
import { Card } from '../../ui/layout';
import { Table } from '../../ui/table';
import type { Account, StoppedWebhook, Store } from './api';
import { Copyable, EnvironmentBadge, Moment, RowMenu, streamHref } from './parts';

/** How many rows a table shows. The search finds the others. */
const ROWS_MAX = 200;

/** A table with its first rows, and a note about the others. */
function Rows<Item>({
  items,
  none,
  children,
}: {
  readonly items: readonly Item[];
  readonly none: string;
  readonly children: (shown: readonly Item[]) => ReactNode;
}) {
  const t = useTexts();
  if (items.length === 0) return <EmptyState icon="store" title={none} />;
  return (
    <Card isFlush>
      {children(items.slice(0, ROWS_MAX))}
      {items.length > ROWS_MAX && (
        <p className="muted small empty-row">{t.operator.stores.more(items.length - ROWS_MAX)}</p>
      )}
    </Card>
  );
}

interface StoreTableProps {
  readonly stores: readonly Store[];
  readonly accountNameOf: (id: string) => string;
}

export function StoreTable({ stores, accountNameOf }: StoreTableProps) {
  const t = useTexts();
  const locale = useLocale();
  const columns = t.operator.stores.columns;
  return (
    <Rows items={stores} none={t.operator.stores.noStores}>
      {(shown) => (
        <Table
          label={t.operator.stores.stores}
          items={shown}
          nameOf={({ name }) => name}
          columns={[
            { id: 'name', label: columns.name, cell: ({ name }) => <strong dir="auto">{name}</strong> },
            {
              id: 'realm',
              label: columns.realm,
              cell: ({ environment }) => <EnvironmentBadge of={environment} />,
            },
            {
              id: 'account',
              label: columns.account,
              cell: ({ account_id }) => <span dir="auto">{accountNameOf(account_id)}</span>,
            },
            {
              id: 'created',
              label: columns.created,
              cell: ({ created_at }) => formatDate(created_at, locale),
            },
            { id: 'id', label: columns.id, cell: ({ id }) => <Copyable text={id} /> },
            {
              id: 'actions',
              label: t.operator.actions,
              hideLabel: true,
              cell: ({ id, name, environment }) => (
                <RowMenu
                  name={name}
                  items={[
                    {
                      id: 'keys',
                      icon: 'key',
                      label: t.keys.title,
                      href: `/operator/keys?store=${id}`,
                    },
                    {
                      id: 'events',
                      icon: 'history',
                      label: t.operator.events.title,
                      href: `/operator/events?realm=${environment}&store=${id}`,
                    },
                  ]}
                />
              ),
            },
          ]}
        />
      )}
    </Rows>
  );
}

interface AccountTableProps {
  readonly accounts: readonly Account[];
  readonly onNewStore: (account_id: string) => void;
  readonly onSuspend: (account: Account) => void;
  readonly onReinstate: (account: Account) => void;
}

export function AccountTable({ accounts, onNewStore, onSuspend, onReinstate }: AccountTableProps) {
  const t = useTexts();
  const locale = useLocale();
  const columns = t.operator.stores.columns;
  return (
    <Rows items={accounts} none={t.operator.stores.noAccounts}>
      {(shown) => (
        <Table
          label={t.operator.stores.accounts}
          items={shown}
          nameOf={({ name }) => name}
          columns={[
            { id: 'name', label: columns.name, cell: ({ name }) => <strong dir="auto">{name}</strong> },
            {
              id: 'status',
              label: columns.status,
              cell: ({ status }) => (
                <Badge tone={status === 'active' ? 'good' : 'bad'}>
                  {t.operator.stores.statuses[status]}
                </Badge>
              ),
            },
            {
              id: 'created',
              label: columns.created,
              cell: ({ created_at }) => formatDate(created_at, locale),
            },
            { id: 'id', label: columns.id, cell: ({ id }) => <Copyable text={id} /> },
            {
              id: 'actions',
              label: t.operator.actions,
              hideLabel: true,
              cell: (account) => (
                <RowMenu
                  name={account.name}
                  items={[
                    {
                      id: 'keys',
                      icon: 'key',
                      label: t.keys.title,
                      href: `/operator/keys?account=${account.id}`,
                    },
                    {
                      id: 'events',
                      icon: 'history',
                      label: t.operator.events.title,
                      href: `/operator/events?realm=control&store=${account.id}`,
                    },
                    {
                      id: 'store',
                      icon: 'plus',
                      label: t.operator.stores.newStore,
                      onAction: () => onNewStore(account.id),
                    },
                    '-',
                    account.status === 'active'
                      ? {
                          id: 'suspend',
                          icon: 'stop',
                          label: t.operator.stores.suspend,
                          isDanger: true,
                          onAction: () => onSuspend(account),
                        }
                      : {
                          id: 'reinstate',
                          icon: 'play',
                          label: t.operator.stores.reinstate,
                          onAction: () => onReinstate(account),
                        },
                  ]}
                />
              ),
            },
          ]}
        />
      )}
    </Rows>
  );
}

interface WebhookTableProps {
  readonly webhooks: readonly StoppedWebhook[];
  readonly storeNameOf: (id: string) => string;
}

export function WebhookTable({ webhooks, storeNameOf }: WebhookTableProps) {
  const t = useTexts();
  const locale = useLocale();
  const columns = t.operator.stores.columns;
  return (
    <Rows items={webhooks} none={t.operator.stores.noWebhooks}>
      {(shown) => (
        <Table
          label={t.operator.stores.webhooks}
          items={shown}
          nameOf={({ url }) => url}
          columns={[
            { id: 'url', label: columns.url, cell: ({ url }) => <span>{url}</span> },
            {
              id: 'store',
              label: columns.store,
              cell: ({ store_id }) => <span dir="auto">{storeNameOf(store_id)}</span>,
            },
            {
              id: 'status',
              label: columns.status,
              cell: ({ status, status_reason }) => (
                <span>
                  <Badge tone={status === 'disabled' ? 'bad' : 'warn'}>
                    {t.operator.stores.webhookStatuses[status]}
                  </Badge>{' '}
                  <span className="small muted">{status_reason ?? t.operator.stores.byMerchant}</span>
                </span>
              ),
            },
            {
              id: 'pending',
              label: columns.pending,
              isNumber: true,
              cell: ({ pending_count }) => formatNumber(pending_count, locale),
            },
            { id: 'since', label: columns.since, cell: ({ updated_at }) => <Moment at={updated_at} /> },
            {
              id: 'events',
              label: t.operator.actions,
              hideLabel: true,
              cell: ({ id, environment }) => (
                <Link href={streamHref(`${environment}.webhook-${id}`)}>{t.operator.events.title}</Link>
              ),
            },
          ]}
        />
      )}
    </Rows>
  );
}
