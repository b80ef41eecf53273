import { type CalendarDateTime, parseAbsolute, toCalendarDateTime, toZoned } from '@internationalized/date';
import { type ReactNode, useState } from 'react';
import {
  Button as AriaButton,
  Checkbox as AriaCheckbox,
  ComboBox as AriaComboBox,
  SearchField as AriaSearchField,
  Select as AriaSelect,
  Switch as AriaSwitch,
  TextField as AriaTextField,
  Calendar,
  CalendarCell,
  CalendarGrid,
  type CheckboxProps,
  DateInput,
  DatePicker,
  DateSegment,
  Dialog,
  FieldError,
  Group,
  Heading,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  SelectValue,
  type SwitchProps,
  Text,
  TextArea,
} from 'react-aria-components';
import { formatAmount, parseMoney } from '../lib/format';
import { useLocale, useTexts } from '../texts/texts';
import { Icon } from './icon';
import './fields.css';

/** What all fields of a form have. */
export interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  /** Why the value was refused. */
  readonly fault?: string | undefined;
  /** Only screen readers read the label, because the page shows what the field is. */
  readonly hideLabel?: boolean;
  readonly isDisabled?: boolean;
  readonly isRequired?: boolean;
  readonly autoFocus?: boolean;
}

const FieldLabel = ({ label, hideLabel }: Pick<FieldProps, 'label' | 'hideLabel'>) => (
  <Label className={hideLabel ? 'visually-hidden' : 'label'}>{label}</Label>
);

const FieldNotes = ({ hint, fault }: Pick<FieldProps, 'hint' | 'fault'>) => (
  <>
    {hint && (
      <Text slot="description" className="hint">
        {hint}
      </Text>
    )}
    <FieldError className="fault">{fault}</FieldError>
  </>
);

interface TextFieldProps extends FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly rows?: number;
  readonly type?: 'text' | 'password' | 'email' | 'url' | 'tel';
  readonly placeholder?: string;
  readonly inputMode?: 'decimal' | 'numeric';
  readonly maxLength?: number;
  readonly autoComplete?: string;
  readonly end?: ReactNode;
  readonly onBlur?: () => void;
  /** The language of the text, if it is not that of the page. */
  readonly lang?: string;
}

/** A text. With `rows` it has several lines. */
export function TextField(props: TextFieldProps) {
  const {
    label,
    hint,
    fault,
    hideLabel,
    rows,
    placeholder,
    end,
    value,
    onChange,
    type = 'text',
    lang,
    ...rest
  } = props;
  const input = { className: end ? 'input with-end' : 'input', placeholder, lang, dir: 'auto' as const };
  return (
    <AriaTextField
      {...rest}
      type={type}
      value={value}
      onChange={onChange}
      isInvalid={!!fault}
      validationBehavior="aria"
      className="field"
    >
      <FieldLabel label={label} hideLabel={hideLabel} />
      <div className="input-group">
        {rows ? <TextArea {...input} rows={rows} /> : <Input {...input} />}
        {end && <span className="affix end">{end}</span>}
      </div>
      <FieldNotes hint={hint} fault={fault} />
    </AriaTextField>
  );
}

interface MoneyFieldProps extends FieldProps {
  /** Hundredths. */
  readonly value: number | null | undefined;
  readonly currency: string | undefined;
  readonly onChange: (value: number | null) => void;
}

/** The text of a field whose value has a form of its own: what is typed, until the field is left, and then the value. */
function useTyped(shown: string, isValid: (text: string) => boolean) {
  const [typed, setTyped] = useState<string>();
  const text = typed ?? shown;
  const onBlur = () => isValid(text) && setTyped(undefined);
  return { text, setTyped, onBlur };
}

/** An amount of money. Reports each amount that is typed. A text that is no amount stays, with the reason. */
export function MoneyField({ value, currency, onChange, fault, ...props }: MoneyFieldProps) {
  const t = useTexts();
  const locale = useLocale();
  const amountIn = (text: string) => parseMoney(text, currency);
  const shown = value === null || value === undefined ? '' : formatAmount(value, currency, locale);
  const { text, setTyped, onBlur } = useTyped(shown, (each) => amountIn(each) !== undefined);
  return (
    <TextField
      {...props}
      value={text}
      inputMode="decimal"
      end={currency}
      fault={amountIn(text) === undefined ? t.errors.noAmount : fault}
      onBlur={onBlur}
      onChange={(next) => {
        setTyped(next);
        const amount = amountIn(next);
        if (amount !== undefined) onChange(amount);
      }}
    />
  );
}

interface NumberFieldProps extends FieldProps {
  readonly value: number | null | undefined;
  readonly onChange: (value: number | null) => void;
  readonly end?: ReactNode;
  /** How many decimals the number may have. */
  readonly decimals?: number;
}

