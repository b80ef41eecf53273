import type { CollectionSpec, Document, KeysOf, Nothing } from '../stored-document';

const keys = { store_id: 'text', media_id: 'text' } as const;

/**
 * The reverse index from media to the publications and listings that embed them. It has one document (a reference) for
 * each id in the `media_ids` of a publication or listing, even if that media does not exist. The id of a reference is
 * `<media id>.<publication or listing id>`. The collection is called `media_uses`, because its name is stored.
 */
export const mediaReferenceCollection: CollectionSpec<typeof keys> = {
  keys,
  indexes: [['store_id', 'media_id', 'id']],
};

/** `store_id` is the store of the publication or listing. It embeds only media of the same store. */
export type MediaReferenceKeys = KeysOf<typeof keys>;

/** The publication or listing that embeds a media. */
export interface EmbeddingResource {
  readonly collection: 'publications' | 'listings';
  readonly id: string;
}

export type MediaReferenceDocument = Document<
  MediaReferenceKeys,
  { readonly used_by: EmbeddingResource },
  Nothing
>;
