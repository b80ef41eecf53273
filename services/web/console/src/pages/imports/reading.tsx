import type { Import } from 'catalog-client';
import { useState } from 'react';
import { useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Select, Switch } from '../../ui/fields';
import { Card } from '../../ui/layout';

type Detected = NonNullable<Import['detected']>;
type Format = Detected['format'];
type FileColumn = Detected['columns'][number];
type Columns = Import['settings']['columns'];

/** Settings that a merchant has changed. Null returns to the default. */
export interface Wanted {
  readonly format?: Format | null;
  readonly currency?: string | null;
  readonly overwrite?: boolean;
  readonly images?: 'public' | 'skip';
  readonly columns?: Columns;
}

/** Options of the choices that stand for the default. */
const DEFAULT = 'default';
const CURRENCIES = Intl.supportedValuesOf('currency');

interface ReadingProps {
  readonly detected: Detected;
  readonly known: readonly string[];
  readonly settings: Wanted;
  /** Whether the columns have to be chosen, because the file could not be read. */
  readonly isOpen: boolean;
  readonly isDisabled: boolean;
  readonly onChange: (wanted: Wanted) => void;
}

/** How the file is read: what was recognised, and what a merchant can choose instead. */
export function Reading({ detected, known, settings, isOpen, isDisabled, onChange }: ReadingProps) {
  const t = useTexts();
  const locale = useLocale();
  const names = new Intl.DisplayNames(locale, { type: 'currency' });
  const { format, type = 'json', separator, encoding, currency, columns } = detected;
  const has_products = format !== 'prices' && format !== 'translations';
  const has_pictures = format === 'jsonl' || columns.some(({ used_as }) => /image/i.test(used_as ?? ''));
  const [is_open, setOpen] = useState<boolean>();
  const unread = columns.filter(({ used_as }) => used_as === null);
  const separators: Readonly<Record<string, string>> = t.imports.separators;
  // The names of a feed are those of the format.
  const can_map = columns.length > 0 && type !== 'xml';
  const formats = Object.keys(t.imports.formats) as Format[];
  const needs_columns = isOpen || (has_products && !columns.some(isPrice));
  const shows_columns = can_map && (is_open ?? needs_columns);
  const facts = [
    separator === undefined ? t.imports.fileTypes[type] : t.imports.csv(separators[separator] ?? separator),
    encoding.toUpperCase(),
    columns.length > 0 && t.imports.columnCount(columns.length - unread.length, columns.length),
  ];
  return (
    <Card title={t.imports.reading}>
      <div className="reading-fields">
        <Select
          label={t.imports.format}
          isDisabled={isDisabled}
          value={settings.format ?? DEFAULT}
          onChange={(id) => onChange({ format: formats.find((each) => each === id) ?? null })}
          options={[
            {
              id: DEFAULT,
              label: settings.format
                ? t.imports.automaticUnknown
                : t.imports.automatic(t.imports.formats[format]),
            },
            ...formats.map((id) => ({ id, label: t.imports.formats[id] })),
          ]}
        />
        {has_products && (
          <>
            <Select
              label={t.imports.currency}
              isDisabled={isDisabled}
              value={settings.currency ?? DEFAULT}
              onChange={(id) => onChange({ currency: id === DEFAULT ? null : id })}
              options={[
                {
                  id: DEFAULT,
                  label:
                    currency && !settings.currency ? t.imports.ofStore(currency) : t.imports.ofStoreUnknown,
                },
                ...CURRENCIES.map((id) => ({ id, label: `${id} · ${names.of(id) ?? id}` })),
              ]}
            />
            {has_pictures && (
              <Select
                label={t.imports.pictures}
                isDisabled={isDisabled}
                value={settings.images ?? 'public'}
                onChange={(id) => onChange({ images: id === 'skip' ? 'skip' : 'public' })}
                options={(['public', 'skip'] as const).map((id) => ({
                  id,
                  label: t.imports.picturesOptions[id],
                }))}
              />
            )}
          </>
        )}
      </div>
      {has_products && (
        <Switch
          isDisabled={isDisabled}
          isSelected={settings.overwrite ?? false}
          onChange={(overwrite) => onChange({ overwrite })}
        >
          {t.imports.overwrite}
        </Switch>
      )}
      <div className="row spread">
        <span className="muted">{facts.filter(Boolean).join(' · ')}</span>
        {can_map && (
          <Button aria-expanded={shows_columns} onPress={() => setOpen(!shows_columns)}>
            {shows_columns ? t.imports.hideColumns : t.imports.showColumns}
          </Button>
        )}
      </div>
      {unread.length > 0 && !shows_columns && (
        <p className="small columns-not-read">
          <span className="muted">{t.imports.notRead}</span>{' '}
          <span dir="auto">{unread.map(({ name }) => name).join(', ')}</span>
        </p>
      )}
      {shows_columns && (
        <ColumnList
          key={`${format} ${columns.length}`}
          columns={columns}
          known={known}
          mapping={settings.columns ?? {}}
          isDisabled={isDisabled}
          onChange={(mapping) => {
            // It stays open when the columns that it needs are found.
            setOpen(true);
            onChange({ columns: mapping });
          }}
        />
      )}
    </Card>
  );
}