/** A number, by default a whole one such as a stock. Empty is null. */
export function NumberField({ value, onChange, fault, decimals = 0, ...props }: NumberFieldProps) {
  const t = useTexts();
  const locale = useLocale();
  const noNumber = decimals > 0 ? t.errors.noAmount : t.errors.noNumber;
  const fraction = decimals > 0 ? `([.,]\\d{0,${decimals}})?` : '';
  const isValid = (text: string) => new RegExp(`^(-?\\d{1,9}${fraction})?$`).test(text.trim());
  const format = { maximumFractionDigits: decimals, useGrouping: false };
  const { text, setTyped, onBlur } = useTyped(value?.toLocaleString(locale, format) ?? '', isValid);
  return (
    <TextField
      {...props}
      value={text}
      inputMode={decimals > 0 ? 'decimal' : 'numeric'}
      fault={isValid(text) ? fault : noNumber}
      onBlur={onBlur}
      onChange={(next) => {
        setTyped(next);
        if (isValid(next)) onChange(next.trim() === '' ? null : Number(next.replace(',', '.')));
      }}
    />
  );
}

export interface Option {
  readonly id: string;
  readonly label: string;
}

interface SelectProps extends FieldProps {
  readonly value: string | null;
  readonly onChange: (id: string) => void;
  readonly options: readonly Option[];
  readonly placeholder?: string;
}

const Options = ({ options }: { readonly options?: readonly Option[] }) => (
  <ListBox className="list-box" items={options}>
    {(option: Option) => (
      <ListBoxItem className="list-item" textValue={option.label}>
        <span dir="auto">{option.label}</span>
      </ListBoxItem>
    )}
  </ListBox>
);

/** A choice of a few. */
export const Select = ({
  label,
  hint,
  fault,
  hideLabel,
  value,
  onChange,
  options,
  placeholder,
  ...rest
}: SelectProps) => (
  <AriaSelect
    {...rest}
    className="field"
    selectedKey={value}
    onSelectionChange={(key) => key !== null && onChange(String(key))}
    isInvalid={!!fault}
    validationBehavior="aria"
    placeholder={placeholder ?? '–'}
  >
    <FieldLabel label={label} hideLabel={hideLabel} />
    <AriaButton className="input select-button">
      <SelectValue className="truncate" />
      <Icon name="chevronDown" />
    </AriaButton>
    <FieldNotes hint={hint} fault={fault} />
    <Popover className="popover">
      <Options options={options} />
    </Popover>
  </AriaSelect>
);

interface ComboBoxProps extends Omit<SelectProps, 'value' | 'onChange'> {
  /** The text in the field. */
  readonly value: string;
  readonly onChange: (text: string) => void;
  /** Called when an option is chosen. */
  readonly onChoose?: (id: string) => void;
}

/** A text with suggestions. Other texts are allowed. */
export const ComboBox = (props: ComboBoxProps) => {
  const { label, hint, fault, hideLabel, value, onChange, onChoose, options, placeholder, ...rest } = props;
  return (
    <AriaComboBox
      {...rest}
      className="field"
      allowsCustomValue
      menuTrigger="focus"
      inputValue={value}
      onInputChange={onChange}
      onSelectionChange={(key) => key !== null && onChoose?.(String(key))}
      defaultItems={options}
      isInvalid={!!fault}
      validationBehavior="aria"
    >
      <FieldLabel label={label} hideLabel={hideLabel} />
      <div className="input-group">
        <Input className="input with-end" placeholder={placeholder} dir="auto" />
        <AriaButton className="button quiet icon-only">
          <Icon name="chevronDown" />
        </AriaButton>
      </div>
      <FieldNotes hint={hint} fault={fault} />
      <Popover className="popover">
        <Options />
      </Popover>
    </AriaComboBox>
  );
};

interface TagsFieldProps extends FieldProps {
  readonly value: readonly string[];
  readonly onChange: (value: string[]) => void;
  /** Values that other items have. */
  readonly suggestions?: readonly string[];
  /** The values are codes with names, and only suggested ones can be added. */
  readonly nameOf?: (code: string) => string;
}

