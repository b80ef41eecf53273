import type { Key } from '../catalog/documents';
import type { KeyCondition } from '../ports/view-store';

/** Returns the values that a condition names, each once. Undefined for a condition that names none, such as a range. */
export function namedValues(condition: KeyCondition): readonly Key[] | undefined {
  if (condition === null || typeof condition !== 'object') return [condition];
  return 'in' in condition ? [...new Set(condition.in)] : undefined;
}

/** Returns the value that a condition excludes. Null if it excludes none, or null itself. */
export function excludedValue(condition: KeyCondition): Key {
  return condition !== null && typeof condition === 'object' && 'not' in condition ? condition.not : null;
}
