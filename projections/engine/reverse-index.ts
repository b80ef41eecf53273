import type { CollectionName } from '../../shared/catalog/documents';
import type { EmbedsMany, ReverseIndex } from '../views/relation';
import type { AnyDocument } from '../views/view';

/*
 * The reverse index of `embedsMany`: a document of its own for each use, for the same picture may be on any number of
 * publications. By these, what embeds a document is found when that changes.
 */

/** A document that embeds others. */
export interface User {
  readonly collection: CollectionName;
  readonly id: string;
}

export const useId = (target_id: string, user_id: string): string => `${target_id}.${user_id}`;
export const targetOfUse = (use_id: string): string => use_id.slice(0, use_id.indexOf('.'));

export function useDocument(
  relation: EmbedsMany,
  user: AnyDocument,
  target_id: string,
  user_id: string,
): AnyDocument {
  const used_by: User = { collection: relation.in, id: user_id };
  const { store_id = null } = user.keys;
  return {
    keys: { store_id, [relation.index.key]: target_id },
    body: {},
    state: { used_by },
    expansions: {},
  };
}

export const userOf = ({ state }: AnyDocument): User => (state as { used_by: User }).used_by;

/**
 * Finds the uses of a document by documents of its own store: no other shows it, and another store's documents are
 * another partition's.
 */
export const whereUsed = ({ key }: ReverseIndex, target_id: string, store_id: string) => ({
  store_id,
  [key]: target_id,
});
