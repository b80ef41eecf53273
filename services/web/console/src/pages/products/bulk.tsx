import { useQuery } from '@tanstack/react-query';
import type { Publication } from 'catalog-client';
import { type ReactNode, useDeferredValue, useMemo, useState } from 'react';
import { useApi } from '../../lib/api';
import { formatMoney, formatNumber, formatTime } from '../../lib/format';
import { type Texts, useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Banner, ErrorState, ProgressBar } from '../../ui/feedback';
import { DateTimeField, MoneyField, NumberField, Select, TagsField, TextField } from '../../ui/fields';
import { FieldRow } from '../../ui/layout';
import { Dialog } from '../../ui/overlay';
import { type Action, bodyOfAction, ROUNDINGS, type Rounding } from './actions';
import { type Body, hasValues, reasonOf, valuesBefore, variantsOf, withAllVariants } from './fields';
import { type ListingChoice, useFacets, useListingChoices } from './filters';
import { type Target, useTarget } from './selection';
import { perform, startJob } from './work';

export type ActionKind = Action['kind'];
export const ACTIONS: readonly ActionKind[] = [
  'price',
  'sale',
  'stock',
  'visibility',
  'schedule',
  'listing',
  'tags',
  'vendor',
  'type',
];

/** Products that the preview shows. */
const EXAMPLES = 6;
/** Products that are tried without writing. */
const TRIED = 50;
/** Each trial counts as a request of each product. */
const TYPING_PAUSE_MS = 400;

interface Form {
  readonly how: string;
  readonly percent: string;
  readonly amount: number | null;
  readonly stock: number | null;
  readonly rounding: Rounding;
  readonly visibility: 'public' | 'private';
  readonly add: readonly string[];
  readonly remove: readonly string[];
  readonly text: string;
  readonly listing_id: string | null;
  readonly from: string | null;
  readonly to: string | null;
}

const EMPTY: Form = {
  how: '',
  percent: '',
  amount: null,
  stock: null,
  rounding: 'exact',
  visibility: 'public',
  add: [],
  remove: [],
  text: '',
  listing_id: null,
  from: null,
  to: null,
};

/** The ways of an action; the first one is chosen at first. */
const WAYS = {
  price: ['raise_percent', 'lower_percent', 'raise', 'lower', 'set'],
  sale: ['lower_percent', 'lower', 'set', 'end'],
  stock: ['set', 'raise', 'lower', 'untracked'],
  listing: ['add', 'main', 'remove'],
} as const;

const wayOf = (kind: keyof typeof WAYS, form: Form): string => form.how || WAYS[kind][0];

const isPeriod = ({ from, to }: Form): boolean => !from || !to || from < to;

const percentOf = (text: string): number | undefined => {
  const value = Number(text.trim().replace('%', '').replace(',', '.'));
  return text.trim() !== '' && Number.isFinite(value) && value >= 0 ? value : undefined;
};

/** The change of an amount that the form has, undefined if it is not complete. */
function changeOf(way: string, form: Form) {
  const sign = way.startsWith('lower') ? -1 : 1;
  if (way.endsWith('percent')) {
    const value = percentOf(form.percent);
    return value === undefined ? undefined : ({ how: 'percent', value: sign * value } as const);
  }
  if (form.amount === null) return undefined;
  return way === 'set'
    ? ({ how: 'set', value: form.amount } as const)
    : ({ how: 'amount', value: sign * form.amount } as const);
}

/** Returns the action that the form describes, undefined if it is not complete. */
function actionOf(kind: ActionKind, form: Form): Action | undefined {
  const { rounding, from, to, add, remove, stock, listing_id, visibility, text } = form;
  switch (kind) {
    case 'price': {
      const change = changeOf(wayOf(kind, form), form);
      return change && { kind, rounding, ...change };
    }
    case 'sale': {
      const way = wayOf(kind, form);
      const change = way === 'end' ? ({ how: 'end' } as const) : changeOf(way, form);
      return change && isPeriod(form) ? { kind, rounding, from, to, ...change } : undefined;
    }
    case 'stock': {
      const way = wayOf(kind, form);
      if (way === 'untracked') return { kind, how: 'set', value: null };
      if (stock === null) return undefined;
      return way === 'set'
        ? { kind, how: 'set', value: stock }
        : { kind, how: 'amount', value: way === 'lower' ? -stock : stock };
    }
    case 'visibility':
      return { kind, visibility };
    case 'tags':
      return add.length + remove.length > 0 ? { kind, add, remove } : undefined;
    case 'vendor':
    case 'type':
      return { kind, text };
    case 'listing': {
      const how = wayOf(kind, form) as 'add' | 'main' | 'remove';
      return listing_id === null ? undefined : { kind, how, listing_id };
    }
    case 'schedule':
      return isPeriod(form) ? { kind, publish_at: from, unpublish_at: to } : undefined;
    case 'delete':
      return { kind };
  }
}

