import type { Expandable } from '../api/requests/reads';
import type { Listing, PaymentMethod, Publication, Store } from '../api/responses/resources';
import type { Calls } from './calls';
import type { AnswerOf, Expanded, Expanding, QueryOf } from './endpoints';
import type { ListOptions, ReadOptions } from './options';
import type { Pages } from './pages';
import { listOf } from './pages';

/** The store that the key stands for, or the one that `store_id` names. */
export class StoreCalls {
  constructor(private readonly calls: Calls) {}

  /**
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
   * Publications with every word of `q`, best first.
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

  listings(
    query: QueryOf<'listStoreListings'> = {},
    options: ListOptions = {},
  ): Pages<Listing, AnswerOf<'listStoreListings'>> {
    return listOf((page) => this.calls.page('listStoreListings', { query: page }, options), query);
  }

  /** In the merchant's order. */
  paymentMethods(
    query: QueryOf<'listPaymentMethods'> = {},
    options: ListOptions = {},
  ): Pages<PaymentMethod, AnswerOf<'listPaymentMethods'>> {
    return listOf((page) => this.calls.page('listPaymentMethods', { query: page }, options), query);
  }
}
