import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { Publication } from 'catalog-client';
import { useMemo, useState } from 'react';
import { Dialog, DialogTrigger, Popover } from 'react-aria-components';
import { useApi } from '../../lib/api';
import { formatMoney, formatNumber } from '../../lib/format';
import { useLanguageNames, useUntranslated } from '../../lib/languages';
import { pathText, useListings, withDescendants } from '../../lib/listings';
import { useTyping } from '../../lib/typing';
import { type Texts, useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Loading } from '../../ui/feedback';
import { Checkbox, MoneyField, Select, TextField } from '../../ui/fields';
import { Icon } from '../../ui/icon';
import { type Filters, FLAGS, isFilter, isOwnFilter, LABELS, listOf } from './query';

type SetValues = (name: string, values: readonly string[], options?: { readonly replace?: boolean }) => void;

/** Facets that one request may have. */
const FACETS_MAX = 10;
const STATES = ['visibility', ...FLAGS] as const;
/** Options and attributes that the filters offer. */
const OWN_FILTERS_MAX = 16;
/** Lists of more values can be searched. */
const SHORT_LIST = 8;

/** Returns the filters by options and attributes that the products have. */
export function ownFiltersOf(products: readonly Publication[], params: URLSearchParams): string[] {
  const names = products.flatMap(({ options = [], attributes = {} }) => [
    ...options.map(({ name }) => `option.${name}`),
    ...Object.keys(attributes).map((name) => `attributes.${name}`),
  ]);
  const active = [...params.keys()].filter(isOwnFilter);
  // A name with a comma has no facet.
  return [...new Set([...active, ...names])].filter((name) => !name.includes(',')).slice(0, OWN_FILTERS_MAX);
}

export interface ListingChoice {
  readonly id: string;
  /** With the listings that contain it. */
  readonly name: string;
  readonly count: number;
}

/** All listings of the store, each after the listing that contains it. */
export function useListingChoices(): readonly ListingChoice[] {
  const { tree } = useListings();
  return useMemo(
    () =>
      (tree?.tops ?? []).flatMap(withDescendants).map((node) => ({
        id: node.id,
        name: pathText(node),
        count: node.listing.stats?.publication_count ?? 0,
      })),
    [tree],
  );
}

/** Returns how many of the products that match have each value of each filter. */
export function useFacets(filters: Filters, names: readonly string[]) {
  const { client } = useApi();
  return useQuery({
    queryKey: ['publications', 'facets', filters, names],
    placeholderData: keepPreviousData,
    queryFn: async () => {
      const parts = Array.from({ length: Math.ceil(names.length / FACETS_MAX) }, (_, n) =>
        names.slice(n * FACETS_MAX, (n + 1) * FACETS_MAX),
      );
      const pages = await Promise.all(
        parts.map((facets) => listOf(client, filters, { limit: 1, facets }).page()),
      );
      return pages.flatMap(({ meta }) => meta.facets ?? []);
    },
  });
}

interface FiltersProps {
  readonly params: URLSearchParams;
  readonly filters: Filters;
  readonly setValues: SetValues;
  readonly own: readonly string[];
  readonly listings: readonly ListingChoice[];
  readonly currency: string | undefined;
}

/** The name of a filter as the page shows it. */
const labelOf = (name: string, t: Texts): string =>
  isOwnFilter(name)
    ? name.slice(name.indexOf('.') + 1)
    : (t.products.filterNames[name as keyof typeof t.products.filterNames] ?? name);

const BOUNDS = ['min_price', 'max_price'] as const;
type Bounds = Readonly<Record<(typeof BOUNDS)[number], ReturnType<typeof useBound>>>;

/** A bound of the price, in hundredths, and a function that writes it into the address when the typing pauses. */
const useBound = (name: (typeof BOUNDS)[number], { params, setValues }: FiltersProps) =>
  useTyping(params.has(name) ? Number(params.get(name)) : null, (typed) =>
    setValues(name, typed === null ? [] : [String(typed)], { replace: true }),
  );

