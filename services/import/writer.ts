import { listingAggregate } from '../../shared/catalog/listing/listing';
import { publicationAggregate } from '../../shared/catalog/publication/publication';
import type { ListingId, PublicationId } from '../../shared/kernel/ids';
import type { WriteContext } from '../command/execute';
import { load } from '../command/execute';
import type { NewListing } from '../command/listing';
import { putListing } from '../command/listing';
import type { NewPublication } from '../command/publication';
import { putPublication } from '../command/publication';
import type { NewReview } from '../command/review';
import { postReview } from '../command/review';
import { type ImportDeps, type MediaWriter, mediaWriterTo } from './media-writer';
import type { ImportTarget, Presence } from './target';

/** `deleted`: the merchant deleted it; nothing was written, and nothing ever will be under this id. */
export type Outcome = 'created' | 'updated' | 'unchanged' | 'deleted';

/** How an import writes into one store; what the rules refuse is thrown as `CatalogError`. */
export interface CatalogWriter extends MediaWriter {
  putListing(id: ListingId, input: NewListing): Promise<Outcome>;
  putPublication(id: PublicationId, input: NewPublication): Promise<Outcome>;
  postReview(input: NewReview, external_id: string | undefined): Promise<'created' | 'unchanged'>;
  listing(id: ListingId): Promise<Presence>;
  publication(id: PublicationId): Promise<Presence>;
}

/** Through the write side's services, so that an import passes the same rules as a request. */
export function writerTo(deps: ImportDeps, context: WriteContext, target: ImportTarget): CatalogWriter {
  const { environment, store_id } = target;
  const place = { events: deps.events[environment], realm: environment };
  return {
    ...mediaWriterTo(deps, context, target),
    putListing: async (id, input) => (await putListing(deps, context, { ...target, id }, input)).outcome,
    putPublication: async (id, input) =>
      (await putPublication(deps, context, { ...target, id }, input)).outcome,
    postReview: async (input, external_id) => {
      const written = await postReview(deps, context, { ...target, external_id }, input);
      return written.changed ? 'created' : 'unchanged';
    },
    listing: async (id) => {
      const { state } = await load({ ...place, aggregate: listingAggregate, id });
      return state.tag === 'present' && state.listing.store_id !== store_id ? 'absent' : state.tag;
    },
    publication: async (id) => {
      const { state } = await load({ ...place, aggregate: publicationAggregate, id });
      return state.tag === 'present' && state.publication.store_id !== store_id ? 'absent' : state.tag;
    },
  };
}
