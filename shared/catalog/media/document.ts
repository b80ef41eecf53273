import type { JsonObject } from '../events/envelope';
import type { CollectionSpec, Document, KeysOf, Nothing } from '../stored-document';
import type { Media } from './media';

const keys = { store_id: 'text', status: 'text', created_at: 'text', version: 'integer' } as const;

export const mediaCollection: CollectionSpec<typeof keys> = {
  keys,
  indexes: [
    ['store_id', 'created_at', 'id'],
    ['status', 'id'],
  ],
};

export type MediaKeys = KeysOf<typeof keys>;

export function mediaKeys({ store_id, progress, created_at, version }: Media): MediaKeys {
  return { store_id, status: progress.status, created_at, version };
}

export interface MediaDocumentState {
  readonly media: Media;
  /** Revision of the last event of its own stream that is in this document. */
  readonly revision: number;
}

export type MediaDocument = Document<MediaKeys, MediaDocumentState, Nothing>;

/** The copy of a media in the documents that refer to it. The projection replaces it only with a newer version. */
export interface MediaEmbed {
  readonly id: string;
  readonly version: number;
  readonly body: JsonObject;
}
