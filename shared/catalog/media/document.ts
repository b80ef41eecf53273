import type { JsonObject } from '../events/envelope';
import type { CollectionSpec, Document, KeysOf, Nothing } from '../stored-document';
import { type Visibility, visibilitySchema } from '../vocabulary';
import type { Media } from './media';

const keys = {
  store_id: 'text',
  status: 'text',
  /** `public` if a public publication or listing uses the media (docs/interface/reads.md#visibility). */
  visibility: 'text',
  /** 1 if a publication or listing uses the media, otherwise 0. */
  in_use: 'integer',
  created_at: 'text',
  version: 'integer',
} as const;

export const mediaCollection: CollectionSpec<typeof keys> = {
  keys,
  lists: {
    scopes: ['store_id'],
    filters: { visibility: visibilitySchema.options },
    orders: [{ key: 'created_at' }, { key: 'id' }],
  },
  indexes: [
    ['store_id', 'visibility', 'created_at', 'id', 'in_use'],
    ['store_id', 'visibility', 'id'],
    ['status', 'id'],
  ],
};

export type MediaKeys = KeysOf<typeof keys> & { readonly visibility: Visibility | null };

export function mediaKeys({ store_id, progress, created_at, version }: Media, uses: MediaUses): MediaKeys {
  return { store_id, status: progress.status, ...useKeys(uses), created_at, version };
}

/** Number of publications and listings whose `media_ids` contain the media, by their visibility. */
export type MediaUses = Readonly<Record<Visibility, number>>;

/** Returns the keys that depend on what uses the media. */
export function useKeys(uses: MediaUses): { readonly visibility: Visibility; readonly in_use: number } {
  return {
    visibility: uses.public > 0 ? 'public' : 'private',
    in_use: uses.public + uses.private > 0 ? 1 : 0,
  };
}

export interface MediaDocumentState {
  readonly media: Media;
  readonly uses: MediaUses;
  /** Revision of the last event of its own stream that is in this document. */
  readonly revision: number;
}

export type MediaDocument = Document<MediaKeys, MediaDocumentState, Nothing>;

/** Returns the ids of the embedded media. */
export const idsOf = (embeds: readonly MediaEmbed[]): string[] => embeds.map(({ id }) => id);

/** Returns whether these are the ids of the embedded media, in the same order. */
export function areIdsOf(ids: readonly string[], embeds: readonly MediaEmbed[]): boolean {
  return ids.length === embeds.length && ids.every((id, index) => id === embeds[index]!.id);
}

/** The copy of a media in the documents that refer to it. The projection replaces it only with a newer version. */
export interface MediaEmbed {
  readonly id: string;
  readonly version: number;
  readonly body: JsonObject;
}

const reference_keys = { store_id: 'text', media_id: 'text' } as const;

/**
 * The reverse index from media to the publications and listings that embed them. It has one document (a reference) for
 * each id in the `media_ids` of a publication or listing, even if that media does not exist. The id of a reference is
 * `<media id>.<publication or listing id>`. The collection is called `media_uses`, because its name is stored.
 */
export const mediaReferenceCollection: CollectionSpec<typeof reference_keys> = {
  keys: reference_keys,
  indexes: [['store_id', 'media_id', 'id']],
};

/** `store_id` is the store of the publication or listing. It embeds only media of the same store. */
export type MediaReferenceKeys = KeysOf<typeof reference_keys>;

/** The publication or listing that embeds a media, or the publication that is in a listing. */
export interface EmbeddingResource {
  readonly collection: 'publications' | 'listings';
  readonly id: string;
}

export type MediaReferenceDocument = Document<
  MediaReferenceKeys,
  { readonly used_by: EmbeddingResource },
  Nothing
>;
