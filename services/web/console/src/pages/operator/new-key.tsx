import { useState } from 'react';
import { CheckboxGroup, Label } from 'react-aria-components';
import { fieldErrorsOf } from '../../lib/errors';
import { useTexts } from '../../texts/texts';
import { Checkbox, DateTimeField, Select, TextField } from '../../ui/fields';
import { PermissionsField, permissionsOf } from '../keys/permissions';
import { type Key, type NewKey, operator, type Store } from './api';
import { FormDialog, useWrite } from './parts';
import '../keys/keys.css';

interface NewKeyDialogProps {
  readonly account_id: string;
  /** The stores of the account. */
  readonly stores: readonly Store[];
  readonly chosen: string | undefined;
  readonly onDone: (key: NewKey) => void;
  readonly onClose: () => void;
}

export function NewKeyDialog({ account_id, stores, chosen, onDone, onClose }: NewKeyDialogProps) {
  const t = useTexts();
  const first = chosen ?? (stores.length === 1 ? stores[0]!.id : undefined);
  const [name, setName] = useState('');
  const [type, setType] = useState<Key['type']>('secret');
  const [store_ids, setStores] = useState(first ? [first] : []);
  const [environment, setEnvironment] = useState<string>('live');
  const [is_all, setAll] = useState(true);
  const [chosen_permissions, setPermissions] = useState(permissionsOf('secret'));
  const [expires_at, setExpiry] = useState<string | null>(null);
  const create = useWrite(operator.createKey, onDone);
  const faults = fieldErrorsOf(create.error, t);
  const permissions = permissionsOf(type).filter((each) => chosen_permissions.includes(each));
  return (
    <FormDialog
      title={t.keys.new}
      action={t.operator.create}
      isPending={create.isPending}
      onSubmit={() =>
        create.mutate({
          account_id,
          name,
          type,
          stores: store_ids,
          expires_at,
          ...(store_ids.length === 0 && { environment }),
          ...(!is_all && { permissions }),
        })
      }
      onClose={onClose}
    >
      <TextField
        label={t.operator.name}
        hint={t.keys.nameHint}
        value={name}
        onChange={setName}
        fault={faults.name}
        isRequired
        autoFocus
      />
      <Select
        label={t.keys.type}
        hint={t.keys.typeHints[type]}
        value={type}
        onChange={(id) => setType(id as Key['type'])}
        options={(['secret', 'public'] as const).map((id) => ({ id, label: t.keys.types[id] }))}
      />
      <Select
        label={t.keys.permissions}
        value={is_all ? 'all' : 'some'}
        onChange={(id) => setAll(id === 'all')}
        options={[
          { id: 'all', label: t.keys.allPermissions[type] },
          { id: 'some', label: t.keys.somePermissions },
        ]}
      />
      {!is_all && <PermissionsField type={type} value={permissions} onChange={setPermissions} />}
      <CheckboxGroup className="stack tight" value={store_ids} onChange={setStores}>
        <Label className="label">{t.operator.keys.stores}</Label>
        {stores.length === 0 && <p className="small muted">{t.operator.keys.accountHasNoStores}</p>}
        {stores.map((store) => (
          <Checkbox key={store.id} value={store.id}>
            <span dir="auto">{store.name}</span> ({t.operator.realms[store.environment]})
          </Checkbox>
        ))}
        {faults.stores && <p className="bad-text small">{faults.stores}</p>}
      </CheckboxGroup>
      {store_ids.length === 0 && (
        <Select
          label={t.operator.realm}
          value={environment}
          onChange={setEnvironment}
          fault={faults.environment}
          options={(['live', 'test'] as const).map((id) => ({ id, label: t.operator.realms[id] }))}
        />
      )}
      <DateTimeField
        label={t.keys.expires}
        hint={t.keys.expiresHint}
        value={expires_at}
        onChange={setExpiry}
        fault={faults.expires_at}
      />
    </FormDialog>
  );
}
