import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Badge, ErrorState, Loading, say } from '../../ui/feedback';
import { SearchField } from '../../ui/fields';
import { Page, Tabs } from '../../ui/layout';
import { NewAccount, NewStore, Suspend } from './account-dialogs';
import { type Account, operator } from './api';
import { useWrite } from './parts';
import { AccountTable, StoreTable, WebhookTable } from './store-tables';

type Asked = 'account' | 'store' | { readonly account_id: string } | { readonly suspend: Account };

/** All stores and accounts, and the webhooks that do not send. */
export default function StoresPage() {
  const t = useTexts();
  const [search, setSearch] = useSearchParams();
  const [text, setText] = useState('');
  const [asked, setAsked] = useState<Asked>();
  const accounts = useQuery({ queryKey: ['accounts'], queryFn: operator.accounts });
  const stores = useQuery({ queryKey: ['stores'], queryFn: operator.stores });
  const reinstate = useWrite(
    ({ id }: Account) => operator.reinstateAccount(id),
    ({ name }) => say(t.operator.stores.reinstated(name)),
  );
  const error = accounts.error ?? stores.error;
  const tab = search.get('tab') ?? 'stores';
  const close = () => setAsked(undefined);
  const matches = (...fields: string[]) =>
    fields.some((field) => field.toLowerCase().includes(text.trim().toLowerCase()));
  const all = accounts.data ?? [];
  const names = new Map(all.map(({ id, name }) => [id, name]));
  const nameOf = (id: string) => names.get(id) ?? id;
  const storeNameOf = (id: string) => stores.data?.stores.find((store) => store.id === id)?.name ?? id;
  const stopped = stores.data?.stopped_webhooks ?? [];
  return (
    <Page
      title={t.operator.stores.title}
      actions={
        <>
          <Button onPress={() => setAsked('account')}>{t.operator.stores.newAccount}</Button>
          <Button kind="primary" icon="plus" onPress={() => setAsked('store')}>
            {t.operator.stores.newStore}
          </Button>
        </>
      }
    >
      <Tabs
        label={t.operator.stores.title}
        selected={tab}
        onSelect={(id) => setSearch({ tab: id })}
        tabs={[
          { id: 'stores', label: t.operator.stores.stores },
          { id: 'accounts', label: t.operator.stores.accounts },
          {
            id: 'webhooks',
            label: (
              <>
                {t.operator.stores.webhooks}{' '}
                {stopped.length > 0 && <Badge tone="warn">{stopped.length}</Badge>}
              </>
            ),
          },
        ]}
      >
        <SearchField label={t.operator.stores.search} value={text} onChange={setText} />
        {error && (
          <ErrorState error={error} onRetry={() => Promise.all([accounts.refetch(), stores.refetch()])} />
        )}
        {!error && !(accounts.data && stores.data) && <Loading />}
        {accounts.data && stores.data && (
          <>
            {tab === 'stores' && (
              <StoreTable
                stores={stores.data.stores.filter(({ id, name, account_id }) =>
                  matches(id, name, nameOf(account_id)),
                )}
                accountNameOf={nameOf}
              />
            )}
            {tab === 'accounts' && (
              <AccountTable
                accounts={all.filter(({ id, name }) => matches(id, name))}
                onNewStore={(account_id) => setAsked({ account_id })}
                onSuspend={(suspend) => setAsked({ suspend })}
                onReinstate={reinstate.mutate}
              />
            )}
            {tab === 'webhooks' && (
              <WebhookTable
                webhooks={stopped.filter(({ url, store_id }) => matches(url, storeNameOf(store_id)))}
                storeNameOf={storeNameOf}
              />
            )}
          </>
        )}
      </Tabs>
      {asked === 'account' && <NewAccount onClose={close} />}
      {asked === 'store' && <NewStore accounts={all} onClose={close} />}
      {typeof asked === 'object' &&
        ('suspend' in asked ? (
          <Suspend account={asked.suspend} onClose={close} />
        ) : (
          <NewStore accounts={all} account_id={asked.account_id} onClose={close} />
        ))}
    </Page>
  );
}
