import { useState } from 'react';
import { Button as AriaButton, TextField as AriaTextField, Input, Label } from 'react-aria-components';
import { useTexts } from '../../texts/texts';
import { Button, IconButton } from '../../ui/button';
import { say } from '../../ui/feedback';
import { TextField } from '../../ui/fields';
import { Icon } from '../../ui/icon';
import { Menu } from '../../ui/overlay';
import { useEditing } from './editing';
import {
  type DraftOption,
  newId,
  OPTIONS_MAX,
  type OptionValue,
  rowsAfter,
  undoRemoval,
  usedOptions,
  VARIANTS_MAX,
} from './matrix';

/** The options of the product. Each change makes or removes the variants that follow from it. */
export function Options() {
  const t = useTexts();
  const { values, change, faults } = useEditing();
  const [has_too_many, setTooMany] = useState(false);
  const { options, rows } = values;
  /** Returns whether the variants fit. */
  const apply = (after: readonly DraftOption[]): boolean => {
    const next = rowsAfter(options, after, rows);
    setTooMany(!next);
    if (next) change({ options: after, rows: next });
    return next !== undefined;
  };
  const replace = (option: DraftOption) =>
    apply(options.map((each) => (each.id === option.id ? option : each)));
  const undoable = (text: string, after: readonly DraftOption[]) => {
    if (!apply(after)) return;
    const left = { options: after, rows: rowsAfter(options, after, rows) ?? [] };
    say(text, () => change((now) => undoRemoval({ options, rows }, left, now)));
  };
  const shift = (index: number, by: -1 | 1) => {
    const after = [...options];
    [after[index], after[index + by]] = [after[index + by]!, after[index]!];
    apply(after);
  };
  return (
    <>
      {options.map((option, index) => (
        <fieldset key={option.id} className="option" aria-label={option.name || t.product.option(index + 1)}>
          <TextField
            label={t.product.optionName}
            placeholder={t.product.optionPlaceholder}
            value={option.name}
            maxLength={60}
            onChange={(name) => replace({ ...option, name })}
            autoFocus={option.name === '' && option.values.length === 0}
          />
          <Values
            option={option}
            onChange={(next) => replace({ ...option, values: next })}
            onRemove={(value) =>
              undoable(t.product.valueRemoved(value.name), [
                ...options.slice(0, index),
                { ...option, values: option.values.filter((each) => each !== value) },
                ...options.slice(index + 1),
              ])
            }
          />
          <div className="row option-tools">
            <IconButton
              label={t.product.moveUp(option.name)}
              icon="chevronUp"
              isDisabled={index === 0}
              onPress={() => shift(index, -1)}
            />
            <IconButton
              label={t.product.moveDown(option.name)}
              icon="chevronDown"
              isDisabled={index === options.length - 1}
              onPress={() => shift(index, 1)}
            />
            <IconButton
              label={t.common.removeNamed(option.name)}
              icon="trash"
              onPress={() =>
                undoable(
                  t.product.optionRemoved(option.name),
                  options.filter((each) => each !== option),
                )
              }
            />
          </div>
        </fieldset>
      ))}
      {has_too_many && (
        <p className="fault" role="alert">
          {t.product.tooManyVariants(VARIANTS_MAX)}
        </p>
      )}
      {faults.options && <p className="fault">{faults.options}</p>}
      <div className="row">
        <Button
          icon="plus"
          isDisabled={options.length >= OPTIONS_MAX}
          onPress={() => apply([...options, { id: newId('+', options), name: '', values: [] }])}
        >
          {options.length === 0 ? t.product.addFirstOption : t.product.addOption}
        </Button>
        {options.length > 0 && (
          <span className="muted small">
            {t.product.matrix(
              usedOptions(options).map((each) => each.values.length),
              rows.length,
            )}
          </span>
        )}
      </div>
    </>
  );
}

interface ValuesProps {
  readonly option: DraftOption;
  readonly onChange: (values: readonly OptionValue[]) => boolean;
  readonly onRemove: (value: OptionValue) => void;
}

/** The values of an option. Enter, a comma or a pasted list adds them; the menu of a value renames, moves or removes it. */
function Values({ option, onChange, onRemove }: ValuesProps) {
  const t = useTexts();
  const [text, setText] = useState('');
  const [renamed, setRenamed] = useState<string>();
  const { values } = option;
  const add = (typed: string) => {
    const next = [...values];
    for (const part of typed.split(/[,;\t\n]/)) {
      const name = part.trim();
      if (name && !next.some((each) => each.name === name)) next.push({ id: newId(name, next), name });
    }
    if (next.length === values.length || onChange(next)) setText('');
    else setText(typed);
  };
  const shift = (index: number, by: -1 | 1) => {
    const next = [...values];
    [next[index], next[index + by]] = [next[index + by]!, next[index]!];
    onChange(next);
  };
  const rename = (id: string, name: string) => {
    setRenamed(undefined);
    if (name && !values.some((each) => each.name === name))
      onChange(values.map((each) => (each.id === id ? { id, name } : each)));
  };
  return (
    <div className="field">
      <AriaTextField
        className="field"
        value={text}
        onChange={(next) => (/[,;\n]$/.test(next) ? add(next) : setText(next))}
      >
        <Label className="label">{t.product.optionValues}</Label>
        <Input
          className="input"
          dir="auto"
          placeholder={t.product.valuesPlaceholder}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault();
            add(text);
          }}
          onPaste={(event) => {
            const pasted = event.clipboardData.getData('text');
            if (!/[,;\t\n]/.test(pasted)) return;
            event.preventDefault();
            add(text + pasted);
          }}
          onBlur={() => add(text)}
        />
      </AriaTextField>
      {values.length > 0 && (
        <ul className="list tags">
          {values.map((value, index) => (
            <li key={value.id}>
              {renamed === value.id ? (
                <input
                  className="input rename"
                  dir="auto"
                  aria-label={t.product.renameValue(value.name)}
                  defaultValue={value.name}
                  // biome-ignore lint/a11y/noAutofocus: The merchant has just chosen to rename the value.
                  autoFocus
                  onBlur={({ target }) => rename(value.id, target.value.trim())}
                  onKeyDown={(event) => {
                    if (event.key === 'Enter') event.currentTarget.blur();
                    if (event.key === 'Escape') setRenamed(undefined);
                  }}
                />
              ) : (
                <Menu
                  label={value.name}
                  trigger={
                    <AriaButton className="tag value">
                      <span dir="auto">{value.name}</span>
                      <Icon name="chevronDown" size={12} />
                    </AriaButton>
                  }
                  items={[
                    {
                      id: 'rename',
                      icon: 'edit',
                      label: t.product.rename,
                      onAction: () => setRenamed(value.id),
                    },
                    {
                      id: 'earlier',
                      icon: 'chevronLeft',
                      label: t.product.earlier,
                      isDisabled: index === 0,
                      onAction: () => shift(index, -1),
                    },
                    {
                      id: 'later',
                      icon: 'chevronRight',
                      label: t.product.later,
                      isDisabled: index === values.length - 1,
                      onAction: () => shift(index, 1),
                    },
                    '-',
                    {
                      id: 'remove',
                      icon: 'trash',
                      label: t.common.removeNamed(value.name),
                      isDanger: true,
                      onAction: () => onRemove(value),
                    },
                  ]}
                />
              )}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