interface Change {
  readonly product: Publication;
  readonly body: Body | 'delete';
}

interface BulkDialogProps {
  readonly kind: ActionKind;
  readonly target: Target;
  readonly onClose: () => void;
  /** Called when the change has begun. */
  readonly onStart: () => void;
}

/** Changes many products: asks what to change, shows what becomes of the products, and starts. */
export function BulkDialog({ kind, target, onClose, onStart }: BulkDialogProps) {
  const t = useTexts();
  const { client, store_id } = useApi();
  const { products, done, error } = useTarget(target);
  const [form, setForm] = useState(EMPTY);
  const action = useDeferredValue(useMemo(() => actionOf(kind, form), [kind, form]));
  const changes = useMemo(
    () =>
      (action && products ? products : []).flatMap((product): Change[] => {
        const body = bodyOfAction(action!, product);
        return body ? [{ product, body }] : [];
      }),
    [action, products],
  );
  const start = () => {
    const before = new Map(
      changes.map(({ product, body }) => [product.id, body === 'delete' ? {} : valuesBefore(product, body)]),
    );
    onStart();
    void startJob({ client, store_id }, t.products.actions[kind], changes.length, (following) =>
      perform(
        client,
        [...before.keys()],
        // What the preview has shown is what is written.
        (product) => (hasValues(product, before.get(product.id)!) ? bodyOfAction(action!, product) : 'leave'),
        following,
      ),
    );
  };
  return (
    <Dialog
      title={t.products.actions[kind]}
      isOpen
      onClose={onClose}
      size="large"
      footer={
        <>
          <Button onPress={onClose}>{t.common.cancel}</Button>
          <Button
            kind={kind === 'delete' ? 'danger' : 'primary'}
            isDisabled={changes.length === 0}
            isPending={!products && !error}
            onPress={start}
          >
            {kind === 'delete'
              ? t.products.deleteCount(changes.length)
              : t.products.changeCount(changes.length)}
          </Button>
        </>
      }
    >
      {kind !== 'delete' && (
        <ActionForm
          kind={kind}
          form={form}
          target={target}
          currency={products?.[0]?.price_currency}
          onChange={(values) => setForm((before) => ({ ...before, ...values }))}
        />
      )}
      {error !== undefined ? (
        <ErrorState error={error} />
      ) : products ? (
        <Preview kind={kind} action={action} changes={changes} count={products.length} />
      ) : (
        <ProgressBar label={t.products.reading} done={done} total={target.count} />
      )}
    </Dialog>
  );
}

interface ActionFormProps {
  readonly kind: Exclude<ActionKind, 'delete'>;
  readonly form: Form;
  readonly target: Target;
  readonly currency: string | undefined;
  readonly onChange: (values: Partial<Form>) => void;
}

