import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Key, NewKey } from 'catalog-client';
import { useApi } from '../../lib/api';
import { useDraft } from '../../lib/draft';
import { fieldErrorsOf, messageOf } from '../../lib/errors';
import { useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Banner } from '../../ui/feedback';
import { DateTimeField, Select, Switch, TextField } from '../../ui/fields';
import { FieldRow } from '../../ui/layout';
import { Dialog } from '../../ui/overlay';
import { PermissionsField, permissionsOf } from './permissions';

interface NewKeyDialogProps {
  readonly onClose: () => void;
  readonly onCreated: (key: NewKey) => void;
}

/** Whom the key is for, and what it may do. */
export function NewKeyDialog({ onClose, onCreated }: NewKeyDialogProps) {
  const t = useTexts();
  const { client } = useApi();
  const queries = useQueryClient();
  const draft = useDraft('key/new', {
    name: '',
    type: 'secret' as Key['type'],
    is_all: true,
    permissions: permissionsOf('secret'),
    expires_at: null as string | null,
    needs_confirmation: false,
  });
  const { name, type, is_all, expires_at } = draft.values;
  const needs_confirmation = type === 'secret' && draft.values.needs_confirmation;
  const permissions = permissionsOf(type).filter((each) => draft.values.permissions.includes(each));
  const create = useMutation({
    mutationFn: () =>
      client.keys.create({ name, type, expires_at, needs_confirmation, ...(!is_all && { permissions }) }),
    onSuccess: (created) => {
      draft.discard();
      void queries.invalidateQueries({ queryKey: ['keys'] });
      onCreated(created);
      onClose();
    },
  });
  const faults = fieldErrorsOf(create.error, t);
  return (
    <Dialog
      title={t.keys.new}
      size="large"
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button
            onPress={() => {
              draft.discard();
              onClose();
            }}
          >
            {t.common.cancel}
          </Button>
          <Button
            kind="primary"
            isPending={create.isPending}
            isDisabled={name.trim() === '' || (!is_all && permissions.length === 0)}
            onPress={() => create.mutate()}
          >
            {t.keys.create}
          </Button>
        </>
      }
    >
      <TextField
        label={t.keys.name}
        hint={t.keys.nameHint}
        value={name}
        fault={faults.name}
        isRequired
        autoFocus
        onChange={(value) => draft.change({ name: value })}
      />
      <FieldRow>
        <Select
          label={t.keys.type}
          hint={t.keys.typeHints[type]}
          value={type}
          onChange={(id) => draft.change({ type: id as Key['type'] })}
          options={(['secret', 'public'] as const).map((id) => ({ id, label: t.keys.types[id] }))}
        />
        <Select
          label={t.keys.permissions}
          hint={type === 'secret' && is_all && !expires_at ? t.keys.managesKeys : undefined}
          value={is_all ? 'all' : 'some'}
          onChange={(id) => draft.change({ is_all: id === 'all' })}
          options={[
            { id: 'all', label: t.keys.allPermissions[type] },
            { id: 'some', label: t.keys.somePermissions },
          ]}
        />
        <DateTimeField
          label={t.keys.expires}
          hint={t.keys.expiresHint}
          granularity="day"
          value={expires_at}
          fault={faults.expires_at}
          onChange={(value) => draft.change({ expires_at: value })}
        />
      </FieldRow>
      {type === 'secret' && (
        <div className="stack tight">
          <Switch
            isSelected={needs_confirmation}
            onChange={(is_on) => draft.change({ needs_confirmation: is_on })}
          >
            {t.keys.needsConfirmation}
          </Switch>
          <p className="muted small">{t.keys.needsConfirmationHint}</p>
        </div>
      )}
      {!is_all && (
        <PermissionsField
          type={type}
          value={permissions}
          onChange={(next) => draft.change({ permissions: next })}
        />
      )}
      {create.error && Object.keys(faults).length === 0 && (
        <Banner tone="bad">{messageOf(create.error, t)}</Banner>
      )}
    </Dialog>
  );
}
