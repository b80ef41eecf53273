import type { Key } from '../catalog/documents';
import type { ListVariants } from '../catalog/stored-document';
import type { KeyCondition, OutsideCondition, ViewQuery } from '../ports/view-store';

/** Returns the values that a condition names, each once. Undefined for a condition that names none, such as a range. */
export function namedValues(condition: KeyCondition): readonly Key[] | undefined {
  if (condition === null || typeof condition !== 'object') return [condition];
  return 'in' in condition ? [...new Set(condition.in)] : undefined;
}

/** Returns the value that a condition excludes. Null if it excludes none, or null itself. */
export function excludedValue(condition: KeyCondition): Key {
  return condition !== null && typeof condition === 'object' && 'not' in condition ? condition.not : null;
}

/** A variant of lists (`ListVariants`) that the conditions of a query name. */
export interface NamedVariant {
  readonly kind: ListVariants;
  readonly variant: string;
  /** Set if the query is for the documents that are not in the variant, or are not in it with these values. */
  readonly without?: Readonly<Record<string, Key>>;
  /** The keys whose values the query takes from the variant. Empty if `without` is set. */
  readonly keys: readonly string[];
}

/** Returns the variants that the conditions name, in the order of their kinds. */
export function variantsIn(
  kinds: readonly ListVariants[] | undefined,
  where: ViewQuery['where'],
): NamedVariant[] {
  return (kinds ?? []).flatMap((kind): NamedVariant[] => {
    const condition = where[kind.name];
    if (condition === undefined) return [];
    if (typeof condition === 'string') return [{ kind, variant: condition, keys: kind.keys }];
    const { outside, or_without = {} } = condition as OutsideCondition;
    return [{ kind, variant: outside, without: or_without, keys: [] }];
  });
}

/** Returns the variant that a condition on the key is about: the key is the name of its kind, or one of its keys. */
export const variantOf = (named: readonly NamedVariant[], key: string): NamedVariant | undefined =>
  named.find(({ kind, keys }) => kind.name === key || keys.includes(key));
