import type { ReactNode } from 'react';
import { useLanguageNames, useStore } from '../lib/languages';
import { type TextPath, textField } from '../lib/translations';
import { useTexts } from '../texts/texts';
import { Badge, Loading } from './feedback';
import { Icon } from './icon';
import { Tabs } from './layout';
import './languages.css';

/** What connects an input with a text. */
export interface TextInput {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly fault?: string | undefined;
  readonly hint?: ReactNode;
  readonly isRequired?: boolean;
}

/** A draft, and the language in which its texts are edited. Undefined: the first language of the store. */
export interface TextForm {
  readonly values: object;
  readonly change: (values: Record<string, string | null>) => void;
  readonly faults: Readonly<Record<string, string>>;
  readonly language: string | undefined;
}

/**
 * Connects an input with a text in the language of the form. `own` connects it with the text in the first language, which is
 * shown below a translation. `original`: that text, if `own` has its HTML.
 */
export function inLanguage(
  { values, change, faults, language }: TextForm,
  path: TextPath,
  own: TextInput,
  original = own.value,
): TextInput & { readonly lang?: string } {
  if (language === undefined) return own;
  const field = textField(language, path);
  const value = (values as Readonly<Record<string, string | null>>)[field] ?? '';
  return {
    value,
    onChange: (text) => change({ [field]: text || null }),
    fault: faults[field],
    hint: original && <Original text={original} isMissing={value === ''} />,
    lang: language,
  };
}

function Original({ text, isMissing }: { readonly text: string; readonly isMissing: boolean }) {
  const t = useTexts();
  return (
    <span className="original">
      <span dir="auto">{text}</span>
      {isMissing && <Badge tone="warn">{t.languages.missing}</Badge>}
    </span>
  );
}

interface LanguagesProps {
  readonly form: TextForm;
  /** The texts in the first language by their paths. Empty ones need no translation. */
  readonly texts: readonly (readonly [path: TextPath, text: string | null | undefined])[];
  readonly onChange: (language: string | undefined) => void;
  readonly children: ReactNode;
}

/** The languages of the store as tabs above a form, with what is missing in each. In a store with one language, the form itself. */
export function Languages({ form: { values, language }, texts, onChange, children }: LanguagesProps) {
  const t = useTexts();
  const nameOf = useLanguageNames();
  const { data: store, isPending } = useStore();
  const [first, ...others] = store?.locales ?? [];
  // A form that is shown below new tabs would move, and lose the focus.
  if (isPending) return <Loading lines={12} />;
  if (!first || others.length === 0) return children;
  const needed = texts.filter(([, text]) => text);
  const stored = values as Readonly<Record<string, unknown>>;
  const missing = new Map(
    others.map((locale) => [locale, needed.filter(([path]) => !stored[textField(locale, path)]).length]),
  );
  return (
    <Tabs
      label={t.languages.ofTexts}
      selected={language ?? first}
      onSelect={(locale) => onChange(locale === first ? undefined : locale)}
      tabs={[
        { id: first, label: nameOf(first) },
        ...others.map((locale) => ({
          id: locale,
          label: (
            <span className="row">
              {nameOf(locale)}
              {missing.get(locale) === 0 ? (
                <Icon name="check" size={14} />
              ) : (
                <span className="tab-count">{t.languages.missingCount(missing.get(locale)!)}</span>
              )}
            </span>
          ),
        })),
      ]}
    >
      {language !== undefined && (
        <p className="muted" role="status">
          {t.languages.translated(needed.length - (missing.get(language) ?? 0), needed.length)}
        </p>
      )}
      {children}
    </Tabs>
  );
}

/** Returns a function that names a field in a message. `ownLabel`: names the fields that are in the first language. */
export function useLabels(
  labels: Readonly<Record<string, string>>,
  ownLabel = (field: string): string => labels[field] ?? field,
): (field: string) => string {
  const nameOf = useLanguageNames();
  return (field) => {
    const [start, locale, ...path] = field.split('/').map(decodeURIComponent);
    if (start !== 'translations' || !locale) return ownLabel(field);
    const label =
      labels[path.join('_')] ?? labels[path.join('.')] ?? path.findLast((each) => each !== 'name');
    return `${label} (${nameOf(locale)})`;
  };
}
