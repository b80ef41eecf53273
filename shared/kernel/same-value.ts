/** Returns a key for maps. Two objects of texts have the same key if and only if `isSameValue` finds them equal. */
export const keyOfTexts = (texts: object): string =>
  JSON.stringify(Object.entries(texts).sort(([a], [b]) => (a < b ? -1 : 1)));

/**
 * Whether two JSON-like values are equal. The order of an object's fields does not matter. (`isDeepStrictEqual` also
 * compares prototypes, and distinguishes 0 from -0, which are equal in JSON.)
 */
export function isSameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && isSameValue(left[name], right[name]))
  );
}
