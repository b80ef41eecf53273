import type { Document, Filter, IndexDescription } from 'mongodb';
import type { CollectionName, Key, StoredDocument, ViewDocument } from '../../catalog/documents';
import type { JsonObject } from '../../catalog/events/envelope';
import { JsonText } from '../../catalog/json-text';
import type { SortOrder } from '../../catalog/sorting';
import { type SharedLists, TextDocument, type Unit } from '../../catalog/stored-document';
import {
  ALL_PARTS,
  type DocumentPart,
  isUnitCondition,
  type KeyCondition,
  type OutsideCondition,
  type UnitCondition,
  type ViewQuery,
  type WordMatch,
  type WordScope,
  type WordTerms,
} from '../../ports/view-store';
import { excludedValue, namedValues, variantOf, variantsIn } from '../key-conditions';
import { withoutRepeated, withRepeated } from '../repeated-fields';
import { assertKey, assertUnits, type StoredCollection, wordScope } from '../stored-collections';

type Keys = Record<string, Key>;

/**
 * A document as stored. The parts are JSON text, so that they are read exactly as they were written: BSON replaces lone
 * surrogates and does not accept some field names. `k` contains the keys that MongoDB filters and sorts by.
 */
export interface MongoDocument extends Document {
  readonly _id: string;
  readonly position: bigint;
  /** Absent in a tombstone. */
  readonly k?: Keys;
  /** The keys as JSON. Present if one of them is not well-formed Unicode, which BSON does not store unchanged. */
  readonly exact_keys?: string;
  readonly body?: string;
  readonly state?: string;
  readonly expansions?: string;
  /** The lists of `SharedLists` that the document is in, and those in which it is ranked. */
  readonly lists?: readonly string[];
  readonly ranked?: readonly string[];
  /** The keys that the document has in each variant of its lists. Absent without variants. */
  readonly variants?: Readonly<Record<string, Keys>>;
  /** Search words. An array instead of JSON text, because MongoDB indexes its elements. */
  readonly words?: readonly string[];
  /** An array, because filters look into it. */
  readonly units?: readonly Unit[];
}

/** Returns the name of the collection that contains the documents of a version. */
export const documentsName = (collection: CollectionName, version: number): string =>
  `${collection}_v${version}`;

/** A lone surrogate, which UTF-8 cannot represent. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Returns the field of a key or of the id. Throws if the documents do not have the key. */
function fieldOf(collection: StoredCollection, key: string, where: Where = {}): string {
  assertKey(collection, key);
  const named = variantOf(variantsIn(collection.spec.lists?.variants, where), key);
  if (named) return `variants.${named.variant}.${key}`;
  return key === 'id' ? '_id' : `k.${key}`;
}

export function indexesOf(collection: StoredCollection): IndexDescription[] {
  const { indexes, words, lists } = collection.spec;
  const toField = (key: string): string =>
    key === lists?.shared?.scope ? 'lists' : fieldOf(collection, key);
  const toIndexKey = (keys: readonly string[]): Map<string, 1 | -1> =>
    new Map(keys.map((key) => (key.startsWith('-') ? [toField(key.slice(1)), -1] : [toField(key), 1])));
  return [
    // Ends with `created_at` descending, so that the index gives the documents with one word in order, newest first.
    ...(words
      ? [{ key: new Map([...toIndexKey(words.scope), ['words', 1], ['k.created_at', -1]]) } as const]
      : []),
    ...indexes.map((keys) => ({ key: toIndexKey(keys) })),
    ...(lists?.shared ? [{ key: new Map([['ranked', 1]]) } as const] : []),
  ];
}

export function toStored(
  collection: StoredCollection,
  { id, position, document }: StoredDocument,
): MongoDocument {
  const keys = document === null ? undefined : checkKeys(collection, document.keys);
  if (document?.units) assertUnits(collection);
  if (document?.words && !collection.spec.words)
    throw new Error(`collection ${collection.name} has no search words`);
  return { _id: id, position, ...(keys && document ? partsOf(collection, keys, document) : {}) };
}

