import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Key, NewKey } from 'catalog-client';
import { useState } from 'react';
import { useApi } from '../../lib/api';
import { formatAgo, formatDate, formatTime } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { Button, LinkButton } from '../../ui/button';
import { Loading, say, sayError } from '../../ui/feedback';
import { Switch, TextField } from '../../ui/fields';
import { Facts } from '../../ui/layout';
import { Confirm, Dialog } from '../../ui/overlay';
import { ChangeList } from '../history/change-list';
import { recentChanges } from '../history/recent';
import { PermissionsList } from './permissions';
import { KeyState } from './state';

const CHANGES = 5;

interface KeyDialogProps {
  readonly apiKey: Key;
  readonly onClose: () => void;
  readonly onRotated: (created: NewKey) => void;
}

/** A key: what it may do and did lately; its name, a new secret for it, and its end. */
export function KeyDialog({ apiKey, onClose, onRotated }: KeyDialogProps) {
  const t = useTexts();
  const locale = useLocale();
  const { client } = useApi();
  const queries = useQueryClient();
  const [name, setName] = useState(apiKey.name);
  const [asked, setAsked] = useState<'rotate' | 'revoke'>();
  const { id, is_own, status, type, needs_confirmation, permissions, created_at, expires_at, last_used_at } =
    apiKey;
  const { data: changes } = useQuery({
    queryKey: ['changes', 'of-key', id],
    queryFn: () => recentChanges(client, CHANGES, { actor: id }),
  });
  const settle = {
    onError: (error: unknown) => sayError(error, t),
    onSettled: () => queries.invalidateQueries({ queryKey: ['keys'] }),
  };
  const rename = useMutation({
    mutationFn: (next: string) => client.keys.update(id, { name: next }),
    onSuccess: () =>
      say(t.keys.isRenamed, async () => {
        await client.keys.update(id, { name: apiKey.name });
        await queries.invalidateQueries({ queryKey: ['keys'] });
      }),
    ...settle,
  });
  const confirmation = useMutation({
    mutationFn: (is_on: boolean) => client.keys.update(id, { needs_confirmation: is_on }),
    onSuccess: (_, is_on) =>
      say(t.keys.confirmationIs(is_on), async () => {
        await client.keys.update(id, { needs_confirmation: !is_on });
        await queries.invalidateQueries({ queryKey: ['keys'] });
      }),
    ...settle,
  });
  const rotate = useMutation({
    mutationFn: () => client.keys.rotate(id),
    onSuccess: (created) => {
      onClose();
      onRotated(created);
    },
    ...settle,
  });
  const revoke = useMutation({
    mutationFn: () => client.keys.revoke(id),
    onSuccess: () => {
      onClose();
      say(t.keys.isRevoked(apiKey.name));
    },
    ...settle,
  });
  const is_active = status === 'active';
  return (
    <Dialog
      title={apiKey.name}
      size="large"
      isOpen
      onClose={onClose}
      footer={
        is_active && (
          <>
            {!is_own && (
              <Button kind="danger" onPress={() => setAsked('revoke')}>
                {t.keys.revoke}
              </Button>
            )}
            <Button onPress={() => setAsked('rotate')}>{t.keys.rotate}</Button>
          </>
        )
      }
    >
      {is_own && <p className="muted">{t.keys.ownNote}</p>}
      {is_active && (
        <div className="key-name">
          <TextField label={t.keys.name} value={name} onChange={setName} />
          <Button
            isPending={rename.isPending}
            isDisabled={name.trim() === '' || name.trim() === apiKey.name}
            onPress={() => rename.mutate(name.trim())}
          >
            {t.keys.rename}
          </Button>
        </div>
      )}
      {is_active && type === 'secret' && !is_own && (
        <div className="stack tight">
          <Switch
            isSelected={confirmation.isPending ? confirmation.variables : needs_confirmation}
            onChange={(is_on) => confirmation.mutate(is_on)}
          >
            {t.keys.needsConfirmation}
          </Switch>
          <p className="muted small">{t.keys.needsConfirmationHint}</p>
        </div>
      )}
      <Facts
        facts={[
          [t.keys.status, <KeyState key="state" apiKey={apiKey} />],
          [t.keys.type, t.keys.types[type]],
          [t.keys.created, formatTime(created_at, locale)],
          [t.keys.lastUsed, last_used_at ? formatAgo(last_used_at, locale) : t.keys.neverUsed],
          [t.keys.expires, expires_at ? formatDate(expires_at, locale) : t.keys.neverExpires],
        ]}
      />
      <h3>{t.keys.permissions}</h3>
      <PermissionsList permissions={permissions} />
      <h3>{t.keys.lately}</h3>
      {!changes ? (
        <Loading lines={2} />
      ) : changes.length === 0 ? (
        <p className="muted">{t.keys.didNothing}</p>
      ) : (
        <>
          <ChangeList changes={changes} />
          <div className="row">
            <LinkButton href={`/history?actor=${id}`}>{t.keys.all}</LinkButton>
          </div>
        </>
      )}
      <Confirm
        title={t.keys.rotateTitle}
        action={t.keys.rotate}
        isOpen={asked === 'rotate'}
        isPending={rotate.isPending}
        onConfirm={() => rotate.mutate()}
        onClose={() => setAsked(undefined)}
      >
        <p>{t.keys.rotateNote}</p>
        {is_own && <p>{t.keys.rotateOwnNote}</p>}
      </Confirm>
      <Confirm
        title={t.keys.revokeTitle(apiKey.name)}
        action={t.keys.revoke}
        isOpen={asked === 'revoke'}
        isPending={revoke.isPending}
        onConfirm={() => revoke.mutate()}
        onClose={() => setAsked(undefined)}
      >
        <p>{t.keys.revokeNote}</p>
      </Confirm>
    </Dialog>
  );
}
