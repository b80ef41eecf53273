import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Delivery, Webhook } from 'catalog-client';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useApi } from '../../lib/api';
import { formatAgo, formatNumber, formatTime } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { Button, IconButton } from '../../ui/button';
import { Banner, EmptyState, ErrorState, Loading, say, sayError } from '../../ui/feedback';
import { Card, Columns, Facts, Page } from '../../ui/layout';
import { Confirm, Menu } from '../../ui/overlay';
import { SecretDialog } from '../../ui/secret';
import { Table } from '../../ui/table';
import { DeliveryDialog, topicName } from './delivery-dialog';
import { ReplayDialog } from './replay-dialog';
import { DeliveryState, isStopped, WebhookState } from './state';
import { WebhookDialog } from './webhook-dialog';
import { REFRESH_MS } from './webhooks';
import './webhooks.css';

export default function WebhookPage({ id }: { readonly id: string }) {
  const t = useTexts();
  const { client } = useApi();
  const { data, error, refetch } = useQuery({
    queryKey: ['webhooks', id],
    refetchInterval: REFRESH_MS,
    queryFn: () => client.webhooks.get(id),
  });
  const back = ['/webhooks', t.webhooks.title] as const;
  if (data) return <Content webhook={data} />;
  return (
    <Page title={t.webhooks.title} back={back}>
      {error ? <ErrorState error={error} onRetry={refetch} /> : <Loading />}
    </Page>
  );
}

function Content({ webhook }: { readonly webhook: Webhook }) {
  const t = useTexts();
  const locale = useLocale();
  const { client } = useApi();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [open, setOpen] = useState<'edit' | 'replay' | 'rotate' | 'delete'>();
  const [secret, setSecret] = useState<string>();
  const { id, url, description, events, status, status_reason, pending_count, created_at } = webhook;
  const close = () => setOpen(undefined);
  const refresh = () => queries.invalidateQueries({ queryKey: ['webhooks'] });
  const onError = (error: unknown) => sayError(error, t);
  const ping = useMutation({
    mutationFn: () => client.webhooks.ping(id),
    onSuccess: () => say(t.webhooks.pinged),
    onError,
    onSettled: refresh,
  });
  const setStatus = useMutation({
    mutationFn: (next: 'active' | 'paused') => client.webhooks.update(id, { status: next }),
    onSuccess: (_, next) =>
      say(
        next === 'active' ? t.webhooks.isResumed : t.webhooks.isPaused,
        async () => {
          await client.webhooks.update(id, { status: next === 'active' ? 'paused' : 'active' });
          await refresh();
        },
        `webhook ${id}`,
      ),
    onError,
    onSettled: refresh,
  });
  const rotate = useMutation({
    mutationFn: () => client.webhooks.rotateSecret(id),
    onSuccess: (rotated) => setSecret(rotated.secret),
    onError,
    onSettled: close,
  });
  const remove = useMutation({
    mutationFn: () => client.webhooks.delete(id),
    onSuccess: () => {
      queries.setQueryData<Webhook[]>(['webhooks'], (all) => all?.filter((each) => each.id !== id));
      navigate('/webhooks');
      say(t.webhooks.isDeleted);
    },
    onError,
  });
  const resume = (
    <Button isPending={setStatus.isPending} onPress={() => setStatus.mutate('active')}>
      {t.webhooks.resume}
    </Button>
  );
  return (
    <Page
      title={description ?? url}
      state={<WebhookState webhook={webhook} />}
      back={['/webhooks', t.webhooks.title]}
      actions={
        <>
          <Menu
            label={t.common.more}
            trigger={<IconButton label={t.common.more} icon="more" />}
            items={[
              status === 'active'
                ? {
                    id: 'pause',
                    icon: 'stop',
                    label: t.webhooks.pause,
                    onAction: () => setStatus.mutate('paused'),
                  }
                : {
                    id: 'resume',
                    icon: 'play',
                    label: t.webhooks.resume,
                    onAction: () => setStatus.mutate('active'),
                  },
              { id: 'replay', icon: 'history', label: t.webhooks.replay, onAction: () => setOpen('replay') },
              { id: 'rotate', icon: 'key', label: t.webhooks.rotate, onAction: () => setOpen('rotate') },
              '-',
              {
                id: 'delete',
                icon: 'trash',
                label: t.common.delete,
                isDanger: true,
                onAction: () => setOpen('delete'),
              },
            ]}
          />
          <Button icon="edit" onPress={() => setOpen('edit')}>
            {t.common.edit}
          </Button>
          <Button kind="primary" icon="play" isPending={ping.isPending} onPress={() => ping.mutate()}>
            {t.webhooks.ping}
          </Button>
        </>
      }
    >
      {isStopped(webhook) && (
        <Banner tone="bad" title={t.webhooks.stoppedTitle} actions={resume}>
          <p dir="auto">{status === 'disabled' ? t.webhooks.disabledNote : status_reason}</p>
          <p>{t.webhooks.stoppedNote}</p>
        </Banner>
      )}
      {status === 'paused' && !isStopped(webhook) && (
        <Banner title={t.webhooks.pausedTitle} actions={resume}>
          {t.webhooks.pausedNote}
        </Banner>
      )}
      <Columns
        side={
          <>
            <Card title={t.webhooks.about}>
              <Facts
                facts={[
                  [t.webhooks.url, <code key="url">{url}</code>],
                  [t.webhooks.pending, formatNumber(pending_count, locale)],
                  [t.webhooks.created, formatTime(created_at, locale)],
                ]}
              />
            </Card>
            <Card title={t.webhooks.topics}>
              {events.length === 0 ? (
                t.webhooks.allChanges
              ) : (
                <ul className="list stack tight">
                  {events.map(({ type, fields }) => (
                    <li key={type}>
                      {topicName(type, t)}
                      {fields && <span className="muted"> ({fields.join(', ')})</span>}
                    </li>
                  ))}
                </ul>
              )}
            </Card>
          </>
        }
      >
        <Deliveries webhook={webhook} />
      </Columns>
      {open === 'edit' && <WebhookDialog webhook={webhook} onClose={close} />}
      {open === 'replay' && <ReplayDialog webhook={webhook} onClose={close} />}
      <Confirm
        title={t.webhooks.rotateTitle}
        action={t.webhooks.rotate}
        isOpen={open === 'rotate'}
        isPending={rotate.isPending}
        onConfirm={() => rotate.mutate()}
        onClose={close}
      >
        <p>{t.webhooks.rotateNote}</p>
      </Confirm>
      <Confirm
        title={t.webhooks.deleteTitle}
        action={t.common.delete}
        isOpen={open === 'delete'}
        isPending={remove.isPending}
        onConfirm={() => remove.mutate()}
        onClose={close}
      >
        <p>{t.webhooks.deleteNote}</p>
      </Confirm>
      {secret && (
        <SecretDialog
          title={t.webhooks.secretTitle}
          note={t.webhooks.secretNote}
          secret={secret}
          onClose={() => setSecret(undefined)}
        />
      )}
    </Page>
  );
}

