import type { Change, ChangesQuery, PaymentMethod, Store } from './api.js';
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
import type { CallOptions, ListOptions, ReadOptions, WriteOptions } from './options.js';
import type { Pages } from './pages.js';
import { listOf, pagesOf } from './pages.js';

/** Which changes to follow. */
export type ChangesOptions = Readonly<Omit<ChangesQuery, 'offset' | 'live' | 'cursor'>> & {
  readonly after?: string;
};

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
  search<const Values extends Expandable = never>(
    q: string,
    query: Omit<Expanding<'searchStore', Values>, 'q'> = {},
    options: ListOptions = {},
  ): ExpandedList<'searchStore', Values> {
    return this.calls.list('searchStore', { query: { ...query, q } }, options);
  }

  /**
   * Lists the store's listings.
   *
   * @example
   * const { data } = await client.store.listings({ sort: 'name' }).page();
   */
  listings<const Values extends Expandable = never>(
    query: Expanding<'listStoreListings', Values> = {},
    options: ListOptions = {},
  ): ExpandedList<'listStoreListings', Values> {
    return this.calls.list('listStoreListings', { query }, options);
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

  /**
   * Yields the changes of the store, and waits for the next one. Ends only by `break` or `signal`. Requires a secret key.
   *
   * @param query `after`: the `id` of the last change that was handled. Default: from the beginning. `now` skips all
   * earlier changes. `snapshot` begins with the creation of all that exists.
   * @example
   * for await (const change of client.store.changes({ after: saved, resource: ['publication'] })) {
   *   await handle(change);
   *   saved = change.id;
   * }
   */
  async *changes(
    { after = '-1', ...filter }: ChangesOptions = {},
    options: CallOptions = {},
  ): AsyncGenerator<Change, void, undefined> {
    for (let offset = after; ; ) {
      const query = { ...filter, offset, live: 'long-poll' };
      const { status, body, headers } = await this.calls.transport.call('readChanges', { query, options });
      if (body) this.calls.infos.recordPosition(body, status, headers);
      // A long poll that ends without a change has no body.
      yield* body ?? [];
      offset = headers.get('stream-next-offset') ?? offset;
    }
  }

  /**
   * Lists the changes of the store's own fields, the newest first. Requires a secret key.
   *
   * @example
   * const [newest] = (await client.store.history({ limit: 1 }).page()).data;
   */
  history(
    query: QueryOf<'listStoreHistory'> = {},
    options: ListOptions = {},
  ): Pages<Change, AnswerOf<'listStoreHistory'>> {
    return listOf((page) => this.calls.page('listStoreHistory', { query: page }, options), query);
  }

  /**
   * Lists all changes in the store, the newest first: of publications, variants, listings, media, reviews and the store. It
   * has no numbered pages: `cursor` of the query is `meta.next_cursor` of an earlier page. Requires a secret key.
   *
   * @example
   * for await (const { title, changed } of client.store.fullHistory({ actor: key_id, resource: ['publication'] }))
   *   console.log(title, changed);
   */
  fullHistory(
    query: QueryOf<'listHistory'> = {},
    options: ListOptions = {},
  ): Pages<Change, AnswerOf<'listHistory'>> {
    return pagesOf(
      ({ page: _, ...place }) => this.calls.page('listHistory', { query: place }, options),
      ({ data }) => data,
      ({ meta }) => ({ total_pages: 1, next_cursor: meta.next_cursor }),
      query,
    );
  }

  /**
   * Changes the given fields of the store; null clears an optional one. `contact`, `policies` and `businessHours` are
   * replaced as a whole. The result has no `stats` if they cannot be read within one second.
   *
   * @example
   * await client.store.update({ contact: { phone: '+51 1 555 0199' } });
   */
  update(body: BodyOf<'updateStore'>, options: WriteOptions = {}): Promise<Store> {
    return this.calls.write('updateStore', { body }, options);
  }
}
