import { foldText } from '../../kernel/text';
import type { JsonObject } from '../events/envelope';
import type { MediaEmbed } from '../media/document';
import type { Facets } from '../publication/facets';
import type { CollectionSpec, Document, Entries, KeysOf } from '../stored-document';
import type { SortMode, Visibility } from '../vocabulary';
import type { Listing } from './listing';

const keys = {
  store_id: 'text',
  visibility: 'text',
  created_at: 'text',
  name_fold: 'text',
  version: 'integer',
} as const;

export const listingCollection: CollectionSpec<typeof keys> = {
  keys,
  indexes: [
    ['store_id', 'visibility', 'created_at', 'id'],
    ['store_id', 'visibility', 'name_fold', 'id'],
  ],
};

export type ListingKeys = KeysOf<typeof keys> & { readonly visibility: Visibility | null };

export function listingKeys(listing: Listing): ListingKeys {
  const { store_id, visibility, created_at, version } = listing;
  return { store_id, visibility, created_at, name_fold: foldText(listing.name), version };
}

export type ListingBody = JsonObject & {
  readonly id: string;
  readonly name: string;
  readonly default_sort_mode: SortMode;
  readonly stats: { readonly media_count: number; readonly publication_count: number };
};

/**
 * `listing` is null in a shell: publications were put into it, the listing itself did not come (its stream may be
 * parked). A shell has no keys and an empty body, so no read finds it.
 */
export interface ListingDocumentState {
  readonly listing: Listing | null;
  /** Over the publications in it. */
  readonly facets: Facets;
  /** Of the newest event of the listing's own stream that is part of this. */
  readonly revision: number;
}

export interface ListingExpansions {
  readonly publications: Entries;
  /** Those of its media that exist, all of them, in its order. */
  readonly media: readonly MediaEmbed[];
}

export type ListingDocument = Document<ListingKeys, ListingDocumentState, ListingExpansions, ListingBody>;

/** The listing as shown inside its publications: without `stats`, so that a count changes one document only. */
export interface ListingEmbed {
  readonly id: string;
  /** `Listing.version`: an embed gives way only to a newer one of the same listing. */
  readonly version: number;
  readonly visibility: Visibility;
  readonly body: JsonObject;
}
