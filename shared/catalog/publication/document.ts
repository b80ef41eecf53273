import { foldText } from '../../kernel/text';
import type { JsonObject } from '../events/envelope';
import type { ListingEmbed } from '../listing/document';
import type { MediaEmbed } from '../media/document';
import type { CollectionSpec, Document, KeysOf } from '../stored-document';
import type { Visibility } from '../vocabulary';
import type { Publication } from './publication';

const keys = {
  store_id: 'text',
  /** Null where it is in none, or in one that is deleted. */
  listing_id: 'text',
  visibility: 'text',
  featured_rank: 'integer',
  created_at: 'text',
  price_up: 'integer',
  price_down: 'integer',
  name_fold: 'text',
  free_shipping: 'integer',
  in_stock: 'integer',
  version: 'integer',
} as const;

export const publicationCollection: CollectionSpec<typeof keys> = {
  keys,
  words: { scope: ['store_id', 'visibility'] },
  indexes: [
    // The last two let a search that filters by them walk by date without looking at documents.
    ['store_id', 'visibility', 'created_at', 'id', 'price_up', 'listing_id'],
    ['store_id', 'visibility', 'price_up', 'id'],
    ['store_id', 'visibility', 'price_down', 'id'],
    ['store_id', 'visibility', 'name_fold', 'id'],
    ['store_id', 'visibility', 'featured_rank', 'id'],
    ['listing_id', 'visibility', 'created_at', 'id'],
    ['listing_id', 'visibility', 'featured_rank', 'created_at', 'id'],
    ['listing_id', 'visibility', 'featured_rank', '-created_at', '-id'],
    ['listing_id', 'visibility', 'featured_rank', 'price_up', 'id'],
    ['listing_id', 'visibility', 'featured_rank', '-price_down', '-id'],
    ['listing_id', 'visibility', 'featured_rank', 'name_fold', 'id'],
    ['listing_id', 'visibility', 'featured_rank', '-name_fold', '-id'],
  ],
};

/** `featured_rank` of what is not featured: after every `featured_position` (1–10,000). */
export const NOT_FEATURED = 1_000_000;
/** `price_up` and `price_down` of an inactive price: last in both directions (decisions §1). */
export const INACTIVE_PRICE_UP = 1_000_000_000_000;
export const INACTIVE_PRICE_DOWN = -1;

export type PublicationKeys = KeysOf<typeof keys> & { readonly visibility: Visibility | null };

/** `listing_id`: of the listing that the publication is in. */
export function publicationKeys(publication: Publication, listing_id: string | null): PublicationKeys {
  const { price_active, price_amount, quantity_available } = publication;
  return {
    store_id: publication.store_id,
    listing_id,
    visibility: publication.visibility,
    featured_rank: publication.featured_position ?? NOT_FEATURED,
    created_at: publication.created_at,
    price_up: price_active ? price_amount : INACTIVE_PRICE_UP,
    price_down: price_active ? price_amount : INACTIVE_PRICE_DOWN,
    name_fold: foldText(publication.title),
    free_shipping: publication.free_shipping ? 1 : 0,
    in_stock: quantity_available === null || quantity_available > 0 ? 1 : 0,
    version: publication.version,
  };
}

export type PublicationBody = JsonObject & {
  readonly id: string;
  readonly stats: { readonly media_count: number; readonly view_count: number };
};

/** For the summary of reviews (decisions §5). */
export interface ReviewCounts {
  readonly count: number;
  readonly sum: number;
  /** By rating, `"1"` to `"5"`. */
  readonly distribution: Readonly<Record<string, number>>;
}

/**
 * `publication` is null in a shell: reviews came, the publication itself did not (its stream may be parked). A
 * shell has no keys and an empty body, so no read finds it.
 */
export interface PublicationDocumentState {
  readonly publication: Publication | null;
  readonly reviews: ReviewCounts;
  /** Of the newest event of the publication's own stream that is part of this. */
  readonly revision: number;
}

export interface PublicationExpansions {
  /** Null where it has none, or none that exists. */
  readonly listing: ListingEmbed | null;
  /** Those of its media that exist, all of them, in its order. */
  readonly media: readonly MediaEmbed[];
}

export type PublicationDocument = Document<
  PublicationKeys,
  PublicationDocumentState,
  PublicationExpansions,
  PublicationBody
>;
