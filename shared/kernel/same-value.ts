import { isDeepStrictEqual } from 'node:util';

/** Whether two JSON-like values are equal. The order of an object's fields does not matter. */
export const isSameValue: (a: unknown, b: unknown) => boolean = isDeepStrictEqual;

/** Returns a copy of `before` with the fields of `changes`. Null is a value like others; undefined changes nothing. */
export function withChanges<Before extends object>(
  before: Before,
  changes: { readonly [Field in keyof Before]?: Before[Field] | undefined },
): Before {
  const defined = Object.entries(changes).filter(([, value]) => value !== undefined);
  return { ...before, ...Object.fromEntries(defined) };
}
