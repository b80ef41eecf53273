import type { Listing, PaymentMethod, Publication, Store } from './api.js';
import type { Calls } from './calls.js';
import type { AnswerOf, Expandable, Expanded, Expanding, QueryOf } from './operations.js';
import type { ListOptions, ReadOptions } from './options.js';
import type { Pages } from './pages.js';
import { listOf } from './pages.js';

/** One store: `store_id` of the query, or `storeId` of the client's options, or the first of the key's stores. */
export class StoreCalls {
  constructor(private readonly calls: Calls) {}

  /**
   * Returns the store.
   *
   * @example
   * const { name, listings } = await client.store.get({ expand: ['listing'] });
   */
  get<const Values extends Expandable = never>(
    query: Expanding<'getStore', Values> = {},
    options: ReadOptions<Expanded<Store, Values>> = {},
  ): Promise<Expanded<Store, Values>> {
    return this.calls.read('getStore', { query }, options);
  }

  /**
   * Searches the store's publications for those that contain every word of `q`, best match first.
   *
   * @example
   * const { data } = await client.store.search('green te', { limit: 5 }).page();
   */
  search(
    q: string,
    query: Omit<QueryOf<'searchStore'>, 'q'> = {},
    options: ListOptions = {},
  ): Pages<Publication, AnswerOf<'searchStore'>> {
    return listOf((page) => this.calls.page('searchStore', { query: { ...page, q } }, options), query);
  }

  /**
   * Lists the store's listings.
   *
   * @example
   * const { data } = await client.store.listings({ sort: 'name' }).page();
   */
  listings(
    query: QueryOf<'listStoreListings'> = {},
    options: ListOptions = {},
  ): Pages<Listing, AnswerOf<'listStoreListings'>> {
    return listOf((page) => this.calls.page('listStoreListings', { query: page }, options), query);
  }

  /**
   * Lists the store's payment methods, in the order that the merchant has set.
   *
   * @example
   * const methods = await client.store.paymentMethods().all();
   */
  paymentMethods(
    query: QueryOf<'listPaymentMethods'> = {},
    options: ListOptions = {},
  ): Pages<PaymentMethod, AnswerOf<'listPaymentMethods'>> {
    return listOf((page) => this.calls.page('listPaymentMethods', { query: page }, options), query);
  }
}
