import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { formatAgo, formatDate } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Badge, EmptyState, ErrorState, Loading, say } from '../../ui/feedback';
import { Select } from '../../ui/fields';
import { Card, Page } from '../../ui/layout';
import { Confirm } from '../../ui/overlay';
import { SecretDialog } from '../../ui/secret';
import { Table } from '../../ui/table';
import { type Key, type KeyOwner, type NewKey, operator, type Store } from './api';
import { NewKeyDialog } from './new-key';
import { EnvironmentBadge, FormDialog, RowMenu, useWrite } from './parts';

const ALL = 'all';
const NO_STORES: readonly Store[] = [];

/** The keys of an account, or of one of its stores. The choice is in the address. */
export default function KeysPage() {
  const t = useTexts();
  const [search, setSearch] = useSearchParams();
  const [asked, setAsked] = useState<'new' | { readonly rotate: Key } | { readonly revoke: Key }>();
  const [secret, setSecret] = useState<NewKey>();
  const accounts = useQuery({ queryKey: ['accounts'], queryFn: operator.accounts });
  const stores = useQuery({ queryKey: ['stores'], queryFn: operator.stores });
  const all_stores = stores.data?.stores ?? NO_STORES;
  const store = all_stores.find(({ id }) => id === search.get('store'));
  const only = accounts.data?.length === 1 ? accounts.data[0] : undefined;
  const account_id = store?.account_id ?? search.get('account') ?? only?.id;
  const own_stores = all_stores.filter((each) => each.account_id === account_id);
  const owner: KeyOwner | undefined = store
    ? { store: store.id }
    : account_id
      ? { account: account_id }
      : undefined;
  const keys = useQuery({
    queryKey: ['keys', owner],
    enabled: owner !== undefined && stores.data !== undefined,
    queryFn: () => operator.keys(owner!),
  });
  const error = accounts.error ?? stores.error ?? keys.error;
  const close = () => setAsked(undefined);
  const onSecret = (key: NewKey) => {
    setSecret(key);
    close();
  };
  return (
    <Page
      title={t.keys.title}
      actions={
        owner && (
          <Button kind="primary" icon="plus" onPress={() => setAsked('new')}>
            {t.keys.new}
          </Button>
        )
      }
    >
      <div className="filters two">
        <Select
          label={t.operator.account}
          placeholder={t.operator.keys.choose}
          value={account_id ?? null}
          onChange={(account) => setSearch({ account })}
          options={(accounts.data ?? []).map(({ id, name }) => ({ id, label: name }))}
        />
        <Select
          label={t.operator.keys.store}
          value={store?.id ?? ALL}
          isDisabled={!account_id}
          onChange={(id) => setSearch(id === ALL ? { account: account_id! } : { store: id })}
          options={[
            { id: ALL, label: t.operator.keys.allStores },
            ...own_stores.map(({ id, name, environment }) => ({
              id,
              label: `${name} (${t.operator.realms[environment]})`,
            })),
          ]}
        />
      </div>
      {error && (
        <ErrorState
          error={error}
          onRetry={() => Promise.all([accounts.refetch(), stores.refetch(), keys.refetch()])}
        />
      )}
      {!error && !owner && accounts.data && (
        <EmptyState icon="key" title={t.operator.keys.choose}>
          {t.operator.keys.chooseNote}
        </EmptyState>
      )}
      {!error && !keys.data && (owner || !accounts.data) && <Loading />}
      {keys.data?.length === 0 && <EmptyState icon="key" title={t.operator.keys.none} />}
      {keys.data && keys.data.length > 0 && (
        <KeyTable
          keys={keys.data}
          stores={own_stores}
          onRotate={(rotate) => setAsked({ rotate })}
          onRevoke={(revoke) => setAsked({ revoke })}
        />
      )}
      {asked === 'new' && account_id && (
        <NewKeyDialog
          account_id={account_id}
          stores={own_stores}
          chosen={store?.id}
          onDone={onSecret}
          onClose={close}
        />
      )}
      {typeof asked === 'object' && 'rotate' in asked && (
        <Rotate item={asked.rotate} onDone={onSecret} onClose={close} />
      )}
      {typeof asked === 'object' && 'revoke' in asked && <Revoke item={asked.revoke} onClose={close} />}
      {secret && (
        <SecretDialog
          title={t.keys.secretTitle(secret.name)}
          note={t.keys.typeHints[secret.type]}
          secret={secret.key}
          onClose={() => setSecret(undefined)}
        />
      )}
    </Page>
  );
}

