import type {
  Change,
  DeletedListing,
  DeleteListingQuery,
  FeaturedOrder,
  Listing,
  ListingPublications,
  Publication,
  PutListing,
} from './api.js';
import type { Calls } from './calls.js';
import type {
  AnswerOf,
  BodyOf,
  Expandable,
  Expanded,
  ExpandedList,
  Expanding,
  QueryOf,
} from './operations.js';
import type { ListOptions, ReadOptions, WriteOptions } from './options.js';
import type { Pages } from './pages.js';
import { listOf, pagesOf } from './pages.js';

/** A page of a listing's publications, which are `Expanded`. */
type ExpandedPublications<Values extends Expandable> = Omit<ListingPublications, 'featured' | 'others'> &
  Record<'featured' | 'others', Expanded<Publication, Values>[]>;

/** Listings: the categories of a store. */
export class ListingCalls {
  constructor(private readonly calls: Calls) {}

  /**
   * Lists the store's listings.
   *
   * @example
   * for await (const { name } of client.listings.list({ sort: 'name' })) console.log(name);
   */
  list<const Values extends Expandable = never>(
    query: Expanding<'listListings', Values> = {},
    options: ListOptions = {},
  ): ExpandedList<'listListings', Values> {
    return this.calls.list('listListings', { query }, options);
  }

  /**
   * Returns a listing.
   *
   * @example
   * const { publications } = await client.listings.get(id, { expand: ['publication'] });
   */
  get<const Values extends Expandable = never>(
    id: string,
    query: Expanding<'getListing', Values> = {},
    options: ReadOptions<Expanded<Listing, Values>> = {},
  ): Promise<Expanded<Listing, Values>> {
    return this.calls.read('getListing', { id, query }, options);
  }

  /**
   * Returns the listing with this handle, also with an earlier one.
   *
   * @example
   * const { id, handle } = await client.listings.getByHandle('tea');
   */
  getByHandle<const Values extends Expandable = never>(
    handle: string,
    query: Expanding<'getListingByHandle', Values> = {},
    options: ReadOptions<Expanded<Listing, Values>> = {},
  ): Promise<Expanded<Listing, Values>> {
    return this.calls.read('getListingByHandle', { id: handle, query }, options);
  }

  /**
   * Lists a listing's publications. Iteration yields the featured ones first. A page has `featured` and `others`.
   *
   * @example
   * const { featured, others, meta } = await client.listings.publications(id, { limit: 12 }).page(2);
   */
  publications<const Values extends Expandable = never>(
    id: string,
    query: Expanding<'listListingPublications', Values> = {},
    options: ListOptions = {},
  ): Pages<Expanded<Publication, Values>, ExpandedPublications<Values>> {
    return pagesOf(
      (page) =>
        this.calls.read<'listListingPublications', ExpandedPublications<Values>>(
          'listListingPublications',
          { id, query: page },
          options,
        ),
      ({ featured, others }) => [...featured, ...others],
      ({ meta }) => meta.pagination,
      query,
    );
  }

  /**
   * Creates a listing.
   *
   * @example
   * const tea = await client.listings.create({ name: 'Tea', default_sort_mode: 'price_asc' });
   */
  create(body: BodyOf<'createListing'>, options: WriteOptions = {}): Promise<Listing> {
    return this.calls.write('createListing', { body }, options);
  }

  /**
   * Changes the given fields of a listing; null clears an optional one. The result has no `stats` if they cannot be read
   * within one second.
   *
   * @example
   * await client.listings.update(id, { name: 'Green tea' });
   */
  update(id: string, body: BodyOf<'updateListing'>, options: WriteOptions = {}): Promise<Listing> {
    return this.calls.write('updateListing', { id, body }, options);
  }

  /**
   * Creates the listing with this external id, or changes the given fields of it. `result` is `created`, `updated` or
   * `unchanged`.
   *
   * @example
   * const { result } = await client.listings.put('erp-1', { name: 'Tea' });
   */
  put(external_id: string, body: BodyOf<'putListing'>, options: WriteOptions = {}): Promise<PutListing> {
    return this.calls.write('putListing', { id: external_id, body }, options);
  }

  /**
   * Undoes the deletion of a listing, for 30 days after it.
   *
   * @example
   * await client.listings.restore(id);
   */
  restore(id: string, options: WriteOptions = {}): Promise<Listing> {
    return this.calls.write('restoreListing', { id }, options);
  }

  /**
   * Lists the changes of a listing, the newest first. Requires a secret key.
   *
   * @example
   * const [newest] = (await client.listings.history(id, { limit: 1 }).page()).data;
   */
  history(
    id: string,
    query: QueryOf<'listListingHistory'> = {},
    options: ListOptions = {},
  ): Pages<Change, AnswerOf<'listListingHistory'>> {
    return listOf((page) => this.calls.page('listListingHistory', { id, query: page }, options), query);
  }

  /**
   * Returns a listing as it was at a revision of its history. Requires a secret key.
   *
   * @example
   * const { name } = await client.listings.revision(id, 1);
   */
  revision(
    id: string,
    revision: number,
    query: QueryOf<'getListingRevision'> = {},
    options: ReadOptions<Listing> = {},
  ): Promise<Listing> {
    return this.calls.read('getListingRevision', { id, revision, query }, options);
  }

  /**
   * Deletes a listing. Its publications remain, without a listing; the result has their number. Rejects with 409
   * `DEPENDENCY_EXISTS` if there are listings below it, with `if_empty` also if there are publications.
   *
   * @example
   * await client.listings.delete(id, { if_empty: true });
   */
  delete(id: string, options: WriteOptions & Readonly<DeleteListingQuery> = {}): Promise<DeletedListing> {
    return this.calls.write('deleteListing', { id }, options);
  }

  /**
   * Deletes the listing with this external id, as `delete` does.
   *
   * @example
   * await client.listings.deleteByExternalId('erp-1');
   */
  deleteByExternalId(
    external_id: string,
    options: WriteOptions & Readonly<DeleteListingQuery> = {},
  ): Promise<DeletedListing> {
    return this.calls.write('deleteListingByExternalId', { id: external_id }, options);
  }

  /**
   * Sets the featured publications of a listing in this order. All others of the listing are no longer featured. If it
   * rejects, some may have changed; call it again.
   *
   * @example
   * await client.listings.arrangeFeatured(id, [first, second]);
   */
  arrangeFeatured(
    id: string,
    publication_ids: readonly string[],
    options: WriteOptions = {},
  ): Promise<FeaturedOrder> {
    return this.calls.write('arrangeFeatured', { id, body: { publication_ids } }, options);
  }
}
