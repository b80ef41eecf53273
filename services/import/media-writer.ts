import { ALT_MAX } from '../../shared/api/requests/writes';
import { mediaAggregate } from '../../shared/catalog/media/media';
import type { MediaId, PublicationId } from '../../shared/kernel/ids';
import { sameValue } from '../../shared/kernel/same-value';
import type { StoreDeps, WriteContext } from '../command/execute';
import { load } from '../command/execute';
import { uploadMedia } from '../command/media';
import { Inspector, keepOriginal } from '../command/originals';
import { findPublication, updatePublication } from '../command/publication';
import { existingMedia } from '../command/references';
import type { MediaDeps } from '../command/request';
import { arrangeMedia } from './arrange-media';
import type { ImportTarget, Presence } from './target';

/** What writing and uploading into stores needs. */
export type ImportDeps = StoreDeps & MediaDeps;

/** How an import uploads into one store: what a request may not upload, it may not either. */
export interface MediaWriter {
  media(id: MediaId): Promise<Presence>;
  /** Of an id that is absent. Throws `CatalogError` for what is no picture or too large, and what `bytes` throws. */
  uploadMedia(id: MediaId, bytes: AsyncIterable<Uint8Array>, alt: string | null): Promise<void>;
  /** Shows them on the publication, in this order where it shows no others. */
  showMedia(id: PublicationId, media_ids: readonly MediaId[]): Promise<void>;
}

export function mediaWriterTo(deps: ImportDeps, context: WriteContext, target: ImportTarget): MediaWriter {
  const { environment, store_id } = target;
  const { originals } = deps.blobs[environment];
  const inspector = new Inspector();
  return {
    media: async (id) => {
      const place = { events: deps.events[environment], realm: environment, aggregate: mediaAggregate, id };
      const { state } = await load(place);
      return state.tag === 'present' && state.media.store_id !== store_id ? 'absent' : state.tag;
    },
    uploadMedia: async (id, bytes, alt) => {
      const { hash, size_bytes } = await keepOriginal(originals, bytes);
      const { mime_type, width, height } = await inspector.inspect(originals, hash);
      const image = { hash, size_bytes, mime_type, width, height, alt: lineOf(alt) };
      await uploadMedia(deps, context, { ...target, id }, image);
      // One that is lost is found again by whoever makes pictures.
      await deps.mediaTasks.add({ environment, media_id: id }).catch(() => undefined);
    },
    showMedia: async (id, media_ids) => {
      const publication = await findPublication(deps, environment, id);
      if (!publication) return;
      const shown = await existingMedia(deps, environment, publication.media_ids);
      const next = arrangeMedia(shown, media_ids);
      if (!sameValue(next, publication.media_ids))
        await updatePublication(deps, context, { environment, id }, { media_ids: next });
    },
  };
}

/** `alt` is one line. */
function lineOf(alt: string | null): string | null {
  const line = (alt ?? '').replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return line === '' ? null : [...line].slice(0, ALT_MAX).join('');
}