/** A list of short texts. Enter or a comma adds the text in the field; Backspace in the empty field removes the last one. */
export function TagsField({ value, onChange, suggestions = [], nameOf, ...props }: TagsFieldProps) {
  const t = useTexts();
  const [text, setText] = useState('');
  const optionOf = (id: string): Option => ({ id, label: nameOf ? `${nameOf(id)} · ${id}` : id });
  const codesOf = (typed: string): string[] => {
    const words = typed.toLocaleLowerCase();
    const isMeant = (code: string) =>
      [code, nameOf!(code)].some((each) => each.toLocaleLowerCase() === words);
    return suggestions.filter((code) => code === typed || isMeant(code));
  };
  const add = (added: string) => {
    const typed = added.split(',').flatMap((each) => each.trim() || []);
    const values = nameOf ? typed.flatMap(codesOf) : typed;
    if (values.length > 0) onChange([...new Set([...value, ...values])]);
    setText('');
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: The keys belong to the input inside.
    <div
      className="stack tight"
      onKeyDown={(event) => {
        if (event.key === 'Enter' && text.trim() !== '') {
          event.preventDefault();
          add(text);
        } else if (event.key === 'Backspace' && text === '') onChange(value.slice(0, -1));
      }}
      onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && add(text)}
    >
      <ComboBox
        {...props}
        value={text}
        onChange={(next) => (next.includes(',') ? add(next) : setText(next))}
        onChoose={add}
        options={suggestions.filter((each) => !value.includes(each)).map(optionOf)}
      />
      {value.length > 0 && (
        <ul className="list tags">
          {value.map((each) => (
            <li key={each} className="tag" dir="auto">
              {nameOf ? nameOf(each) : each}
              <button
                type="button"
                disabled={props.isDisabled}
                aria-label={t.common.removeNamed(nameOf ? nameOf(each) : each)}
                onClick={() => onChange(value.filter((other) => other !== each))}
              >
                <Icon name="close" size={12} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

export const Checkbox = ({
  children,
  ...props
}: Omit<CheckboxProps, 'children' | 'className'> & { children?: ReactNode }) => (
  <AriaCheckbox {...props} className="check">
    {({ isIndeterminate, isSelected }) => (
      <>
        <span className="box">
          {isIndeterminate ? <Icon name="minus" size={14} /> : isSelected && <Icon name="check" size={14} />}
        </span>
        {children}
      </>
    )}
  </AriaCheckbox>
);

export const Switch = ({
  children,
  ...props
}: Omit<SwitchProps, 'children' | 'className'> & { children: ReactNode }) => (
  <AriaSwitch {...props} className="switch">
    <span className="track" />
    {children}
  </AriaSwitch>
);

interface SearchFieldProps extends Pick<FieldProps, 'label' | 'autoFocus'> {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly placeholder?: string;
}

/** A search. `/` moves the focus here, if it is the search of the page. */
export const SearchField = ({ label, placeholder, ...props }: SearchFieldProps) => (
  <AriaSearchField {...props} aria-label={label} className="field search-field">
    <div className="input-group">
      <span className="affix start">
        <Icon name="search" />
      </span>
      <Input className="input with-start" placeholder={placeholder ?? label} dir="auto" data-page-search />
    </div>
  </AriaSearchField>
);

interface DateTimeFieldProps extends FieldProps {
  /** ISO 8601, null for none. Shown and typed in the time zone of the browser. */
  readonly value: string | null | undefined;
  readonly onChange: (value: string | null) => void;
  /** `day`: without a time, which is the begin of the day. */
  readonly granularity?: 'minute' | 'day';
}

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A date and time, with a calendar. */
export function DateTimeField({
  label,
  hint,
  fault,
  hideLabel,
  value,
  onChange,
  granularity = 'minute',
  ...rest
}: DateTimeFieldProps) {
  const t = useTexts();
  return (
    <DatePicker<CalendarDateTime>
      {...rest}
      className="field"
      granularity={granularity}
      value={value ? toCalendarDateTime(parseAbsolute(value, ZONE)) : null}
      onChange={(date) => onChange(date ? toZoned(date, ZONE).toAbsoluteString() : null)}
      isInvalid={!!fault}
      validationBehavior="aria"
    >
      <FieldLabel label={label} hideLabel={hideLabel} />
      <Group className="input-group">
        <DateInput className="input date-input">{(segment) => <DateSegment segment={segment} />}</DateInput>
        {value ? (
          <AriaButton
            slot={null}
            className="button quiet icon-only"
            aria-label={t.common.clearNamed(label)}
            onPress={() => onChange(null)}
          >
            <Icon name="close" />
          </AriaButton>
        ) : (
          <AriaButton className="button quiet icon-only">
            <Icon name="calendar" />
          </AriaButton>
        )}
      </Group>
      <FieldNotes hint={hint} fault={fault} />
      <Popover className="popover">
        <Dialog>
          <Calendar className="calendar">
            <header>
              <AriaButton slot="previous" className="button quiet icon-only">
                <Icon name="chevronLeft" />
              </AriaButton>
              <Heading level={2} />
              <AriaButton slot="next" className="button quiet icon-only">
                <Icon name="chevronRight" />
              </AriaButton>
            </header>
            <CalendarGrid>{(date) => <CalendarCell date={date} />}</CalendarGrid>
          </Calendar>
        </Dialog>
      </Popover>
    </DatePicker>
  );
}
