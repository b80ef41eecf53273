import type { CollectionName } from '../../shared/catalog/documents';
import type { EmbedsMany, ReverseIndex } from '../views/relation';
import type { AnyDocument } from '../views/view';

/*
 * The reverse indexes of `embedsMany` relations. A reverse index has one document, called a reference, for each pair of
 * an embedding document and a target document: publication P embeds media M. When M changes, the engine looks up the
 * references of M to find the documents that embed it. There is no limit to their number. Therefore each reference is a
 * document of its own instead of an entry in the document of M.
 */

/** The address of a document that embeds another document. */
export interface EmbeddingAddress {
  readonly collection: CollectionName;
  readonly id: string;
}

export const referenceId = (target_id: string, embedding_id: string): string =>
  `${target_id}.${embedding_id}`;

export const targetIdOf = (reference_id: string): string => reference_id.slice(0, reference_id.indexOf('.'));

/** Returns the reference from `embedding` to the target document. */
export function toReference(
  relation: EmbedsMany,
  embedding: AnyDocument,
  target_id: string,
  embedding_id: string,
): AnyDocument {
  const used_by: EmbeddingAddress = { collection: relation.collection, id: embedding_id };
  const { store_id = null } = embedding.keys;
  return {
    keys: { store_id, [relation.index.key]: target_id },
    body: {},
    state: { used_by },
    expansions: {},
  };
}

/** Returns the embedding document of a reference. */
export const embeddingAddressOf = ({ state }: AnyDocument): EmbeddingAddress =>
  (state as { used_by: EmbeddingAddress }).used_by;

/**
 * Returns the filter for all references to the document `target_id`. `store_id` is the store of that document: documents
 * of another store do not embed it (see `relation.ts`), and they may belong to another partition.
 */
export const referencesTo = ({ key }: ReverseIndex, target_id: string, store_id: string) => ({
  store_id,
  [key]: target_id,
});
