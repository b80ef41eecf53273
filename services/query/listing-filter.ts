import type { ListingDocument } from '../../shared/catalog/listing/document';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { ReadQuery } from './read-query';
import { showsContainer } from './visibility';

/**
 * The counts of the listing that a list is filtered by, undefined where it is not; null where the listing is unknown,
 * of another store, or hidden: nothing matches then.
 */
export async function listingAskedFor(
  version: DocumentReader,
  { listing_id, visibility }: ReadQuery & { readonly listing_id?: string | undefined },
  store_id: string,
): Promise<ListingDocument['state'] | null | undefined> {
  if (listing_id === undefined) return undefined;
  const document = (await version.get('listings', listing_id, ['state']))?.document;
  const shown = document?.keys.store_id === store_id && showsContainer(visibility, document.keys.visibility);
  return document && shown ? document.state : null;
}
