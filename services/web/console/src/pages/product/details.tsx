import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { Link } from 'wouter';
import { useApi } from '../../lib/api';
import { formatMoney } from '../../lib/format';
import { type TextPath, textField } from '../../lib/translations';
import { useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Banner, Loading } from '../../ui/feedback';
import {
  ComboBox,
  DateTimeField,
  MoneyField,
  NumberField,
  Select,
  Switch,
  TagsField,
  TextField,
} from '../../ui/fields';
import { inLanguage, type TextForm, type TextInput } from '../../ui/languages';
import { Card, FieldRow } from '../../ui/layout';
import { Thumb } from '../../ui/thumb';
import { Attributes as AttributesField } from './attributes';
import { useDerived, useEditing, useOtherCurrencies } from './editing';
import { AMOUNTS, cellField, type Fields, namedIn, type PriceField } from './fields';
import { ListingsField } from './listings-field';
import { usedOptions } from './matrix';
import { textOf } from './plain-text';

const RichText = lazy(() => import('./rich-text'));

/** Returns what connects an input with a field of the draft. */
function useField() {
  const editing = useEditing();
  const { values, change, faults } = editing;
  const set =
    <Name extends keyof Fields>(name: Name) =>
    (value: Fields[Name]) =>
      change({ [name]: value } as unknown as Partial<Fields>);
  /** An empty text is no value. */
  const text = (
    name: 'vendor' | 'product_type' | 'seo_title' | 'seo_description' | 'handle' | 'external_id',
  ) => ({
    value: values[name] ?? '',
    onChange: (value: string) => set(name)(value || null),
    fault: faults[name],
  });
  /** A text that can be translated. */
  const translated = (path: TextPath, own: TextInput, original?: string) =>
    inLanguage(editing as TextForm, path, own, original);
  return { ...editing, set, text, translated };
}

export function Texts() {
  const t = useTexts();
  const { values, faults, language, set, translated } = useField();
  const description = {
    value: values.description_html,
    onChange: set('description_html'),
    fault: faults.description_html ?? faults.description,
  };
  const title = { value: values.title, onChange: set('title'), fault: faults.title, isRequired: true };
  return (
    <Card>
      <TextField label={t.product.titleLabel} maxLength={255} {...translated(['title'], title)} />
      <Suspense fallback={<Loading lines={6} />}>
        <RichText
          key={language}
          label={t.product.description}
          {...translated(['description_html'], description, textOf(values.description_html))}
        />
      </Suspense>
    </Card>
  );
}

/** The names and values of the options in another language. */
export function OptionTexts() {
  const t = useTexts();
  const { values, translated } = useField();
  const options = usedOptions(values.options);
  const field = (name: string, path: TextPath) => {
    const own = { value: name, onChange: () => {} };
    const { hint, ...input } = translated(['options', ...path], own);
    return <TextField key={path.join('/')} label={name} placeholder={name} {...input} />;
  };
  if (options.length === 0) return null;
  return (
    <Card title={t.languages.options}>
      {options.map(({ id, name, values: own }) => (
        <fieldset key={id} className="stack tight" aria-label={name}>
          {field(name, [name, 'name'])}
          <FieldRow>{own.map((value) => field(value.name, [name, 'values', value.name]))}</FieldRow>
        </fieldset>
      ))}
    </Card>
  );
}

export function Price() {
  const t = useTexts();
  const locale = useLocale();
  const { values, faults, set } = useField();
  const { publication } = useEditing().product;
  const { price_currency: currency, rows } = values;
  const prices = rows.map(
    ({ key }) => (values[cellField(key, 'price_amount')] ?? values.price_amount ?? 0) as number,
  );
  const money = (name: 'price_amount' | 'compare_at_amount' | 'sale_price_amount') => ({
    value: values[name],
    currency,
    onChange: set(name),
    fault: faults[name],
  });
  const [lowest, highest] = [prices.reduce((a, b) => Math.min(a, b), prices[0] ?? 0), Math.max(0, ...prices)];
  return (
    <Card title={t.product.price}>
      {rows.length > 0 && (
        <p className="muted">
          {t.product.priceOfVariants(
            lowest === highest
              ? formatMoney(lowest, currency, locale)
              : `${formatMoney(lowest, currency, locale)} – ${formatMoney(highest, currency, locale)}`,
          )}
        </p>
      )}
      <div className="field-row narrow">
        {rows.length === 0 && <MoneyField label={t.product.price} {...money('price_amount')} isRequired />}
        <MoneyField
          label={t.product.cells.compare_at_amount}
          hint={t.product.compareHint}
          {...money('compare_at_amount')}
        />
        {rows.length === 0 && (
          <NumberField
            label={t.product.cells.quantity_available}
            hint={t.product.stockHint}
            value={values.quantity_available}
            onChange={set('quantity_available')}
            fault={faults.quantity_available}
          />
        )}
        <CurrencyField />
      </div>
      <div className="sale">
        <MoneyField label={t.product.cells.sale_price_amount} {...money('sale_price_amount')} />
        <DateTimeField
          label={t.product.saleFrom}
          value={values.sale_from}
          onChange={set('sale_from')}
          fault={faults.sale_from}
        />
        <DateTimeField
          label={t.product.saleTo}
          value={values.sale_to}
          onChange={set('sale_to')}
          fault={faults.sale_to}
        />
      </div>
      {publication?.lowest_price_30d !== undefined && (
        <p className="muted">
          {t.product.lowestPrice(
            formatMoney(publication.lowest_price_30d, publication.price_currency, locale),
          )}
        </p>
      )}
      <div className="row switches">
        <Switch isSelected={values.free_shipping === true} onChange={set('free_shipping')}>
          {t.product.freeShipping}
        </Switch>
        <Switch isSelected={values.price_active} onChange={set('price_active')}>
          {t.product.priceShown}
        </Switch>
      </div>
    </Card>
  );
}