/** Keys that work come first. */
const byUse = (one: Key, other: Key): number =>
  Number(other.status === 'active') - Number(one.status === 'active');

const TONES = { active: 'good', expired: 'neutral', revoked: 'neutral' } as const;

interface KeyTableProps {
  readonly keys: readonly Key[];
  readonly stores: readonly Store[];
  readonly onRotate: (key: Key) => void;
  readonly onRevoke: (key: Key) => void;
}

function KeyTable({ keys, stores, onRotate, onRevoke }: KeyTableProps) {
  const t = useTexts();
  const locale = useLocale();
  const namesOf = (ids: readonly string[]) =>
    ids.map((id) => stores.find((store) => store.id === id)?.name ?? id).join(', ');
  return (
    <Card isFlush>
      <Table
        label={t.keys.title}
        items={[...keys].sort(byUse)}
        nameOf={({ name }) => name}
        columns={[
          {
            id: 'name',
            label: t.keys.name,
            cell: ({ name, last_four }) => (
              <span>
                <strong dir="auto">{name}</strong>
                {last_four && <code className="muted"> …{last_four}</code>}
              </span>
            ),
          },
          {
            id: 'type',
            label: t.keys.type,
            cell: ({ type, environment }) => (
              <span className="row">
                {t.keys.types[type]} <EnvironmentBadge of={environment} />
              </span>
            ),
          },
          {
            id: 'status',
            label: t.keys.status,
            cell: ({ status }) => <Badge tone={TONES[status]}>{t.keys.states[status]}</Badge>,
          },
          {
            id: 'stores',
            label: t.operator.keys.stores,
            cell: (key) => <span dir="auto">{namesOf(key.stores) || t.operator.keys.noStores}</span>,
          },
          {
            id: 'used',
            label: t.keys.lastUsed,
            cell: ({ last_used_at }) => (last_used_at ? formatAgo(last_used_at, locale) : t.keys.neverUsed),
          },
          {
            id: 'expires',
            label: t.keys.expires,
            cell: ({ expires_at }) => (expires_at ? formatDate(expires_at, locale) : t.keys.neverExpires),
          },
          {
            id: 'actions',
            label: t.operator.actions,
            hideLabel: true,
            cell: (key) =>
              key.status === 'active' && (
                <RowMenu
                  name={key.name}
                  items={[
                    {
                      id: 'rotate',
                      icon: 'refresh',
                      label: t.keys.rotate,
                      onAction: () => onRotate(key),
                    },
                    {
                      id: 'revoke',
                      icon: 'trash',
                      label: t.keys.revoke,
                      isDanger: true,
                      onAction: () => onRevoke(key),
                    },
                  ]}
                />
              ),
          },
        ]}
      />
    </Card>
  );
}

const OVERLAPS_MINUTES = [0, 60, 1_440, 10_080] as const;

interface KeyDialogProps {
  readonly item: Key;
  readonly onClose: () => void;
}

function Rotate({ item, onDone, onClose }: KeyDialogProps & { readonly onDone: (key: NewKey) => void }) {
  const t = useTexts();
  const [overlap, setOverlap] = useState<(typeof OVERLAPS_MINUTES)[number]>(1_440);
  const rotate = useWrite((minutes: number) => operator.rotateKey(item.id, minutes), onDone);
  return (
    <FormDialog
      title={t.keys.rotateTitle}
      action={t.keys.rotate}
      isPending={rotate.isPending}
      onSubmit={() => rotate.mutate(overlap)}
      onClose={onClose}
    >
      <p>{t.operator.keys.rotateNote}</p>
      <Select
        label={t.operator.keys.overlap}
        value={String(overlap)}
        onChange={(id) => setOverlap(OVERLAPS_MINUTES.find((each) => String(each) === id) ?? overlap)}
        options={OVERLAPS_MINUTES.map((each) => ({
          id: String(each),
          label: t.operator.keys.overlaps[each],
        }))}
      />
    </FormDialog>
  );
}

function Revoke({ item, onClose }: KeyDialogProps) {
  const t = useTexts();
  const revoke = useWrite(operator.revokeKey, () => {
    say(t.keys.isRevoked(item.name));
    onClose();
  });
  return (
    <Confirm
      title={t.keys.revokeTitle(item.name)}
      isOpen
      onClose={onClose}
      action={t.keys.revoke}
      isPending={revoke.isPending}
      onConfirm={() => revoke.mutate(item.id)}
    >
      <p>{t.keys.revokeNote}</p>
    </Confirm>
  );
}
