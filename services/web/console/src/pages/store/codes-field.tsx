import { Banner } from '../../ui/feedback';
import { Select, TagsField } from '../../ui/fields';

interface CodesFieldProps {
  readonly texts: {
    readonly first: string;
    readonly add: string;
    readonly base: string;
    readonly baseChanges: (name: string) => string;
    readonly removed: (names: string) => string;
  };
  /** The first one is the base. */
  readonly value: readonly string[];
  readonly saved: readonly string[];
  readonly suggestions: readonly string[];
  readonly nameOf: (code: string) => string;
  /** The first code of a list that begins with another one. */
  readonly implied?: string;
  readonly isDisabled: boolean;
  readonly fault: string | undefined;
  readonly onChange: (codes: readonly string[]) => void;
}

/** The languages or the currencies of the store: codes of which one is the base. Says what a change will do. */
export function CodesField({ texts, saved, implied, fault, onChange, ...props }: CodesFieldProps) {
  const { value, nameOf } = props;
  const removed = saved.filter((code) => !value.includes(code));
  const write = (codes: readonly string[]) => {
    if (value.length === 0 && implied && codes.length > 0) onChange([...new Set([implied, ...codes])]);
    // Once a store has codes, it keeps at least one.
    else if (codes.length > 0 || saved.length === 0) onChange(codes);
  };
  return (
    <>
      <TagsField
        {...props}
        label={value.length === 0 && !implied ? texts.first : texts.add}
        fault={fault}
        onChange={write}
      />
      {value.length > 1 && (
        <Select
          label={texts.base}
          value={value[0]!}
          isDisabled={props.isDisabled}
          onChange={(code) => onChange([code, ...value.filter((each) => each !== code)])}
          options={value.map((id) => ({ id, label: nameOf(id) }))}
        />
      )}
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
const regions = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
/** Codes of CLDR that ISO 3166-1 does not assign to a country. */
const NO_COUNTRIES = 'AC CP CQ DG EA EU EZ IC QO TA UN XA XB XK ZZ'.split(' ');

export const LANGUAGES = [...TWO_LETTERS.filter((code) => isCanonical(code) && known.of(code)), ...OTHERS];
export const CURRENCIES = Intl.supportedValuesOf('currency');
export const COUNTRIES = TWO_LETTERS.map((code) => code.toUpperCase()).filter(
  (code) =>
    regions.of(code) && !NO_COUNTRIES.includes(code) && new Intl.Locale(`und-${code}`).region === code,
);
