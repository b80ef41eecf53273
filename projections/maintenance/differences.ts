import type { CollectionName, StoredDocument } from '../../shared/catalog/documents';
import { isSameValue } from '../../shared/kernel/same-value';
import { ALL_PARTS, type ViewVersion } from '../../shared/ports/view-store';
import { reverseIndexes } from '../engine/plan';

export interface DocumentAddress {
  readonly collection: CollectionName;
  readonly id: string;
}

export const keyOf = ({ collection, id }: DocumentAddress): string => `${collection}/${id}`;

/** Returns the stored ones of these documents, by `keyOf`. */
export async function readDocuments(
  version: ViewVersion,
  addresses: readonly DocumentAddress[],
): Promise<ReadonlyMap<string, StoredDocument>> {
  const found = new Map<string, StoredDocument>();
  for (const collection of new Set(addresses.map((address) => address.collection))) {
    const ids = addresses.filter((address) => address.collection === collection).map(({ id }) => id);
    for (const stored of await version.getMany(collection, ids, ALL_PARTS))
      found.set(keyOf({ collection, id: stored.id }), stored);
  }
  return found;
}

/**
 * A field whose stored value (`actual`) differs from the value in a fresh fold of the log (`expected`). A value is
 * undefined if the field is missing. If a whole document is missing or surplus, the values are `missing`, `deleted` or
 * `present`.
 */
export interface Difference {
  readonly collection: CollectionName;
  readonly id: string;
  /** Path of the field, such as `body.stats.publication_count`. Empty for a whole document. */
  readonly field: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

/** Maximum number of differences per document, so that one document does not fill the report. */
const FIELDS_MAX = 10;

/**
 * Compares a document of a fresh fold (`expected`) with the stored document (`actual`). Ignores the positions of the
 * documents, because these depend on how events were batched. A deleted reference of a reverse index equals a missing
 * one: a purge removes the events that made it.
 */
export function differencesOf(
  collection: CollectionName,
  id: string,
  expected: StoredDocument | undefined,
  actual: StoredDocument | undefined,
): Difference[] {
  const tombstone = reverseIndexes.has(collection) ? 'missing' : 'deleted';
  const expected_parts = comparable(expected, tombstone);
  const actual_parts = comparable(actual, tombstone);
  if (typeof expected_parts === 'string' || typeof actual_parts === 'string') {
    if (expected_parts === actual_parts) return [];
    return [
      { collection, id, field: '', expected: describe(expected_parts), actual: describe(actual_parts) },
    ];
  }
  const found: Difference[] = [];
  compare(expected_parts, actual_parts, '', (difference) => {
    if (found.length < FIELDS_MAX) found.push({ collection, id, ...difference });
  });
  return found;
}

function comparable(
  stored: StoredDocument | undefined,
  tombstone: 'missing' | 'deleted',
): 'missing' | 'deleted' | Record<string, unknown> {
  if (!stored) return 'missing';
  if (!stored.document) return tombstone;
  const { keys, body, state, expansions, words, units } = stored.document;
  return { keys, body, state, expansions, words, units };
}

const describe = (parts: string | object): string => (typeof parts === 'string' ? parts : 'present');

function compare(
  expected: unknown,
  actual: unknown,
  path: string,
  report: (difference: Pick<Difference, 'field' | 'expected' | 'actual'>) => void,
): void {
  if (isSameValue(expected, actual)) return;
  const are_objects =
    typeof expected === 'object' && typeof actual === 'object' && expected !== null && actual !== null;
  if (!are_objects || Array.isArray(expected) !== Array.isArray(actual)) {
    report({ field: path, expected, actual });
    return;
  }
  const expected_fields = new Map(Object.entries(expected));
  const actual_fields = new Map(Object.entries(actual));
  for (const name of new Set([...expected_fields.keys(), ...actual_fields.keys()]))
    compare(
      expected_fields.get(name),
      actual_fields.get(name),
      path === '' ? name : `${path}.${name}`,
      report,
    );
}