export function FilterButton(props: FiltersProps) {
  const t = useTexts();
  // Here, because the panel may close before the typing pauses.
  const bounds = { min_price: useBound('min_price', props), max_price: useBound('max_price', props) };
  return (
    <DialogTrigger>
      <Button icon="filter">{t.products.filter}</Button>
      <Popover className="popover filters" placement="bottom start">
        <Dialog aria-label={t.products.filter} className="filter-panel">
          <FilterPanel {...props} bounds={bounds} />
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}

function FilterPanel({
  params,
  filters,
  setValues,
  own,
  listings,
  currency,
  bounds,
}: FiltersProps & { readonly bounds: Bounds }) {
  const t = useTexts();
  const locale = useLocale();
  const names = [...LABELS, ...own];
  const untranslated = useUntranslated();
  const { data: facets, error } = useFacets(filters, [...names, ...STATES, 'price']);
  const toggle = (name: string) => (value: string) => {
    const values = params.getAll(name);
    setValues(name, values.includes(value) ? values.filter((each) => each !== value) : [...values, value]);
  };
  const chosen = params.get('listing_id');
  const state = (name: 'visibility' | (typeof FLAGS)[number], labels: Readonly<Record<string, string>>) => (
    <Select
      key={name}
      label={labelOf(name, t)}
      value={params.get(name) ?? 'any'}
      onChange={(id) => setValues(name, id === 'any' ? [] : [id])}
      options={[
        { id: 'any', label: t.products.any },
        ...Object.entries(labels).map(([id, label]) => {
          const count = facets
            ?.find((each) => each.name === name)
            ?.values.find(({ value }) => value === id)?.count;
          return { id, label: `${label} (${formatNumber(count ?? 0, locale)})` };
        }),
      ]}
    />
  );
  if (!facets && !error) return <Loading lines={8} />;
  const intervals = facets?.find(({ name }) => name === 'price')?.values ?? [];
  return (
    <>
      {names.map((name, index) => {
        const values = facets?.find((facet) => facet.name === name)?.values ?? [];
        const missing = params.getAll(name).filter((value) => !values.some((each) => each.value === value));
        if (values.length === 0 && missing.length === 0) return null;
        return (
          <Section
            key={name}
            label={labelOf(name, t)}
            count={params.getAll(name).length}
            isOpen={index === 0}
          >
            <Choices
              label={labelOf(name, t)}
              choices={[
                ...missing.map((value) => ({ id: value, label: value, count: 0 })),
                ...values.map(({ value, count }) => ({ id: value, label: value, count })),
              ]}
              chosen={params.getAll(name)}
              onToggle={toggle(name)}
            />
          </Section>
        );
      })}
      {listings.length > 0 && (
        <Section label={labelOf('listing_id', t)} count={chosen ? 1 : 0}>
          <Choices
            label={labelOf('listing_id', t)}
            choices={listings.map(({ id, name, count }) => ({ id, label: name, count }))}
            chosen={chosen ? [chosen] : []}
            onToggle={(id) => setValues('listing_id', id === chosen ? [] : [id])}
          />
        </Section>
      )}
      <Section
        label={t.products.columns.price}
        count={params.has('min_price') || params.has('max_price') ? 1 : 0}
      >
        <div className="field-row">
          {BOUNDS.map((name) => (
            <MoneyField
              key={name}
              label={labelOf(name, t)}
              currency={currency}
              value={bounds[name][0]}
              onChange={bounds[name][1]}
            />
          ))}
        </div>
        <ul className="list">
          {intervals.map(({ value, count, query }) => {
            const [min, max] = value.split('-').map(Number);
            return (
              <li key={value}>
                <button
                  type="button"
                  className="choice"
                  onClick={() => {
                    for (const [name, bound] of new URLSearchParams(query)) setValues(name, [bound]);
                  }}
                >
                  <span>{`${formatMoney(min!, currency, locale)} – ${formatMoney(max!, currency, locale)}`}</span>
                  <span className="muted number">{formatNumber(count, locale)}</span>
                </button>
              </li>
            );
          })}
        </ul>
      </Section>
      <Section
        label={t.products.states}
        count={[...STATES, 'untranslated'].filter((name) => params.has(name)).length}
      >
        {state('visibility', t.products.visibilities)}
        {FLAGS.map((name) => state(name, t.products.flags[name]))}
        {untranslated.length > 0 && (
          <Select
            label={labelOf('untranslated', t)}
            value={params.get('untranslated') ?? 'any'}
            onChange={(id) => {
              setValues('untranslated', id === 'any' ? [] : [id]);
              // A search cannot be filtered by untranslated texts.
              setValues('q', [], { replace: true });
            }}
            options={[
              { id: 'any', label: t.products.any },
              ...untranslated.map(({ locale: id, name, count }) => ({
                id,
                label: `${name} (${formatNumber(count, locale)})`,
              })),
            ]}
          />
        )}
      </Section>
    </>
  );
}

function Section(props: { label: string; count: number; isOpen?: boolean; children: React.ReactNode }) {
  const [is_open] = useState(props.isOpen || props.count > 0);
  return (
    <details className="filter-section" open={is_open}>
      <summary>
        <span className="row spread">
          <span dir="auto">{props.label}</span>
          <span className="row">
            {props.count > 0 && <span className="badge info">{props.count}</span>}
            <Icon name="chevronDown" size={14} />
          </span>
        </span>
      </summary>
      <div className="stack tight">{props.children}</div>
    </details>
  );
}

interface ChoicesProps {
  readonly label: string;
  readonly choices: readonly { readonly id: string; readonly label: string; readonly count: number }[];
  readonly chosen: readonly string[];
  readonly onToggle: (id: string) => void;
}

/** Values with their counts. A long list can be searched. */
function Choices({ label, choices, chosen, onToggle }: ChoicesProps) {
  const t = useTexts();
  const locale = useLocale();
  const [text, setText] = useState('');
  const shown = choices.filter((choice) =>
    choice.label.toLocaleLowerCase().includes(text.trim().toLocaleLowerCase()),
  );
  return (
    <>
      {choices.length > SHORT_LIST && (
        <TextField
          label={t.products.searchIn(label)}
          hideLabel
          placeholder={t.common.search}
          value={text}
          onChange={setText}
        />
      )}
      <ul className="list choices">
        {shown.map((choice) => (
          <li key={choice.id} className="choice">
            <Checkbox isSelected={chosen.includes(choice.id)} onChange={() => onToggle(choice.id)}>
              <span dir="auto">{choice.label}</span>
            </Checkbox>
            <span className="muted number">{formatNumber(choice.count, locale)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** The active filters. Each has a button that removes it. */
export function ActiveFilters({
  params,
  setValues,
  listings,
  currency,
  onClear,
}: Omit<FiltersProps, 'filters' | 'own'> & { readonly onClear: () => void }) {
  const t = useTexts();
  const locale = useLocale();
  const languageOf = useLanguageNames();
  const textOf = (name: string, value: string): string => {
    if (name === 'listing_id') return listings.find(({ id }) => id === value)?.name ?? '…';
    if (name === 'min_price' || name === 'max_price') return formatMoney(Number(value), currency, locale);
    if (name === 'untranslated') return languageOf(value);
    if (name === 'visibility') return t.products.visibilities[value as 'public' | 'private'] ?? value;
    const flag: Readonly<Record<string, string>> | undefined =
      t.products.flags[name as (typeof FLAGS)[number]];
    return flag?.[value] ?? value;
  };
  const active = [...params].filter(([name, value]) => value !== '' && value !== 'deleted' && isFilter(name));
  if (active.length === 0) return null;
  return (
    <ul className="list tags" aria-label={t.products.activeFilters}>
      {active.map(([name, value]) => {
        const text = `${labelOf(name, t)}: ${textOf(name, value)}`;
        return (
          <li key={`${name} ${value}`} className="tag" dir="auto">
            {text}
            <button
              type="button"
              aria-label={t.common.removeNamed(text)}
              onClick={() =>
                setValues(
                  name,
                  params.getAll(name).filter((each) => each !== value),
                )
              }
            >
              <Icon name="close" size={12} />
            </button>
          </li>
        );
      })}
      <li>
        <button type="button" className="cell-button" onClick={onClear}>
          {t.products.clearFilters}
        </button>
      </li>
    </ul>
  );
}