function ActionForm({ kind, form, target, currency, onChange }: ActionFormProps) {
  const t = useTexts();
  const ways = (of: keyof typeof WAYS) => (
    <Select
      label={t.products.how}
      value={wayOf(of, form)}
      onChange={(how) => onChange({ how })}
      options={WAYS[of].map((id) => ({ id, label: (t.products.ways[of] as Record<string, string>)[id]! }))}
    />
  );
  const amount = (of: 'price' | 'sale') =>
    wayOf(of, form).endsWith('percent') ? (
      <TextField
        label={t.products.percent}
        value={form.percent}
        onChange={(percent) => onChange({ percent })}
        inputMode="decimal"
        end="%"
        fault={
          form.percent !== '' && percentOf(form.percent) === undefined ? t.products.noPercent : undefined
        }
      />
    ) : (
      <MoneyField
        label={t.products.amount}
        value={form.amount}
        currency={currency}
        onChange={(value) => onChange({ amount: value })}
      />
    );
  const rounding = (
    <Select
      label={t.products.rounding}
      value={form.rounding}
      onChange={(id) => onChange({ rounding: id as Rounding })}
      options={ROUNDINGS.map((id) => ({ id, label: t.products.roundings[id] }))}
    />
  );
  const dates = (from: string, to: string) => (
    <div className="dates">
      <DateTimeField label={from} value={form.from} onChange={(value) => onChange({ from: value })} />
      <DateTimeField
        label={to}
        value={form.to}
        onChange={(value) => onChange({ to: value })}
        fault={isPeriod(form) ? undefined : t.products.endBeforeStart}
      />
    </div>
  );
  switch (kind) {
    case 'price':
      return (
        <FieldRow>
          {ways(kind)}
          {amount(kind)}
          {wayOf(kind, form) !== 'set' && rounding}
        </FieldRow>
      );
    case 'sale': {
      const way = wayOf(kind, form);
      return (
        <>
          <FieldRow>
            {ways(kind)}
            {way !== 'end' && amount(kind)}
            {way.startsWith('lower') && rounding}
          </FieldRow>
          {way !== 'end' && dates(t.products.saleFrom, t.products.saleTo)}
        </>
      );
    }
    case 'stock':
      return (
        <FieldRow>
          {ways(kind)}
          {wayOf(kind, form) !== 'untracked' && (
            <NumberField
              label={t.products.quantity}
              value={form.stock}
              onChange={(stock) => onChange({ stock })}
            />
          )}
        </FieldRow>
      );
    case 'visibility':
      return (
        <Select
          label={t.products.columns.visibility}
          value={form.visibility}
          onChange={(id) => onChange({ visibility: id as Form['visibility'] })}
          options={(['public', 'private'] as const).map((id) => ({ id, label: t.products.visibilities[id] }))}
        />
      );
    case 'schedule':
      return (
        <>
          {dates(t.products.publishAt, t.products.hideAt)}
          <p className="muted small">{t.products.scheduleHint}</p>
        </>
      );
    case 'listing':
      return <ListingForm ways={ways(kind)} form={form} onChange={onChange} />;
    default:
      return <TextForm kind={kind} form={form} target={target} onChange={onChange} />;
  }
}

function ListingForm({
  ways,
  form,
  onChange,
}: Pick<ActionFormProps, 'form' | 'onChange'> & { ways: ReactNode }) {
  const t = useTexts();
  return (
    <FieldRow>
      {ways}
      <Select
        label={t.products.filterNames.listing_id}
        value={form.listing_id}
        onChange={(listing_id) => onChange({ listing_id })}
        options={useListingChoices().map(({ id, name }) => ({ id, label: name }))}
      />
    </FieldRow>
  );
}

const FACET_OF = { tags: 'tag', vendor: 'vendor', type: 'product_type' } as const;

/** Tags, the vendor or the type, with the values that the store has. */
function TextForm({
  kind,
  form,
  onChange,
}: Omit<ActionFormProps, 'kind' | 'currency'> & { kind: keyof typeof FACET_OF }) {
  const t = useTexts();
  const { data: facets } = useFacets(ALL, FACETS_OF[kind]);
  const known = (facets?.[0]?.values ?? []).map(({ value }) => value);
  if (kind === 'tags')
    return (
      <FieldRow>
        <TagsField
          label={t.products.addTags}
          value={form.add}
          onChange={(add) => onChange({ add })}
          suggestions={known}
        />
        <TagsField
          label={t.products.removeTags}
          value={form.remove}
          onChange={(remove) => onChange({ remove })}
          suggestions={known}
        />
      </FieldRow>
    );
  return (
    <TextField
      label={t.products.columns[kind]}
      hint={t.products.emptyRemoves}
      value={form.text}
      onChange={(text) => onChange({ text })}
      maxLength={255}
      autoFocus
    />
  );
}
const ALL = { visibility: 'all' };
const FACETS_OF = { tags: ['tag'], vendor: ['vendor'], type: ['product_type'] };

interface PreviewProps {
  readonly kind: ActionKind;
  readonly action: Action | undefined;
  readonly changes: readonly Change[];
  readonly count: number;
}

