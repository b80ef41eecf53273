import { useState } from 'react';
import { useTexts } from '../../texts/texts';
import { IconButton } from '../../ui/button';
import { Badge, Banner } from '../../ui/feedback';
import { ComboBox, type Option } from '../../ui/fields';

interface CodesFieldProps {
  readonly texts: {
    readonly first: string;
    readonly add: string;
    readonly base: string;
    readonly baseChanges: (name: string) => string;
    readonly removed: (names: string) => string;
  };
  /** In their order. The first one is the base. */
  readonly value: readonly string[];
  readonly saved: readonly string[];
  readonly choices: readonly string[];
  readonly nameOf: (code: string) => string;
  /** The first code of a list that begins with another one. */
  readonly implied?: string | undefined;
  readonly isDisabled: boolean;
  readonly fault: string | undefined;
  readonly onChange: (codes: readonly string[]) => void;
}

/** The languages or the currencies of the store: a list of codes whose first one is special. Says what a change will do. */
export function CodesField(props: CodesFieldProps) {
  const { texts, value, saved, choices, nameOf, implied, isDisabled, fault, onChange } = props;
  const t = useTexts();
  const [text, setText] = useState('');
  const removed = saved.filter((code) => !value.includes(code));
  const options = choices
    .filter((code) => !value.includes(code))
    .map((code): Option => ({ id: code, label: `${nameOf(code)} · ${code}` }))
    .sort((one, other) => one.label.localeCompare(other.label));
  const add = (code: string) => {
    const first = value.length === 0 && implied && implied !== code ? [implied] : [];
    onChange([...value, ...first, code]);
    setText('');
  };
  // Once a store has codes, it keeps at least one.
  const is_last = value.length === 1 && saved.length > 0;
  return (
    <>
      {value.length > 0 && (
        <ul className="list stack tight">
          {value.map((code, place) => (
            <li key={code} className="row spread codes-line">
              <span className="row">
                <span dir="auto">{nameOf(code)}</span>
                <span className="muted small">{code}</span>
              </span>
              <span className="row">
                {place === 0 ? (
                  <Badge>{texts.base}</Badge>
                ) : (
                  <IconButton
                    icon="chevronUp"
                    label={t.store.makeFirst(nameOf(code))}
                    isDisabled={isDisabled}
                    onPress={() => onChange([code, ...value.filter((each) => each !== code)])}
                  />
                )}
                <IconButton
                  icon="close"
                  label={t.common.removeNamed(nameOf(code))}
                  isDisabled={isDisabled || is_last}
                  onPress={() => onChange(value.filter((each) => each !== code))}
                />
              </span>
            </li>
          ))}
        </ul>
      )}
      <ComboBox
        label={value.length === 0 && !implied ? texts.first : texts.add}
        value={text}
        isDisabled={isDisabled}
        fault={fault}
        onChange={setText}
        onChoose={add}
        options={options}
      />
      {saved.length > 0 && value[0] !== saved[0] && (
        <Banner tone="warn">{texts.baseChanges(nameOf(value[0]!))}</Banner>
      )}
      {removed.length > 0 && (
        <Banner tone="warn">{texts.removed(removed.map((code) => nameOf(code)).join(', '))}</Banner>
      )}
    </>
  );
}

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];
const TWO_LETTERS = LETTERS.flatMap((one) => LETTERS.map((other) => one + other));
/** Languages with longer tags, and varieties that many shops distinguish. */
const OTHERS = [
  ...['ckb', 'fil', 'gsw', 'yue', 'de-AT', 'de-CH', 'en-GB', 'en-US', 'es-419', 'es-ES', 'es-MX', 'es-PE'],
  ...['fr-CA', 'fr-CH', 'pt-BR', 'pt-PT', 'sr-Latn', 'zh-Hans', 'zh-Hant'],
];
const known = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
const isCanonical = (code: string): boolean => Intl.getCanonicalLocales(code)[0] === code;

export const LANGUAGES = [...TWO_LETTERS.filter((code) => isCanonical(code) && known.of(code)), ...OTHERS];
export const CURRENCIES = Intl.supportedValuesOf('currency');