/** The prices in the other currencies. Those of variants are in their table; the times of a sale are here. */
export function OtherPrices() {
  const t = useTexts();
  const { values, faults, set } = useField();
  const locale = useLocale();
  const currencies = useOtherCurrencies();
  const derivedOf = useDerived();
  const has_variants = values.rows.length > 0;
  const isOnSale = (currency: string): boolean => {
    const cell = `sale_price_amount_${currency}` as const;
    const fields = has_variants ? values.rows.map(({ key }) => cellField(key, cell)) : [cell];
    return fields.some((field) => typeof values[field] === 'number');
  };
  const shown = has_variants ? currencies.filter(isOnSale) : currencies;
  const noteOf = (name: PriceField, currency: string) => {
    const amount = derivedOf(name);
    return amount !== undefined && t.currencies.derived(formatMoney(amount, currency, locale));
  };
  const field = <Name extends PriceField>(name: Name) => ({
    label: namedIn(t.product.fieldNames, name),
    fault: faults[name],
    onChange: set(name),
  });
  if (shown.length === 0) return null;
  return (
    <Card title={t.currencies.title} hint={t.currencies.hint}>
      {shown.map((currency) => (
        <fieldset key={currency} className="stack" aria-label={currency}>
          {!has_variants && (
            <FieldRow>
              {AMOUNTS.map((part) => (
                <MoneyField
                  key={part}
                  {...field(`${part}_${currency}`)}
                  hint={noteOf(`${part}_${currency}`, currency)}
                  currency={currency}
                  value={values[`${part}_${currency}`] as number | null | undefined}
                />
              ))}
            </FieldRow>
          )}
          {isOnSale(currency) && (
            <FieldRow>
              {(['sale_from', 'sale_to'] as const).map((part) => (
                <DateTimeField
                  key={part}
                  {...field(`${part}_${currency}`)}
                  value={values[`${part}_${currency}`] as string | null | undefined}
                />
              ))}
            </FieldRow>
          )}
        </fieldset>
      ))}
    </Card>
  );
}

const CURRENCIES = Intl.supportedValuesOf('currency').map((id) => ({ id, label: id }));

/** The currency. A code that is not complete is not kept: amounts cannot be shown in it. */
function CurrencyField() {
  const t = useTexts();
  const { values, faults, set } = useField();
  const [typed, setTyped] = useState<string>();
  const type = (text: string) => {
    const code = text.toUpperCase().slice(0, 3);
    setTyped(code);
    if (CURRENCIES.some(({ id }) => id === code)) set('price_currency')(code);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: The focus belongs to the input inside.
    <div onBlur={() => setTyped(undefined)}>
      <ComboBox
        label={t.product.currency}
        value={typed ?? values.price_currency}
        onChange={type}
        fault={faults.price_currency}
        options={CURRENCIES}
      />
    </div>
  );
}

/** Nine in the morning of tomorrow, in the time zone of the browser. */
function tomorrow(now = new Date()): string {
  const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1, 9);
  return day.toISOString();
}

export function Visibility() {
  const t = useTexts();
  const { values, change, faults, set } = useField();
  const { publish_at, visibility } = values;
  const publishAt = (at: string | null) =>
    change(
      at !== null && Date.parse(at) > Date.now()
        ? { publish_at: at, visibility: 'private' }
        : { publish_at: at },
    );
  return (
    <Card title={t.product.visibility}>
      <Select
        label={t.product.visibility}
        hideLabel
        value={visibility}
        options={[
          { id: 'public', label: t.product.public },
          { id: 'private', label: t.product.private },
        ]}
        onChange={(id) => set('visibility')(id as Fields['visibility'])}
        hint={publish_at && visibility === 'private' ? t.product.privateUntil : undefined}
        fault={faults.visibility}
      />
      <DateTimeField
        label={t.product.publishAt}
        value={publish_at}
        onChange={publishAt}
        fault={faults.publish_at}
      />
      {!publish_at && (
        <div className="row">
          <Button icon="calendar" onPress={() => publishAt(tomorrow())}>
            {t.product.tomorrow}
          </Button>
        </div>
      )}
      <DateTimeField
        label={t.product.unpublishAt}
        value={values.unpublish_at}
        onChange={set('unpublish_at')}
        fault={faults.unpublish_at}
      />
    </Card>
  );
}

