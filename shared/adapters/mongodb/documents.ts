import type { Document, IndexDescription } from 'mongodb';
import {
  type CollectionName,
  type CollectionSpec,
  collections,
  type Key,
  type StoredDocument,
  type ViewDocument,
} from '../../catalog/documents';
import type { JsonObject } from '../../catalog/events/envelope';
import { JsonText } from '../../catalog/json-text';
import { TextDocument } from '../../catalog/text-document';
import { ALL_PARTS, type DocumentPart } from '../../ports/view-store';

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

export const specOf = (collection: CollectionName): CollectionSpec => collections[collection];

/** A key's field, or the id's; throws where the collection declares no such key. */
export function field(collection: CollectionName, key: string): string {
  if (key === 'id') return '_id';
  if (Object.hasOwn(specOf(collection).keys, key)) return `k.${key}`;
  throw new Error(`${collection} declares no key ${key}`);
}

export function indexesOf(collection: CollectionName): IndexDescription[] {
  const { indexes, unique = [], words } = specOf(collection);
  // Last the newest first, so that a page of what has one word is read in order.
  const searched = words && [...words.scope.map((key) => field(collection, key)), 'words'];
  return [
    ...(searched
      ? [
          {
            key: new Map<string, 1 | -1>([
              ...searched.map((name) => [name, 1] as const),
              ['k.created_at', -1],
            ]),
          },
        ]
      : []),
    ...indexes.map((parts) => ({
      key: new Map(
        parts.map((part): [string, 1 | -1] =>
          part.startsWith('-') ? [field(collection, part.slice(1)), -1] : [field(collection, part), 1],
        ),
      ),
    })),
    ...unique.flatMap((key) => [
      { key: new Map([[field(collection, key), 1 as const]]) },
      { key: new Map([[`u.${key}`, 1 as const]]), unique: true },
    ]),
  ];
}

export function toStored(
  collection: CollectionName,
  { id, position, document }: StoredDocument,
): MongoDocument {
  const { unique } = specOf(collection);
  const keys = document === null ? undefined : checkedKeys(collection, document.keys);
  if (document?.words && !specOf(collection).words) throw new Error(`${collection} is not searched by words`);
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
function checkedKeys(collection: CollectionName, given: ViewDocument['keys']): Keys {
  for (const key of Object.keys(given)) field(collection, key);
  const declared = Object.entries(specOf(collection).keys);
  return Object.fromEntries(
    declared.map(([key, kind]) => {
      const value = given[key] ?? null;
      const fits =
        value === null || (kind === 'text' ? typeof value === 'string' : Number.isSafeInteger(value));
      if (!fits) throw new Error(`${collection}.${key} is a key of kind ${kind}, not ${typeof value}`);
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
export function fromStored(stored: MongoDocument, as_text = false): StoredDocument {
  const { _id: id, position, k: keys, exact_keys, words, body } = stored;
  if (keys === undefined) return { id, position, document: null };
  const common = {
    keys: exact_keys === undefined ? keys : (parse(exact_keys) as Keys),
    state: parse(stored.state),
    expansions: parse(stored.expansions),
  };
  if (as_text && words === undefined && body !== undefined)
    return { id, position, document: new TextDocument(common, new JsonText(body)) };
  return { id, position, document: { ...common, body: parse(body), ...(words ? { words } : {}) } };
}

const parse = (json: string | undefined): JsonObject =>
  json === undefined ? {} : (JSON.parse(json) as JsonObject);