const PRICES = ['Variant Price', 'Regular price', 'price'];
const isPrice = ({ used_as }: FileColumn) => used_as !== null && PRICES.includes(used_as);

/** How many columns the list shows at first. */
const SHOWN_MAX = 8;

interface ColumnListProps {
  readonly columns: readonly FileColumn[];
  readonly known: readonly string[];
  readonly mapping: Columns;
  readonly isDisabled: boolean;
  readonly onChange: (mapping: Columns) => void;
}

/** The columns of the file, each with examples and what it is used as. */
function ColumnList({ columns, known, mapping, isDisabled, onChange }: ColumnListProps) {
  const t = useTexts();
  // What was not recognised is first. A column keeps its place when it is mapped.
  const [order] = useState(() => {
    const places = columns.map((_, index) => index);
    const isUnknown = (index: number) => columns[index]!.used_as === null;
    return [...places.filter(isUnknown), ...places.filter((index) => !isUnknown(index))];
  });
  const [shows_all, setShowsAll] = useState(false);
  const useOf = ({ name, used_as }: FileColumn): string | null => {
    if (name in mapping) return mapping[name]!;
    // Another column has got its use.
    return used_as !== null && Object.values(mapping).includes(used_as) ? null : used_as;
  };
  const users = new Map(columns.map((column) => [useOf(column), column.name]));
  const labelOf = (use: string) => t.imports.known[use] ?? use;
  const map = (name: string, use: string | null) => {
    const others = Object.entries(mapping).map(([other, used]) => [other, used === use ? null : used]);
    onChange({ ...Object.fromEntries(others), [name]: use });
  };
  const shown = shows_all ? order : order.slice(0, SHOWN_MAX);
  return (
    <div className="stack tight">
      <p className="muted small">{t.imports.columnsHint}</p>
      <ul className="list file-columns" aria-label={t.imports.columns}>
        {shown.map((index) => {
          const column = columns[index]!;
          const { name, examples } = column;
          return (
            <li key={index}>
              <div>
                <strong dir="auto">{name}</strong>
                <p className="muted small truncate" dir="auto">
                  {examples.length > 0 ? examples.join(' · ') : t.imports.noExamples}
                </p>
              </div>
              <Select
                label={t.imports.useOf(name)}
                hideLabel
                isDisabled={isDisabled}
                value={useOf(column) ?? DEFAULT}
                onChange={(id) => map(name, id === DEFAULT ? null : id)}
                options={[
                  { id: DEFAULT, label: t.imports.notImported },
                  ...known.map((use) => {
                    const user = users.get(use);
                    const is_taken = user !== undefined && user !== name;
                    return { id: use, label: is_taken ? t.imports.taken(labelOf(use), user) : labelOf(use) };
                  }),
                ]}
              />
            </li>
          );
        })}
      </ul>
      {shown.length < order.length && (
        <div>
          <Button onPress={() => setShowsAll(true)}>{t.imports.allColumns(order.length)}</Button>
        </div>
      )}
    </div>
  );
}
