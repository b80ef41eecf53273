import type { CollectionSpec, Document, KeysOf, Nothing } from '../stored-document';

const keys = { store_id: 'text', media_id: 'text' } as const;

/** `<media>.<publication or listing>` for each that refers to a media, whether that exists or not. */
export const mediaUseCollection: CollectionSpec<typeof keys> = {
  keys,
  indexes: [['store_id', 'media_id', 'id']],
};

/** `store_id`: of what refers to the media. Only to media of its own store does it show anything of them. */
export type MediaUseKeys = KeysOf<typeof keys>;

/** What refers to a media. */
export interface MediaUser {
  readonly collection: 'publications' | 'listings';
  readonly id: string;
}

export type MediaUseDocument = Document<MediaUseKeys, { readonly used_by: MediaUser }, Nothing>;
