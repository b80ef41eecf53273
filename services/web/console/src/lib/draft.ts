import { useMemo, useRef } from 'react';
import { useApi } from './api';
import { readStored, useStored, writeStored } from './stored';

/** What was typed into a form and is not saved. */
export interface Draft<Fields extends object> {
  readonly changed: Partial<Fields>;
  /** What the server had in each changed field when the merchant first changed it. */
  readonly base: Partial<Fields>;
}

/** A field that was changed here and, meanwhile, elsewhere. */
export interface Conflict<Fields extends object> {
  readonly field: keyof Fields & string;
  readonly mine: unknown;
  readonly theirs: unknown;
}

const EMPTY = { changed: {}, base: {} };

/** Returns what of a draft differs from the saved values, and where the saved values have changed since. */
function compare<Fields extends object>(draft: Draft<Fields>, saved: Fields) {
  const fields = (Object.keys(draft.changed) as (keyof Fields & string)[]).filter(
    (field) => !isSame(draft.changed[field], saved[field]),
  );
  const changed = Object.fromEntries(fields.map((field) => [field, draft.changed[field]])) as Partial<Fields>;
  const conflicts = fields
    .filter((field) => !isSame(draft.base[field], saved[field]))
    .map((field): Conflict<Fields> => ({ field, mine: changed[field], theirs: saved[field] }));
  return {
    values: { ...saved, ...changed } as Fields,
    /** The fields to send. */
    changed,
    is_changed: fields.length > 0,
    conflicts,
  };
}

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
  const key = `draft/${store_id}/${form}`;
  const [draft] = useStored<Draft<Fields>>(key, EMPTY as Draft<Fields>);
  const latest = useRef(saved);
  latest.current = saved;
  const actions = useMemo(() => {
    const read = () => readStored<Draft<Fields>>(key) ?? (EMPTY as Draft<Fields>);
    const write = (next: Draft<Fields>, isDrawn = true) =>
      writeStored(key, Object.keys(next.changed).length === 0 ? undefined : next, isDrawn);
    /** A function gets the newest values, for a change after a wait. `isDrawn`: as for `writeStored`. */
    const change = (values: Partial<Fields> | ((now: Fields) => Partial<Fields>), isDrawn = true) => {
      const draft = read();
      const saved = latest.current;
      const next = { changed: { ...draft.changed }, base: { ...draft.base } };
      const given = typeof values === 'function' ? values({ ...saved, ...draft.changed }) : values;
      for (const field of Object.keys(given) as (keyof Fields)[]) {
        if (!(field in next.changed)) next.base[field] = saved[field];
        next.changed[field] = given[field];
        if (isSame(given[field], saved[field])) {
          delete next.changed[field];
          delete next.base[field];
        }
      }
      write(next, isDrawn);
    };
    return {
      change,
      /** Returns the newest state, compared with the given saved values. */
      read: (saved: Fields) => compare(read(), saved),
      /** Forgets what was typed. Returns a function that restores the draft. */
      discard: () => {
        const discarded = read();
        write(EMPTY);
        return () => write(discarded);
      },
      /** After a save: forgets what was sent, and keeps what was typed since. `after` are the saved values now. */
      settle: (sent: Partial<Fields>, after: Fields) => {
        const { changed, base } = read();
        const next: Draft<Fields> = { changed: {}, base: {} };
        for (const field of Object.keys(changed) as (keyof Fields)[]) {
          if (field in sent && isSame(changed[field], sent[field])) continue;
          next.changed[field] = changed[field];
          next.base[field] = field in sent ? after[field] : base[field];
        }
        write(next);
      },
      keepMine: (field: keyof Fields) => {
        const { changed, base } = read();
        write({ changed, base: { ...base, [field]: latest.current[field] } });
      },
      takeTheirs: (field: keyof Fields) => change({ [field]: latest.current[field] } as Partial<Fields>),
    };
  }, [key]);
  const compared = useMemo(() => compare(draft, saved), [draft, saved]);
  return { ...compared, ...actions };
}

/** Compares values as JSON. A field that is not set equals null. */
export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
