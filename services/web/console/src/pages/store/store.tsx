import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { CatalogClient, Store } from 'catalog-client';
import { useState } from 'react';
import { useApi } from '../../lib/api';
import { shortened } from '../../lib/change-words';
import { useDraft } from '../../lib/draft';
import { fieldErrorsOf } from '../../lib/errors';
import { useLanguageNames, useStore, useTextLanguage } from '../../lib/languages';
import { textsOf, withPatch } from '../../lib/translations';
import { useLocale, useTexts } from '../../texts/texts';
import { ConflictBanner } from '../../ui/conflicts';
import { Badge, Banner, ErrorState, Loading, say, sayError } from '../../ui/feedback';
import { Select, Switch, TextField } from '../../ui/fields';
import { inLanguage, Languages, useLabels } from '../../ui/languages';
import { Card, Columns, Facts, Page } from '../../ui/layout';
import { SaveBar } from '../../ui/save-bar';
import { CodesField, CURRENCIES, LANGUAGES } from './codes-field';
import type { Line } from './hours';
import { HoursField } from './hours-field';
import { MarketsField } from './markets-field';
import './store.css';

type StoreBody = Parameters<CatalogClient['store']['update']>[0];

/** The fields of the page. The parts of contact and policies are fields of their own, so that changes of both are merged. */
const fieldsOf = (store: Store) => ({
  name: store.name,
  description: store.description ?? '',
  currency: store.currency ?? '',
  ruc: store.ruc ?? '',
  'contact.address': store.contact?.address ?? '',
  'contact.phone': store.contact?.phone ?? '',
  'contact.email': store.contact?.email ?? '',
  'policies.shipping': store.policies?.shipping ?? '',
  'policies.returns': store.policies?.returns ?? '',
  'policies.satisfaction': store.policies?.satisfaction ?? '',
  businessHours: (store.businessHours ?? []) as readonly Line[],
  new_review_status: store.new_review_status ?? 'published',
  locales: store.locales ?? [],
  currencies: store.currencies ?? [],
  markets: store.markets ?? [],
  ...textsOf(store.translations),
});
type Fields = ReturnType<typeof fieldsOf>;
type TextName = { [Name in keyof Fields]: Fields[Name] extends string ? Name : never }[keyof Fields];

const TRANSLATED = [
  ...['name', 'description'],
  ...['policies.shipping', 'policies.returns', 'policies.satisfaction'],
] as TextName[];

/** The fields that the interface has in the same form. */
const SAME = ['name', 'new_review_status', 'locales', 'currencies', 'markets'] as const;

/** Returns the changed fields in the form of the interface, which replaces contact and policies as a whole. */
function bodyOf(values: Fields, changed: Partial<Fields>): StoreBody {
  const partsOf = (group: 'contact' | 'policies') => {
    const names = Object.keys(values).filter((name) => name.startsWith(`${group}.`)) as TextName[];
    if (!names.some((name) => name in changed)) return {};
    const parts = names.filter((name) => values[name].trim() !== '');
    const entries = parts.map((name) => [name.slice(group.length + 1), values[name]]);
    return { [group]: entries.length > 0 ? Object.fromEntries(entries) : null };
  };
  const { translations } = withPatch(changed);
  const same = Object.fromEntries(SAME.filter((name) => name in changed).map((name) => [name, values[name]]));
  const lines = values.businessHours.filter(({ day, hours }) => day.trim() !== '' || hours.trim() !== '');
  return {
    ...same,
    ...('description' in changed && { description: values.description || null }),
    ...('currency' in changed && { currency: values.currency || null }),
    ...('ruc' in changed && { ruc: values.ruc || null }),
    ...('businessHours' in changed && { businessHours: lines.length > 0 ? lines : null }),
    ...(translations && { translations }),
    ...partsOf('contact'),
    ...partsOf('policies'),
  };
}

