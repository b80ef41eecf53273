import type { ComponentChildren } from 'preact';
import { type FormField, type Notice, shownName, textOf } from './fields';

interface ButtonProps {
  readonly action: string;
  readonly label: string;
  readonly values?: Readonly<Record<string, string>>;
  /** The name of the item that the button changes, for screen readers, if several buttons have this label. */
  readonly name?: string;
  /** Whether the button is the main action of the page. */
  readonly is_main?: boolean;
}

/** A button that sends a form with these values. */
export const Button = ({ action, label, values = {}, name, is_main = false }: ButtonProps) => (
  <form method="post" action={action}>
    {Object.entries(values).map(([key, value]) => (
      <input key={key} type="hidden" name={key} value={value} />
    ))}
    <button type="submit" class={is_main ? undefined : 'quiet'} aria-label={name && `${label}: ${name}`}>
      {label}
    </button>
  </form>
);

/** The button of a form with inputs. */
export const Submit = ({ label }: { label: string }) => (
  <p>
    <button type="submit">{label}</button>
  </p>
);

/** Shows a secret of something that was just created. */
export const NewSecret = ({ heading, note, secret }: Record<'heading' | 'note' | 'secret', string>) => (
  <div class="panel">
    <h2>{heading}</h2>
    <p class="note">{note}</p>
    <code>{secret}</code>
  </div>
);

interface SelectProps {
  readonly name: string;
  /** Values with their labels. A value without a label is its own label. */
  readonly options: readonly (string | readonly [value: string, label: string])[];
  readonly selected?: string | null | undefined;
  readonly id?: string;
  readonly 'aria-label'?: string | undefined;
  readonly 'aria-invalid'?: true | undefined;
}

export const Select = ({ options, selected, ...attributes }: SelectProps) => (
  <select {...attributes}>
    {options.map((option) => {
      const [value, label] = typeof option === 'string' ? [option, option] : option;
      return (
        <option key={value} value={value} selected={value === selected}>
          {label}
        </option>
      );
    })}
  </select>
);

/** A column of a table. Columns of numbers are right-aligned. Only screen readers read a hidden label. */
interface Column {
  readonly label: string;
  readonly is_number?: boolean;
  readonly is_hidden?: boolean;
  /** Returns the class of the cell in a row. */
  readonly classOf?: (row: number) => string;
}

interface TableProps {
  readonly columns: readonly (string | Column)[];
  /** The cells of each row. */
  readonly rows: readonly (readonly ComponentChildren[])[];
  readonly class?: string;
}

export function Table({ columns, rows, ...attributes }: TableProps) {
  const declared: Column[] = columns.map((column) =>
    typeof column === 'string' ? { label: column } : column,
  );
  return (
    <table {...attributes}>
      <thead>
        <tr>
          {declared.map(({ label, is_number, is_hidden }) => (
            <th key={label} class={is_number ? 'number' : undefined}>
              {is_hidden ? <span class="skip">{label}</span> : label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((cells, row) => (
          <tr key={row}>
            {declared.map(({ label, is_number, classOf }, column) => (
              <td key={label} class={is_number ? 'number' : classOf?.(row)}>
                {cells[column]}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A table that scrolls sideways on a narrow screen. */
export const WideTable = (props: TableProps) => (
  <div class="scroll">
    <Table {...props} />
  </div>
);

interface DeletedProps {
  /** The start of the addresses of the items. */
  readonly path: string;
  readonly items: readonly { readonly id: string; readonly title: string; readonly deleted_at?: string }[];
}

/** Deleted items, with buttons that restore them. */
export const Deleted = ({ path, items }: DeletedProps) => (
  <table>
    <tbody>
      {items.map(({ id, title, deleted_at = '' }) => (
        <tr key={id}>
          <td>{title}</td>
          <td>{`deleted ${minuteOf(deleted_at)}`}</td>
          <td>
            <Button action={`${path}/${id}/restore`} label="Restore" name={title} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);

export const minuteOf = (time: string): string => time.slice(0, 16).replace('T', ' ');
export const secondOf = (time: string): string => time.slice(0, 19).replace('T', ' ');

interface InputProps {
  readonly field: FormField;
  /** The name in the form. */
  readonly name: string;
  /** The resource that has the value. Undefined for a new resource. */
  readonly of: object | undefined;
  /** The form that was sent, if the page is shown again. */
  readonly form: URLSearchParams | undefined;
  readonly notice: Notice | undefined;
  /** The label for screen readers, if no visible label belongs to the input. */
  readonly label?: string;
}

/** The input of a field, and a hidden one with the text that the page shows (`changesIn`). */
export function Input({ field, name, of, form, notice, label }: InputProps) {
  const shown = textOf(field, valueIn(of, field.name));
  const text = form?.get(name) ?? shown;
  const is_invalid = notice?.fields?.some((each) => each === name || each.startsWith(`${name}.`));
  const attributes = { id: name, name, 'aria-label': label, 'aria-invalid': is_invalid || undefined };
  return (
    <>
      <input type="hidden" name={shownName(name)} value={shown} />
      {field.kind === 'text' || field.kind === 'hours' ? (
        // HTML drops a line break right after the tag. Without this one, each save would lose the text's own first one.
        <textarea {...attributes}>{`\n${text}`}</textarea>
      ) : field.options ? (
        <Select {...attributes} options={field.options} selected={text} />
      ) : (
        <input {...attributes} value={text} inputMode={field.kind === 'money' ? 'decimal' : undefined} />
      )}
    </>
  );
}

/** Returns the value of a field. A dot leads to a field of an object. */
const valueIn = (resource: object | undefined, name: string): unknown =>
  name
    .split('.')
    .reduce<unknown>((value, part) => (value as Readonly<Record<string, unknown>>)?.[part], resource);

interface FieldsProps extends Pick<InputProps, 'of' | 'form' | 'notice'> {
  readonly fields: readonly FormField[];
}

/** The inputs of some fields, with their labels and hints. */
export const Fields = ({ fields, ...props }: FieldsProps) => (
  <div class="fields">
    {fields.map((field) => (
      <div key={field.name} class={field.is_wide ? 'field wide' : 'field'}>
        <label for={field.name}>
          {field.label} {field.hint && <small>{field.hint}</small>}
        </label>
        <Input {...props} field={field} name={field.name} />
      </div>
    ))}
  </div>
);
