import { isDeepStrictEqual } from 'node:util';
import {
  COLLECTION_NAMES,
  type CollectionName,
  type CollectionSpec,
  collections,
} from '../catalog/documents';
import { CatalogError } from '../kernel/errors';

/**
 * How a version's documents are stored, by collection: the keys that they have, and whether they have words. A version
 * that was made by other code may differ from what `collections` declares.
 */
export type StoredKeys = Readonly<
  Record<string, { readonly keys: CollectionSpec['keys']; readonly words: boolean }>
>;

const specs: Readonly<Record<CollectionName, CollectionSpec>> = collections;

/** What a version made now is stored with. */
export const declaredKeys: StoredKeys = Object.fromEntries(
  COLLECTION_NAMES.map((name) => [name, { keys: specs[name].keys, words: specs[name].words !== undefined }]),
);

/** Whether a version must be rebuilt before it can be written to. */
export function keysDiffer(stored: StoredKeys): boolean {
  return !isDeepStrictEqual(stored, declaredKeys);
}

/** A collection as one version stores it. */
export interface StoredCollection {
  readonly name: CollectionName;
  /** What is declared, without all that needs a key which is not stored. */
  readonly spec: CollectionSpec;
  /** Declared keys that are not stored. */
  readonly missing: readonly string[];
}

export function storedCollection(name: CollectionName, stored = declaredKeys): StoredCollection {
  const { keys, indexes, unique, words } = specs[name];
  const found = stored[name];
  const has = (key: string): boolean =>
    key === 'id' || (found !== undefined && found.keys[key] === keys[key]);
  const searched = words && found?.words && words.scope.every(has);
  return {
    name,
    spec: {
      keys: Object.fromEntries(Object.entries(keys).filter(([key]) => has(key))),
      indexes: indexes.filter((parts) => parts.every((part) => has(part.replace(/^-/, '')))),
      ...(unique && { unique: unique.filter(has) }),
      ...(searched && { words }),
    },
    missing: Object.keys(keys).filter((key) => !has(key)),
  };
}

/** Throws where a question names a key that is not declared, and `CatalogError('unavailable')` where it is not stored. */
export function assertKey({ name, spec, missing }: StoredCollection, key: string): void {
  if (key === 'id' || Object.hasOwn(spec.keys, key)) return;
  if (missing.includes(key)) throw notStored(`${name}.${key}`);
  throw new Error(`${name} declares no key ${key}`);
}

/** The keys that name a search's scope. Throws as `assertKey` does. */
export function wordScope({ name, spec }: StoredCollection): readonly string[] {
  if (spec.words) return spec.words.scope;
  if (specs[name].words) throw notStored(`the words of ${name}`);
  throw new Error(`${name} is not searched by words`);
}

export function notStored(what: string): CatalogError {
  return new CatalogError('unavailable', {
    message: `the view version was made without ${what}: its documents are to be rebuilt`,
    retry_after_s: 5,
  });
}
