import type { Document, Filter } from 'mongodb';
import type { CollectionName } from '../../catalog/documents';
import type { SortOrder } from '../../catalog/sorting';
import type { KeyCondition, ViewQuery } from '../../ports/view-store';
import { field, type MongoDocument } from './documents';

type Where = ViewQuery['where'];

/** Finds live documents alone, tombstones never. */
export function filterOf(collection: CollectionName, where: Where): Filter<MongoDocument> {
  const filter: Document = {};
  for (const [key, condition] of Object.entries(where)) {
    const term = termOf(condition);
    if (term !== undefined) filter[field(collection, key)] = term;
  }
  // A tombstone has no keys, which MongoDB takes for nulls: a question that nulls can answer has to leave it out.
  const finds_tombstones = Object.keys(filter).every((name) => name === '_id' || findsNull(filter[name]));
  return finds_tombstones ? { ...filter, body: { $exists: true } } : filter;
}

function termOf(condition: KeyCondition): unknown {
  if (condition === null || typeof condition !== 'object') return condition;
  if ('in' in condition) return { $in: [...condition.in] };
  if ('not' in condition) return { $ne: condition.not };
  const { gte, lte } = condition;
  if (gte === undefined && lte === undefined) return undefined;
  return { ...(gte === undefined ? {} : { $gte: gte }), ...(lte === undefined ? {} : { $lte: lte }) };
}

function findsNull(term: unknown): boolean {
  if (term === null) return true;
  const { $in: listed, $ne: other } = term as { $in?: unknown[]; $ne?: unknown };
  return (other !== undefined && other !== null) || (listed?.includes(null) ?? false);
}

/** For `sort`; MongoDB compares texts by their UTF-8 bytes and puts nulls first, as `compareByOrder` does. */
export function sortOf(collection: CollectionName, order: SortOrder): [string, 1 | -1][] {
  return order.map(([key, direction]) => [field(collection, key), direction === 'asc' ? 1 : -1]);
}
