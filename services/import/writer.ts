import { ALT_MAX } from '../../shared/api/requests/writes';
import { listingAggregate } from '../../shared/catalog/listing/listing';
import { mediaAggregate } from '../../shared/catalog/media/media';
import { PUBLICATION_MEDIA_MAX } from '../../shared/catalog/publication/fields';
import { publicationAggregate } from '../../shared/catalog/publication/publication';
import type { Environment } from '../../shared/catalog/realm';
import type { ListingId, MediaId, PublicationId, StoreId } from '../../shared/kernel/ids';
import { sameValue } from '../../shared/kernel/same-value';
import { load, type StoreDeps, type WriteContext } from '../command/execute';
import { type NewListing, putListing } from '../command/listing';
import { uploadMedia } from '../command/media';
import { Inspector, keepOriginal } from '../command/originals';
import type { NewPublication } from '../command/publication';
import { findPublication, putPublication, updatePublication } from '../command/publication';
import { existingMedia } from '../command/references';
import type { MediaDeps } from '../command/request';
import { type NewReview, postReview } from '../command/review';

export interface ImportTarget {
  readonly environment: Environment;
  readonly store_id: StoreId;
}

/** What is of another store is absent. */
export type Presence = 'absent' | 'present' | 'deleted';

/** What writing and uploading into stores needs. */
export type ImportDeps = StoreDeps & MediaDeps;

/** `deleted`: the merchant deleted it; nothing was written, and nothing ever will be under this id. */
export type Outcome = 'created' | 'updated' | 'unchanged' | 'deleted';

/** How an import writes into one store; what the rules refuse is thrown as `CatalogError`. */
export interface CatalogWriter {
  putListing(id: ListingId, input: NewListing): Promise<Outcome>;
  putPublication(id: PublicationId, input: NewPublication): Promise<Outcome>;
  postReview(input: NewReview, external_id: string | undefined): Promise<'created' | 'unchanged'>;
  /** Uploads under an id that is absent. Throws `CatalogError` for what is no picture or too large, and what `bytes` throws. */
  uploadMedia(id: MediaId, bytes: AsyncIterable<Uint8Array>, alt: string | null): Promise<void>;
  /** Shows them on the publication, in this order where it shows no others. */
  showMedia(id: PublicationId, media_ids: readonly MediaId[]): Promise<void>;
  listing(id: ListingId): Promise<Presence>;
  publication(id: PublicationId): Promise<Presence>;
  media(id: MediaId): Promise<Presence>;
}

/** Writes through the write side's services, so that an import passes the same rules as a request. */
export function writerTo(deps: ImportDeps, context: WriteContext, target: ImportTarget): CatalogWriter {
  const { environment, store_id } = target;
  const { originals } = deps.blobs[environment];
  const inspector = new Inspector();
  const place = { events: deps.events[environment], realm: environment };
  return {
    putListing: async (id, input) => (await putListing(deps, context, { ...target, id }, input)).outcome,
    putPublication: async (id, input) =>
      (await putPublication(deps, context, { ...target, id }, input)).outcome,
    postReview: async (input, external_id) => {
      const written = await postReview(deps, context, { ...target, external_id }, input);
      return written.changed ? 'created' : 'unchanged';
    },
    uploadMedia: async (id, bytes, alt) => {
      const { hash, size_bytes } = await keepOriginal(originals, bytes);
      const { mime_type, width, height } = await inspector.inspect(originals, hash);
      const image = { hash, size_bytes, mime_type, width, height, alt: lineOf(alt) };
      await uploadMedia(deps, context, { ...target, id }, image);
      // A task that is lost is found again by whoever makes pictures.
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
    listing: async (id) => {
      const { state } = await load({ ...place, aggregate: listingAggregate, id });
      return state.tag === 'present' && state.listing.store_id !== store_id ? 'absent' : state.tag;
    },
    publication: async (id) => {
      const { state } = await load({ ...place, aggregate: publicationAggregate, id });
      return state.tag === 'present' && state.publication.store_id !== store_id ? 'absent' : state.tag;
    },
    media: async (id) => {
      const { state } = await load({ ...place, aggregate: mediaAggregate, id });
      return state.tag === 'present' && state.media.store_id !== store_id ? 'absent' : state.tag;
    },
  };
}

/** `alt` is one line. */
function lineOf(alt: string | null): string | null {
  const line = (alt ?? '').replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return line === '' ? null : [...line].slice(0, ALT_MAX).join('');
}

/**
 * What a publication shows after an import: the file's images in the file's order, unless it shows others as well, which
 * somebody has put there: then what it shows stays in its order, and the file's that are missing come after.
 */
export function arrangeMedia(shown: readonly MediaId[], of_file: readonly MediaId[]): MediaId[] {
  const only_ours = shown.every((id) => of_file.includes(id));
  const next = only_ours ? of_file : [...shown, ...of_file.filter((id) => !shown.includes(id))];
  return next.slice(0, PUBLICATION_MEDIA_MAX);
}
