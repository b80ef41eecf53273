import { useState } from 'react';
import { fieldErrorsOf } from '../../lib/errors';
import { useTexts } from '../../texts/texts';
import { say } from '../../ui/feedback';
import { Select, TextField } from '../../ui/fields';
import { Confirm } from '../../ui/overlay';
import { type Account, operator } from './api';
import { FormDialog, useWrite } from './parts';

export function Suspend({ account, onClose }: { readonly account: Account; readonly onClose: () => void }) {
  const t = useTexts();
  const suspend = useWrite(operator.suspendAccount, () => {
    say(t.operator.stores.suspended(account.name));
    onClose();
  });
  return (
    <Confirm
      title={t.operator.stores.asksSuspend(account.name)}
      isOpen
      onClose={onClose}
      action={t.operator.stores.suspend}
      isPending={suspend.isPending}
      onConfirm={() => suspend.mutate(account.id)}
    >
      <p>{t.operator.stores.suspendNote}</p>
    </Confirm>
  );
}

export function NewAccount({ onClose }: { readonly onClose: () => void }) {
  const t = useTexts();
  const [name, setName] = useState('');
  const create = useWrite(operator.createAccount, () => {
    say(t.operator.stores.accountCreated(name));
    onClose();
  });
  return (
    <FormDialog
      title={t.operator.stores.newAccount}
      action={t.operator.create}
      isPending={create.isPending}
      onSubmit={() => create.mutate(name)}
      onClose={onClose}
    >
      <TextField
        label={t.operator.name}
        value={name}
        onChange={setName}
        fault={fieldErrorsOf(create.error, t).name}
        isRequired
        autoFocus
      />
    </FormDialog>
  );
}

interface NewStoreProps {
  readonly accounts: readonly Account[];
  readonly account_id?: string;
  readonly onClose: () => void;
}

export function NewStore({ accounts, account_id, onClose }: NewStoreProps) {
  const t = useTexts();
  const active = accounts.filter(({ status }) => status === 'active');
  const [fields, setFields] = useState({
    account_id: account_id ?? (active.length === 1 ? active[0]!.id : ''),
    environment: 'live',
    name: '',
    currency: '',
  });
  const change = (name: keyof typeof fields) => (value: string) => setFields({ ...fields, [name]: value });
  const create = useWrite(operator.createStore, ({ name }) => {
    say(t.operator.stores.storeCreated(name));
    onClose();
  });
  const faults = fieldErrorsOf(create.error, t);
  return (
    <FormDialog
      title={t.operator.stores.newStore}
      action={t.operator.create}
      isPending={create.isPending}
      onSubmit={() => {
        const { currency, ...others } = fields;
        create.mutate({ ...others, ...(currency.trim() && { currency: currency.trim().toUpperCase() }) });
      }}
      onClose={onClose}
    >
      <TextField
        label={t.operator.name}
        value={fields.name}
        onChange={change('name')}
        fault={faults.name}
        isRequired
        autoFocus
      />
      <Select
        label={t.operator.account}
        value={fields.account_id || null}
        onChange={change('account_id')}
        fault={faults.account_id}
        options={active.map(({ id, name }) => ({ id, label: name }))}
        isRequired
      />
      <Select
        label={t.operator.realm}
        value={fields.environment}
        onChange={change('environment')}
        options={(['live', 'test'] as const).map((id) => ({ id, label: t.operator.realms[id] }))}
      />
      <TextField
        label={t.operator.stores.currency}
        hint={t.operator.stores.currencyNote}
        value={fields.currency}
        onChange={change('currency')}
        fault={faults.currency}
        maxLength={3}
      />
    </FormDialog>
  );
}