function Deliveries({ webhook: { id, url } }: { readonly webhook: Webhook }) {
  const t = useTexts();
  const locale = useLocale();
  const { client } = useApi();
  const [chosen, setChosen] = useState<Delivery>();
  const { data, error, refetch } = useQuery({
    queryKey: ['webhooks', id, 'deliveries'],
    refetchInterval: REFRESH_MS,
    queryFn: () => client.webhooks.deliveries(id).all(),
  });
  // A message has several attempts.
  const items = data?.map((delivery) => ({
    ...delivery,
    id: `${delivery.id} ${delivery.at}`,
    delivery,
  }));
  return (
    <Card title={t.webhooks.deliveries} isFlush>
      {error ? (
        <ErrorState error={error} onRetry={refetch} />
      ) : !items ? (
        <Loading />
      ) : items.length === 0 ? (
        <EmptyState icon="webhook" title={t.webhooks.noDeliveries}>
          {t.webhooks.noDeliveriesHint}
        </EmptyState>
      ) : (
        <Table
          label={t.webhooks.deliveries}
          items={items}
          nameOf={({ type }) => topicName(type, t)}
          onAction={({ delivery }) => setChosen(delivery)}
          columns={[
            { id: 'type', label: t.webhooks.topic, cell: ({ type }) => topicName(type, t) },
            {
              id: 'answer',
              label: t.webhooks.answer,
              cell: ({ delivery }) => <DeliveryState delivery={delivery} />,
            },
            {
              id: 'attempt',
              label: t.webhooks.attempt,
              isNumber: true,
              cell: ({ attempt }) => formatNumber(attempt, locale),
            },
            {
              id: 'duration',
              label: t.webhooks.duration,
              isNumber: true,
              cell: ({ duration_ms }) => t.webhooks.milliseconds(formatNumber(duration_ms, locale)),
            },
            { id: 'at', label: t.webhooks.at, cell: ({ at }) => formatAgo(at, locale) },
          ]}
        />
      )}
      {chosen && <DeliveryDialog delivery={chosen} url={url} onClose={() => setChosen(undefined)} />}
    </Card>
  );
}
