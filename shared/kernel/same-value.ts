/** Whether two JSON-like values are equal, whatever the order of an object's fields. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = Object.entries(a);
  const right = new Map(Object.entries(b));
  return left.length === right.size && left.every(([name, value]) => sameField(right, name, value));
}

function sameField(fields: ReadonlyMap<string, unknown>, name: string, value: unknown): boolean {
  return fields.has(name) && sameValue(fields.get(name), value);
}

/** A patch over what was before: fields that are not given (or undefined) stay. */
export function patched<Before extends object>(
  before: Before,
  changes: { readonly [Field in keyof Before]?: Before[Field] | undefined },
): Before {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  return { ...before, ...Object.fromEntries(given) };
}
