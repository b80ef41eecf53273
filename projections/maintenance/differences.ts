import type { CollectionName, StoredDocument } from '../../shared/catalog/documents';
import { sameValue } from '../../shared/kernel/same-value';
import { withoutRepair } from '../engine/repair';

/** One field that is not what the log says. `undefined` on one side: not there. */
export interface Difference {
  readonly collection: CollectionName;
  readonly id: string;
  /** `body.stats.publication_count`; empty where the whole document is missing, or should not be there. */
  readonly field: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

/** What is told of one document at most. */
const FIELDS_MAX = 10;

/** `expected` is the fresh fold's, `actual` the stored one. Positions are not compared: they depend on the batches. */
export function differencesOf(
  collection: CollectionName,
  id: string,
  expected: StoredDocument | undefined,
  actual: StoredDocument | undefined,
): Difference[] {
  const left = comparable(expected);
  const right = comparable(actual);
  if (typeof left === 'string' || typeof right === 'string')
    return left === right
      ? []
      : [{ collection, id, field: '', expected: describe(left), actual: describe(right) }];
  const found: Difference[] = [];
  compare(left, right, '', (field, a, b) => {
    if (found.length < FIELDS_MAX) found.push({ collection, id, field, expected: a, actual: b });
  });
  return found;
}

function comparable(stored: StoredDocument | undefined): 'missing' | 'deleted' | Record<string, unknown> {
  if (!stored) return 'missing';
  if (!stored.document) return 'deleted';
  const { keys, body, state, expansions, words } = stored.document;
  return { keys, body, state: withoutRepair(state), expansions, words };
}

const describe = (side: string | object): string => (typeof side === 'string' ? side : 'present');

function compare(
  expected: unknown,
  actual: unknown,
  path: string,
  tell: (field: string, expected: unknown, actual: unknown) => void,
): void {
  if (sameValue(expected, actual)) return;
  const bothObjects =
    typeof expected === 'object' && typeof actual === 'object' && expected !== null && actual !== null;
  if (!bothObjects || Array.isArray(expected) !== Array.isArray(actual)) {
    tell(path, expected, actual);
    return;
  }
  const left = new Map(Object.entries(expected));
  const right = new Map(Object.entries(actual));
  for (const name of new Set([...left.keys(), ...right.keys()]))
    compare(left.get(name), right.get(name), path === '' ? name : `${path}.${name}`, tell);
}