function partsOf({ spec }: StoredCollection, keys: Keys, document: ViewDocument): Partial<MongoDocument> {
  const well_formed = Object.values(keys).every(
    (key) => typeof key !== 'string' || !LONE_SURROGATE.test(key),
  );
  const shared = spec.lists?.shared;
  const ranks = [...(shared?.ranksOf(keys) ?? [])];
  const kinds = spec.lists?.variants ?? [];
  const variants = Object.fromEntries(kinds.flatMap((kind) => [...kind.valuesOf(keys)]));
  return {
    k: keys,
    ...(shared && {
      lists: ranks.map(([value]) => value),
      ranked: ranks.flatMap(([value, rank]) => (rank < shared.rank_max ? value : [])),
    }),
    ...(Object.keys(variants).length > 0 && { variants }),
    ...(well_formed ? {} : { exact_keys: JSON.stringify(keys) }),
    body: JSON.stringify(document.body),
    state: JSON.stringify(withoutRepeated(spec.repeats, { ...document, keys })),
    expansions: JSON.stringify(document.expansions),
    ...(document.words ? { words: document.words } : {}),
    ...(document.units ? { units: document.units } : {}),
  };
}

/**
 * Returns all declared keys, with null for those that the document does not have. Throws if a key is unknown or has a
 * value of another kind.
 */
function checkKeys(collection: StoredCollection, keys: ViewDocument['keys']): Keys {
  for (const key of Object.keys(keys)) fieldOf(collection, key);
  const declared = Object.entries(collection.spec.keys);
  return Object.fromEntries(
    declared.map(([key, kind]) => {
      const value = keys[key] ?? null;
      const is_valid =
        value === null || (kind === 'text' ? typeof value === 'string' : Number.isSafeInteger(value));
      if (!is_valid)
        throw new Error(`key ${collection.name}.${key} is of kind ${kind}: it cannot be a ${typeof value}`);
      return [key, value];
    }),
  );
}

/** Returns the projection of the fields that `fromStored` reads for these parts. */
export function projectionOf(parts: readonly DocumentPart[]): Document {
  const stored_parts = ALL_PARTS.filter((part) => parts.includes(part));
  return Object.fromEntries(
    ['position', 'k', 'exact_keys', 'body', ...stored_parts].map((name) => [name, 1] as const),
  );
}

/** Converts a stored document. With `as_text`, the body is parsed only when it is first accessed. */
export function fromStored(
  { missing, spec }: StoredCollection,
  stored: MongoDocument,
  as_text: boolean,
): StoredDocument {
  const { _id: id, position, k, exact_keys, words, units, body } = stored;
  if (k === undefined) return { id, position, document: null };
  const keys = exact_keys === undefined ? k : (parse(exact_keys) as Keys);
  for (const key of missing) keys[key] = null;
  const expansions = parse(stored.expansions);
  if (as_text && stored.state === undefined && !words && !units && body !== undefined) {
    const common = { keys, state: {}, expansions };
    return { id, position, document: new TextDocument(common, new JsonText(body)) };
  }
  const shown = { keys, body: parse(body) };
  const state = withRepeated(spec.repeats, parse(stored.state), shown);
  const searched = { ...(words && { words }), ...(units && { units }) };
  return { id, position, document: { ...shown, state, expansions, ...searched } };
}

const parse = (json: string | undefined): JsonObject =>
  json === undefined ? {} : (JSON.parse(json) as JsonObject);

type Where = ViewQuery['where'];

/** Returns the filter for `where`. It never matches tombstones. */
export function filterOf(collection: StoredCollection, where: Where): Filter<MongoDocument> {
  const filter: Document = {};
  const shared = collection.spec.lists?.shared;
  const listed = shared && listsIn(collection, where);
  for (const [key, condition] of Object.entries(where)) {
    if (key === shared?.scope && (listed || excludedValue(condition) !== null)) {
      filter.lists = listed ? { $in: [...listed] } : { $ne: excludedValue(condition) };
      continue;
    }
    if (listed && key === shared?.rank) {
      filter.ranked = isUnranked(condition, shared) ? { $nin: listed } : { $in: listed };
      continue;
    }
    const named = variantsIn(collection.spec.lists?.variants, where).find(({ kind }) => kind.name === key);
    if (named) {
      const { variant, without } = named;
      const values = Object.entries(without ?? {});
      const field = `variants.${variant}`;
      if (values.length === 0) filter[field] = { $exists: without === undefined };
      else filter.$nor = [Object.fromEntries(values.map(([name, value]) => [`${field}.${name}`, value]))];
      continue;
    }
    if (isUnitCondition(condition)) {
      assertUnits(collection);
      filter.units = { $elemMatch: unitFilter(condition) };
      continue;
    }
    const term = termOf(condition as Exclude<typeof condition, OutsideCondition>);
    if (term !== undefined) filter[fieldOf(collection, key, where)] = term;
  }
  // A tombstone has no keys, and in MongoDB a missing field matches null. So if every condition matches null, this
  // excludes tombstones explicitly.
  const matches_tombstones = Object.keys(filter).every((name) => name === '_id' || matchesNull(filter[name]));
  return matches_tombstones ? { ...filter, body: { $exists: true } } : filter;
}

