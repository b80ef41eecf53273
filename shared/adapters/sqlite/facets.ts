import type { Key } from '../../catalog/documents';
import type { ListsSpec } from '../../catalog/stored-document';
import type { KeyCondition, ViewQuery } from '../../ports/view-store';

/** The values of one key that are counted together. */
type Group = (value: Key) => boolean;

interface Filter {
  readonly key: string;
  readonly groups: readonly Group[];
  /** Returns the groups whose values all match; undefined if a group has values that match and others that do not. */
  matching(condition: KeyCondition): readonly number[] | undefined;
}

/** A `where`, split into facets and conditions that facets do not express. */
export interface FacetedWhere {
  readonly facets: readonly number[];
  readonly others: ViewQuery['where'];
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
    this.count = this.filters.reduce((product, { groups }) => product * groups.length, 1);
  }

  /** Returns the facet of a document with these keys. Throws if a value is in no group. */
  of(keys: Readonly<Record<string, Key>>): number {
    let facet = 0;
    for (const { key, groups } of this.filters) {
      const group = groups.findIndex((includes) => includes(keys[key] ?? null));
      if (group === -1) throw new Error(`key ${key} has a value that no list is filtered by`);
      facet = facet * groups.length + group;
    }
    return facet;
  }

  /** Splits a `where`. Conditions on keys that are no filters are among the others. */
  split(where: ViewQuery['where']): FacetedWhere {
    const others: Record<string, KeyCondition> = { ...where };
    let facets = [0];
    for (const { key, groups, matching } of this.filters) {
      const condition = where[key];
      const matched = condition === undefined ? undefined : matching(condition);
      if (matched) delete others[key];
      const numbers = matched ?? groups.map((_, number) => number);
      facets = facets.flatMap((facet) => numbers.map((number) => facet * groups.length + number));
    }
    return { facets, others };
  }
}

function listed(key: string, values: readonly Key[]): Filter {
  return {
    key,
    groups: values.map((value) => (other) => other === value),
    matching: (condition) => values.flatMap((value, number) => (matches(value, condition) ? [number] : [])),
  };
}

/** Two groups: the values below `limit`, and `limit` itself. */
function splitAt(key: string, limit: number): Filter {
  return {
    key,
    groups: [(value) => typeof value === 'number' && value < limit, (value) => value === limit],
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
  const { gte, lte } = condition;
  return (
    typeof value === 'number' && (gte === undefined || value >= gte) && (lte === undefined || value <= lte)
  );
}