export function Organisation() {
  const t = useTexts();
  const { client } = useApi();
  const { values, faults, set, text } = useField();
  const { data: facets = {} } = useQuery({
    queryKey: ['publications', 'labels'],
    staleTime: 300_000,
    queryFn: async () => {
      const names = ['vendor', 'product_type', 'tag'] as const;
      const { meta } = await client.publications.list({ visibility: 'all', limit: 1, facets: names }).page();
      return Object.fromEntries(
        (meta.facets ?? []).map(({ name, values }) => [name, values.map(({ value }) => value)]),
      );
    },
  });
  const suggestions = (name: string) => (facets[name] ?? []).map((value) => ({ id: value, label: value }));
  return (
    <>
      <Card title={t.product.listings}>
        <ListingsField />
      </Card>
      <Card title={t.product.organisation}>
        <ComboBox label={t.product.vendor} options={suggestions('vendor')} {...text('vendor')} />
        <ComboBox label={t.product.type} options={suggestions('product_type')} {...text('product_type')} />
        <TagsField
          label={t.product.tags}
          hint={t.product.tagsHint}
          value={values.tags}
          suggestions={facets.tag ?? []}
          onChange={set('tags')}
          fault={faults.tags}
        />
      </Card>
    </>
  );
}

export function AttributesCard() {
  const t = useTexts();
  const { values, faults, set } = useField();
  return (
    <Card title={t.product.attributes} hint={t.product.attributesHint}>
      <AttributesField value={values.attributes} onChange={set('attributes')} fault={faults.attributes} />
    </Card>
  );
}

export function SearchEngines() {
  const t = useTexts();
  const { values, language, product, text, translated } = useField();
  const seo_title = translated(['seo', 'title'], text('seo_title'));
  const seo_description = translated(['seo', 'description'], text('seo_description'));
  /** A text of the product as the result shows it. */
  const shown = (path: string, own: string) =>
    (language !== undefined && values[textField(language, [path])]) || own;
  const title = shown('title', values.title);
  const description = seo_description.value || textOf(shown('description_html', values.description_html));
  const handle = shown('handle', values.handle ?? '') || product.publication?.handle || '…';
  return (
    <Card title={t.product.seo} hint={t.product.seoHint}>
      <section className="search-result" aria-label={t.product.seoPreview}>
        <span className="small muted">
          {location.host} › p › {handle}
        </span>
        <span className="search-title truncate" dir="auto">
          {seo_title.value || title || t.product.titleLabel}
        </span>
        <span className="muted search-text" dir="auto">
          {description}
        </span>
      </section>
      <TextField label={t.product.seoTitle} placeholder={title} {...seo_title} />
      <TextField label={t.product.seoDescription} rows={2} {...seo_description} />
      <FieldRow>
        <TextField
          label={t.product.handle}
          {...translated(['handle'], text('handle'))}
          hint={language === undefined ? t.product.handleHint : values.handle}
        />
        {language === undefined && (
          <TextField label={t.product.externalId} hint={t.product.externalIdHint} {...text('external_id')} />
        )}
      </FieldRow>
    </Card>
  );
}

const RELATED_MAX = 5;

export function Related({ id }: { readonly id: string }) {
  const t = useTexts();
  const locale = useLocale();
  const { client } = useApi();
  const { data = [] } = useQuery({
    queryKey: ['publications', 'related', id],
    queryFn: async () =>
      (
        await client.publications
          .related(id, { limit: RELATED_MAX, visibility: 'all', expand: ['media'] })
          .page()
      ).data,
  });
  if (data.length === 0) return null;
  return (
    <Card title={t.product.related} hint={t.product.relatedHint}>
      <ul className="list stack tight">
        {data.map((each) => (
          <li key={each.id} className="related">
            <Thumb media={each.media?.data[0]} />
            <Link href={`/products/${each.id}`} dir="auto">
              {each.title}
            </Link>
            <span className="number muted">
              {formatMoney(each.price_amount, each.price_currency, locale)}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

interface UnfinishedProps {
  readonly ids: readonly string[];
}

/** Other products with changes that this browser keeps and that are not saved. */
export function Unfinished({ ids }: UnfinishedProps) {
  const t = useTexts();
  const { client } = useApi();
  const { data = [] } = useQuery({
    queryKey: ['publications', 'unfinished', ids],
    enabled: ids.length > 0,
    queryFn: async () =>
      (await client.publications.list({ ids: ids.slice(0, 20), visibility: 'all' }).page()).data,
  });
  if (data.length === 0) return null;
  return (
    <Banner title={t.product.unfinished}>
      <ul className="list">
        {data.map(({ id, title }) => (
          <li key={id}>
            <Link href={`/products/${id}`} dir="auto">
              {title}
            </Link>
          </li>
        ))}
      </ul>
    </Banner>
  );
}
