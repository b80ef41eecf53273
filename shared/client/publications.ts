import type {
  Batch,
  BatchQuery,
  Change,
  DeletedPublication,
  DeletedVariant,
  ListPrice,
  Publication,
  PutPublication,
  RevertedPublication,
  Review,
  SetListPrices,
  Variant,
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
import { listOf } from './pages.js';

/** Publications: the products of a store. */
export class PublicationCalls {
  constructor(private readonly calls: Calls) {}

  /**
   * Lists the store's publications.
   *
   * @example
   * for await (const { title } of client.publications.list({ in_stock: true, max_price: 5_000 })) console.log(title);
   */
  list<const Values extends Expandable = never>(
    query: Expanding<'listPublications', Values> = {},
    options: ListOptions = {},
  ): ExpandedList<'listPublications', Values> {
    return this.calls.list('listPublications', { query }, options);
  }

  /**
   * Returns a publication. With a public key, the read counts as a view of it.
   *
   * @example
   * const publication = await client.publications.get(id, { expand: ['listing', 'media'] });
   */
  get<const Values extends Expandable = never>(
    id: string,
    query: Expanding<'getPublication', Values> = {},
    options: ReadOptions<Expanded<Publication, Values>> = {},
  ): Promise<Expanded<Publication, Values>> {
    return this.calls.read('getPublication', { id, query }, options);
  }

  /**
   * Returns the publication with this handle, also with an earlier one.
   *
   * @example
   * const { id, handle } = await client.publications.getByHandle('tea');
   */
  getByHandle<const Values extends Expandable = never>(
    handle: string,
    query: Expanding<'getPublicationByHandle', Values> = {},
    options: ReadOptions<Expanded<Publication, Values>> = {},
  ): Promise<Expanded<Publication, Values>> {
    return this.calls.read('getPublicationByHandle', { id: handle, query }, options);
  }

  /**
   * Lists the other publications of the store, most similar first.
   *
   * @example
   * const { data } = await client.publications.related(id, { limit: 4 }).page();
   */
  related<const Values extends Expandable = never>(
    id: string,
    query: Expanding<'listRelatedPublications', Values> = {},
    options: ListOptions = {},
  ): ExpandedList<'listRelatedPublications', Values> {
    return this.calls.list('listRelatedPublications', { id, query }, options);
  }

  /**
   * Lists a publication's reviews, newest first. `meta.summary` of a page covers all published reviews, not only those
   * of that page.
   *
   * @example
   * const { data, meta } = await client.publications.reviews(id).page();
   * console.log(meta.summary.average);
   */
  reviews(
    id: string,
    query: QueryOf<'listReviews'> = {},
    options: ListOptions = {},
  ): Pages<Review, AnswerOf<'listReviews'>> {
    return listOf((page) => this.calls.page('listReviews', { id, query: page }, options), query);
  }

  /**
   * Creates a publication.
   *
   * @example
   * const tea = await client.publications.create({ title: 'Tea', price_currency: 'PEN', price_amount: 1_250 });
   */
  create(body: BodyOf<'createPublication'>, options: WriteOptions = {}): Promise<Publication> {
    return this.calls.write('createPublication', { body }, options);
  }

  /**
   * Changes the given fields of a publication; null clears an optional one.
   *
   * @example
   * const tea = await client.publications.get(id);
   * await client.publications.update(id, { price_amount: 1_300 }, { ifMatch: tea });
   */
  update(id: string, body: BodyOf<'updatePublication'>, options: WriteOptions = {}): Promise<Publication> {
    return this.calls.write('updatePublication', { id, body }, options);
  }

  /**
   * Creates the publication with this external id, or changes the given fields of it. `result` is `created`, `updated` or
   * `unchanged`.
   *
   * @example
   * const { result } = await client.publications.put('erp-1', { title: 'Tea', price_currency: 'PEN', price_amount: 1_250 });
   */
  put(
    external_id: string,
    body: BodyOf<'putPublication'>,
    options: WriteOptions = {},
  ): Promise<PutPublication> {
    return this.calls.write('putPublication', { id: external_id, body }, options);
  }

  /**
   * Undoes the deletion of a publication, for 30 days after it.
   *
   * @example
   * await client.publications.restore(id);
   */
  restore(id: string, options: WriteOptions = {}): Promise<Publication> {
    return this.calls.write('restorePublication', { id }, options);
  }

  /**
   * Creates, updates, puts and deletes up to 500 publications. By default, nothing is written if an item is invalid; with
   * `on_error: 'skip_failed'` the others are.
   *
   * @example
   * const items = [{ action: 'put', external_id: 'erp-1', body: { price_amount: 1_300 } }] as const;
   * const { updated, failed } = await client.publications.batch({ items }, { on_error: 'skip_failed' });
   */
  batch(
    body: BodyOf<'batchPublications'>,
    options: WriteOptions & Readonly<BatchQuery> = {},
  ): Promise<Batch> {
    return this.calls.write('batchPublications', { body }, options);
  }

  /** Deletes a publication. */
  delete(id: string, options: WriteOptions = {}): Promise<DeletedPublication> {
    return this.calls.write('deletePublication', { id }, options);
  }

  /**
   * Deletes the publication with this external id.
   *
   * @example
   * await client.publications.deleteByExternalId('erp-1');
   */
  deleteByExternalId(external_id: string, options: WriteOptions = {}): Promise<DeletedPublication> {
    return this.calls.write('deletePublicationByExternalId', { id: external_id }, options);
  }

  /**
   * Lists the changes of a publication and its variants, the newest first. Requires a secret key.
   *
   * @example
   * for await (const { occurred_at, actor, changed } of client.publications.history(id)) console.log(occurred_at, actor, changed);
   */
  history(
    id: string,
    query: QueryOf<'listPublicationHistory'> = {},
    options: ListOptions = {},
  ): Pages<Change, AnswerOf<'listPublicationHistory'>> {
    return listOf((page) => this.calls.page('listPublicationHistory', { id, query: page }, options), query);
  }

  /**
   * Returns a publication as it was at a revision of its history. Requires a secret key.
   *
   * @example
   * const { price_amount } = await client.publications.revision(id, 2);
   */
  revision(
    id: string,
    revision: number,
    query: QueryOf<'getPublicationRevision'> = {},
    options: ReadOptions<Publication> = {},
  ): Promise<Publication> {
    return this.calls.read('getPublicationRevision', { id, revision, query }, options);
  }

  /**
   * Gives the fields of a publication the values of an earlier revision of its history.
   *
   * @example
   * const { data } = await client.publications.history(id, { limit: 2 }).page();
   * await client.publications.revert(id, data[1].revision);
   */
  revert(id: string, revision: number, options: WriteOptions = {}): Promise<RevertedPublication> {
    return this.calls.write('revertPublication', { id, body: { revision } }, options);
  }

  /**
   * Lists the variants of a publication by their position.
   *
   * @example
   * for await (const { sku, quantity_available } of client.publications.variants(id)) console.log(sku, quantity_available);
   */
  variants(
    id: string,
    query: QueryOf<'listVariants'> = {},
    options: ListOptions = {},
  ): Pages<Variant, AnswerOf<'listVariants'>> {
    return listOf((page) => this.calls.page('listVariants', { id, query: page }, options), query);
  }

  /**
   * Returns a variant by its own id.
   *
   * @example
   * const { price_amount, quantity_available } = await client.publications.variant(variant_id);
   */
  variant(
    variant_id: string,
    query: QueryOf<'getVariant'> = {},
    options: ReadOptions<Variant> = {},
  ): Promise<Variant> {
    return this.calls.read('getVariant', { id: variant_id, query }, options);
  }

  /**
   * Adds a variant to a publication.
   *
   * @example
   * await client.publications.addVariant(id, { option_values: { Size: 'M' }, sku: 'TEE-M', quantity_available: 12 });
   */
  addVariant(id: string, body: BodyOf<'createVariant'>, options: WriteOptions = {}): Promise<Variant> {
    return this.calls.write('createVariant', { id, body }, options);
  }

  /**
   * Changes the given fields of a variant, by its own id. An adjustment of the stock counts also if others adjust it at
   * the same time.
   *
   * @example
   * await client.publications.updateVariant(variant_id, { quantity_available: { adjust: -1 } });
   */
  updateVariant(
    variant_id: string,
    body: BodyOf<'updateVariant'>,
    options: WriteOptions = {},
  ): Promise<Variant> {
    return this.calls.write('updateVariant', { id: variant_id, body }, options);
  }

  /** Deletes a variant, by its own id. */
  deleteVariant(variant_id: string, options: WriteOptions = {}): Promise<DeletedVariant> {
    return this.calls.write('deleteVariant', { id: variant_id }, options);
  }

  /** Lists the prices of a price list, in no order that means anything. */
  listPrices(
    query: QueryOf<'listListPrices'>,
    options: ListOptions = {},
  ): Pages<ListPrice, AnswerOf<'listListPrices'>> {
    return listOf((page) => this.calls.page('listListPrices', { query: page }, options), query);
  }

  /**
   * Replaces the prices of each publication in the body. Only the keys of the price list see them.
   *
   * @example
   * await client.store.update({ price_lists: { wholesale: 'PEN' } });
   * await client.publications.setListPrices({
   *   price_list: 'wholesale',
   *   items: [{ publication_id, price: { price_amount: 800 } }],
   * });
   * await client.keys.create({ name: 'Resellers', type: 'public', price_list: 'wholesale' });
   */
  setListPrices(body: BodyOf<'setListPrices'>, options: WriteOptions = {}): Promise<SetListPrices> {
    return this.calls.write('setListPrices', { body }, options);
  }
}