export default function StorePage() {
  const t = useTexts();
  const { data, error, refetch } = useStore();
  if (data) return <Editor store={data} />;
  return (
    <Page title={t.store.title}>{error ? <ErrorState error={error} onRetry={refetch} /> : <Loading />}</Page>
  );
}

function Editor({ store }: { readonly store: Store }) {
  const t = useTexts();
  const { client, may } = useApi();
  const queries = useQueryClient();
  const draft = useDraft('store', fieldsOf(store));
  const { values } = draft;
  const [faults, setFaults] = useState<Readonly<Record<string, string>>>({});
  const [language, setLanguage] = useTextLanguage();
  const languageOf = useLanguageNames();
  const labelOf = useLabels(t.store.fields);
  const currencies = new Intl.DisplayNames(useLocale(), { type: 'currency' });
  const save = useMutation({
    mutationFn: async () => {
      const current = await client.store.get();
      const { values, changed, conflicts } = draft.read(fieldsOf(current));
      queries.setQueryData(['store'], current);
      if (conflicts.length > 0) return;
      const saved = await client.store.update(bodyOf(values, changed), { ifMatch: current });
      queries.setQueryData(['store'], saved);
      draft.settle(changed, fieldsOf(saved));
      say(t.common.saved);
    },
    onMutate: () => setFaults({}),
    onError: (error) => {
      const found = fieldErrorsOf(error, t);
      setFaults(found);
      if (Object.keys(found).length === 0) sayError(error, t);
    },
  });
  const is_disabled = !may('write:stores');
  const form = { values, change: draft.change, faults, language };
  const text = (field: TextName, props: { rows?: number; hint?: string; type?: 'email' | 'tel' } = {}) => (
    <TextField
      label={t.store.fields[field]}
      isDisabled={is_disabled}
      {...props}
      {...inLanguage(form, field.split('.'), {
        value: values[field],
        fault: faults[field],
        hint: props.hint,
        onChange: (value) => draft.change({ [field]: value }),
      })}
    />
  );
  const codes = (field: 'locales' | 'currencies') => ({
    value: values[field],
    saved: store[field] ?? [],
    isDisabled: is_disabled,
    fault: Object.entries(faults).find(([name]) => name.startsWith(field))?.[1],
    onChange: (next: readonly string[]) => draft.change({ [field]: next }),
  });
  const hours_fault = Object.entries(faults).find(([field]) => field.startsWith('businessHours'))?.[1];
  return (
    <Page
      title={t.store.title}
      width="form"
      state={store.status !== 'active' && <Badge tone="warn">{t.store.statuses[store.status]}</Badge>}
    >
      {is_disabled && <Banner>{t.store.readOnly}</Banner>}
      {!save.isPending && (
        <ConflictBanner draft={draft} labelOf={labelOf} wordsOf={(_, value) => shown(value)} />
      )}
      <Languages
        form={form}
        texts={TRANSLATED.map((field) => [field.split('.'), values[field]])}
        onChange={setLanguage}
      >
        <Columns
          side={
            language === undefined && (
              <>
                <Card title={t.store.contact}>
                  {text('contact.address')}
                  {text('contact.phone', { type: 'tel' })}
                  {text('contact.email', { type: 'email' })}
                  {text('ruc', { hint: t.store.rucHint })}
                </Card>
                <Card title={t.store.money}>
                  <CurrencyField
                    value={values.currency}
                    fault={faults.currency}
                    isDisabled={is_disabled}
                    onChange={(currency) => draft.change({ currency })}
                  />
                  <CodesField
                    {...codes('currencies')}
                    texts={t.currencies}
                    suggestions={CURRENCIES}
                    nameOf={(code) => currencies.of(code) ?? code}
                    implied={values.currency}
                  />
                </Card>
                <Card title={t.languages.title} hint={t.languages.hint}>
                  <CodesField
                    {...codes('locales')}
                    texts={t.languages}
                    suggestions={LANGUAGES}
                    nameOf={languageOf}
                  />
                </Card>
                <Card title={t.reviews.title}>
                  <Switch
                    isSelected={values.new_review_status === 'pending'}
                    isDisabled={is_disabled}
                    onChange={(is_on) => draft.change({ new_review_status: is_on ? 'pending' : 'published' })}
                  >
                    {t.store.moderation}
                  </Switch>
                  <p className="muted small">{t.store.moderationHint}</p>
                </Card>
                {may('read:payment_methods') && <PaymentMethods />}
              </>
            )
          }
        >
          <Card title={t.store.about}>
            {text('name')}
            {text('description', { rows: 4, hint: t.store.descriptionHint })}
          </Card>
          {language === undefined && (
            <Card title={t.store.fields.businessHours} hint={t.store.hoursHint}>
              {is_disabled ? (
                <Facts facts={values.businessHours.map(({ day, hours }) => [day, hours] as const)} />
              ) : (
                <HoursField
                  value={values.businessHours}
                  onChange={(businessHours) => draft.change({ businessHours })}
                />
              )}
              {hours_fault && <Banner tone="bad">{hours_fault}</Banner>}
            </Card>
          )}
          <Card title={t.store.policies} hint={t.store.policiesHint}>
            {text('policies.shipping', { rows: 4 })}
            {text('policies.returns', { rows: 4 })}
            {text('policies.satisfaction', { rows: 4 })}
          </Card>
          {language === undefined && values.currencies.length > 0 && (
            <Card title={t.store.fields.markets} hint={t.markets.hint}>
              <MarketsField
                value={values.markets}
                currencies={values.currencies}
                locales={values.locales}
                faults={faults}
                isDisabled={is_disabled}
                onChange={(markets) => draft.change({ markets })}
              />
            </Card>
          )}
        </Columns>
      </Languages>
      <SaveBar
        isChanged={draft.is_changed}
        isPending={save.isPending}
        onSave={() => save.mutate()}
        onDiscard={() => {
          const undo = draft.discard();
          setFaults({});
          say(t.product.discarded, undo);
        }}
      />
    </Page>
  );
}

