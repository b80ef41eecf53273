import type { Document, Filter, IndexDescription } from 'mongodb';
import type { Key, StoredDocument, ViewDocument } from '../../catalog/documents';
import type { JsonObject } from '../../catalog/events/envelope';
import { JsonText } from '../../catalog/json-text';
import type { SortOrder } from '../../catalog/sorting';
import { TextDocument } from '../../catalog/text-document';
import {
  ALL_PARTS,
  type DocumentPart,
  type KeyCondition,
  type ViewQuery,
  type WordMatch,
  type WordScope,
  type WordTerms,
} from '../../ports/view-store';
import { assertKey, type StoredCollection, wordScope } from '../stored-collections';

type Keys = Record<string, Key>;

/**
 * A document as it is stored. The parts are JSON text: they come back exactly as they went in (BSON would replace
 * half surrogate pairs and refuse some field names), and what MongoDB searches and sorts by stands in `k`.
 */
export interface MongoDocument extends Document {
  readonly _id: string;
  readonly position: bigint;
  /** Absent in a tombstone. */
  readonly k?: Keys;
  /** The keys as JSON, where one of them is no well-formed text. */
  readonly exact_keys?: string;
  /** The keys that are unique. */
  readonly u?: Readonly<Record<string, Key | { none: string }>>;
  readonly body?: string;
  readonly state?: string;
  readonly expansions?: string;
  /** In collections that are searched; well-formed, so not as JSON: MongoDB looks them up. */
  readonly words?: readonly string[];
}

/** A half of a surrogate pair, which UTF-8 has no bytes for. */
const HALF_PAIR = /\p{Surrogate}/u;

/** A key's field, or the id's. Throws where the documents have none. */
function field(collection: StoredCollection, key: string): string {
  assertKey(collection, key);
  return key === 'id' ? '_id' : `k.${key}`;
}

export function indexesOf(collection: StoredCollection): IndexDescription[] {
  const { indexes, unique = [], words } = collection.spec;
  const named = (parts: readonly string[]): Map<string, 1 | -1> =>
    new Map(
      parts.map((part) =>
        part.startsWith('-') ? [field(collection, part.slice(1)), -1] : [field(collection, part), 1],
      ),
    );
  return [
    // Last the newest first, so that a page of what has one word is read in order.
    ...(words
      ? [{ key: new Map([...named(words.scope), ['words', 1], ['k.created_at', -1]]) } as const]
      : []),
    ...indexes.map((parts) => ({ key: named(parts) })),
    ...unique.flatMap((key) => [
      { key: named([key]) },
      { key: new Map([[`u.${key}`, 1 as const]]), unique: true },
    ]),
  ];
}

export function toStored(
  collection: StoredCollection,
  { id, position, document }: StoredDocument,
): MongoDocument {
  const { unique, words } = collection.spec;
  const keys = document === null ? undefined : checkedKeys(collection, document.keys);
  if (document?.words && !words) throw new Error(`${collection.name} is not searched by words`);
  const stored: MongoDocument = { _id: id, position, ...(keys && document ? partsOf(keys, document) : {}) };
  if (!unique) return stored;
  // A unique index counts what is absent as one value, so that two tombstones would clash: each has its own.
  const values = unique.map((key): [string, Key | { none: string }] => [key, keys?.[key] ?? { none: id }]);
  return { ...stored, u: Object.fromEntries(values) };
}

function partsOf(keys: Keys, document: ViewDocument): Partial<MongoDocument> {
  const well_formed = Object.values(keys).every((key) => typeof key !== 'string' || !HALF_PAIR.test(key));
  return {
    k: keys,
    ...(well_formed ? {} : { exact_keys: JSON.stringify(keys) }),
    body: JSON.stringify(document.body),
    state: JSON.stringify(document.state),
    expansions: JSON.stringify(document.expansions),
    ...(document.words ? { words: document.words } : {}),
  };
}

/** Every declared key, null where the document has none. */
function checkedKeys(collection: StoredCollection, given: ViewDocument['keys']): Keys {
  for (const key of Object.keys(given)) field(collection, key);
  const declared = Object.entries(collection.spec.keys);
  return Object.fromEntries(
    declared.map(([key, kind]) => {
      const value = given[key] ?? null;
      const fits =
        value === null || (kind === 'text' ? typeof value === 'string' : Number.isSafeInteger(value));
      if (!fits) throw new Error(`${collection.name}.${key} is a key of kind ${kind}, not ${typeof value}`);
      return [key, value];
    }),
  );
}

/** Fetches what `fromStored` reads of the parts asked for, and no more. */
export function projectionOf(parts: readonly DocumentPart[]): Document {
  const asked = ALL_PARTS.filter((part) => parts.includes(part));
  return Object.fromEntries(
    ['position', 'k', 'exact_keys', 'body', ...asked].map((name) => [name, 1] as const),
  );
}

/** `as_text`: the body is not taken apart before it is looked at. */
export function fromStored(
  { missing }: StoredCollection,
  stored: MongoDocument,
  as_text: boolean,
): StoredDocument {
  const { _id: id, position, k, exact_keys, words, body } = stored;
  if (k === undefined) return { id, position, document: null };
  const keys = exact_keys === undefined ? k : (parse(exact_keys) as Keys);
  for (const key of missing) keys[key] = null;
  const common = {
    keys,
    state: parse(stored.state),
    expansions: parse(stored.expansions),
  };
  if (as_text && words === undefined && body !== undefined)
    return { id, position, document: new TextDocument(common, new JsonText(body)) };
  return { id, position, document: { ...common, body: parse(body), ...(words ? { words } : {}) } };
}

const parse = (json: string | undefined): JsonObject =>
  json === undefined ? {} : (JSON.parse(json) as JsonObject);

type Where = ViewQuery['where'];

/** Finds live documents alone, tombstones never. */
export function filterOf(collection: StoredCollection, where: Where): Filter<MongoDocument> {
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
export function sortOf(collection: StoredCollection, order: SortOrder): [string, 1 | -1][] {
  return order.map(([key, direction]) => [field(collection, key), direction === 'asc' ? 1 : -1]);
}

/** Live documents of the scope alone. Throws where the collection is not searched, or the scope is not named whole. */
export function scopeFilter(collection: StoredCollection, scope: WordScope): Filter<MongoDocument> {
  const unnamed = wordScope(collection).find((key) => scope[key] === undefined);
  if (unnamed !== undefined) throw new Error(`a search by words names ${unnamed}`);
  return filterOf(collection, scope);
}

/** What has, for every term, one of its matches; with none, everything. */
export function termsFilter(terms: WordTerms): Document {
  if (terms.length === 0) return {};
  return { $and: terms.map((matches) => ({ words: { $in: matches.map(lookFor) } })) };
}

/** An anchored expression is a range of the index. */
function lookFor({ word, prefix }: WordMatch): string | RegExp {
  return prefix ? new RegExp(`^${word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}`) : word;
}

export const fits = (words: readonly string[], { word, prefix }: WordMatch): boolean =>
  prefix ? words.some((one) => one.startsWith(word)) : words.includes(word);
