import { useQuery } from '@tanstack/react-query';
import { CatalogApiError, type Key, type NewKey } from 'catalog-client';
import { useState } from 'react';
import { useApi } from '../../lib/api';
import { formatAgo } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Badge, Banner, EmptyState, ErrorState, Loading } from '../../ui/feedback';
import { Card, Page, Tabs } from '../../ui/layout';
import { CopyLine, SecretDialog } from '../../ui/secret';
import { Table } from '../../ui/table';
import { KeyDialog } from './key-dialog';
import { NewKeyDialog } from './new-key-dialog';
import { ALL_PERMISSIONS } from './permissions';
import { KeyState } from './state';
import './keys.css';

/** The use of a key is not among the changes of the store that the console follows. */
const REFRESH_MS = 5_000;

export default function KeysPage() {
  const t = useTexts();
  const { client, may, needs_confirmation } = useApi();
  const may_manage = may(...ALL_PERMISSIONS) && !needs_confirmation;
  const [tab, setTab] = useState('active');
  const [is_new, setNew] = useState(false);
  const [created, setCreated] = useState<NewKey>();
  const [chosen_id, setChosen] = useState<string>();
  const { data, error, refetch } = useQuery({
    queryKey: ['keys'],
    enabled: may_manage,
    refetchInterval: (query) => query.state.data && REFRESH_MS,
    queryFn: () => client.keys.list().all(),
  });
  const chosen = data?.find(({ id }) => id === chosen_id);
  const ofStatus = (is_active: boolean) =>
    (data ?? []).filter(({ status }) => (status === 'active') === is_active);
  const shown = ofStatus(tab === 'active');
  if (!may_manage || (error instanceof CatalogApiError && error.status === 403))
    return (
      <Page title={t.keys.title}>
        <MayNot />
      </Page>
    );
  return (
    <Page
      title={t.keys.title}
      actions={
        data && (
          <Button kind="primary" icon="plus" onPress={() => setNew(true)}>
            {t.keys.new}
          </Button>
        )
      }
    >
      {error ? (
        <ErrorState error={error} onRetry={refetch} />
      ) : !data ? (
        <Loading />
      ) : (
        <Tabs
          label={t.keys.title}
          selected={tab}
          onSelect={setTab}
          tabs={[
            { id: 'active', label: t.keys.activeTab(ofStatus(true).length) },
            { id: 'ended', label: t.keys.endedTab(ofStatus(false).length) },
          ]}
        >
          <Card isFlush>
            {shown.length === 0 ? (
              <EmptyState icon="key" title={t.keys.noneEnded} />
            ) : (
              <KeyTable keys={shown} onChoose={({ id }) => setChosen(id)} />
            )}
          </Card>
        </Tabs>
      )}
      {is_new && <NewKeyDialog onClose={() => setNew(false)} onCreated={setCreated} />}
      {chosen && (
        <KeyDialog
          key={chosen.id}
          apiKey={chosen}
          onClose={() => setChosen(undefined)}
          onRotated={setCreated}
        />
      )}
      {created?.secret && (
        <SecretDialog
          title={t.keys.secretTitle(created.name)}
          note={t.keys.typeHints[created.type]}
          secret={created.secret}
          onClose={() => setCreated(undefined)}
        >
          {created.type === 'secret' && (
            <details>
              <summary>{t.keys.assistant}</summary>
              <div className="stack tight">
                <p>{t.keys.assistantNote}</p>
                <CopyLine text={`${location.origin}/mcp`} />
                <CopyLine text={`Authorization: Bearer ${created.secret}`} />
              </div>
            </details>
          )}
        </SecretDialog>
      )}
      {created && !created.secret && <Banner tone="bad">{t.keys.lostSecret(created.name)}</Banner>}
    </Page>
  );
}

/** Says what the own key lacks to manage keys. */
function MayNot() {
  const t = useTexts();
  const { may } = useApi();
  const missing = ALL_PERMISSIONS.filter((permission) => !may(permission));
  return (
    <Card>
      <EmptyState icon="key" title={t.keys.mayNot}>
        {missing.length > 0 ? t.keys.missing(missing.join(', ')) : t.keys.limited}
      </EmptyState>
    </Card>
  );
}

function KeyTable({
  keys,
  onChoose,
}: {
  readonly keys: readonly Key[];
  readonly onChoose: (key: Key) => void;
}) {
  const t = useTexts();
  const locale = useLocale();
  return (
    <Table
      label={t.keys.title}
      items={keys}
      nameOf={({ name }) => name}
      onAction={onChoose}
      columns={[
        {
          id: 'name',
          label: t.keys.name,
          cell: ({ name, is_own, needs_confirmation }) => (
            <span className="row">
              <span dir="auto">{name}</span>
              {is_own && <Badge tone="info">{t.keys.own}</Badge>}
              {needs_confirmation && <Badge tone="warn">{t.keys.proposes}</Badge>}
            </span>
          ),
        },
        { id: 'type', label: t.keys.type, cell: ({ type }) => t.keys.types[type] },
        {
          id: 'last_four',
          label: t.keys.lastFour,
          cell: ({ last_four }) => last_four && <code className="muted">…{last_four}</code>,
        },
        {
          id: 'used',
          label: t.keys.lastUsed,
          cell: ({ last_used_at }) =>
            last_used_at ? (
              formatAgo(last_used_at, locale)
            ) : (
              <span className="muted">{t.keys.neverUsed}</span>
            ),
        },
        { id: 'status', label: t.keys.status, cell: (apiKey) => <KeyState apiKey={apiKey} /> },
      ]}
    />
  );
}
