import { isDeepStrictEqual } from 'node:util';
import {
  COLLECTION_NAMES,
  type CollectionName,
  type CollectionSpec,
  collections,
} from '../catalog/documents';
import { CatalogError } from '../kernel/errors';

/**
 * For each collection of a version: the keys that its documents are stored with, and whether they have search words. If
 * an earlier release created the version, they may differ from what `collections` declares.
 */
export type StoredKeys = Readonly<
  Record<string, { readonly keys: CollectionSpec['keys']; readonly words: boolean }>
>;

const specs: Readonly<Record<CollectionName, CollectionSpec>> = collections;

/** The keys of a version that this release creates. */
export const declaredKeys: StoredKeys = Object.fromEntries(
  COLLECTION_NAMES.map((name) => [name, { keys: specs[name].keys, words: specs[name].words !== undefined }]),
);

/** The results of `keysDiffer`, which is called for every batch and compares hundreds of values. */
const differing = new WeakMap<StoredKeys, boolean>();

/** Returns true if the stored keys differ from the declared ones. The version is then read-only until it is rebuilt. */
export function keysDiffer(stored: StoredKeys): boolean {
  const differ = differing.get(stored) ?? !isDeepStrictEqual(stored, declaredKeys);
  differing.set(stored, differ);
  return differ;
}

/** A collection in the form in which one version stores it. */
export interface StoredCollection {
  readonly name: CollectionName;
  /** The declared spec without keys that are not stored, and without the indexes, lists, words and units that need them. */
  readonly spec: CollectionSpec;
  /** The declared keys that are not stored. In a document that is read, they are null. */
  readonly missing: readonly string[];
}

/** Returns the collection in the form of a version whose stored keys are `stored`. Default: the declared keys. */
export function storedCollection(name: CollectionName, stored = declaredKeys): StoredCollection {
  const { keys, indexes, words, lists, repeats, units } = specs[name];
  const stored_spec = stored[name];
  const isStored = (key: string): boolean =>
    key === 'id' || (stored_spec !== undefined && stored_spec.keys[key] === keys[key]);
  const has_lists = lists && [...lists.scopes, ...Object.keys(lists.filters)].every(isStored);
  const orders = lists?.orders.filter(({ key, also = [] }) => [key, ...also].every(isStored));
  const word_keys = words && [...words.scope, words.newest_by];
  const has_words = stored_spec?.words && word_keys?.every(isStored);
  const missing = Object.keys(keys).filter((key) => !isStored(key));
  return {
    name,
    spec: {
      keys: Object.fromEntries(Object.entries(keys).filter(([key]) => isStored(key))),
      indexes: indexes.filter((index) => index.every((key) => isStored(key.replace(/^-/, '')))),
      ...(repeats && { repeats }),
      // A version with other keys may have been created without units.
      ...(units && missing.length === 0 && { units }),
      ...(has_lists && orders && { lists: { ...lists, orders } }),
      ...(has_words && words && { words: { ...words, ranges: words.ranges.filter(isStored) } }),
    },
    missing,
  };
}

/**
 * Throws if the collection does not declare `key`, and `CatalogError('unavailable')` if this version does not store it.
 */
export function assertKey({ name, spec, missing }: StoredCollection, key: string): void {
  if (key === 'id' || Object.hasOwn(spec.keys, key)) return;
  if (missing.includes(key)) throw notStoredError(`${name}.${key}`);
  throw new Error(`${name} declares no key ${key}`);
}

/** Throws if the collection declares no units, and `CatalogError('unavailable')` if this version does not store them. */
export function assertUnits({ name, spec }: StoredCollection): void {
  if (spec.units) return;
  if (specs[name].units) throw notStoredError(`the units of ${name}`);
  throw new Error(`collection ${name} has no units`);
}

/** Returns the keys that limit a search to one scope. Throws like `assertKey` if the collection has no words. */
export function wordScope({ name, spec }: StoredCollection): readonly string[] {
  if (spec.words) return spec.words.scope;
  if (specs[name].words) throw notStoredError(`the words of ${name}`);
  throw new Error(`collection ${name} has no search words`);
}

/** Returns the error for a read of something that an earlier release did not store. */
export function notStoredError(what: string): CatalogError {
  return new CatalogError('unavailable', {
    message: `the view version was created without ${what}: rebuild it`,
    retry_after_s: 5,
  });
}