/** How many products change, some of them before and after, and which of the first would be refused. */
function Preview({ kind, action, changes, count }: PreviewProps) {
  const t = useTexts();
  const locale = useLocale();
  const { client } = useApi();
  const listings = useListingChoices();
  // The service removes variants that a list leaves out, so all of them have to be known.
  const tried = changes
    .filter(({ product, body }) => body !== 'delete' && !(body.variants && product.variants?.has_more))
    .slice(0, TRIED);
  const { data: trial } = useQuery({
    queryKey: ['trial', action, tried.map(({ product }) => product.id)],
    enabled: tried.length > 0,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      await new Promise((resolve) => setTimeout(resolve, TYPING_PAUSE_MS));
      signal.throwIfAborted();
      return client.publications.batch(
        {
          items: tried.map(({ product, body }) => ({
            action: 'update',
            id: product.id,
            body: withAllVariants(product, body as Body),
          })),
        },
        { dry_run: true, on_error: 'skip_failed' },
      );
    },
  });
  if (!action) return <p className="muted">{t.products.previewHint}</p>;
  const refused = (trial?.items ?? []).flatMap(({ index, error }) =>
    error ? [`${tried[index]?.product.title}: ${reasonOf(error, t)}`] : [],
  );
  return (
    <section className="stack tight" aria-label={t.products.preview}>
      <p role="status">
        <strong>{t.products.willChange(changes.length)}</strong>{' '}
        {count > changes.length && (
          <span className="muted">{t.products.willStay(count - changes.length)}</span>
        )}
      </p>
      {refused.length > 0 && (
        <Banner tone="warn" title={t.products.willFail(refused.length, tried.length)}>
          <ul className="job-names">
            {refused.slice(0, EXAMPLES).map((text) => (
              <li key={text} dir="auto">
                {text}
              </li>
            ))}
          </ul>
        </Banner>
      )}
      {changes.length > 0 && (
        <table className="preview">
          <thead>
            <tr>
              <th>{t.products.columns.title}</th>
              {kind !== 'delete' && (
                <>
                  <th>{t.products.beforeChange}</th>
                  <th>{t.products.afterChange}</th>
                </>
              )}
            </tr>
          </thead>
          <tbody>
            {changes.slice(0, EXAMPLES).map(({ product, body }) => (
              <tr key={product.id}>
                <td dir="auto">{product.title}</td>
                {body !== 'delete' && (
                  <>
                    <td>{describe(kind, product, t, locale, listings)}</td>
                    <td>{describe(kind, applied(product, body), t, locale, listings)}</td>
                  </>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** The product as the change makes it. */
function applied(product: Publication, body: Body): Publication {
  const { variants = [], ...own } = body as { variants?: readonly { readonly id: string }[] };
  const set = (owner: object, values: object) => ({
    ...owner,
    ...Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value ?? undefined])),
  });
  const changed = set(product, own) as Publication;
  if (variants.length === 0 || !product.variants) return changed;
  const data = product.variants.data.map(
    (variant) => set(variant, variants.find(({ id }) => id === variant.id) ?? {}) as typeof variant,
  );
  return { ...changed, variants: { ...product.variants, data } };
}

/** What the action changes in a product, as a text. */
function describe(
  kind: ActionKind,
  product: Publication,
  t: Texts,
  locale: string,
  listings: readonly ListingChoice[],
): string {
  const owners = product.variant_count ? variantsOf(product) : [product];
  const range = (amounts: readonly (number | undefined)[], textOf: (amount: number) => string) => {
    const known = amounts.filter((amount) => amount !== undefined);
    if (known.length === 0) return undefined;
    const [min, max] = [Math.min(...known), Math.max(...known)];
    return min === max ? textOf(min) : `${textOf(min)} – ${textOf(max)}`;
  };
  const money = (amount: number) => formatMoney(amount, product.price_currency, locale);
  const period = (from: string | undefined, to: string | undefined) =>
    [from, to].map((time) => (time ? formatTime(time, locale) : '…')).join(' – ');
  switch (kind) {
    case 'price':
      return (
        range(
          owners.map(({ price_amount }) => price_amount),
          money,
        ) ?? '–'
      );
    case 'stock':
      return (
        range(
          owners.map((each) => each.quantity_available),
          (stock) => formatNumber(stock, locale),
        ) ?? t.products.notTracked
      );
    case 'sale': {
      const price = range(
        owners.map((each) => each.sale_price_amount ?? product.sale_price_amount),
        money,
      );
      const { sale_from, sale_to } = product;
      return price ? [price, ...(sale_from || sale_to ? [period(sale_from, sale_to)] : [])].join(' · ') : '–';
    }
    case 'visibility':
      return t.products.visibilities[product.visibility];
    case 'schedule':
      return product.publish_at || product.unpublish_at
        ? period(product.publish_at, product.unpublish_at)
        : '–';
    case 'tags':
      return product.tags?.join(', ') || '–';
    case 'vendor':
      return product.vendor ?? '–';
    case 'type':
      return product.product_type ?? '–';
    case 'listing': {
      const ids = [product.listing_id, ...(product.listing_ids ?? [])];
      return ids.flatMap((id) => listings.find((each) => each.id === id)?.name ?? []).join(', ') || '–';
    }
    case 'delete':
      return '';
  }
}