/** Returns the lists of `SharedLists` that the conditions name. Undefined if they name none. */
export function listsIn({ spec }: StoredCollection, where: Where): readonly string[] | undefined {
  const condition = spec.lists?.shared && where[spec.lists.shared.scope];
  const values = condition === undefined ? undefined : namedValues(condition);
  return values?.every((value) => typeof value === 'string') ? values : undefined;
}

/** Returns whether the condition is for documents without a rank in the lists. Throws if it is for single ranks. */
function isUnranked(condition: KeyCondition, { rank, rank_max }: SharedLists): boolean {
  if (condition === rank_max) return true;
  const is_below = condition !== null && typeof condition === 'object' && 'lte' in condition;
  if (is_below && condition.lte === rank_max - 1 && condition.gte === undefined) return false;
  throw new Error(`a condition on ${rank} is for ranked documents or for all others`);
}

function termOf(condition: Exclude<KeyCondition, UnitCondition | OutsideCondition>): unknown {
  if (condition === null || typeof condition !== 'object') return condition;
  if ('in' in condition) return { $in: [...condition.in] };
  if ('not' in condition) return { $ne: condition.not };
  if ('after' in condition) return { $gt: condition.after };
  const { gte, lte } = condition;
  if (gte === undefined && lte === undefined) return undefined;
  return { ...(gte === undefined ? {} : { $gte: gte }), ...(lte === undefined ? {} : { $lte: lte }) };
}

/** Returns the filter for a unit. `path`: what is before the names of its fields. */
export function unitFilter({ unit }: UnitCondition, path = ''): Document {
  const { labels, price, in_stock } = unit;
  const conditions = [
    ...(price ? [{ [`${path}price`]: { $gte: Math.max(0, price.gte), $lte: price.lte } }] : []),
    ...(in_stock ? [{ [`${path}in_stock`]: true }] : []),
    ...labels.map((matches) => ({ [`${path}labels`]: { $in: matches.map(({ word }) => word) } })),
  ];
  return conditions.length > 0 ? { $and: conditions } : {};
}

function matchesNull(term: unknown): boolean {
  if (term === null) return true;
  const { $in: values, $ne: other } = term as { $in?: unknown[]; $ne?: unknown };
  return (other !== undefined && other !== null) || (values?.includes(null) ?? false);
}

/** Returns the filter for what matches `filter` and comes after `after`. Each of its parts is a range of the index of the order. */
export function filterAfter(
  collection: StoredCollection,
  filter: Filter<MongoDocument>,
  { where, order, after }: Pick<ViewQuery, 'where' | 'order' | 'after'>,
): Filter<MongoDocument> {
  if (!after) return filter;
  const parts = order.map(([, direction], n) =>
    Object.fromEntries(
      order
        .slice(0, n + 1)
        .map(([key], m) => [
          fieldOf(collection, key, where),
          m < n ? after[m] : { [direction === 'asc' ? '$gt' : '$lt']: after[m] },
        ]),
    ),
  );
  return { $or: parts.map((part) => ({ $and: [filter, part] })) };
}

/**
 * Returns the argument of `sort`. Like `compareByOrder`, MongoDB compares texts by their UTF-8 bytes and puts nulls
 * first.
 */
export function sortOf(
  collection: StoredCollection,
  order: SortOrder,
  where: Where = {},
): [string, 1 | -1][] {
  return order.map(([key, direction]) => [fieldOf(collection, key, where), direction === 'asc' ? 1 : -1]);
}

/**
 * Returns the filter for a search scope. Throws if the collection has no words, or if a key of the scope is missing.
 */
export function scopeFilter(collection: StoredCollection, scope: WordScope): Filter<MongoDocument> {
  const absent = wordScope(collection).find((key) => scope[key] === undefined);
  if (absent !== undefined) throw new Error(`the scope of a word search is incomplete: ${absent} is missing`);
  return filterOf(collection, scope);
}

/**
 * Returns the filter for documents that have, for every term, one of its matches. Without terms it matches everything.
 */
export function termsFilter(terms: WordTerms): Document {
  if (terms.length === 0) return {};
  return { $and: terms.map((matches) => ({ words: { $in: matches.map(toPattern) } })) };
}

/** Anchors the expression of a prefix at the start, because MongoDB then reads only a range of the index. */
function toPattern({ word, prefix }: WordMatch): string | RegExp {
  return prefix ? new RegExp(`^${word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}`) : word;
}

export const matchesWord = (words: readonly string[], { word, prefix }: WordMatch): boolean =>
  prefix ? words.some((candidate) => candidate.startsWith(word)) : words.includes(word);
