import type { FeedIssue } from '../../shared/api/responses/resources';
import type { JsonValue } from '../../shared/catalog/events/envelope';

/** Whether a channel refuses an item without the field (`required`), or shows it less (`recommended`). */
type Need = 'required' | 'recommended';

/** A field of a channel: how it follows from a product or an offer, and what the channel accepts. */
export interface Field<Subject> {
  readonly name: string;
  /** What it is made from. In the documentation and in messages. */
  readonly from: string;
  readonly of: (subject: Subject) => JsonValue | undefined;
  /** Without it, the field is optional. A function decides for each item. */
  readonly need?: Need | ((subject: Subject) => Need | undefined);
  /** The most characters. A longer text is cut. */
  readonly length_max?: number;
  /** Whether a text that is too long is left out, because a part of it means something else. */
  readonly is_whole?: boolean;
  /** The most values of a list. Further ones are left out. */
  readonly count_max?: number;
  /** What a text must match. Another text is left out. */
  readonly rule?: { readonly pattern: RegExp; readonly text: string };
}

/** What is wrong with a field. */
export type Fault = Pick<FeedIssue, 'problem' | 'severity' | 'message'>;

interface Reading {
  /** Within the limits of the channel. */
  readonly value?: JsonValue;
  readonly fault?: Fault;
}

/** Returns the value of a field in the form that the channel accepts, and the fault that was mended or left out. */
export function readField<Subject>(field: Field<Subject>, subject: Subject): Reading {
  const { from, length_max, count_max, rule } = field;
  const value = field.of(subject);
  const need = typeof field.need === 'function' ? field.need(subject) : field.need;
  const severity = need === 'required' ? 'error' : 'warning';
  const fault = (problem: Fault['problem'], text: string, level: Fault['severity'] = 'warning') => ({
    fault: { problem, severity: level, message: `${field.name} ${text}` },
  });
  if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0))
    return need ? fault('missing', `is missing. It is ${from}`, severity) : {};
  if (Array.isArray(value) && count_max !== undefined && value.length > count_max)
    return {
      value: value.slice(0, count_max),
      ...fault('too_many', `has more than ${count_max} values. Further ones are left out`),
    };
  if (typeof value !== 'string') return { value };
  if (rule && !rule.pattern.test(value)) return fault('invalid', `must be ${rule.text}`, severity);
  if (length_max === undefined || value.length <= length_max) return { value };
  const characters = [...value];
  if (characters.length <= length_max) return { value };
  if (field.is_whole) return fault('too_long', `has more than ${length_max} characters`, severity);
  const cut = characters.slice(0, length_max).join('').trimEnd();
  return { value: cut, ...fault('too_long', `is cut after ${length_max} characters`) };
}
