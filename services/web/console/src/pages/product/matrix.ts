import type { Variant } from 'catalog-client';

/* Options, and the variants that follow from them. An option and a value have an id, so that variants outlive new names. */

export const OPTIONS_MAX = 5;
export const VARIANTS_MAX = 2_048;

export interface OptionValue {
  readonly id: string;
  readonly name: string;
}

export interface DraftOption {
  readonly id: string;
  readonly name: string;
  readonly values: readonly OptionValue[];
}

/** A variant. `key` is the id of a saved variant, and begins with `+` for a new one. */
export interface Row {
  readonly key: string;
  /** The id of its value, by the id of the option. */
  readonly of: Readonly<Record<string, string>>;
}

/** The saved options and variants. Their ids are the saved names. */
export const savedOptions = (
  options: readonly { name: string; values: readonly string[] }[],
): DraftOption[] =>
  options.map(({ name, values }) => ({
    id: name,
    name,
    values: values.map((value) => ({ id: value, name: value })),
  }));
export const savedRows = (variants: readonly Variant[]): Row[] =>
  variants.map(({ id, option_values }) => ({ key: id, of: option_values }));

export const isNew = ({ key }: Row): boolean => key.startsWith('+');

/** Returns an id that none of the items has. */
export function newId(name: string, items: readonly { readonly id: string }[]): string {
  let id = name;
  while (items.some((each) => each.id === id)) id += '′';
  return id;
}

/** The options that have values. The others are not finished. */
export const usedOptions = (options: readonly DraftOption[]): DraftOption[] =>
  options.filter(({ values }) => values.length > 0);

export const rowName = ({ of }: Row, options: readonly DraftOption[]): string =>
  options.map(({ id, values }) => values.find((value) => value.id === of[id])?.name ?? '–').join(' / ');

export const valueNames = ({ of }: Row, options: readonly DraftOption[]): Record<string, string> =>
  Object.fromEntries(
    options.map(({ id, name, values }) => [name, values.find((value) => value.id === of[id])?.name ?? '']),
  );

const combinationOf = (of: Row['of'], options: readonly DraftOption[]): string =>
  JSON.stringify(options.map(({ id }) => of[id]));

/**
 * Returns the variants after the options have changed, in the order of the options. Returns undefined if the variants would be
 * more than `VARIANTS_MAX`. With the variants S and M of `Size`:
 *
 * - Without the value S, the variant S is removed.
 * - A new value L makes a variant L.
 * - A new option `Colour` with Red and Blue gives S and M its first value, Red, and makes the variants S/Blue and M/Blue.
 * - If all Blue variants were removed, a new value L makes L/Red only.
 */
export function rowsAfter(
  before: readonly DraftOption[],
  after: readonly DraftOption[],
  rows: readonly Row[],
): Row[] | undefined {
  const options = usedOptions(after);
  if (options.length === 0) return [];
  const known = new Map(
    usedOptions(before).map(({ id, values }) => [id, new Set(values.map((each) => each.id))]),
  );
  const first = ({ values }: DraftOption): string => values[0]!.id;
  const found = new Map<string, Row>();
  const keys = new Set<string>();
  const add = (key: string, of: Row['of']) => {
    const combination = combinationOf(of, options);
    if (found.has(combination)) return;
    let own = key;
    while (keys.has(own)) own += '′';
    keys.add(own);
    found.set(combination, { key: own, of });
  };
  for (const { key, of } of rows) {
    const kept = Object.fromEntries(options.map((option) => [option.id, of[option.id] ?? first(option)]));
    if (options.every(({ id, values }) => values.some((value) => value.id === kept[id]))) add(key, kept);
  }
  if (found.size === 0) {
    const of = Object.fromEntries(options.map((option) => [option.id, first(option)]));
    add(newKey(of, options), of);
  }
  for (const option of options) {
    const old_values = known.get(option.id) ?? new Set([first(option)]);
    const new_values = option.values.filter(({ id }) => !old_values.has(id));
    for (const { of } of [...found.values()])
      for (const { id } of new_values) {
        const made = { ...of, [option.id]: id };
        add(newKey(made, options), made);
        if (found.size > VARIANTS_MAX) return undefined;
      }
  }
  const places = options.map(({ id, values }) => ({
    id,
    place: new Map(values.map((value, index) => [value.id, index])),
  }));
  const orderOf = ({ of }: Row): number[] => places.map(({ id, place }) => place.get(of[id]!) ?? 0);
  return [...found.values()]
    .map((row) => ({ row, order: orderOf(row) }))
    .sort((one, other) => {
      const place = one.order.findIndex((value, index) => value !== other.order[index]);
      return place === -1 ? 0 : one.order[place]! - other.order[place]!;
    })
    .map(({ row }) => row);
}

type Matrix = { readonly options: readonly DraftOption[]; readonly rows: readonly Row[] };

/** Returns the items of `now`, with those back at their places that `before` has and `after` has not. */
function withRemoved<Item>(
  now: readonly Item[],
  before: readonly Item[],
  after: readonly Item[],
  idOf: (item: Item) => string,
): Item[] {
  const known = new Set([...now, ...after].map(idOf));
  const result = [...now];
  for (const [place, item] of before.entries()) if (!known.has(idOf(item))) result.splice(place, 0, item);
  return result;
}

/**
 * Undoes a removal that made `after` of `before`: returns `now` with the removed options, values and variants. Keeps what was
 * changed since. Variants that a removed option distinguished have their values of it again.
 */
export function undoRemoval(before: Matrix, after: Matrix, now: Matrix): Matrix {
  const byId = (options: readonly DraftOption[], id: string) => options.find((each) => each.id === id);
  const options = withRemoved(now.options, before.options, after.options, ({ id }) => id).map((option) => {
    const had = byId(before.options, option.id)?.values ?? [];
    const kept = byId(after.options, option.id)?.values ?? [];
    return { ...option, values: withRemoved(option.values, had, kept, ({ id }) => id) };
  });
  const old = new Map(before.rows.map(({ key, of }) => [key, of]));
  const rows = withRemoved(now.rows, before.rows, after.rows, ({ key }) => key).map(({ key, of }) => ({
    key,
    of: { ...old.get(key), ...of },
  }));
  return { options, rows: rowsAfter(options, options, rows) ?? rows };
}

const newKey = (of: Row['of'], options: readonly DraftOption[]): string =>
  `+${options.map(({ id }) => of[id]).join('|')}`;
