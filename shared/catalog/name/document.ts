import type { CollectionSpec, Document, KeysOf, Nothing } from '../stored-document';

const keys = { store_id: 'text' } as const;

export const nameCollection: CollectionSpec<typeof keys> = { keys, indexes: [] };

/** The id of the resource that reserved the name last. The resource may not have the name (any more). */
export type NameBody = { readonly owner_id: string };

export type NameDocument = Document<KeysOf<typeof keys>, Nothing, Nothing, NameBody>;
