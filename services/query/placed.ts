import type { ListingPublicationsQuery } from '../../shared/api/requests/reads';
import type { ListingDocument } from '../../shared/catalog/listing/document';
import {
  keysInListing,
  NOT_FEATURED,
  type PublicationDocument,
} from '../../shared/catalog/publication/document';
import { featuredIn, listedIn } from '../../shared/catalog/search/words';
import { compareByOrder, featuredFirst, isAfter, orderOf } from '../../shared/catalog/sorting';
import type { StoredDocument } from '../../shared/catalog/stored-document';
import type { ListSortMode } from '../../shared/catalog/vocabulary';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { ViewQuery, WordTerms } from '../../shared/ports/view-store';
import { labelTerms } from './facets';
import { type ListPlace, pageOf } from './list-place';
import { partsOfPage } from './page-items';
import { visibilitiesOf, visibilityKey, wordScope } from './read';

/*
 * Lists of a listing that also contains publications whose main listing is another one (docs/decisions/0033). A search
 * by the labels of the listing finds both kinds.
 */

/** More than a merchant features in one listing. They are read together, because only their keys have their positions. */
const FEATURED_MAX = 10_000;

/** Whether publications of other listings are in this one, as far as the filter shows them. */
export const hasPlaced = (
  { placed }: ListingDocument['state'],
  { visibility }: Pick<ListingPublicationsQuery, 'visibility'>,
): boolean => visibilitiesOf(visibility).some((one) => (placed?.[one] ?? 0) > 0);

/** Returns the terms that publications of these listings have: all, or those that are featured in them or are not. */
export function memberTerms(listing_ids: readonly string[], featured?: boolean): WordTerms {
  const words = listing_ids.flatMap((id) => [
    ...(featured === false ? [] : [featuredIn(id)]),
    ...(featured === true ? [] : [listedIn(id)]),
  ]);
  return [words.map((word) => ({ word }))];
}

interface PlacedList {
  readonly store_id: string;
  readonly listing_ids: readonly string[];
  readonly query: ListingPublicationsQuery;
  readonly place: ListPlace;
  readonly mode: ListSortMode;
  /** The conditions of the filters on keys. */
  readonly filters: (query: ListingPublicationsQuery) => ViewQuery['where'];
  /** Whether featured publications come first. */
  readonly by_position: boolean;
}

interface PlacedPage {
  readonly documents: StoredDocument<PublicationDocument>[];
  readonly total: number;
  /** What all publications of the list fulfil, to count them by facet. */
  readonly where: ViewQuery['where'];
  readonly terms: WordTerms;
}

/** Returns a page. In one listing, the position there counts. In several, the one in the main listing counts. */
export async function placedPage(version: DocumentReader, list: PlacedList): Promise<PlacedPage> {
  const { store_id, listing_ids, query, place, mode, filters, by_position } = list;
  const { visibility, featured, ...others } = query;
  const [listing_id, ...more] = listing_ids;
  const is_one = listing_id !== undefined && more.length === 0;
  const where = {
    ...{ store_id, visibility: visibilityKey(visibility) },
    ...filters(is_one ? { ...others, visibility } : query),
  };
  const terms = memberTerms(listing_ids, is_one ? featured : undefined);
  const search = (members: WordTerms, page: Pick<ViewQuery, 'order' | 'after' | 'skip' | 'limit'>) =>
    version.search('publications', {
      ...{ ...page, where, scope: wordScope(store_id, visibility), is_exhaustive: true },
      ...{ tiers: [[...members, ...labelTerms(query)]], parts: partsOfPage('publication', query) },
    });
  const page = pageOf(place);
  if (!is_one || !by_position) {
    const order = by_position ? featuredFirst(mode) : orderOf(mode);
    return { ...(await search(terms, { ...page, order })), where, terms };
  }
  const first =
    featured === false
      ? { documents: [], total: 0 }
      : await search(memberTerms([listing_id], true), { order: orderOf(mode), limit: FEATURED_MAX });
  const [rank, ...after] = page.after ?? [];
  const shown = byPosition(first.documents, listing_id, mode, page.after).slice(
    ...[page.skip, page.skip + page.limit],
  );
  const rest =
    featured === true
      ? { documents: [], total: 0 }
      : await search(memberTerms([listing_id], false), {
          order: orderOf(mode),
          skip: Math.max(0, page.skip - first.total),
          limit: page.limit - shown.length,
          ...(rank === NOT_FEATURED && { after }),
        });
  return { documents: [...shown, ...rest.documents], total: first.total + rest.total, where, terms };
}

function byPosition(
  documents: readonly StoredDocument<PublicationDocument>[],
  listing_id: string,
  mode: ListSortMode,
  after: ViewQuery['after'],
): StoredDocument<PublicationDocument>[] {
  const order = featuredFirst(mode);
  return documents
    .flatMap((stored) =>
      stored.document
        ? [{ stored, id: stored.id, keys: keysInListing(stored.document.keys, listing_id) }]
        : [],
    )
    .filter((one) => !after || isAfter(order, one, after))
    .sort((a, b) => compareByOrder(order, a, b))
    .map(({ stored }) => stored);
}
