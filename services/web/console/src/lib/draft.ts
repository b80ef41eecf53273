import { useCallback } from 'react';
import { useApi } from './api';
import { useStored } from './stored';

/** What was typed into a form and is not saved: the changed fields, and the values that the form had shown. */
export interface Draft<Fields extends object> {
  readonly changed: Partial<Fields>;
  /** The saved values of the changed fields when they were changed first. */
  readonly base: Partial<Fields>;
}

/** A field that was changed here and, meanwhile, elsewhere. */
export interface Conflict<Fields extends object> {
  readonly field: keyof Fields & string;
  readonly mine: unknown;
  readonly theirs: unknown;
}

const EMPTY = { changed: {}, base: {} };

/**
 * The state of a form that survives a sign-in, a reload and a crash, because the browser keeps what was typed. `saved` are the
 * values that the service has now. Returns the values to show: the saved ones with the changed fields. Somebody else's save of
 * another field appears at once. If both have changed one field differently, `conflicts` has it until `keepMine` or
 * `takeTheirs` decides.
 *
 * `form`: names the form, such as `product/<id>`.
 */
export function useDraft<Fields extends object>(form: string, saved: Fields) {
  const { store_id } = useApi();
  const [draft, setDraft] = useStored<Draft<Fields>>(`draft/${store_id}/${form}`, EMPTY as Draft<Fields>);
  const fields = Object.keys(draft.changed) as (keyof Fields & string)[];
  const changed = Object.fromEntries(
    fields
      .filter((field) => !isSame(draft.changed[field], saved[field]))
      .map((field) => [field, draft.changed[field]]),
  ) as Partial<Fields>;
  const conflicts = (Object.keys(changed) as (keyof Fields & string)[])
    .filter((field) => !isSame(draft.base[field], saved[field]))
    .map((field): Conflict<Fields> => ({ field, mine: changed[field], theirs: saved[field] }));

  const change = useCallback(
    (values: Partial<Fields>) => {
      const next = { changed: { ...draft.changed }, base: { ...draft.base } };
      for (const field of Object.keys(values) as (keyof Fields)[]) {
        if (!(field in next.changed)) next.base[field] = saved[field];
        next.changed[field] = values[field];
        if (isSame(values[field], saved[field])) {
          delete next.changed[field];
          delete next.base[field];
        }
      }
      setDraft(Object.keys(next.changed).length === 0 ? undefined : next);
    },
    [draft, saved, setDraft],
  );

  return {
    values: { ...saved, ...changed } as Fields,
    /** The fields to send. */
    changed,
    is_changed: Object.keys(changed).length > 0,
    conflicts,
    change,
    /** Forgets what was typed: after a save, or because the merchant does not want it. */
    discard: () => setDraft(undefined),
    keepMine: (field: keyof Fields) =>
      setDraft({ changed: draft.changed, base: { ...draft.base, [field]: saved[field] } }),
    takeTheirs: (field: keyof Fields) => change({ [field]: saved[field] } as Partial<Fields>),
  };
}

/** Compares values as JSON. A field that is not set equals null. */
export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
