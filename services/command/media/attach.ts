import { LISTING_MEDIA_MAX } from '../../../shared/catalog/listing/fields';
import { PUBLICATION_MEDIA_MAX } from '../../../shared/catalog/publication/fields';
import type { Environment } from '../../../shared/catalog/realm';
import { CatalogError, type Fault } from '../../../shared/kernel/errors';
import type { ListingId, MediaId, PublicationId, StoreId } from '../../../shared/kernel/ids';
import type { StoreDeps, WriteContext } from '../context';
import type { Written } from '../execute';
import { addMediaToListing, findListing } from '../listing/service';
import { addMediaToPublication, findPublication } from '../publication/service';
import { existingMedia } from '../references';

/** What a new media is added to, after the media that are there. */
export interface Attachments {
  readonly publication_id?: string | undefined;
  readonly listing_id?: string | undefined;
}

/** Throws `field_invalid` for what is not there, is another store's, or has as many media as it may have. */
export async function checkAttachments(
  deps: StoreDeps,
  environment: Environment,
  store_id: StoreId,
  { publication_id, listing_id }: Attachments,
): Promise<void> {
  const faults: Fault[] = [];
  const check = async (
    field: keyof Attachments,
    found: { store_id: StoreId; media_ids: readonly MediaId[] } | undefined,
    max: number,
  ): Promise<void> => {
    const what = field === 'publication_id' ? 'publication' : 'listing';
    const own = found?.store_id === store_id ? found : undefined;
    if (!own) faults.push(invalid(field, `a ${what} of the same store`));
    else if ((await existingMedia(deps, environment, own.media_ids)).length >= max)
      faults.push(invalid(field, `a ${what} with fewer than ${max} media`));
  };
  if (publication_id !== undefined) {
    const found = await findPublication(deps, environment, publication_id as PublicationId);
    await check('publication_id', found, PUBLICATION_MEDIA_MAX);
  }
  if (listing_id !== undefined) {
    const found = await findListing(deps, environment, listing_id as ListingId);
    await check('listing_id', found, LISTING_MEDIA_MAX);
  }
  if (faults.length > 0) throw CatalogError.ofFaults(faults);
}

/**
 * Adds it to both. As the check came before the upload, only somebody else's write in between can hinder it: then
 * `lost_race` says what is done and what is not.
 */
export async function attach(
  deps: StoreDeps,
  context: WriteContext,
  environment: Environment,
  media_id: MediaId,
  { publication_id, listing_id }: Attachments,
): Promise<Written<unknown>[]> {
  const written: Written<unknown>[] = [];
  const put = async (what: string, adding: Promise<Written<unknown>>): Promise<void> => {
    try {
      written.push(await adding);
    } catch (error) {
      throw error instanceof CatalogError && LOST.has(error.condition)
        ? notAdded(media_id, what, error)
        : error;
    }
  };
  if (publication_id !== undefined) {
    const target = { environment, id: publication_id as PublicationId };
    await put(`publication ${target.id}`, addMediaToPublication(deps, context, target, media_id));
  }
  if (listing_id !== undefined) {
    const target = { environment, id: listing_id as ListingId };
    await put(`listing ${target.id}`, addMediaToListing(deps, context, target, media_id));
  }
  return written;
}

const LOST: ReadonlySet<string> = new Set([
  ...['lost_race', 'publication_not_found', 'listing_not_found', 'field_invalid'],
]);

function notAdded(media_id: MediaId, what: string, cause: CatalogError): CatalogError {
  return new CatalogError('lost_race', {
    message:
      `The file was uploaded as media ${media_id}, but could not be added to ${what}, which was changed at the ` +
      'same time: add it by its media_ids, or delete it',
    cause,
  });
}

function invalid(field: string, constraint: string): Fault {
  return { condition: 'field_invalid', field, constraint };
}