/** A value in a message about a conflict. */
function shown(value: unknown): string {
  const text = Array.isArray(value)
    ? (value as (Line | NonNullable<Store['markets']>[number] | string)[])
        .map((each) => {
          if (typeof each === 'string') return each;
          return 'handle' in each ? each.handle : `${each.day} ${each.hours}`;
        })
        .join(' · ')
    : String(value);
  return shortened(text) || '–';
}

interface CurrencyFieldProps {
  readonly value: string;
  readonly fault: string | undefined;
  readonly isDisabled: boolean;
  readonly onChange: (currency: string) => void;
}

const NO_CURRENCY = 'none';

function CurrencyField({ value, onChange, ...props }: CurrencyFieldProps) {
  const t = useTexts();
  const locale = useLocale();
  const names = new Intl.DisplayNames(locale, { type: 'currency' });
  return (
    <Select
      {...props}
      label={t.store.fields.currency}
      hint={t.store.currencyHint}
      value={value || NO_CURRENCY}
      onChange={(id) => onChange(id === NO_CURRENCY ? '' : id)}
      options={[
        { id: NO_CURRENCY, label: t.store.noCurrency },
        ...Intl.supportedValuesOf('currency').map((id) => ({ id, label: `${id} · ${names.of(id)}` })),
      ]}
    />
  );
}

/** Operators manage the ways to pay, so they are only shown. */
function PaymentMethods() {
  const t = useTexts();
  const { client } = useApi();
  const { data = [] } = useQuery({
    queryKey: ['store', 'payment-methods'],
    queryFn: () => client.store.paymentMethods().all(),
  });
  return (
    <Card title={t.store.payment} hint={t.store.paymentHint}>
      {data.length === 0 ? (
        <span className="muted">{t.common.none}</span>
      ) : (
        <ul className="list stack tight">
          {data.map(({ id, name, instructions }) => (
            <li key={id} dir="auto">
              {name}
              {instructions && <div className="muted small">{instructions}</div>}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
