import { foldText } from '../../kernel/text';
import type { Deleted } from '../events/aggregate';
import type { JsonObject } from '../events/envelope';
import type { EmbeddingResource, MediaEmbed } from '../media/document';
import { countFacets, type Facets } from '../publication/facets';
import { dueAt } from '../schedule';
import type { CollectionSpec, Document, Entries, KeysOf, Nothing } from '../stored-document';
import type { Translations } from '../translations';
import { type SortMode, type Visibility, visibilitySchema } from '../vocabulary';
import type { Listing } from './listing';

const keys = {
  store_id: 'text',
  visibility: 'text',
  created_at: 'text',
  name_fold: 'text',
  external_id: 'text',
  version: 'integer',
  /** Null if the listing is at the top of the tree. The listing with this id may be deleted. */
  parent_id: 'text',
  /** When the visibility changes next (`dueAt`), in milliseconds. Null if no time is set. */
  due_at: 'integer',
  /** The store of a deleted listing, and the time of the deletion. The other keys of a deleted listing are null. */
  deleted_in: 'text',
  deleted_at: 'text',
} as const;

export const listingCollection: CollectionSpec<typeof keys> = {
  keys,
  lists: {
    scopes: ['store_id'],
    filters: { visibility: visibilitySchema.options },
    orders: [{ key: 'created_at' }, { key: 'name_fold' }, { key: 'id' }],
  },
  indexes: [
    ['store_id', 'visibility', 'created_at', 'id'],
    ['store_id', 'visibility', 'name_fold', 'id'],
    ['store_id', 'visibility', 'id'],
    // The parent comes first, so that SQLite does not take this for an index that `lists` replace.
    ['parent_id', 'store_id', 'visibility', 'created_at', 'id'],
    ['store_id', 'visibility', 'external_id', 'id'],
    ['due_at', 'id'],
    ['deleted_in', '-deleted_at', '-id'],
  ],
};

export type ListingKeys = KeysOf<typeof keys> & { readonly visibility: Visibility | null };

export function listingKeys(listing: Listing): ListingKeys {
  const { store_id, visibility, created_at, version, parent_id, external_id } = listing;
  const name_fold = foldText(listing.name);
  const due_at = dueAt(listing);
  const kept = { store_id, visibility, created_at, name_fold, version, parent_id, external_id, due_at };
  return { ...kept, deleted_in: null, deleted_at: null };
}

export type ListingBody = JsonObject & {
  readonly id: string;
  readonly object: 'listing';
  readonly handle?: string;
  readonly name: string;
  readonly translations?: Translations;
  readonly default_sort_mode: SortMode;
  /** The ids of the media in `expansions`. */
  readonly media_ids: string[];
  readonly stats: { readonly media_count: number; readonly publication_count: number };
  /** Number of public listings directly below. Absent if there are none. */
  readonly children_count?: number;
};

/**
 * The part of a listing's document that the projection needs for the next event.
 *
 * A listing's document is created as a placeholder if an event puts a publication into the listing before the first
 * event of the listing's own stream is projected, for example because that stream is on the dead-letter list. In a
 * placeholder, `listing` is null, all keys are null and the body is empty, so no read returns it. The placeholder of a
 * deleted listing has the keys `deleted_in` and `deleted_at`.
 */
export interface ListingDocumentState {
  readonly listing: Listing | null;
  /** Set if the listing is deleted. The document is a placeholder then, and becomes one again if it is restored. */
  readonly deleted: Deleted<Listing> | null;
  /** Counts of the publications in the listing. */
  readonly facets: Facets;
  /** Numbers of the listings directly below this one. */
  readonly children: Readonly<Record<Visibility, number>>;
  /** Revision of the last event of the listing's own stream that is in this document. */
  readonly revision: number;
}

export interface ListingExpansions {
  readonly publications: Entries;
  /** All media of the listing that exist, in the order of its `media_ids`. */
  readonly media: readonly MediaEmbed[];
}

export type ListingDocument = Document<ListingKeys, ListingDocumentState, ListingExpansions, ListingBody>;

/**
 * The copy of a listing in its publications' documents. It has no `stats` and no `media_ids`, so that a change of these
 * updates one document only.
 */
export interface ListingEmbed {
  readonly id: string;
  /** `Listing.version`. The projection replaces a copy only with a newer version. */
  readonly version: number;
  readonly visibility: Visibility;
  readonly body: JsonObject;
}

/** What the document of a publication contains of each of its other listings. The body is empty. */
export type PlaceEmbed = ListingEmbed;

/** Returns the number of publications in the listing, in all or of some visibilities. */
export const publicationCount = (
  { facets }: Pick<ListingDocumentState, 'facets'>,
  visibilities: readonly Visibility[] = visibilitySchema.options,
): number => countFacets(facets, visibilities);

const place_keys = { store_id: 'text', listing_id: 'text' } as const;

/** The reverse index from listings to the publications that have them among their `listing_ids`. */
export const placeCollection: CollectionSpec<typeof place_keys> = {
  keys: place_keys,
  indexes: [['store_id', 'listing_id', 'id']],
};

export type PlaceDocument = Document<
  KeysOf<typeof place_keys>,
  { readonly used_by: EmbeddingResource },
  Nothing
>;
