/** Whether two JSON-like values are equal. The order of an object's fields does not matter. */
export function isSameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = Object.entries(a);
  const right = new Map(Object.entries(b));
  return left.length === right.size && left.every(([name, value]) => sameField(right, name, value));
}

function sameField(fields: ReadonlyMap<string, unknown>, name: string, value: unknown): boolean {
  return fields.has(name) && isSameValue(fields.get(name), value);
}

/** Returns a copy of `before` with the fields of `changes`. Null is a value like others; undefined changes nothing. */
export function withChanges<Before extends object>(
  before: Before,
  changes: { readonly [Field in keyof Before]?: Before[Field] | undefined },
): Before {
  const defined = Object.entries(changes).filter(([, value]) => value !== undefined);
  return { ...before, ...Object.fromEntries(defined) };
}
