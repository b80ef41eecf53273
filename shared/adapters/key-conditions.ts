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

/** The variant of lists that the conditions of a query name. */
export interface NamedVariant {
  readonly variant: string;
  /** Set if the query is for the documents outside the variant, or with other values than these in it. */
  readonly without?: Readonly<Record<string, Key>>;
  /** The keys whose values in the variant the query sees. */
  readonly keys: readonly string[];
}

/** Returns the variant that the conditions name. Undefined if they name none. */
export function variantIn(
  variants: ListVariants | undefined,
  where: ViewQuery['where'],
): NamedVariant | undefined {
  const condition = variants && where[variants.name];
  if (!variants || condition === undefined) return undefined;
  if (typeof condition === 'string') return { variant: condition, keys: variants.keys };
  const { outside, or_without = {} } = condition as OutsideCondition;
  return { variant: outside, without: or_without, keys: [] };
}
