import type { Key, ViewDocument } from '../../shared/catalog/documents';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { Media } from '../../shared/catalog/media/media';
import type { Facets } from '../../shared/catalog/publication/facets';
import type { SortMode, Visibility } from '../../shared/catalog/vocabulary';

/** One item of an expanded collection as documents hold it: at most 20 per visibility, already in order. */
export interface Entry {
  readonly id: string;
  readonly keys: Readonly<Record<string, Key>>;
  readonly body: JsonObject;
}

export type EntriesByVisibility = Readonly<Record<Visibility, readonly Entry[]>>;

/** What reads use of a store document's hidden parts. */
export interface StoreState {
  /** Over all of the store's publications. */
  readonly facets: Facets;
  readonly listings: Readonly<Record<Visibility, number>>;
  /** Not there in documents from before there were media. */
  readonly media?: number;
  readonly payment_methods: number;
}

export interface ListingState {
  readonly facets: Facets;
}

export interface PublicationState {
  readonly reviews: {
    readonly count: number;
    readonly sum: number;
    /** By rating, `"1"` to `"5"`; a rating that nobody gave may be absent. */
    readonly distribution: Readonly<Record<string, number>>;
  };
}

/** The listing of a publication; null where it has none, or none that exists. */
export interface ListingExpansion {
  readonly id: string;
  readonly visibility: Visibility;
  readonly body: JsonObject;
}

const read = <Shape>(part: unknown): Shape => part as Shape;

export const storeState = (document: ViewDocument): StoreState => read(document.state);
export const listingState = (document: ViewDocument): ListingState => read(document.state);
export const publicationState = (document: ViewDocument): PublicationState => read(document.state);

export const listingEntries = (store: ViewDocument): EntriesByVisibility => read(store.expansions.listings);
export const publicationEntries = (listing: ViewDocument): EntriesByVisibility =>
  read(listing.expansions.publications);
export const listingOf = (publication: ViewDocument): ListingExpansion | null =>
  read(publication.expansions.listing ?? null);
/** A publication's or listing's media, all of them; of a store's the newest. */
export const mediaOf = (document: ViewDocument): readonly JsonObject[] =>
  read<readonly { readonly body: JsonObject }[]>(document.expansions.media ?? []).map(({ body }) => body);

/** Of a media: what its `url` leads to; undefined where it is not ready. Needs the document's `state`. */
export function pictureOf(media: ViewDocument): { hash: string; mime_type: string } | undefined {
  const { progress } = read<{ media: Media }>(media.state).media;
  return progress.status === 'ready' ? progress.pictures.picture : undefined;
}

export const defaultSortMode = (listing: ViewDocument): SortMode => read(listing.body.default_sort_mode);
