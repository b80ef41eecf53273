import type { PublicationsQuery } from '../../shared/api/requests/reads';
import { keysInListings, type PublicationDocument } from '../../shared/catalog/publication/document';
import { translatedIn } from '../../shared/catalog/search/words';
import { featuredFirst, orderOf } from '../../shared/catalog/sorting';
import type { StoredDocument } from '../../shared/catalog/stored-document';
import type { ListSortMode } from '../../shared/catalog/vocabulary';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { ViewQuery, WordScope } from '../../shared/ports/view-store';
import type { WhereOf } from './facets';
import { type FilterContext, type FilterQuery, filterKeys, isFiltered, labelTerms } from './filters';
import { type ListPlace, pageOf } from './list-place';
import { partsOfPage } from './page-items';
import { type ReadQuery, visibilityKey } from './read';

/**
 * The most entries that are read to merge the lists of several listings into a page: about 50 ms. Beyond them, and with
 * filters, a search for all publications of these listings takes less time.
 */
const MERGED_MAX = 10_000;

/** A list of publications, of which a request reads a page. */
export interface PublicationList {
  readonly scope: WordScope;
  /** The listings whose publications it has. Undefined: all publications of the store. */
  readonly listing_ids: readonly string[] | undefined;
  readonly query: ReadQuery & FilterQuery;
  /** Its publications have a text without a translation in this locale. */
  readonly untranslated?: string | undefined;
  /** What its publications fulfil, besides the terms of the filters by labels. */
  readonly where: ViewQuery['where'];
  readonly mode: ListSortMode;
  /** Whether featured publications come first, in the order of their first position in these listings. */
  readonly featured_first: boolean;
  readonly place: ListPlace;
  /** The number of publications, if a document has it. */
  readonly maintained_total: number | undefined;
}

interface PublicationPage {
  /** The publications from the place on: those of the page, and one more if there is a next page. */
  readonly documents: readonly StoredDocument<PublicationDocument>[];
  readonly total: number;
}

/** Reads a page of the list, and counts the list. */
export async function findPublications(
  version: DocumentReader,
  list: PublicationList,
): Promise<PublicationPage> {
  const { scope, listing_ids = [], query, where, mode, featured_first, place, maintained_total } = list;
  const page = pageOf(place);
  const asked: ViewQuery = {
    ...page,
    where,
    order: featured_first ? featuredFirst(mode) : orderOf(mode),
    parts: partsOfPage('publication', query),
  };
  const terms = labelTerms(query);
  const excluded = list.untranslated === undefined ? [] : [translatedIn(list.untranslated)];
  // From a cursor on, another list may have publications again that have their first position before it.
  const is_mergeable =
    !isFiltered(query) && !page.after && listing_ids.length * (page.skip + page.limit) <= MERGED_MAX;
  const is_search = terms.length > 0 || excluded.length > 0 || (listing_ids.length > 1 && !is_mergeable);
  if (is_search)
    return version.search('publications', { ...asked, scope, tiers: [terms], excluded, is_exhaustive: true });

  const countAll = async (): Promise<number> => maintained_total ?? version.count('publications', where);
  const findPage = () => version.find('publications', asked);
  if (page.skip === 0) {
    const [documents, total] = await Promise.all([findPage(), countAll()]);
    return { documents, total };
  }
  const total = await countAll();
  // Nothing is looked for behind the last page, which may be far away.
  return { documents: page.skip < total ? await findPage() : [], total };
}

/**
 * Returns a function that computes the conditions of a list for the filters of a query and, if a facet is counted, for that
 * facet. Uses the listings or the store, never both: the publications of a listing all belong to its store.
 */
export function whereOfList(
  context: FilterContext,
  listing_ids: readonly string[] | undefined,
  { visibility }: Pick<ReadQuery, 'visibility'>,
): WhereOf {
  const [listing_id, ...more] = listing_ids ?? [];
  const one = listing_id === undefined ? { store_id: context.store_id } : { listing_id };
  const container = more.length === 0 ? one : { listing_id: { in: listing_ids! } };
  return async (filtered, facet) => ({
    ...container,
    visibility: visibilityKey(visibility),
    ...(await filterKeys(context, filtered, facet)),
  });
}

/** Returns the keys by which a publication of the list is sorted. */
export const keysInList = (
  keys: PublicationDocument['keys'],
  { listing_ids }: Pick<PublicationList, 'listing_ids'>,
): PublicationDocument['keys'] => (listing_ids === undefined ? keys : keysInListings(keys, listing_ids));

/** Returns whether the publications are sorted by `featured_position`, as the featured ones of a listing are. */
export const isByPosition = ({ featured, sort, order }: PublicationsQuery): boolean =>
  featured === true && sort === undefined && order === undefined;
