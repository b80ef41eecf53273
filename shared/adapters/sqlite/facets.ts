import type { Key } from '../../catalog/documents';
import type { ListsSpec } from '../../catalog/stored-document';
import type { KeyCondition, ViewQuery } from '../../ports/view-store';

/** A key that lists are filtered by. Its values form groups, which are numbered. */
interface Filter {
  readonly key: string;
  readonly groups: number;
  groupOf(value: Key): number;
  /** Returns the groups whose values all match; undefined if a group has values that match and others that do not. */
  matching(condition: KeyCondition): readonly number[] | undefined;
}

/**
 * Numbers the facets of a collection: the combinations of groups of all its filters (`ListsSpec`). A row stores the number
 * of its facet, so that one small column in an index serves every combination of filters.
 */
export class Facets {
  readonly count: number;
  private readonly filters: readonly Filter[];

  constructor(filters: ListsSpec['filters']) {
    this.filters = Object.entries(filters).map(([key, groups]) =>
      'below' in groups! ? splitAt(key, groups.below) : listed(key, groups!),
    );
    this.count = this.filters.reduce((product, { groups }) => product * groups, 1);
  }

  /** Returns the facet of a document with these keys. Throws if a value is in no group. */
  of(keys: Readonly<Record<string, Key>>): number {
    let facet = 0;
    for (const { key, groups, groupOf } of this.filters) {
      const group = groupOf(keys[key] ?? null);
      if (group === -1) throw new Error(`key ${key} has a value that no list is filtered by`);
      facet = facet * groups + group;
    }
    return facet;
  }

  /** Splits a `where` into facets and the conditions that facets do not express. */
  split(where: ViewQuery['where']): { facets: readonly number[]; others: ViewQuery['where'] } {
    const others: Record<string, KeyCondition> = { ...where };
    let facets = [0];
    for (const { key, groups, matching } of this.filters) {
      const condition = where[key];
      const matched = condition === undefined ? undefined : matching(condition);
      if (matched) delete others[key];
      const numbers = matched ?? Array.from({ length: groups }, (_, number) => number);
      facets = facets.flatMap((facet) => numbers.map((number) => facet * groups + number));
    }
    return { facets, others };
  }
}

function listed(key: string, values: readonly Key[]): Filter {
  return {
    key,
    groups: values.length,
    groupOf: (value) => values.indexOf(value),
    matching: (condition) => values.flatMap((value, number) => (matches(value, condition) ? [number] : [])),
  };
}

/** Two groups: the values below `limit`, and `limit` itself. */
function splitAt(key: string, limit: number): Filter {
  return {
    key,
    groups: 2,
    groupOf: (value) => (value === limit ? 1 : typeof value === 'number' && value < limit ? 0 : -1),
    matching: (condition) => {
      if (condition === limit) return [1];
      if (condition === null || typeof condition !== 'object' || !('lte' in condition)) return undefined;
      return condition.gte === undefined && condition.lte === limit - 1 ? [0] : undefined;
    },
  };
}

function matches(value: Key, condition: KeyCondition): boolean {
  if (condition === null || typeof condition !== 'object') return value === condition;
  if ('in' in condition) return condition.in.includes(value);
  if ('not' in condition) return value !== condition.not;
  if ('after' in condition || 'unit' in condition || 'outside' in condition) return false;
  const { gte, lte } = condition;
  return (
    typeof value === 'number' && (gte === undefined || value >= gte) && (lte === undefined || value <= lte)
  );
}
